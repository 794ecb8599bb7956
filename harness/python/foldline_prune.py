"""Removes the entries of a summary that have no source. Standard library only, Python 3.10 or newer.

A host is never stranded: a missing binary, a judge that is down, a late or unreadable answer give the summary back as it
came.
"""

import json
import logging
import os
import shlex
import subprocess
from dataclasses import dataclass, field

logger = logging.getLogger("foldline")


@dataclass
class Pruner:
    """How to reach `foldline prune`. Arguments left out are read from FOLDLINE_PRUNE, _PRUNE_ARGS, _BIN, ..."""

    mode: str = field(default_factory=lambda: os.environ.get("FOLDLINE_PRUNE", "shadow"))  # shadow, enforce or off
    arguments: list[str] = field(default_factory=lambda: shlex.split(os.environ.get("FOLDLINE_PRUNE_ARGS", "")))
    binary: str = field(default_factory=lambda: os.environ.get("FOLDLINE_BIN", "foldline"))
    log: str = field(default_factory=lambda: os.environ.get("FOLDLINE_PRUNE_LOG", ""))
    timeout: float = field(default_factory=lambda: float(os.environ.get("FOLDLINE_PRUNE_TIMEOUT_MS", "60000")) / 1000)

    def prune(self, summary: str, history: list[dict], *, previous: str | None = None, task: str | None = None,
              recent: list[dict] | None = None) -> str:
        """The summary to commit. `history` and `recent` are steps with `action` and `observation`; `previous` is the
        summary committed before; `task` is what stays visible to the agent and hence is no source."""
        if self.mode == "off":
            return summary
        request = {"summary": summary, "history": history, "recent": recent or [], "previous": previous, "task": task}
        command = [self.binary, "prune", "--json", *self.arguments, *([] if self.mode == "enforce" else ["--shadow"])]
        try:
            line = json.dumps(request, ensure_ascii=False, default=str).encode("utf-8", "replace")
            done = subprocess.run(command, input=line, capture_output=True, timeout=self.timeout, check=False)
            answer = json.loads(done.stdout)
            if done.returncode != 0 or not isinstance(answer.get("summary"), str):
                raise ValueError(answer.get("reason") or f"exit code {done.returncode}")
            if self.log:
                with open(self.log, "a", encoding="utf-8") as file:
                    file.write(json.dumps(answer, ensure_ascii=False) + "\n")
        except (OSError, ValueError, AttributeError, subprocess.SubprocessError) as error:
            logger.warning("foldline: not pruned, the summary stays as it is: %s", error)
            return summary
        logger.info("foldline: %s: %s", answer.get("status"), answer.get("reason"))
        return answer["summary"]
