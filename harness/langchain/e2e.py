"""LangChain end to end: the real packages from PyPI, the stub model server, the foldline binary.

Usage: e2e.py CACHE; see e2e.sh. FOLDLINE_E2E_KEEP names a folder that keeps every run's files.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from kit import Checks, PythonRun, Skip, check_python_failures, enter_loopback_namespace, policy, venv_install

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("langchain==1.5.2", "langchain-openai==1.7.4")

STEP = {"run": "seq 1000 1600"}  # about 900 tokens as the stub counts them
FAILING = {"run": "seq 1 50; echo this step failed >&2; exit 3"}
LARGE = {"run": "for i in $(seq 100); do printf '%0100d\\n' $i; done"}  # about 2,600 tokens
DONE = {"text": "done"}


def starter(python):
    def start(name, policy_path, script=(STEP, STEP, STEP, STEP, STEP, FAILING, DONE), options=None, **rest):
        def command(server, _space):
            given = {"url": f"http://127.0.0.1:{server.port}/v1", **(options or {})}
            return [python, os.path.join(HERE, "agent.py"), json.dumps(given)]
        return PythonRun(f"langchain-{name}", command, list(script), policy_path, **rest)
    return start


def finished(seen):
    return seen.code == 0 and seen.report.get("last") == "done"


def check_policy(checks, start):
    """What a policy decides is what happens."""
    block, allow = policy("always-block"), policy("always-allow")
    seen = start("allow", allow)
    checks.check("an allowed compaction happens", seen.summaries >= 1 and "allow:rule" in seen.decided_by(),
                 f"{seen.decided_by()}, {seen.report}")
    checks.check("and the run goes on to its end", finished(seen))
    checks.check("what was summarised away is still known to the policy, and hidden from the caller",
                 seen.report.get("remembered", 0) >= 3 and seen.report.get("private"))

    seen = start("block", block)
    checks.check("a blocked compaction is deferred",
                 seen.decided_by() and set(seen.decided_by()) == {"block:rule"} and seen.summaries == 0, seen.decided_by())
    checks.check("and the run goes on to its end", finished(seen) and seen.report["messages"] == 14, seen.report)

    seen = start("cap", block, script=[STEP] * 9 + [DONE])
    checks.check("after three blocks in a row compaction happens",
                 "allow:max_blocks" in seen.decided_by() and seen.summaries >= 1 and finished(seen), seen.decided_by())

    seen = start("twice", block, script=[STEP] * 9 + [DONE], options={"adapter": "twice"})
    pairs = [(line["boundary"], line["decision"], line["decided_by"], line["consecutive_blocks"]) for line in seen.decisions]
    checks.check("asking twice at one boundary gives one answer",
                 seen.report.get("same") is not None and pairs[0::2] == pairs[1::2] and len(pairs) >= 4,
                 [pair[1:] for pair in pairs])

    seen = start("async", block, options={"async": True})
    checks.check("the asynchronous loop is deferred too", seen.summaries == 0 and "block:rule" in seen.decided_by()
                 and finished(seen), seen.decided_by())

    seen = start("threads", block, script=([STEP, STEP, DONE]) * 5, options={"prompts": 5})
    checks.check("the count of blocks is kept with the thread, over several calls",
                 "allow:max_blocks" in seen.decided_by() and finished(seen), seen.decided_by())

    seen = start("shadow", block, mode="shadow")
    checks.check("shadow is the default: a block is logged and compaction happens",
                 "block:rule" in seen.decided_by() and seen.summaries >= 1 and finished(seen), seen.decided_by())


def check_never_blocked(checks, start):
    """Overflow and hard-ceiling compactions go through an always-blocking policy (there is no manual one here)."""
    block = policy("always-block")
    seen = start("overflow", block, script=[STEP, STEP, STEP, LARGE, DONE], options={"window": 5000})
    checks.check("an overflow compaction is not blocked",
                 "allow:overflow" in seen.decided_by() and seen.summaries >= 1 and finished(seen),
                 f"{seen.decided_by()}, {seen.tokens}")
    seen = start("ceiling", block, script=[STEP, STEP, STEP, LARGE, DONE], options={"window": 6000})
    checks.check("above the hard ceiling compaction is not blocked",
                 "allow:hard_ceiling" in seen.decided_by() and seen.summaries >= 1 and finished(seen),
                 f"{seen.decided_by()}, {seen.tokens}")


def check_other_version(checks, start):
    """An adapter that does not fit the installed version of LangChain allows."""
    seen = start("changed", policy("always-block"), options={"adapter": "changed"})
    checks.check("where the adapter itself fails compaction happens and the log says why",
                 seen.summaries >= 1 and finished(seen) and "compaction goes on" in seen.logged)


def main():
    try:
        python = venv_install(os.path.join(os.path.abspath(sys.argv[1]), "langchain-1.5.2"), "python3", *PACKAGES)
    except Skip as reason:
        print(f"SKIP LangChain end to end: {reason}")
        return 0
    enter_loopback_namespace()
    checks, start = Checks("LangChain 1.5.2"), starter(python)
    for group, arguments in ((check_policy, (start,)), (check_never_blocked, (start,)),
                             (check_python_failures, (start, finished)), (check_other_version, (start,))):
        checks.group(group.__doc__.strip().splitlines()[0])
        group(checks, *arguments)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
