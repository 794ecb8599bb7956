"""Hermes: the built-in context compressor, which asks a frozen foldline policy before it compresses. See README.md."""

import json
import logging
from typing import Any

from agent.context_compressor import ContextCompressor

from .foldline_gate import Gate, GateState, step

logger = logging.getLogger("foldline")

# Steps by session, oldest first. The engine is copied for every agent, and a hook knows only its session.
STEPS: dict[str, list[dict]] = {}


def after_tool_call(tool_name: str = "", args: Any = None, result: Any = "", session_id: str = "", status: str = "ok",
                    **_: Any) -> None:
    """Plugin hook `post_tool_call`: takes up one step. Hermes asks `should_compress` without the messages."""
    text = result if isinstance(result, str) else json.dumps(result, default=str)
    failed = status != "ok"
    try:
        failed = failed or bool(json.loads(text).get("exit_code"))
    except (ValueError, AttributeError):
        pass  # not the JSON object of a shell call
    STEPS.setdefault(session_id, []).append(step(tool_name, args or {}, text, failed))


class FoldlineEngine(ContextCompressor):
    """Compresses when ContextCompressor would and the policy does not block it.

    `compress` itself is never refused: `/compress` and the recovery from a refused prompt call it without asking, and a
    refusal there would use up one of the attempts that Hermes has in a turn.
    """

    def __init__(self, **options: Any):
        super().__init__(**options)
        self.foldline = Gate()
        self.foldline_state = GateState()
        self.responses = 0

    @property
    def name(self) -> str:
        return "foldline"

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        if not super().should_compress(prompt_tokens):
            return False
        try:
            return not self._blocks(prompt_tokens)
        except Exception as error:  # whatever a future version of Hermes changes must not end a turn
            self.foldline.warn(error)
            return True

    def _blocks(self, prompt_tokens: int | None) -> bool:
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        session = getattr(self, "_session_id", "") or ""
        steps = STEPS.get(session, [])
        # Hermes asks after a tool call and again before the next request: same session, steps and answers so far.
        boundary = f"{session}:{len(steps)}:{self.responses}"
        return self.foldline.blocks(
            self.foldline_state,
            boundary,
            steps,
            session=session,
            call_site="before_request",
            ctx_tokens=tokens,
            window_tokens=self.context_length or None,
            tokens_source="provider" if tokens == self.last_prompt_tokens else "estimate",
        )

    def update_from_response(self, usage: dict[str, Any]) -> None:
        super().update_from_response(usage)
        self.responses += 1
        self.foldline_state.counted_after(self.last_prompt_tokens or None)

    def compress(self, messages: list[dict[str, Any]], current_tokens: int | None = None, **options: Any) -> list:
        before = self.compression_count
        compressed = super().compress(messages, current_tokens=current_tokens, **options)
        if self.compression_count > before:
            self.foldline_state.compacted(current_tokens or self.last_prompt_tokens or None)
        return compressed

    def on_session_start(self, session_id: str, **options: Any) -> None:
        """A compression may move the conversation to a new session id; its steps move along."""
        old = options.get("old_session_id")
        if old and old != session_id and options.get("boundary_reason") == "compression":
            STEPS[session_id] = STEPS.pop(old, [])
        super().on_session_start(session_id, **options)

    def on_session_reset(self) -> None:
        super().on_session_reset()
        STEPS.pop(getattr(self, "_session_id", "") or "", None)
        self.foldline_state = GateState()


def configured() -> dict[str, Any]:
    """The user's `compression:` settings, which Hermes passes to its built-in engine only."""
    names = {
        "threshold": ("threshold_percent", float),
        "protect_first_n": ("protect_first_n", int),
        "protect_last_n": ("protect_last_n", int),
        "target_ratio": ("summary_target_ratio", float),
        "abort_on_summary_failure": ("abort_on_summary_failure", bool),
    }
    try:
        from hermes_cli.config import load_config

        given = load_config().get("compression") or {}
        return {name: kind(given[key]) for key, (name, kind) in names.items() if given.get(key) is not None}
    except Exception as error:  # a config this plugin cannot read must not take the engine away
        logger.warning("foldline: the compression settings cannot be read, defaults are used: %s", error)
        return {}


def register(ctx: Any) -> None:
    """Entry point of the plugin."""
    # The model and its window are set by Hermes when it takes the engine for an agent.
    ctx.register_context_engine(FoldlineEngine(model="", quiet_mode=True, config_context_length=200_000, **configured()))
    ctx.register_hook("post_tool_call", after_tool_call)
