"""Asks a frozen foldline policy whether a context may be compacted now. Standard library only, Python 3.10 or newer.

Used by the adapters for LangChain, OpenHands and Hermes. A host is never stranded: only a complete answer that says
`block` in enforce mode blocks; a missing binary, a broken policy, a late or unreadable answer allows.
"""

import json
import logging
import os
import subprocess
from dataclasses import dataclass, field
from typing import Any

logger = logging.getLogger("foldline")


def step(name: str, arguments: Any, observation: str, is_error: bool | None = None) -> dict:
    """One tool call with its result, as the policy's features read it."""
    action = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, default=str)
    return {"action": action, "observation": observation, "is_error": is_error}


@dataclass
class GateState:
    """What a session's decisions depend on beside its steps. Plain data: a host may store it with the session."""

    boundary: str | None = None  # the boundary asked about last
    blocks_before: int = 0  # blocks obeyed since the last compaction, before that boundary
    blocks: int = 0  # the same, counting it
    compactions: int = 0
    last_compaction: dict | None = None  # {"tokens_before": ..., "tokens_after": ...}

    def enter(self, boundary: str) -> None:
        """Asking again at one boundary must pass the same count, so it moves on only at a new one."""
        if boundary != self.boundary:
            self.boundary, self.blocks_before = boundary, self.blocks

    def compacted(self, tokens_before: int | None) -> None:
        """A compaction happened: blocks are counted anew."""
        self.boundary, self.blocks_before, self.blocks = None, 0, 0
        self.compactions += 1
        self.last_compaction = {"tokens_before": tokens_before, "tokens_after": None}

    def counted_after(self, tokens: int | None) -> None:
        """The first token count after a compaction tells what the compaction left."""
        if self.last_compaction and self.last_compaction["tokens_after"] is None:
            self.last_compaction["tokens_after"] = tokens


@dataclass
class Gate:
    """How to reach the policy. Arguments left out are read from FOLDLINE_POLICY, _MODE, _BIN, _LOG and _TIMEOUT_MS."""

    policy: str = field(default_factory=lambda: os.environ.get("FOLDLINE_POLICY", ""))
    mode: str = field(default_factory=lambda: os.environ.get("FOLDLINE_MODE", "shadow"))
    binary: str = field(default_factory=lambda: os.environ.get("FOLDLINE_BIN", "foldline"))
    log: str = field(default_factory=lambda: os.environ.get("FOLDLINE_LOG", ""))
    timeout: float = field(default_factory=lambda: float(os.environ.get("FOLDLINE_TIMEOUT_MS", "2000")) / 1000)

    def blocks(self, state: GateState, boundary: str, steps: list[dict], *, trigger: str = "auto", **facts: Any) -> bool:
        """True where the compaction asked about must wait. `facts` are live facts of `foldline decide`."""
        if not self.policy:
            return False
        state.enter(boundary)
        request = {
            "boundary_id": boundary,
            "prefix": steps,
            "compaction_index": state.compactions + 1,
            "trigger": trigger,
            "consecutive_blocks": state.blocks_before,
            "last_compaction": state.last_compaction,
            **facts,
        }
        answer = self.ask(request)
        blocked = (
            trigger == "auto"  # the host goes on with a forced compaction whatever is answered
            and answer.get("decision") == "block"
            and answer.get("mode") == "enforce"
        )
        # only a compaction ends the count: a host that fails to compact is not held back all over again
        state.blocks = state.blocks_before + int(blocked)
        if blocked:
            logger.info("foldline: compaction deferred (%s)", answer.get("decided_by"))
        return blocked

    def ask(self, request: dict) -> dict:
        """The answer of `foldline decide` to one request; an empty one, and a warning, where there is none."""
        command = [self.binary, "decide", self.policy]
        if self.mode == "enforce":
            command.append("--enforce")
        if self.log:
            command += ["--log", self.log]
        try:
            line = json.dumps(request, ensure_ascii=False, default=str) + "\n"
            done = subprocess.run(
                command, input=line.encode("utf-8", "replace"), capture_output=True, timeout=self.timeout, check=False
            )
            answer = json.loads(done.stdout)
            if not isinstance(answer, dict):
                raise ValueError("the answer is no object")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self.warn(error)
            return {}
        if answer.get("decided_by") == "policy_error":
            logger.warning("foldline: the policy cannot be used, compaction goes on: %s", answer.get("warnings"))
        return answer

    @staticmethod
    def warn(error: Exception) -> None:
        """Says that foldline could not be asked."""
        logger.warning("foldline: not asked, compaction goes on: %s", error)
