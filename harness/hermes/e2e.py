"""Hermes end to end: the real package from PyPI, the stub model server, the foldline binary.

Usage: e2e.py CACHE; see e2e.sh. FOLDLINE_E2E_KEEP names a folder that keeps every run's files.
"""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from kit import (HARNESS, Checks, PythonRun, Skip, check_python_failures, enter_loopback_namespace, policy, python_of,
                 venv_install, write_text)

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "0.19.0"
WINDOW = 100_000  # Hermes wants at least 64,000; its own threshold comes out at 75,000 of this

STEP = {"run": "seq 1000 1600"}  # about 4,000 tokens as the stub counts them
FAILING = {"run": "seq 1 50; echo this step failed >&2; exit 3"}
MEDIUM = {"run": "seq 1000 3400"}  # about 15,000 tokens
DONE = {"text": "done"}


def steps(count):
    """Different commands, as an agent's are."""
    return [{"run": f"seq {number}000 {number}600"} for number in range(1, count + 1)]


# A session begins a little above 8,000 tokens (bytes) of messages and grows by 4,000 a step.
ABOVE = {"base_tokens": 62000, "bytes_share": 1}


def starter(python):
    def start(name, policy_path, script=(*steps(5), FAILING, DONE), stub=None, program=None, **rest):
        def command(server, space):
            home = space.path("home/.hermes")
            write_text(os.path.join(home, "config.yaml"), CONFIG.format(port=server.port, window=WINDOW))
            plugin = os.path.join(home, "plugins", "foldline")
            shutil.copytree(os.path.join(HERE, "foldline"), plugin, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(os.path.join(HARNESS, "python", "foldline_gate.py"), plugin)
            if program:
                return [python, os.path.join(HERE, program)]
            hermes = os.path.join(os.path.dirname(python), "hermes")
            return [python, hermes, "-z", "run the steps", "--yolo", "-t", "terminal"]
        env = {"HERMES_ACCEPT_HOOKS": "1", **rest.pop("env", {})}
        return PythonRun(f"hermes-{name}", command, list(script), policy_path, stub=stub or ABOVE, env=env, **rest)
    return start


CONFIG = """model:
  default: stub-model
  provider: custom
  base_url: "http://127.0.0.1:{port}/v1"
  api_key: stub-key
  context_length: {window}
context:
  engine: foldline
plugins:
  enabled: [foldline]
compression:
  enabled: true
  threshold: 0.5
  protect_last_n: 4
"""


def finished(seen):
    return seen.code == 0 and "done" in seen.stdout


def check_policy(checks, start):
    """What a policy decides is what happens."""
    block, allow = policy("always-block"), policy("always-allow")
    seen = start("allow", allow)
    checks.check("an allowed compression happens", seen.summaries >= 1 and "allow:rule" in seen.decided_by(),
                 f"{seen.decided_by()}, {seen.tokens}")
    checks.check("and the run goes on to its end", finished(seen), seen.stdout.strip()[-80:])

    seen = start("block", block, script=[*steps(3), FAILING, DONE])
    checks.check("a blocked compression is deferred",
                 seen.decided_by() and set(seen.decided_by()) == {"block:rule"} and seen.summaries == 0,
                 f"{seen.decided_by()}, {seen.tokens}")
    checks.check("and the run goes on to its end", finished(seen) and seen.turns == 5)
    seen = start("cap", block, script=[*steps(8), DONE])
    checks.check("after three blocks in a row compression happens",
                 "allow:max_blocks" in seen.decided_by() and seen.summaries >= 1 and finished(seen), seen.decided_by())

    seen = start("shadow", block, mode="shadow")
    checks.check("shadow is the default: a block is logged and compression happens",
                 "block:rule" in seen.decided_by() and seen.summaries >= 1 and finished(seen), seen.decided_by())


def check_never_blocked(checks, start):
    """Overflow, manual and hard-ceiling compressions go through an always-blocking policy."""
    block = policy("always-block")
    seen = start("overflow", block, script=[*steps(5), DONE], stub={**ABOVE, "window": 88000})
    checks.check("after the provider refused a prompt compression is not blocked, and the retry succeeds",
                 seen.overflows >= 1 and seen.summaries >= 1 and finished(seen), f"{seen.decided_by()}, {seen.tokens}")
    seen = start("ceiling", block, script=[*steps(3), MEDIUM, STEP, DONE])
    checks.check("above the hard ceiling compression is not blocked",
                 "allow:hard_ceiling" in seen.decided_by() and seen.summaries >= 1 and finished(seen),
                 f"{seen.decided_by()}, {seen.tokens}")
    seen = start("manual", block, script=[*steps(4), DONE], program="manual.py")
    asked = [(line["boundary"], line["decision"], line["consecutive_blocks"]) for line in seen.decisions]
    checks.check("asking twice at one boundary gives one answer",
                 seen.report.get("asked") == [False, False] and len(asked) >= 2 and asked[-1] == asked[-2], asked[-2:])
    checks.check("a manual compression is not blocked, right after a block",
                 seen.code == 0 and seen.decided_by()[-1:] == ["block:rule"] and seen.summaries == 1,
                 f"{seen.decided_by()}, {seen.summaries} summaries, {seen.stdout.strip()[-80:]} {seen.stderr[-200:] if seen.code else ''}")


def main():
    try:
        folder = os.path.join(os.path.abspath(sys.argv[1]), f"hermes-{VERSION}")
        python = venv_install(folder, python_of("3.11", "3.12", "3.13"), f"hermes-agent=={VERSION}")
    except Skip as reason:
        print(f"SKIP Hermes end to end: {reason}")
        return 0
    enter_loopback_namespace()
    checks, start = Checks(f"Hermes {VERSION}"), starter(python)
    for group, arguments in ((check_policy, (start,)), (check_never_blocked, (start,)),
                             (check_python_failures, (start, finished, False))):
        checks.group(group.__doc__.strip().splitlines()[0])
        group(checks, *arguments)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
