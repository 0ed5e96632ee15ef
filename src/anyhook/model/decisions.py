"""The results of handlers, and the decision that they are combined into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.record import EMPTY, Record
from anyhook.model.status import Status as Status  # noqa: PLC0414 - exported
from anyhook.model.text import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.model.answers import Audience
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig


class HandlerResult(Record, kw_only=False):
    """The result of one handler. A failure is a result, too, not an exception.

    Attributes:
        handler: The handler.
        status: Whether and how it ran.
        answer: Its answer; no opinion unless `status` is `ran`.
        exit_code: Exit code of a command that ended by itself.
        signal: Name of the signal that ended a command (`SIGKILL`).
        started: Seconds from the start of the dispatch.
        duration: Seconds.
        stdout: Decoded standard output.
        stderr: Decoded standard error.
        truncated: Whether a stream was longer than the limit and is truncated.
        error: Why it failed.
        diagnostics: Problems with the handler or its output.
        failed: Whether it failed in a way that `onFailure: block` turns into a denial.
        reply: The JSON object that it answered with, where the agent combines replies.
        shadow_answer: What it would have answered, if it is a shadow (`HandlerSpec.shadow`).
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
    reply: Mapping[str, Any] | None = None
    shadow_answer: Answer = NO_OPINION

    @property
    def timed_out(self) -> bool:
        """Whether it was killed at its timeout."""
        return self.status is Status.TIMED_OUT

    @property
    def exit_text(self) -> str:
        """How a command ended: `exit 3` or `SIGKILL`; empty if it did not end by itself."""
        if self.signal:
            return self.signal
        return "" if self.exit_code is None else f"exit {self.exit_code}"


class Overridden(Record, kw_only=False):
    """A value that another one replaced.

    Attributes:
        handler: The handler that set it; `None` for the value of the event.
        value: The value.
    """

    handler: HandlerSpec | None
    value: object


class Blame(Record, kw_only=False):
    """A handler that set a field of a decision.

    Attributes:
        handler: The handler.
        value: The value that it set.
        overrode: The values that this one replaced.
    """

    handler: HandlerSpec
    value: object = None
    overrode: tuple[Overridden, ...] = ()


class Message(Record, kw_only=False):
    """A text for one audience.

    Attributes:
        audience: Its readers.
        text: The text.
        field: Its source: `reason`, `stop_reason`, `system_message`, `context`, `stdout` or
            `stderr`.
        handler: The handler that wrote it.
    """

    audience: Audience
    text: str
    field: str
    handler: HandlerSpec


class Decision(Record):
    """The combined result of all handlers of an event: what the host must do.

    Attributes:
        outcome: The strongest verdict: deny > defer > ask > allow > none.
        stop: End the agent's loop; stronger than any outcome.
        stops_after: With `stop`: the action still happens, and the loop ends after it.
        goes_on: With `deny`: the event cannot be denied, and what it is about goes on.
        approve: With `allow`: skip the host's own confirmation.
        reason: The reasons of the handlers that stopped, else of those that gave the outcome, one
            per line.
        context: Texts for the agent, in plan order.
        system_messages: Texts for the user, in plan order.
        suppress_output: Whether a handler asked to be left out of the transcript.
        tool_input: The complete arguments to use; `None` if they do not change.
        llm_request: The complete request to send; `None` if it does not change.
        llm_response: The complete response to use; `None` if the model's is used.
        tool_config: The tools that the model may call; `None` if no handler restricts them.
        clear_context: Remove the conversation so far.
        tail_tool_call: A tool call, `{"name": …, "args": …}`, that runs at once and whose result
            replaces that of the tool.
        tool_output: The result to use instead of the tool's; `None` if its own is used.
        extra: Fields that only some agents have (`session_title`, `watch_paths`, …), by canonical
            name.
        messages: All texts, also the streams of commands, by audience.
        blame: Field to the handlers that set it and the values that they replaced. Members of an
            object have entries of their own, `tool_input.command`.
        results: The result of each handler, in plan order.
        diagnostics: Problems with handlers and their output, and conflicts between them.
    """

    outcome: Outcome = Outcome.NONE
    stop: bool = False
    stops_after: bool = False
    goes_on: bool = False
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
    extra: Mapping[str, Any] = EMPTY
    messages: tuple[Message, ...] = ()
    blame: Mapping[str, tuple[Blame, ...]] = EMPTY
    results: tuple[HandlerResult, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def denied(self) -> bool:
        """Whether the action must not happen: it is denied, or everything is stopped."""
        is_prevented = self.outcome is Outcome.DENY and not self.goes_on
        return is_prevented or (self.stop and not self.stops_after)

    @property
    def withheld(self) -> tuple[HandlerResult, ...]:
        """The hooks that listen to the event and were not run, because they are not trusted.

        A shadow is not among them: it would not have decided.
        """
        results = [result for result in self.results if result.status is Status.WITHHELD]
        return tuple(result for result in results if not result.handler.shadow)

    @property
    def decided(self) -> bool:
        """Whether every hook that listens to the event had the chance to decide it.

        Otherwise the other fields hold what the hooks that ran decided, and the agent, which may
        run all of them, can decide otherwise.
        """
        return not self.withheld

    def explain(self) -> str:
        """Return a report: for each field the handlers that set it, their lines, and what lost."""
        verdicts = ["stop"] if self.stop else []
        if self.outcome is not Outcome.NONE or not self.stop:
            verdicts.append(str(self.outcome))
        headline = " + ".join(verdicts)
        if not self.decided:
            headline = f"not decided, because hooks were not run; the others: {headline}"
        if self.reason:
            headline = f"{headline}: {shorten(self.reason)}"
        lines = [headline]
        for name, blames in self.blame.items():
            lines.append(f"{name}:")
            for blame in blames:
                lines.append(f"  {shorten(blame.value)}   set by {_position(blame.handler)}")
                for overridden in blame.overrode:
                    owner = "the event itself"
                    if overridden.handler:
                        owner = _position(overridden.handler)
                    lines.append(f"    overrode {shorten(overridden.value)} of {owner}")
        without_effect = [r for r in self.results if r.status in _STATUS_TEXTS]
        if without_effect:
            lines.append("without effect:")
        for result in without_effect:
            text = _STATUS_TEXTS[result.status].format(result=result)
            lines.append(f"  {_position(result.handler)} {text}")
        if self.diagnostics:
            lines.append("diagnostics:")
            lines += [f"  {diagnostic}" for diagnostic in self.diagnostics]
        return "\n".join(lines)


NO_DECISION = Decision()
"""The decision on an event without handlers."""


_STATUS_TEXTS = {
    Status.WARNED: "ended with {result.exit_text}, which is a warning",
    Status.FAILED: "failed: {result.error}",
    Status.TIMED_OUT: "ran into its timeout of {result.handler.timeout:g} s",
    Status.WITHHELD: "was not run: the project is not trusted",
    Status.SKIPPED: "was not run: a hook before it in its sequence denied or stopped",
    Status.STARTED: "was started in the background",
}
"""Status of a handler without an answer to its description."""


def _position(handler: HandlerSpec) -> str:
    return f"{handler.label!r} ({handler.place})"
