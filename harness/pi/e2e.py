"""pi end to end: the real client from npm, the stub model server, the foldline binary and the extension.

Usage: e2e.py CACHE [old|new]; see e2e.sh. FOLDLINE_E2E_KEEP names a folder that keeps every run's files.
"""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from kit import (Checks, Done, Skip, Workspace, broken_policy, enter_loopback_namespace, json_lines, npm_install,
                 offline_environment, policy, run, slow_binary, foldline_binary, write_text)
from stub_server import Stub

HERE = os.path.dirname(os.path.abspath(__file__))
OLD, NEW = "0.73.1", "1.6.0"
WINDOW, RESERVE, KEEP_RECENT = 12000, 8000, 1000  # pi asks above 4,000 tokens

STEP = {"run": "seq 1000 1600"}  # about 3 KB, 750 tokens as the stub counts
FAILING = {"run": "seq 1 50; echo this step failed >&2; exit 3"}
LARGE = {"run": "for i in $(seq 384); do printf '%0100d\\n' $i; done"}  # about 39 KB, 9,900 tokens
DONE = {"text": "done"}


class Pi:
    """One installed version of pi and the node it runs on."""

    def __init__(self, version, cache):
        self.version = version
        if version == OLD:
            folder = npm_install(os.path.join(cache, f"pi-{OLD}"), f"@mariozechner/pi-coding-agent@{OLD}")
            self.node = shutil.which("node")
            if not run([self.node, "--version"]).stdout.startswith("v20."):
                node = npm_install(os.path.join(cache, "node-20"), "node@20", scripts=True)
                self.node = os.path.join(node, "node_modules", "node", "bin", "node")
        else:
            packages = (f"@earendil-works/pi-coding-agent@{NEW}", "node@22")
            folder = npm_install(os.path.join(cache, f"pi-{NEW}"), *packages, scripts=True)
            self.node = os.path.join(folder, "node_modules", "node", "bin", "node")
        self.script = os.path.join(folder, "node_modules", ".bin", "pi")

    def session(self, name, stub, mode_arguments, **variables):
        """A folder, the command and the environment of one run."""
        space = Workspace(f"pi-{self.version}-{name}")
        write_text(space.path("agent/models.json"), json.dumps({"providers": {"stub": {
            "baseUrl": f"http://127.0.0.1:{stub.port}/v1", "api": "openai-completions", "apiKey": "stub-key",
            "models": [{"id": "stub-model", "name": "Stub", "reasoning": False, "input": ["text"],
                        "contextWindow": WINDOW, "maxTokens": 1000,
                        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}]}}}))
        write_text(space.path("agent/settings.json"), json.dumps({
            "compaction": {"enabled": True, "reserveTokens": RESERVE, "keepRecentTokens": KEEP_RECENT},
            "retry": {"enabled": False}}))
        os.makedirs(space.path("work"))
        env = offline_environment(space.root)
        env.update(PI_CODING_AGENT_DIR=space.path("agent"), PI_OFFLINE="1", PI_TELEMETRY="0",
                   PI_SKIP_VERSION_CHECK="1", FOLDLINE_BIN=foldline_binary(), FOLDLINE_STATE_DIR=space.path("state"))
        env.update(variables)
        command = [self.node, self.script, *mode_arguments, "--session-dir", space.path("sessions"),
                   "-e", os.path.join(HERE, "foldline.ts"), "--no-skills", "--no-context-files",
                   "--no-prompt-templates", "--no-themes", "--tools", "bash,read",
                   "--provider", "stub", "--model", "stub-model"]
        return space, command, env

    def print_run(self, name, script, prompts, stub_options=None, **variables):
        """A non-interactive run of some prompts."""
        with Stub(script=script, **(stub_options or {})) as stub:
            space, command, env = self.session(name, stub, ["--print", "--mode", "json"], **variables)
            done = run([*command, *prompts], cwd=space.path("work"), env=env, timeout=120)
            return Seen(space, stub, done)


class Seen:
    """What one run left behind."""

    def __init__(self, space, stub, done):
        self.code, self.stderr = done.code, done.stderr
        self.events = json_lines(done.stdout + "\n")
        self.summaries, self.turns = stub.count("summary"), stub.count("turn")
        self.overflows = stub.count("overflow")
        self.prompt_tokens = [request["prompt_tokens"] for request in stub.requests]
        self.decisions = [line for line in json_lines(space.path("state/decisions.ndjson")) if "decision" in line]
        self.entries = []
        for folder, _, files in os.walk(space.path("sessions")):
            for file in sorted(files):
                self.entries += json_lines(os.path.join(folder, file))
        space.close(done)

    def compactions(self):
        return sum(entry["type"] == "compaction" for entry in self.entries)

    def decided_by(self):
        return [f"{line['decision']}:{line['decided_by']}" for line in self.decisions]

    def finished(self):
        """The run ended by itself with the script's last text."""
        texts = [entry["message"]["content"] for entry in self.entries
                 if entry["type"] == "message" and entry["message"]["role"] == "assistant"]
        return self.code == 0 and bool(texts) and "done" in json.dumps(texts[-1])


def rounds(count, steps):
    """A script for `count` prompts of some tool calls each, every one ended by a text."""
    return ([*steps, DONE]) * count


def check_policy(checks, pi):
    """What a policy decides is what happens, in the three modes."""
    blocking = {"FOLDLINE_POLICY": policy("always-block"), "FOLDLINE_MODE": "enforce"}
    prompts = ["first", "second", "third"]
    script = rounds(3, [STEP, STEP, FAILING])

    seen = pi.print_run("allow", script, prompts, FOLDLINE_POLICY=policy("always-allow"), FOLDLINE_MODE="enforce")
    checks.check("an allowed compaction happens", seen.compactions() >= 1 and seen.summaries >= 1,
                 f"{seen.compactions()} compactions, {seen.decided_by()}")
    checks.check("and the run goes on to its end", seen.finished(), f"exit {seen.code}")

    few = [STEP, STEP, DONE, STEP, DONE, STEP, DONE, DONE]  # above the threshold from the fourth step on
    seen = pi.print_run("block", few, [*prompts, "fourth"], **blocking)
    blocked = [line for line in seen.decisions if line["decision"] == "block"]
    checks.check("a blocked compaction is deferred", blocked and seen.compactions() == 0 and seen.summaries == 0,
                 f"{seen.decided_by()}, {seen.summaries} summaries")
    checks.check("and the run goes on to its end", seen.finished() and seen.turns == 8, f"{seen.turns} turns")

    seen = pi.print_run("cap", rounds(9, [STEP]), [f"prompt {n}" for n in range(9)], **blocking)
    checks.check("after three blocks in a row compaction happens",
                 "allow:max_blocks" in seen.decided_by() and seen.compactions() >= 1, seen.decided_by())
    by_boundary = {}
    for line in seen.decisions:
        by_boundary.setdefault(line["boundary"], []).append((line["decision"], line["decided_by"]))
    asked_again = [answers for answers in by_boundary.values() if len(answers) > 1]
    same = all(len(set(answers)) == 1 for answers in asked_again)
    if pi.version == OLD:
        checks.check("asking twice at one boundary gives one answer", asked_again and same, asked_again)
    else:
        checks.check("no boundary gets two answers", same, f"{len(asked_again)} asked twice")

    seen = pi.print_run("shadow", script, prompts, FOLDLINE_POLICY=policy("always-block"))
    shadows = [line for line in seen.decisions if line["decision"] == "block" and line["mode"] == "shadow"]
    checks.check("shadow is the default: a block is logged and compaction happens",
                 shadows and seen.compactions() >= 1, f"{seen.decided_by()}, {seen.compactions()} compactions")


def check_never_blocked(checks, pi):
    """Overflow, manual and hard-ceiling compactions go through an always-blocking policy."""
    blocking = {"FOLDLINE_POLICY": policy("always-block"), "FOLDLINE_MODE": "enforce"}

    seen = pi.print_run("overflow", rounds(3, [STEP, STEP, STEP]), ["first", "second", "third"],
                        {"window": 5200}, **blocking)
    checks.check("an overflow compaction is not blocked",
                 seen.overflows >= 1 and "allow:overflow" in seen.decided_by() and seen.compactions() >= 1,
                 f"{seen.overflows} refusals, {seen.decided_by()}")
    checks.check("and the retry succeeds", seen.finished(), f"exit {seen.code}")

    seen = pi.print_run("ceiling", rounds(2, [STEP, LARGE]), ["first", "second"], **blocking)
    checks.check("above the hard ceiling compaction is not blocked",
                 "allow:hard_ceiling" in seen.decided_by() and seen.compactions() >= 1 and seen.finished(),
                 f"{seen.decided_by()}")

    seen, answer = manual_run(pi, blocking)
    checks.check("a manual compaction is not blocked, right after a block at the same boundary",
                 answer.get("success") is True and seen.compactions() == 1
                 and seen.decided_by()[-2:] == ["block:rule", "allow:manual"],
                 f"{seen.decided_by()}, success {answer.get('success')}")


def check_failures(checks, pi):
    """Whatever is wrong with foldline, pi compacts as if it were not there."""
    def failing(name, **variables):
        started = time.monotonic()
        seen = pi.print_run(name, rounds(3, [STEP, STEP, STEP]), ["first", "second", "third"], FOLDLINE_MODE="enforce",
                            **{"FOLDLINE_POLICY": policy("always-block"), **variables})
        seen.seconds = time.monotonic() - started
        return seen

    seen = failing("no-binary", FOLDLINE_BIN="/nonexistent/foldline")
    checks.check("without the binary compaction happens and the user is told",
                 seen.compactions() >= 1 and seen.finished() and "foldline: not asked" in seen.stderr,
                 seen.stderr.strip()[-120:])
    seen = failing("broken-policy", FOLDLINE_POLICY=broken_policy())
    checks.check("with a broken policy compaction happens",
                 seen.compactions() >= 1 and seen.finished() and "allow:policy_error" in seen.decided_by(),
                 seen.decided_by())
    seen = failing("no-policy", FOLDLINE_POLICY="/nonexistent/policy.json")
    checks.check("with a missing policy compaction happens", seen.compactions() >= 1 and seen.finished())
    seen = failing("timeout", FOLDLINE_BIN=slow_binary(), FOLDLINE_TIMEOUT_MS="500")
    checks.check("with an answer too late compaction happens",
                 seen.compactions() >= 1 and seen.finished() and "no answer within 500 ms" in seen.stderr
                 and seen.seconds < 20, f"{seen.seconds:.1f} s, {seen.stderr.strip()[-80:]}")


def manual_run(pi, variables):
    """Over RPC: one prompt that ends above the threshold (blocked), then a compact command."""
    with Stub(script=rounds(1, [STEP, STEP, STEP, STEP])) as stub:
        space, command, env = pi.session("manual", stub, ["--mode", "rpc"], **variables)
        child = subprocess.Popen(command, cwd=space.path("work"), env=env, text=True, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        lines = queue.Queue()
        threading.Thread(target=lambda: [lines.put(line) for line in child.stdout], daemon=True).start()
        seen_lines = []

        def wait_for(wanted, seconds=60):
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                try:
                    line = lines.get(timeout=0.2)
                except queue.Empty:
                    continue
                seen_lines.append(line)
                value = json.loads(line)
                if wanted(value):
                    return value
            return {}

        def send(value):
            child.stdin.write(json.dumps(value) + "\n")
            child.stdin.flush()

        send({"id": "1", "type": "prompt", "message": "run the steps"})
        wait_for(lambda v: v.get("type") == "compaction_end")
        wait_for(lambda v: v.get("type") in ("agent_settled", "agent_end"), seconds=5)
        send({"id": "2", "type": "compact"})
        answer = wait_for(lambda v: v.get("type") == "response" and v.get("command") == "compact")
        child.stdin.close()
        try:
            code = child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        return Seen(space, stub, Done(code, "".join(seen_lines), child.stderr.read())), answer


def main(what, *groups):
    """Groups of checks on each version of pi that the command line names."""
    cache = os.path.abspath(sys.argv[1])
    wanted = {"old": [OLD], "new": [NEW]}.get(sys.argv[2] if len(sys.argv) > 2 else "", [OLD, NEW])
    status = 0
    try:
        clients = [Pi(version, cache) for version in wanted]
    except Skip as reason:
        print(f"SKIP {what}: {reason}")
        return 0
    enter_loopback_namespace()
    for pi in clients:
        version = run([pi.node, "--version"]).stdout.strip()
        checks = Checks(f"{what}: {pi.version} on node {version}")
        for group in groups:
            checks.group(group.__doc__.strip())
            group(checks, pi)
        status |= checks.finish()
    return status


if __name__ == "__main__":
    sys.exit(main("pi end to end", check_policy, check_never_blocked, check_failures))
