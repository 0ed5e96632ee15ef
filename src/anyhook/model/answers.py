"""The answer of one hook to an event.

Functions return an answer that they make with `allow`, `deny`, `ask`, … or with `Answer` itself.
The output of a command is decoded into an answer by the rules of its agent.
"""

from __future__ import annotations

from enum import StrEnum

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Unpack

    from anyhook.model.answer_fields import (
        WithContext,
        WithDefer,
        WithMessage,
        WithOutput,
        WithResponse,
        WithStop,
        WithVerdict,
    )
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

BLOCKING_EXIT = 2
"""The exit code that denies in every agent, on events that can be denied."""
FAILURE_EXIT = 1
"""The exit code of a failure, which most agents do not take for a denial."""


class Outcome(StrEnum):
    """A verdict. Members are ordered from the weakest to the strongest."""

    NONE = "none"
    """No opinion."""
    ALLOW = "allow"
    ASK = "ask"
    """The agent asks its user."""
    DEFER = "defer"
    """The agent ends its run and asks the hooks again about the same call when it is resumed."""
    DENY = "deny"


STRENGTH = {outcome: rank for rank, outcome in enumerate(Outcome)}
"""Rank of each verdict: deny > defer > ask > allow > none."""


class Audience(StrEnum):
    """The reader of a text."""

    AGENT = "agent"
    USER = "user"
    TRANSCRIPT = "transcript"
    """The user, in the agent's record of the session only."""
    DEBUG = "debug"
    """The log of the agent."""


class Answer(Record):
    """The answer of one hook. Every field is optional; its default means no opinion.

    Attributes:
        outcome: The verdict.
        approve: With `allow`: skip the agent's own confirmation, too.
        reason: Explains the verdict. The event decides whether the agent or the user reads it.
        stop: End the agent's loop.
        stop_reason: With `stop`: text for the user.
        system_message: Text for the user.
        suppress_output: Leave the hook's output out of the transcript.
        context: Text for the agent.
        tool_input: Arguments by the agent's names, laid over those of the tool call.
        llm_request: Members laid over the request to the model.
        llm_response: Before the model: a whole response instead of the model's. After the model:
            members laid over its response.
        tool_config: The tools that the model may call.
        clear_context: Remove the conversation so far, after the agent's turn.
        tail_tool_call: A tool call, `{"name": …, "args": …}`, that runs at once and whose result
            replaces that of the tool.
        tool_output: Replaces the result of the tool; any JSON, in the tool's own form.
        extra: Fields that only some agents have (`session_title`, `watch_paths`, …), by canonical
            name.
    """

    outcome: Outcome = Outcome.NONE
    approve: bool = False
    reason: str | None = None
    stop: bool = False
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool = False
    context: str | None = None
    tool_input: dict[str, Any] | None = None
    llm_request: LLMRequest | None = None
    llm_response: LLMResponse | None = None
    tool_config: ToolConfig | None = None
    clear_context: bool = False
    tail_tool_call: dict[str, Any] | None = None
    tool_output: Any = None
    extra: dict[str, Any] | None = None


NO_OPINION = Answer()


def allow(
    reason: str | None = None, *, approve: bool = False, **fields: Unpack[WithVerdict]
) -> Answer:
    """Allow the action; with `approve`, without the agent's own confirmation.

    Args:
        reason: Explains the verdict.
        approve: Skip the agent's own confirmation.
        fields: Other fields of the answer; the same holds for all functions of this module.
    """
    return Answer(outcome=Outcome.ALLOW, approve=approve, reason=reason, **fields)


def deny(reason: str, **fields: Unpack[WithVerdict]) -> Answer:
    """Deny the action, with the reason."""
    return Answer(outcome=Outcome.DENY, reason=reason, **fields)


def ask(reason: str | None = None, **fields: Unpack[WithVerdict]) -> Answer:
    """Let the agent ask its user."""
    return Answer(outcome=Outcome.ASK, reason=reason, **fields)


def defer(**fields: Unpack[WithDefer]) -> Answer:
    """End the agent's run; the hooks are asked about the call again when it is resumed."""
    return Answer(outcome=Outcome.DEFER, **fields)


def stop(reason: str, **fields: Unpack[WithStop]) -> Answer:
    """End the agent's loop, and show the user the reason."""
    return Answer(stop=True, stop_reason=reason, **fields)


def context(text: str, **fields: Unpack[WithContext]) -> Answer:
    """Pass a text to the agent."""
    return Answer(context=text, **fields)


def message(text: str, **fields: Unpack[WithMessage]) -> Answer:
    """Show the user a text."""
    return Answer(system_message=text, **fields)


def respond(text: str, **fields: Unpack[WithResponse]) -> Answer:
    """Use a text as the model's response."""
    content: Any = {"role": "model", "parts": [text]}
    candidate: Any = {"content": content, "finishReason": "STOP", "index": 0}
    return Answer(llm_response={"text": text, "candidates": [candidate]}, **fields)


def change_request(**members: Unpack[LLMRequest]) -> Answer:
    """Change members of the request to the model: `model`, `messages`, `config`."""
    return Answer(llm_request=members)


def replace_result(output: Any, **fields: Unpack[WithOutput]) -> Answer:
    """Replace the result of a tool.

    Args:
        output: A text, which gets the form of the tool where the agent needs one; or JSON in the
            tool's own form.
        fields: Other fields of the answer.
    """
    return Answer(tool_output=output, **fields)


def join_lines(texts: Iterable[str | None]) -> str | None:
    """Join the texts that are not empty, one per line; `None` if there is none."""
    return "\n".join(text for text in texts if text) or None
