"""Results, and the decision that they add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.model.answers import Audience
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

__all__ = [
    "NO_DECISION",
    "Blame",
    "Decision",
    "HandlerResult",
    "Message",
    "Overridden",
    "Status",
]


@dataclass(frozen=True, slots=True)
class HandlerResult:
    """What one handler produced. A failing handler is a value, not an exception.

    Attributes:
        handler: Which one.
        status: How it went.
        answer: What it said; no opinion unless `status` is `ran`.
        exit_code: Of a command that ended by itself.
        signal: Name of the signal that ended a command (`SIGKILL`).
        started: Seconds from the start of the dispatch.
        duration: Seconds.
        stdout: Decoded standard output.
        stderr: Decoded standard error.
        truncated: A stream was longer than the limit and is cut.
        error: Why it failed, for people.
        diagnostics: What was ignored, repaired or dropped.
        failed: Whether a hook that must not fail has failed.
    """

    handler: HandlerSpec
    status: Status
    answer: Answer = NO_OPINION
    exit_code: int | None = None
    signal: str | None = None
    started: float = 0.0
    duration: float = 0.0
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    error: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    failed: bool = False

    @property
    def timed_out(self) -> bool:
        """Whether it was ended at its deadline."""
        return self.status is Status.TIMED_OUT


@dataclass(frozen=True, slots=True)
class Overridden:
    """A value that lost.

    Attributes:
        handler: Who had set it; `None` for the event's own value.
        value: The value.
    """

    handler: HandlerSpec | None
    value: object


@dataclass(frozen=True, slots=True)
class Blame:
    """Who set a field of a decision.

    Attributes:
        handler: The handler.
        value: What it set.
        overrode: What it replaced.
    """

    handler: HandlerSpec
    value: object = None
    overrode: tuple[Overridden, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A piece of output for one audience.

    Attributes:
        audience: Who gets it.
        text: The text.
        field: Where it comes from: `reason`, `stop_reason`, `system_message`, `context`,
            `stdout` or `stderr`.
        handler: Who said it.
    """

    audience: Audience
    text: str
    field: str
    handler: HandlerSpec


@dataclass(frozen=True, slots=True)
class Decision:
    """What the host should do, and which handler said so, field by field.

    Attributes:
        outcome: The strongest verdict: deny > defer > ask > allow > none.
        stop: End the agent's loop; stronger than any outcome.
        stops_after: With `stop`: the action still happens, and the loop ends after it.
        approve: With `allow`: skip the host's own confirmation.
        reason: Why, from the handlers that carried the strongest part (stop before outcome), one
            a line.
        context: Texts for the agent, in plan order.
        system_messages: Texts for the user, in plan order.
        suppress_output: Some handler asked to be kept out of the transcript.
        tool_input: The arguments to use, whole; `None` if they stay as they are.
        llm_request: The request to send, whole; `None` if it stays as it is.
        llm_response: The response to use, whole; `None` if the model's stands.
        tool_config: The tools that the model may call; `None` if no handler says.
        clear_context: Forget the conversation.
        tail_tool_call: A tool to run at once in place of this result.
        tool_output: What the tool is said to have returned; `None` if its own result stands.
        extra: What only some agents know (`session_title`, `watch_paths`, …), by canonical name.
        messages: The same texts with the streams of the commands, by audience.
        blame: For every field that was set, who set it and what was overridden. Keys of
            `tool_input` have entries of their own, `tool_input.KEY`.
        results: What each handler produced, in plan order.
        diagnostics: What was ignored, repaired, dropped or in conflict.
    """

    outcome: Outcome = Outcome.NONE
    stop: bool = False
    stops_after: bool = False
    approve: bool = False
    reason: str | None = None
    context: tuple[str, ...] = ()
    system_messages: tuple[str, ...] = ()
    suppress_output: bool = False
    tool_input: dict[str, Any] | None = None
    llm_request: LLMRequest | None = None
    llm_response: LLMResponse | None = None
    tool_config: ToolConfig | None = None
    clear_context: bool = False
    tail_tool_call: dict[str, Any] | None = None
    tool_output: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    blame: Mapping[str, tuple[Blame, ...]] = field(default_factory=dict)
    results: tuple[HandlerResult, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def denied(self) -> bool:
        """Whether the action must not happen: denied, or everything is stopped."""
        return self.outcome is Outcome.DENY or (self.stop and not self.stops_after)

    def explain(self) -> str:
        """Tell for every field which handler set it, in which file and line, and over what."""
        from anyhook.model.explain import explain

        return explain(self)


NO_DECISION = Decision()
"""What an event gets that no handler has an opinion on."""
