"""Claude Code end to end: the real client from npm, the stub model server, the foldline binary as its hook.

Usage: e2e.py CACHE; see e2e.sh. FOLDLINE_E2E_KEEP names a folder that keeps every run's files.
"""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from kit import (Checks, Skip, Workspace, broken_policy, enter_loopback_namespace, foldline_binary, json_lines,
                 npm_install, offline_environment, policy, read_text, run, slow_binary, write_program, write_text)
from stub_server import Stub

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "2.1.332"

STEP = {"run": "seq 1000 1600"}  # about 4 KB in the request
FAILING = {"run": "seq 1 50; echo this step failed >&2; exit 3"}
MEDIUM = {"run": "seq 1000 3400"}  # about 15 KB
LARGE = {"run": "for i in $(seq 240); do printf '%0100d\\n' $i; done"}  # about 25 KB
DONE = {"text": "done"}

# The client asks above about half of this window; the usage below starts there (about 11 KB of first request).
WINDOW = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}
ABOVE = {"base_tokens": 85000, "bytes_share": 1}
BELOW = {"base_tokens": 60000, "bytes_share": 1}


def client(cache):
    """The native binary of the npm package for this machine."""
    folder = npm_install(os.path.join(cache, f"claude-code-{VERSION}"), f"@anthropic-ai/claude-code@{VERSION}")
    scope = os.path.join(folder, "node_modules", "@anthropic-ai")
    for name in sorted(os.listdir(scope)):
        binary = os.path.join(scope, name, "claude")
        if name.startswith("claude-code-") and os.access(binary, os.X_OK):
            return binary
    raise Skip(f"no native Claude Code binary under {scope}")


class Seen:
    """What one session (one or more prompts) left behind."""

    def __init__(self, space, stub, results):
        self.space = space
        self.codes = [done.code for done in results]
        self.events = json_lines("".join(done.stdout for done in results) + "\n")
        self.summaries, self.overflows = stub.count("summary"), stub.count("overflow")
        self.tokens = [f"{request['kind']}:{request['prompt_tokens']}" for request in stub.requests]
        self.decisions = [line for line in json_lines(space.path("state/decisions.ndjson")) if "decision" in line]
        self.payloads = json_lines(space.path("payloads.ndjson"))

    def compactions(self):
        return sum(event.get("subtype") == "compact_boundary" for event in self.events)

    def decided_by(self):
        return [f"{line['decision']}:{line['decided_by']}" for line in self.decisions]

    def finished(self):
        last = [event for event in self.events if event.get("type") == "result"][-1:]
        return bool(last) and all(code == 0 for code in self.codes) and not last[0].get("is_error")


def session(binary, name, script, tokens, policy_path, enforce=True, prompts=("run the steps",), hook=None, timeout=10,
            window=None):
    """Runs one session with the hooks of settings.json, the policy and the mode filled in."""
    space = Workspace(f"claude-code-{name}")
    command = f"{hook or foldline_binary()} hook claude-code {policy_path}{' --enforce' if enforce else ''}"
    recorder = write_program(space.path("hook.sh"), f"#!/bin/sh\ntee -a {space.path('payloads.ndjson')} | {command}\n")
    settings = json.loads(read_text(os.path.join(HERE, "settings.json")))
    for groups in settings["hooks"].values():
        for group in groups:
            for entry in group["hooks"]:
                entry.update(command=recorder if hook is None else command, timeout=timeout)
    write_text(space.path("home/.claude/settings.json"), json.dumps(settings))
    os.makedirs(space.path("work"))
    options = dict(tokens) if window is None else {**tokens, "window": window}
    with Stub(script=script, **options) as stub:
        env = offline_environment(space.path("home"))
        env.update(ANTHROPIC_BASE_URL=f"http://127.0.0.1:{stub.port}", ANTHROPIC_API_KEY="stub-key",
                   ANTHROPIC_MODEL="claude-sonnet-4-5", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
                   DISABLE_AUTOUPDATER="1", DISABLE_TELEMETRY="1", DISABLE_ERROR_REPORTING="1", IS_SANDBOX="1",
                   FOLDLINE_STATE_DIR=space.path("state"), **WINDOW)
        results, resume = [], []
        for prompt in prompts:
            command = [binary, "-p", prompt, *resume, "--output-format", "stream-json", "--verbose",
                       "--dangerously-skip-permissions"]
            results.append(run(command, cwd=space.path("work"), env=env, timeout=150))
            ids = [event["session_id"] for event in json_lines(results[-1].stdout + "\n") if event.get("session_id")]
            resume = ["--resume", ids[0]] if ids else []
        return Seen(space, stub, results)


def check_policy(checks, binary):
    """What a policy decides is what happens."""
    block, allow = policy("always-block"), policy("always-allow")
    seen = session(binary, "allow", [STEP, STEP, DONE], ABOVE, allow)
    checks.check("an allowed compaction happens", seen.compactions() >= 1 and seen.summaries >= 1, seen.decided_by())
    checks.check("and the run goes on to its end", seen.finished(), seen.codes)

    seen = session(binary, "block", [STEP, STEP, FAILING, DONE], ABOVE, block)
    checks.check("a blocked compaction is deferred, three steps in a row",
                 seen.decided_by() == ["block:rule"] * 3 and seen.summaries == 0, seen.decided_by())
    checks.check("and the run goes on to its end", seen.finished(), seen.codes)
    names = [payload["hook_event_name"] for payload in seen.payloads]
    checks.check("the side-car saw every step, the failed one too",
                 names.count("PostToolUse") == 2 and names.count("PostToolUseFailure") == 1, names)
    last = [payload for payload in seen.payloads if payload["hook_event_name"] == "PreCompact"][-1]
    env = dict(os.environ, FOLDLINE_STATE_DIR=seen.space.path("state"), **WINDOW)
    again = run([foldline_binary(), "hook", "claude-code", block, "--enforce"], env=env, text=json.dumps(last))
    checks.check("asking twice at one boundary gives one answer",
                 again.code == 0 and '"block"' in again.stdout.replace(" ", ""), again.stdout.strip()[:120])
    seen.space.close()

    seen = session(binary, "cap", [STEP, STEP, FAILING, STEP, DONE], ABOVE, block)
    checks.check("after three blocks in a row compaction happens",
                 seen.decided_by()[-1:] == ["allow:max_blocks"] and seen.compactions() == 1 and seen.finished(),
                 seen.decided_by())
    seen.space.close()

    seen = session(binary, "shadow", [STEP, STEP, DONE], ABOVE, block, enforce=False)
    checks.check("shadow is the default: a block is logged and compaction happens",
                 "block:rule" in seen.decided_by() and seen.compactions() >= 1 and seen.finished(), seen.decided_by())
    seen.space.close()


def check_never_blocked(checks, binary):
    """Overflow, manual and hard-ceiling compactions go through an always-blocking policy."""
    block = policy("always-block")
    seen = session(binary, "overflow", [MEDIUM, MEDIUM, DONE], ABOVE, block, window=118000)
    checks.check("an overflow compaction is not blocked",
                 seen.overflows >= 1 and "allow:overflow" in seen.decided_by() and seen.compactions() >= 1,
                 f"{seen.decided_by()}, {seen.tokens}")
    checks.check("and the retry succeeds", seen.finished(), seen.codes)
    seen.space.close()

    # Usage starts at 93,000 and passes 0.9 of the usable 177,000 with the large step; the hook sees it one step later.
    seen = session(binary, "ceiling", [LARGE, FAILING, FAILING, DONE], {"base_tokens": 60000, "bytes_share": 3}, block)
    checks.check("above the hard ceiling compaction is not blocked",
                 "allow:hard_ceiling" in seen.decided_by() and seen.compactions() >= 1 and seen.finished(),
                 f"{seen.decided_by()}, {seen.tokens}")
    seen.space.close()

    seen = session(binary, "manual", [STEP, STEP, DONE], BELOW, block, prompts=("run the steps", "/compact"))
    checks.check("a manual compaction is not blocked",
                 seen.decided_by()[-1:] == ["allow:manual"] and seen.compactions() == 1, seen.decided_by())
    seen.space.close()


def check_failures(checks, binary):
    """Whatever is wrong with foldline, the client compacts as if it were not there."""
    block, script = policy("always-block"), [STEP, STEP, DONE]
    seen = session(binary, "no-binary", script, ABOVE, block, hook="/nonexistent/foldline")
    checks.check("without the binary compaction happens", seen.compactions() >= 1 and seen.finished(), seen.codes)
    seen.space.close()
    seen = session(binary, "broken-policy", script, ABOVE, broken_policy())
    checks.check("with a broken policy compaction happens",
                 seen.compactions() >= 1 and seen.finished() and "allow:policy_error" in seen.decided_by(),
                 seen.decided_by())
    seen.space.close()
    seen = session(binary, "no-policy", script, ABOVE, "/nonexistent/policy.json")
    checks.check("with a missing policy compaction happens", seen.compactions() >= 1 and seen.finished())
    seen.space.close()
    started = time.monotonic()
    seen = session(binary, "timeout", script, ABOVE, block, hook=slow_binary(), timeout=1)
    seconds = time.monotonic() - started
    checks.check("with an answer too late compaction happens",
                 seen.compactions() >= 1 and seen.finished() and seconds < 25, f"{seconds:.1f} s")
    seen.space.close()


def main():
    try:
        binary = client(os.path.abspath(sys.argv[1]))
    except Skip as reason:
        print(f"SKIP Claude Code end to end: {reason}")
        return 0
    enter_loopback_namespace()
    checks = Checks(f"Claude Code {VERSION}")
    for group in (check_policy, check_never_blocked, check_failures):
        checks.group(group.__doc__.strip())
        group(checks, binary)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
