"""LangChain: a SummarizationMiddleware whose summaries lose the entries that have no source.

    agent = create_agent(model, tools, middleware=[PrunedSummarization(model=model, trigger=("tokens", 100_000))])

Takes every argument of SummarizationMiddleware, and `pruner`. To gate and prune, put the mixin in front of the gate:

    class Both(PrunedSummaries, FoldlineSummarization): pass
"""

import asyncio
import json
from typing import Any

from foldline_prune import Pruner
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

INTRODUCTION = "Here is a summary of the conversation to date:\n\n"


def text_of(message: AnyMessage) -> str:
    return message.content if isinstance(message.content, str) else json.dumps(message.content, default=str)


def span_of(messages: list[AnyMessage]) -> tuple[list[dict], str | None]:
    """The steps that are summarised away, and the summary committed before, which is the first of them.

    What the user said goes away with the history, so it is a source like an output; what the agent wrote is none.
    """
    calls = {call["id"]: call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls}
    steps, previous = [], None
    for message in messages:
        if isinstance(message, HumanMessage) and message.additional_kwargs.get("lc_source") == "summarization":
            previous = text_of(message).removeprefix(INTRODUCTION)
        elif isinstance(message, HumanMessage):
            steps.append({"action": "", "observation": text_of(message)})
        elif isinstance(message, ToolMessage):
            call = calls.get(message.tool_call_id, {"name": message.name or "", "args": {}})
            action = json.dumps({"name": call["name"], "arguments": call["args"]}, ensure_ascii=False, default=str)
            steps.append({"action": action, "observation": text_of(message)})
    return steps, previous


class PrunedSummaries:
    """Mixin: prunes whatever the next class in line has written as a summary."""

    def __init__(self, *arguments: Any, pruner: Pruner | None = None, **options: Any):
        super().__init__(*arguments, **options)
        self.pruner = pruner or Pruner()

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        return self._pruned(super()._create_summary(messages_to_summarize), messages_to_summarize)

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        written = await super()._acreate_summary(messages_to_summarize)
        return await asyncio.to_thread(self._pruned, written, messages_to_summarize)

    def _pruned(self, summary: str, messages: list[AnyMessage]) -> str:
        steps, previous = span_of(messages)
        return self.pruner.prune(summary, steps, previous=previous)


class PrunedSummarization(PrunedSummaries, SummarizationMiddleware):
    """Summarises as SummarizationMiddleware does, and keeps what has a source."""
