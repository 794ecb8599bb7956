"""OpenHands SDK end to end: the real package from PyPI, the stub model server, the foldline binary.

Usage: e2e.py CACHE; see e2e.sh. FOLDLINE_E2E_KEEP names a folder that keeps every run's files.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from kit import (Checks, PythonRun, Skip, check_python_failures, enter_loopback_namespace, policy, python_of,
                 venv_install)

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "1.58.2"

FAILING = {"run": "seq 1 50; echo this step failed >&2; exit 3"}
LARGE = {"run": "for i in $(seq 200); do printf '%0100d\\n' $i; done"}
DONE = {"text": "done"}


def steps(count):
    """Different commands: the SDK stops a conversation that repeats itself."""
    return [{"run": f"seq {number}000 {number}600"} for number in range(1, count + 1)]


# Nothing is looked up on the network: LiteLLM's price map is the one it ships with.
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENHANDS_SUPPRESS_BANNER": "1", "ALLOW_SHORT_CONTEXT_WINDOWS": "true"}


def starter(python):
    def start(name, policy_path, script=(*steps(5), FAILING, DONE), options=None, env=None, **rest):
        def command(server, space):
            given = {"url": f"http://127.0.0.1:{server.port}/v1", "folder": space.root, **(options or {})}
            return [python, os.path.join(HERE, "agent.py"), json.dumps(given)]
        return PythonRun(f"openhands-{name}", command, list(script), policy_path, env={**OFFLINE, **(env or {})}, **rest)
    return start


def finished(seen):
    return seen.code == 0 and seen.report.get("status") == "finished"


def check_policy(checks, start):
    """What a policy decides is what happens."""
    block, allow = policy("always-block"), policy("always-allow")
    seen = start("allow", allow)
    checks.check("an allowed condensation happens", seen.summaries >= 1 and "allow:rule" in seen.decided_by(),
                 f"{seen.decided_by()}, {seen.report}")
    checks.check("and the run goes on to its end", finished(seen), seen.stderr[-200:] if seen.code else "")

    seen = start("block", block)
    checks.check("a blocked condensation is deferred",
                 seen.decided_by() and set(seen.decided_by()) == {"block:rule"} and seen.summaries == 0,
                 f"{seen.decided_by()}, {seen.report}")
    checks.check("and the run goes on to its end", finished(seen) and seen.report["condensations"] == 0)

    seen = start("cap", block, script=[*steps(9), DONE])
    checks.check("after three blocks in a row condensation happens",
                 "allow:max_blocks" in seen.decided_by() and seen.summaries >= 1 and finished(seen), seen.decided_by())

    seen = start("twice", block, script=[*steps(9), DONE], options={"twice": True})
    asked = [(line["boundary"], line["decision"], line["decided_by"], line["consecutive_blocks"]) for line in seen.decisions]
    checks.check("asking twice at one boundary gives one answer",
                 finished(seen) and asked[0::2] == asked[1::2] and len(asked) >= 4, [item[1:] for item in asked])

    seen = start("shadow", block, mode="shadow")
    checks.check("shadow is the default: a block is logged and condensation happens",
                 "block:rule" in seen.decided_by() and seen.summaries >= 1 and finished(seen), seen.decided_by())


def check_never_blocked(checks, start):
    """Overflow, manual and hard-ceiling condensations go through an always-blocking policy."""
    block = policy("always-block")
    seen = start("overflow", block, script=[*steps(4), LARGE, DONE], options={"max_size": 200},
                 stub={"window": 7500})
    checks.check("after the provider refused a prompt condensation is not blocked",
                 seen.overflows >= 1 and "allow:manual" in seen.decided_by() and seen.summaries >= 1,
                 f"{seen.decided_by()}, {seen.tokens}")
    checks.check("and the retry succeeds", finished(seen), seen.report)
    seen = start("tokens", block, script=[*steps(4), LARGE, DONE], options={"max_size": 200, "window": 12000})
    checks.check("condensation for too many tokens is not blocked",
                 "allow:overflow" in seen.decided_by() and seen.summaries >= 1 and finished(seen),
                 f"{seen.decided_by()}, {seen.tokens}")
    seen = start("ceiling", block, options={"window": 100000}, stub={"base_tokens": 88000})
    checks.check("above the hard ceiling condensation is not blocked",
                 "allow:hard_ceiling" in seen.decided_by() and seen.summaries >= 1 and finished(seen),
                 f"{seen.decided_by()}, {seen.tokens}")
    seen = start("manual", block, script=[*steps(4), DONE], options={"condense_after": True, "max_size": 200})
    checks.check("a manual condensation is not blocked",
                 seen.decided_by()[-1:] == ["allow:manual"] and seen.summaries == 1 and seen.code == 0, seen.decided_by())


def main():
    try:
        folder = os.path.join(os.path.abspath(sys.argv[1]), f"openhands-{VERSION}")
        python = venv_install(folder, python_of("3.12", "3.13"), f"openhands-sdk=={VERSION}")
    except Skip as reason:
        print(f"SKIP OpenHands end to end: {reason}")
        return 0
    enter_loopback_namespace()
    checks, start = Checks(f"OpenHands SDK {VERSION}"), starter(python)
    for group, arguments in ((check_policy, (start,)), (check_never_blocked, (start,)),
                             (check_python_failures, (start, finished))):
        checks.group(group.__doc__.strip().splitlines()[0])
        group(checks, *arguments)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
