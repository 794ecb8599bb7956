"""LangChain: a SummarizationMiddleware that asks a frozen foldline policy before it summarises.

    agent = create_agent(model, tools, middleware=[FoldlineSummarization(model=model, trigger=("tokens", 100_000))])

Takes every argument of SummarizationMiddleware, and `gate`, `window_tokens`. See README.md.
"""

import asyncio
import json
from dataclasses import asdict
from typing import Annotated, Any, NotRequired

from foldline_gate import Gate, GateState, step
from langchain.agents.middleware import SummarizationMiddleware
from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage


class FoldlineState(AgentState):
    """Kept with the thread by its checkpointer: steps that were summarised away, and what the gate remembers."""

    foldline: NotRequired[Annotated[dict, PrivateStateAttr]]


def steps_of(messages: list[AnyMessage]) -> list[dict]:
    """The tool calls of a message list that have their result, oldest first."""
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    found = []
    for message in messages:
        if isinstance(message, ToolMessage):
            call = calls.get(message.tool_call_id, {"name": message.name or "", "args": {}})
            text = message.content if isinstance(message.content, str) else json.dumps(message.content)
            found.append(step(call["name"], call["args"], text, message.status == "error"))
    return found


class FoldlineSummarization(SummarizationMiddleware):
    """Summarises when SummarizationMiddleware would and the policy does not block it."""

    state_schema = FoldlineState

    def __init__(self, model: Any, *, gate: Gate | None = None, window_tokens: int | None = None, **options: Any):
        super().__init__(model, **options)
        self.gate = gate or Gate()
        profile = getattr(self.model, "profile", None) or {}
        self.window_tokens = window_tokens or profile.get("max_input_tokens")

    def before_model(self, state: Any, runtime: Any) -> dict | None:
        memory, blocked = self._decide(state)
        return self._remember(state, memory, None if blocked else super().before_model(state, runtime))

    async def abefore_model(self, state: Any, runtime: Any) -> dict | None:
        memory, blocked = await asyncio.to_thread(self._decide, state)
        return self._remember(state, memory, None if blocked else await super().abefore_model(state, runtime))

    def _decide(self, state: Any) -> tuple[dict | None, bool]:
        """What is remembered, and whether the summary that is due now must wait."""
        try:
            return self._decide_or_fail(state)
        except Exception as error:  # whatever a future version of LangChain changes must not end a run
            self.gate.warn(error)
            return None, False

    def _decide_or_fail(self, state: Any) -> tuple[dict, bool]:
        stored = state.get("foldline") or {}
        memory = {"summarised": list(stored.get("summarised", [])), "gate": GateState(**stored.get("gate", {}))}
        messages = state["messages"]
        memory["tokens"], source = self._tokens(messages, stored.get("stale_usage"))
        memory["gate"].counted_after(memory["tokens"])
        if not self._should_summarize(messages, self.token_counter(messages)):
            return memory, False
        tool_ids = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        last = messages[-1]
        pending = isinstance(last, AIMessage) and any(call["id"] not in tool_ids for call in last.tool_calls)
        over = bool(self.window_tokens) and memory["tokens"] > self.window_tokens
        blocked = self.gate.blocks(
            memory["gate"],
            str(last.id or len(messages)),
            memory["summarised"] + steps_of(messages),
            trigger="overflow" if over else "auto",
            call_site="before_request",
            ctx_tokens=memory["tokens"],
            window_tokens=self.window_tokens,
            tokens_source=source,
            tool_in_flight=pending,
        )
        return memory, blocked

    def _tokens(self, messages: list[AnyMessage], stale_usage: str | None) -> tuple[int, str]:
        """Context size: the provider's last count and an estimate of what came since, or an estimate of it all."""
        for at in range(len(messages) - 1, -1, -1):
            message = messages[at]
            if isinstance(message, AIMessage) and message.usage_metadata and message.id != stale_usage:
                since = messages[at + 1 :]
                return message.usage_metadata["total_tokens"] + (self.token_counter(since) if since else 0), "provider"
            if isinstance(message, AIMessage) and message.id == stale_usage:
                break
        return self.token_counter(messages), "estimate"

    def _remember(self, state: Any, memory: dict | None, update: dict | None) -> dict | None:
        """Adds what must be remembered to the update of the thread's state."""
        if memory is None:
            return update
        stored = state.get("foldline") or {}
        changed = {"summarised": memory["summarised"], "stale_usage": stored.get("stale_usage")}
        if update is not None:
            kept = {message.id for message in update["messages"]}
            gone = [message for message in state["messages"] if message.id not in kept]
            changed["summarised"] = memory["summarised"] + steps_of(gone)
            # Usage that was counted before the summary says nothing about the context after it.
            counted = [m.id for m in state["messages"] if isinstance(m, AIMessage)]
            changed["stale_usage"] = counted[-1] if counted else None
            memory["gate"].compacted(memory["tokens"])
        changed["gate"] = asdict(memory["gate"])
        if changed == stored:
            return update
        return {**(update or {}), "foldline": changed}
