"""OpenHands SDK: an LLMSummarizingCondenser that asks a frozen foldline policy before it condenses.

    agent = Agent(llm=llm, tools=tools, condenser=FoldlineCondenser(llm=llm, max_size=120))

Takes every argument of LLMSummarizingCondenser, and `policy`, `mode`. See README.md.
"""

import json
from collections.abc import Sequence

from foldline_gate import Gate, GateState, step
from openhands.sdk.context.condenser import LLMSummarizingCondenser
from openhands.sdk.context.condenser.base import CondensationRequirement
from openhands.sdk.context.condenser.llm_summarizing_condenser import Reason
from openhands.sdk.context.condenser.utils import get_total_token_count
from openhands.sdk.context.view import View
from openhands.sdk.event import ActionEvent, AgentErrorEvent, Event, ObservationEvent
from openhands.sdk.event.condenser import CondensationSummaryEvent
from openhands.sdk.llm import LLM
from pydantic import PrivateAttr


class FoldlineCondenser(LLMSummarizingCondenser):
    """Condenses when LLMSummarizingCondenser would and the policy does not block it.

    Only SOFT requirements (too many events) can wait. HARD ones (a request by the user, by the agent after the provider
    refused a prompt, or too many tokens) always go through; they are passed on for the log.
    """

    policy: str | None = None
    """The policy file; FOLDLINE_POLICY where left out."""

    mode: str | None = None
    """`shadow` (decide and log only) or `enforce`; FOLDLINE_MODE where left out."""

    _state: GateState = PrivateAttr(default_factory=GateState)
    _calls: dict[str, ActionEvent] = PrivateAttr(default_factory=dict)
    _steps: dict[str, dict] = PrivateAttr(default_factory=dict)
    _summaries: set[str] = PrivateAttr(default_factory=set)
    _asked_tokens: int | None = PrivateAttr(default=None)
    _stale_usage: str | None = PrivateAttr(default=None)

    def condensation_requirement(self, view: View, agent_llm: LLM | None = None) -> CondensationRequirement | None:
        requirement = super().condensation_requirement(view, agent_llm=agent_llm)
        try:
            blocked = self._blocks(view, agent_llm, requirement)
        except Exception as error:  # whatever a future version of the SDK changes must not end a conversation
            self._gate().warn(error)
            blocked = False
        return None if blocked and requirement is CondensationRequirement.SOFT else requirement

    def _gate(self) -> Gate:
        given = {"policy": self.policy, "mode": self.mode}
        return Gate(**{name: value for name, value in given.items() if value is not None})

    def _blocks(self, view: View, agent_llm: LLM | None, requirement: CondensationRequirement | None) -> bool:
        self._observe(view.events, agent_llm)
        if requirement is None or not view.events:
            return False
        tokens, source = self._tokens(view, agent_llm)
        self._asked_tokens = tokens
        trigger = "auto"
        if requirement is CondensationRequirement.HARD:
            reasons = self.get_condensation_reasons(view, agent_llm)
            trigger = "manual" if Reason.REQUEST in reasons else "overflow"
        return self._gate().blocks(
            self._state,
            view.events[-1].id,
            list(self._steps.values()),
            trigger=trigger,
            call_site="before_request",
            ctx_tokens=tokens,
            window_tokens=agent_llm.effective_max_input_tokens if agent_llm else None,
            tokens_source=source,
        )

    def _observe(self, events: Sequence[Event], agent_llm: LLM | None) -> None:
        """Takes up new steps and new summaries; the view forgets steps that were condensed, this does not."""
        for event in events:
            if isinstance(event, ActionEvent):
                self._calls[event.tool_call_id] = event
            elif isinstance(event, ObservationEvent):
                self._add(event.tool_call_id, event.tool_name, event.observation.text, event.observation.is_error)
            elif isinstance(event, AgentErrorEvent):
                self._add(event.tool_call_id, event.tool_name, event.error, True)
            elif isinstance(event, CondensationSummaryEvent) and event.id not in self._summaries:
                self._summaries.add(event.id)
                self._state.compacted(self._asked_tokens)
                self._stale_usage = self._last_usage(agent_llm)[0]

    def _add(self, call_id: str, name: str, text: str, is_error: bool) -> None:
        if call_id in self._steps:
            return
        call = self._calls.get(call_id)
        try:
            arguments = json.loads(call.tool_call.arguments) if call else {}
        except ValueError:
            arguments = {"text": call.tool_call.arguments}
        self._steps[call_id] = step(name, arguments, text, is_error)

    @staticmethod
    def _last_usage(agent_llm: LLM | None) -> tuple[str | None, int]:
        """Id and size of the last prompt that the provider counted, with its answer."""
        usages = agent_llm.metrics.token_usages if agent_llm else []
        if not usages or not usages[-1].prompt_tokens:
            return None, 0
        return usages[-1].response_id, usages[-1].prompt_tokens + usages[-1].completion_tokens

    def _tokens(self, view: View, agent_llm: LLM | None) -> tuple[int | None, str]:
        """Context size: the provider's last count, or an estimate where there is none since the last condensation."""
        response, counted = self._last_usage(agent_llm)
        if counted and response != self._stale_usage:
            self._state.counted_after(counted)
            return counted, "provider"
        if agent_llm is None:
            return None, "estimate"
        return get_total_token_count(view.events, agent_llm), "estimate"
