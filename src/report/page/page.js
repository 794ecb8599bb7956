"use strict";
(function () {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const theme = document.getElementById("theme");
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  try { const kept = localStorage.getItem("foldline-theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch (e) { /* no storage */ }
  label();
  theme.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("foldline-theme", root.dataset.theme); } catch (e) { /* no storage */ }
    label();
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.dataset.was = d.open ? "1" : ""; d.open = true; }));
  addEventListener("afterprint", () => document.querySelectorAll("details").forEach((d) => { d.open = d.dataset.was === "1"; }));

  // ---- tables: sort and copy
  const key = (cell) => {
    const data = cell.querySelector("data");
    if (data) return Number(data.value);
    return cell.querySelector(".undefined") ? null : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  document.querySelectorAll("table").forEach((table) => {
    const heads = Array.from(table.tHead.rows[0].cells);
    const body = table.tBodies[0];
    const original = Array.from(body.rows);
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      const first = head.classList.contains("num") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const now = was === first ? second : was === second ? null : first;
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      let rows = original.slice();
      if (now) {
        head.setAttribute("aria-sort", now);
        const keyed = rows.filter((row) => row.cells.length > column).map((row) => [key(row.cells[column]), row]);
        // what is undefined stays at the end in both directions
        keyed.sort((a, b) => (now === "ascending" || a[0] === null || b[0] === null ? compare(a[0], b[0]) : compare(b[0], a[0])));
        rows = keyed.map((pair) => pair[1]);
      }
      rows.forEach((row) => body.appendChild(row));
    }));
  });
  const csvField = (text) => (/[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
  const csvCell = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("data").forEach((d) => { d.textContent = d.value; });
    copy.querySelectorAll(".undefined").forEach((u) => { u.textContent = u.title; });
    return csvField(copy.textContent.replace(/\s+/g, " ").trim());
  };
  const copyText = (text) => {
    const old = () => {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.appendChild(area);
      area.select();
      let done = false;
      try { done = document.execCommand("copy"); } catch (e) { done = false; }
      area.remove();
      return done;
    };
    if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text).then(() => true, old);
    return Promise.resolve(old());
  };
  document.querySelectorAll(".copy").forEach((button) => button.addEventListener("click", () => {
    const table = button.closest(".table").querySelector("table");
    const text = Array.from(table.rows).map((row) => Array.from(row.cells).map(csvCell).join(",")).join("\n") + "\n";
    copyText(text).then((done) => {
      button.textContent = done ? "Copied" : "Cannot copy";
      setTimeout(() => { button.textContent = "Copy as CSV"; }, 1500);
    });
  }));

  // ---- frontiers: legend, hover, keyboard
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; document.querySelectorAll(".cursor").forEach((c) => c.remove()); document.querySelectorAll(".dim").forEach((d) => d.classList.remove("dim")); };
  const place = (x, y) => {
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(innerWidth - box.width - 6, x + 16)) + "px";
    tip.style.top = Math.max(6, y - box.height - 14 < 6 ? y + 18 : y - box.height - 14) + "px";
  };
  const show = (name, rows, x, y) => {
    tip.textContent = "";
    const head = document.createElement("b");
    head.textContent = name;
    const table = document.createElement("table");
    rows.forEach((row) => {
      const line = table.insertRow();
      row.forEach((text) => { line.insertCell().textContent = text; });
    });
    tip.append(head, table);
    place(x, y);
  };
  document.querySelectorAll("article").forEach((article) => {
    const data = JSON.parse(article.querySelector("script.frontiers").textContent);
    const boxes = Array.from(article.querySelectorAll(".legend input"));
    const apply = (series, on) => {
      article.querySelectorAll('.series[data-series="' + series + '"]').forEach((g) => g.classList.toggle("off", !on));
      boxes.filter((box) => box.dataset.series === series).forEach((box) => { box.checked = on; });
    };
    boxes.forEach((box) => box.addEventListener("change", () => apply(box.dataset.series, box.checked)));
    article.querySelectorAll(".buttons button").forEach((button) => button.addEventListener("click", () => {
      const want = button.dataset.show;
      boxes.forEach((box) => apply(box.dataset.series, want === "all" || (want === "default" && box.dataset.default === "1")));
    }));
    const three = (value) => value.toFixed(3).replace("-", "\u2212");
    const signed = (value) => (value < -0.0005 ? "\u2212" : "+") + Math.abs(value).toFixed(3);
    const rowsOf = (series, i) => {
      const retained = series.a[i] / data.n;
      const avoided = data.positives ? series.p[i] / data.positives : null;
      const mass = series.m[i];
      const none = "undefined";
      return [
        ["threshold", series.t[i]],
        ["retained", three(retained)],
        ["blocked", String(data.n - series.a[i]) + " of " + data.n],
        ["avoided", avoided === null ? none : three(avoided)],
        ["less random", avoided === null ? none : signed(avoided - (1 - retained))],
        ["mass", mass === null ? none : three(mass)],
        ["mass less random", mass === null ? none : signed(mass - (1 - retained))],
      ];
    };
    article.querySelectorAll("svg.frontier").forEach((svg) => {
      const scale = svg.querySelector(".scale").dataset;
      const n = (name) => Number(scale[name]);
      const place2d = (series, i) => {
        const retained = series.a[i] / data.n;
        const share = scale.measure === "mass" ? series.m[i] : data.positives ? series.p[i] / data.positives : null;
        if (share === null) return null;
        const height = scale.view === "advantage" ? share - (1 - retained) : share;
        return [n("x0") + retained * (n("x1") - n("x0")), n("y0") + ((height - n("lo")) / (n("hi") - n("lo"))) * (n("y1") - n("y0"))];
      };
      const cursorAt = (index, i, byKey) => {
        const series = data.series[index];
        const at = place2d(series, i);
        if (!at) return;
        svg.querySelectorAll(".cursor").forEach((c) => c.remove());
        const cursor = document.createElementNS("http://www.w3.org/2000/svg", "circle");
        cursor.setAttribute("class", "cursor");
        cursor.setAttribute("cx", at[0]);
        cursor.setAttribute("cy", at[1]);
        cursor.setAttribute("r", 6.5);
        svg.appendChild(cursor);
        svg.querySelectorAll(".series").forEach((g) => g.classList.toggle("dim", g.dataset.series !== String(index)));
        const box = cursor.getBoundingClientRect();
        show(series.name + (i === series.o ? " \u2013 operating point" : ""), rowsOf(series, i), box.x + box.width / 2, box.y + (byKey ? 0 : box.height / 2));
      };
      svg.addEventListener("pointermove", (event) => {
        const matrix = svg.getScreenCTM();
        if (!matrix) return;
        const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
        let best = null;
        data.series.forEach((series, index) => {
          const group = svg.querySelector('.series[data-series="' + index + '"]');
          if (!group || group.classList.contains("off")) return;
          for (let i = 0; i < series.a.length; i += 1) {
            const at = place2d(series, i);
            if (!at) continue;
            // an operating point is a larger target than a point of a line
            const distance = Math.hypot(at[0] - point.x, at[1] - point.y) - (i === series.o ? 4 : 0);
            if (!best || distance < best[0]) best = [distance, index, i];
          }
        });
        const yard = svg.querySelector(".yardstick");
        if (yard) {
          const distance = Math.hypot(Number(yard.dataset.x) - point.x, Number(yard.dataset.y) - point.y) - 5;
          if (distance < 9 && (!best || distance <= best[0])) { hide(); show("replicate", [[yard.getAttribute("aria-label").replace(/^[^:]*: /, "")]], event.clientX, event.clientY); return; }
        }
        if (best && best[0] < 22) cursorAt(best[1], best[2], false); else hide();
      });
      svg.addEventListener("pointerleave", hide);
      svg.querySelectorAll(".mark").forEach((mark) => {
        const group = mark.closest(".series");
        if (!group) {
          mark.addEventListener("focus", () => { const box = mark.getBoundingClientRect(); show("replicate", [[mark.getAttribute("aria-label").replace(/^[^:]*: /, "")]], box.x + box.width / 2, box.y); });
          mark.addEventListener("blur", hide);
          return;
        }
        const index = Number(group.dataset.series);
        // without a recorded operating point the arrow keys begin at the end of the line
        const start = data.series[index].o ?? data.series[index].a.length - 1;
        let at = start;
        mark.addEventListener("focus", () => { at = start; cursorAt(index, at, true); });
        mark.addEventListener("blur", hide);
        mark.addEventListener("keydown", (event) => {
          const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
          if (event.key === "Escape") hide();
          if (!step) return;
          event.preventDefault();
          at = Math.max(0, Math.min(data.series[index].a.length - 1, at + step));
          cursorAt(index, at, true);
        });
      });
    });
  });
  addEventListener("scroll", () => { if (!tip.hidden && !document.activeElement.closest(".mark")) hide(); }, { passive: true });
})();
