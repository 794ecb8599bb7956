#!/usr/bin/env python3
"""Opens a report in a real headless Chromium and behaves like a reader.

    check_page.py PAGE.html [--shots DIR] [--chromium PATH]

Checks: no console error, no request but the page itself, no sideways scrolling at 1280 and 390 pixels, no text of a plot
over another or outside its plot, a tooltip on hover and by keyboard, the legend, sorting, copying as CSV, the dark theme.
Needs Python's standard library and Chromium (Debian: apt-get install chromium); talks to it over its debugging pipe.
Exit code 0: all held; 1: something did not; 77: there is no Chromium.
"""

import argparse
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time


class Browser:
    """A Chromium and one page of it."""

    def __init__(self, path):
        self.profile = tempfile.mkdtemp(prefix="foldline-browser-")
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()

        def wire():
            # Chromium reads commands from descriptor 3 and writes answers to 4
            ours, theirs = os.dup(to_read), os.dup(to_write)
            os.dup2(ours, 3)
            os.dup2(theirs, 4)

        self.process = subprocess.Popen(
            [path, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage", "--force-color-profile=srgb",
             "--user-data-dir=" + self.profile, "about:blank"],
            close_fds=False, preexec_fn=wire, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(domain + ".enable")

    def message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.to_read], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            chunk = os.read(self.to_read, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium has ended")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, params=None, session="own"):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params or {}}
        if session == "own":
            command["sessionId"] = self.session
        os.write(self.to_write, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + json.dumps(answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        deadline = time.monotonic() + 60
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.message(deadline))

    def open(self, url):
        self.events = []
        self.call("Page.navigate", {"url": url})
        self.wait_for("Page.loadEventFired")

    def run(self, expression):
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def press(self, key):
        codes = {"ArrowLeft": 37, "ArrowRight": 39, "Escape": 27, "Enter": 13}
        for kind in ["keyDown", "keyUp"]:
            self.call("Input.dispatchKeyEvent",
                      {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": codes[key]})

    def shot(self, path, whole=False):
        params = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            params.update(captureBeyondViewport=True, clip={**size, "x": 0, "y": 0, "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", params)["data"]))

    def close(self):
        try:
            self.call("Browser.close", None, None)
            self.process.wait(10)
        except (RuntimeError, TimeoutError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


# Texts of a plot that lie over another text, or outside their plot; only what is visible counts.
TEXTS = """(() => {
  const wrong = [];
  document.querySelectorAll("svg.plot:not(.swatch)").forEach((svg) => {
    const frame = svg.getBoundingClientRect();
    if (!frame.width || svg.parentElement.closest("svg")) return;
    const boxes = Array.from(svg.querySelectorAll("text")).map((t) => [t.textContent, t.getBoundingClientRect()]);
    boxes.forEach(([text, box], i) => {
      if (!box.width) return;
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        wrong.push("outside its plot: " + text);
      boxes.slice(i + 1).forEach(([other, b]) => {
        const across = Math.min(box.right, b.right) - Math.max(box.left, b.left);
        const down = Math.min(box.bottom, b.bottom) - Math.max(box.top, b.top);
        if (across > 1 && down > 3) wrong.push("overlap: " + text + " / " + other);
      });
    });
  });
  return wrong;
})()"""

WIDER = """(() => {
  const width = document.documentElement.clientWidth;
  const out = Array.from(document.querySelectorAll("main *")).filter((e) => !e.closest(".scroll, svg, pre, nav, legend, .lead h2, details:not([open])")
    && e.getBoundingClientRect().right > width + 1 && e.getBoundingClientRect().width > 0);
  return [document.documentElement.scrollWidth > width, out.slice(0, 3).map((e) => e.tagName + "." + e.className + "#" + e.id)];
})()"""


def check(browser, page, shots):
    wrong = []

    def expect(holds, what):
        if not holds:
            wrong.append(what)

    browser.size(1280, 900)
    browser.open("file://" + os.path.abspath(page))
    folds = "document.querySelectorAll('details').forEach((d) => { d.open = %s; })"
    for width in [1280, 390]:
        browser.size(width, 900)
        time.sleep(0.2)
        scrolls, wide = browser.run(WIDER)
        expect(not scrolls, f"the page scrolls sideways at {width} pixels: {wide}")
        expect(not wide, f"wider than the page at {width} pixels: {wide}")
        for text in browser.run(TEXTS)[:6]:
            wrong.append(f"at {width} pixels, {text}")
        if shots:
            browser.shot(os.path.join(shots, f"first-{width}.png"))
        browser.run(folds % "true")
        scrolls, wide = browser.run(WIDER)
        expect(not scrolls and not wide, f"wider than the page at {width} pixels when unfolded: {wide}")
        if shots:
            browser.shot(os.path.join(shots, f"whole-{width}.png"), whole=True)
        browser.run(folds % "false")
    browser.size(1280, 900)

    # hover the first operating point that does not lie under the replicate's; without a positive boundary there is none
    at = browser.run("""(() => { const svg = document.querySelector("svg.frontier"); svg.scrollIntoView({block: "center"});
      const middle = (e) => { const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; };
      const yard = svg.querySelector(".yardstick .yard");
      const free = (p) => !yard || Math.hypot(p[0] - middle(yard)[0], p[1] - middle(yard)[1]) > 20;
      const all = Array.from(svg.querySelectorAll(".series:not(.off) .mark .dot")).map(middle);
      return all.length ? all.find(free) || "covered" : null; })()""")
    positives = browser.run("JSON.parse(document.querySelector('script.frontiers').textContent).positives")
    expect((at is None) == (positives == 0), f"operating points with {positives} positive boundaries: {at}")
    if at and at != "covered":
        browser.mouse("mouseMoved", at[0] - 60, at[1] - 60)
        browser.mouse("mouseMoved", at[0], at[1])
        tip = browser.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText")
        for word in ["threshold", "retained", "blocked", "avoided", "mass"]:
            expect(word in tip, f"the tooltip does not say {word}: {tip!r}")
        if shots:
            browser.shot(os.path.join(shots, "hover.png"))
        browser.mouse("mouseMoved", 5, 300)
        expect(browser.run("document.getElementById('tip').hidden"), "the tooltip stays when the pointer leaves")
        browser.run("document.querySelector('svg.frontier .series:not(.off) .mark').focus()")
        before = browser.run("document.getElementById('tip').innerText")
        after = []
        for key in ["ArrowLeft", "ArrowRight", "ArrowRight"]:
            browser.press(key)
            after.append(browser.run("document.getElementById('tip').innerText"))
        expect(before and all(after) and set(after) != {before}, "the arrow keys do not move along the line")
        browser.press("Escape")
        expect(browser.run("document.getElementById('tip').hidden"), "Escape does not close the tooltip")

    # switch a hidden trigger on
    switched = browser.run("""(() => { const box = document.querySelector(".legend input:not(:checked)"); if (!box) return true;
      // another run on the page has series of the same numbers
      box.click(); const all = box.closest("article").querySelectorAll('.series[data-series="' + box.dataset.series + '"]');
      const on = Array.from(all).every((g) => !g.classList.contains("off")); box.click(); return on && all.length > 0; })()""")
    expect(switched, "the legend does not switch a trigger on")

    # sort the first table by its last column, both ways
    column = """(() => { const t = document.querySelector("table"); const i = t.tHead.rows[0].cells.length - 1;
      return Array.from(t.tBodies[0].rows).map((r) => { const d = r.cells[i].querySelector("data"); return d ? Number(d.value) : null; }); })()"""
    click = """(() => { const h = Array.from(document.querySelector("table").tHead.rows[0].cells).pop();
      h.querySelector("button").click(); return h.getAttribute("aria-sort"); })()"""
    for way, reverse in [("descending", True), ("ascending", False)]:
        said = browser.run(click)
        values = [value for value in browser.run(column) if value is not None]
        expect(said == way, f"aria-sort says {said}, not {way}")
        expect(values == sorted(values, reverse=reverse), f"the table is not sorted {way}")
    browser.run(click)

    # what copying takes: the handler's text, read from the fallback's text area or the clipboard
    copied = browser.run("""new Promise((done) => { let text = null;
      const write = (t) => { text = t; return Promise.resolve(); };
      Object.defineProperty(navigator, "clipboard", { value: { writeText: write }, configurable: true });
      document.querySelector(".copy").click(); setTimeout(() => done(text), 50); })""")
    lines = (copied or "").strip().split("\n")
    expect(len(lines) > 1 and all(line.count(",") >= 2 for line in lines), f"copying as CSV gives {copied!r:.200}")

    light = browser.run("getComputedStyle(document.body).backgroundColor")
    browser.run("document.getElementById('theme').click()")
    expect(light != browser.run("getComputedStyle(document.body).backgroundColor"), "the theme button changes nothing")
    if shots:
        browser.run("scrollTo(0, 0)")
        browser.shot(os.path.join(shots, "dark.png"))

    own = "file://" + os.path.abspath(page)
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            wrong.append("exception: " + json.dumps(params["exceptionDetails"])[:300])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ["error", "warning", "assert"]:
            wrong.append("console: " + json.dumps(params["args"])[:300])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            wrong.append("log: " + params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and params["request"]["url"].split("#")[0] != own:
            wrong.append("request: " + params["request"]["url"])
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("page")
    parser.add_argument("--shots", help="folder for screenshots")
    parser.add_argument("--chromium", help="the browser")
    args = parser.parse_args()
    path = args.chromium or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        print("there is no Chromium (Debian: apt-get install chromium)")
        return 77
    if args.shots:
        os.makedirs(args.shots, exist_ok=True)
    browser = Browser(path)
    try:
        wrong = check(browser, args.page, args.shots)
    finally:
        browser.close()
    for line in wrong:
        print(line)
    print("not as expected" if wrong else "as expected: " + args.page)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
