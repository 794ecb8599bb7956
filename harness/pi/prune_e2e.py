"""The pruning extension in the real pi: what pi stores, and what the next compaction starts from.

Usage: prune_e2e.py CACHE [old|new], as e2e.py.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from e2e import DONE, STEP, Seen, main, rounds
from kit import json_lines, run
from stub_server import Stub

SUMMARY = """## Progress
- The last lines of the output were 1599 and 1600

## Next Steps
- Decide later whether anything else should be done
"""
PLAN = "Decide later whether anything else should be done"
FACT = "The last lines of the output were 1599 and 1600"


def pruned_run(pi, name, **variables):
    """A run of three prompts with both extensions' folder in place, only the pruning one loaded."""
    with Stub(script=rounds(3, [STEP, STEP, STEP]), summary=SUMMARY) as stub:
        space, command, env = pi.session(name, stub, ["--print", "--mode", "json"])
        command = [part.replace("foldline.ts", "foldline-prune.ts") for part in command]
        env.update({"FOLDLINE_PRUNE_LOG": space.path("prune.ndjson"), **variables})
        done = run([*command, "first", "second", "third"], cwd=space.path("work"), env=env, timeout=120)
        answers = json_lines(space.path("prune.ndjson"))
        seen = Seen(space, stub, done)
        seen.answers = answers
        seen.stored = [entry["summary"] for entry in seen.entries if entry["type"] == "compaction"]
        seen.asked = [json.dumps(request["body"]) for request in stub.requests if request["kind"] == "summary"]
        return seen


def check_prune(checks, pi):
    """What the judge removes is not stored."""
    seen = pruned_run(pi, "prune", FOLDLINE_PRUNE="enforce")
    stored = seen.stored
    checks.check("the entry without a source is gone, the other one stays",
                 stored and all(FACT in text and PLAN not in text and "## Next Steps" in text for text in stored),
                 f"{len(stored)} compactions, {seen.stderr.strip()[-200:]}")
    checks.check("and the run goes on to its end", seen.finished(), f"exit {seen.code}")
    checks.check("the next compaction starts from the pruned summary",
                 any(FACT in body for body in seen.asked) and not any(PLAN in body for body in seen.asked),
                 f"{len(seen.asked)} asked, {sum(FACT in body for body in seen.asked)} with a summary before")

    seen = pruned_run(pi, "prune-shadow")
    checks.check("shadow is the default: judged and logged, stored as pi wrote it",
                 seen.stored and all(PLAN in text for text in seen.stored)
                 and any(answer["counts"]["dropped"] >= 1 for answer in seen.answers),
                 [(answer["status"], answer["counts"]) for answer in seen.answers])

    for name, variables in (("no-binary", {"FOLDLINE_BIN": "/nonexistent/foldline"}),
                            ("bad-arguments", {"FOLDLINE_PRUNE_ARGS": "--tau 7"})):
        seen = pruned_run(pi, f"prune-{name}", FOLDLINE_PRUNE="enforce", **variables)
        checks.check(f"{name}: the summary is stored as pi wrote it",
                     seen.stored and all(PLAN in text for text in seen.stored) and seen.finished()
                     and "stays as it is" in seen.stderr, seen.stderr.strip()[-200:])


if __name__ == "__main__":
    sys.exit(main("pi prune end to end", check_prune))
