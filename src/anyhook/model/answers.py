"""What one handler said, in canonical form.

A command's output is decoded into an `Answer` by its agent; a function returns one, made with
`allow`, `deny`, `ask` or `Answer(...)` itself.
"""

from __future__ import annotations

from enum import StrEnum

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig


class Outcome(StrEnum):
    """A verdict, weakest first."""

    NONE = "none"
    ALLOW = "allow"
    ASK = "ask"
    DEFER = "defer"
    """Leave the call open and end the run; it is asked again when the session goes on."""
    DENY = "deny"


STRENGTH = {outcome: rank for rank, outcome in enumerate(Outcome)}
"""deny > defer > ask > allow > nothing (contract of the documented rules)."""


class Audience(StrEnum):
    """Who gets a piece of output."""

    AGENT = "agent"
    USER = "user"
    TRANSCRIPT = "transcript"
    DEBUG = "debug"


class Answer(Record):
    """What one handler said. Every field may be absent; absent means no opinion.

    Attributes:
        outcome: The verdict.
        approve: With `allow`: also skip the host's own confirmation.
        reason: Why, for whom the event's reason is meant.
        stop: End the agent's loop.
        stop_reason: Shown to the user when `stop` is set.
        system_message: Shown to the user.
        suppress_output: Keep the handler's run out of the transcript.
        context: Text for the agent.
        tool_input: Arguments that change the tool's, laid over them.
        llm_request: Members that change the request to the model.
        llm_response: A whole response in place of the model's (before the model), or members
            that change it (after the model).
        tool_config: Which tools the model may call.
        clear_context: Forget the conversation (after the agent).
        tail_tool_call: A tool, `{"name": …, "args": …}`, to run at once in place of this result.
        tool_output: What the tool is said to have returned, in the tool's own form.
        extra: What only some agents know (`session_title`, `watch_paths`, …), by canonical name.
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


def defer(**fields: Any) -> Answer:
    """Leave the call open and end the run; it is asked again when the session goes on."""
    return Answer(outcome=Outcome.DEFER, **fields)


def stop(reason: str, **fields: Any) -> Answer:
    """End the agent's loop and tell the user why."""
    return Answer(stop=True, stop_reason=reason, **fields)


def context(text: str, **fields: Any) -> Answer:
    """Tell the agent something."""
    return Answer(context=text, **fields)


def tell(message: str, **fields: Any) -> Answer:
    """Tell the user something."""
    return Answer(system_message=message, **fields)


def respond(text: str, **fields: Any) -> Answer:
    """Put a text in place of the model's response."""
    part: Any = {"role": "model", "parts": [text]}
    candidate: Any = {"content": part, "finishReason": "STOP", "index": 0}
    return Answer(llm_response={"text": text, "candidates": [candidate]}, **fields)


def change_request(**members: Any) -> Answer:
    """Change members of the request to the model: `model`, `messages`, `config`."""
    changed: Any = members
    return Answer(llm_request=changed)


def replace_result(output: Any, **fields: Any) -> Answer:
    """Put something else in place of what a tool returned, in the tool's own form."""
    return Answer(tool_output=output, **fields)


def allow(reason: str | None = None, *, approve: bool = False, **fields: Any) -> Answer:
    """Permit the action; with `approve`, without the host's own confirmation."""
    return Answer(outcome=Outcome.ALLOW, approve=approve, reason=reason, **fields)


def deny(reason: str, **fields: Any) -> Answer:
    """Forbid the action and say why."""
    return Answer(outcome=Outcome.DENY, reason=reason, **fields)


def ask(reason: str | None = None, **fields: Any) -> Answer:
    """Let the host ask its user."""
    return Answer(outcome=Outcome.ASK, reason=reason, **fields)
