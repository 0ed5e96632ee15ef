"""What a session returns to its host: outcomes of prompts, model calls, tool calls and turns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.integrations.host_tools import result_text

if TYPE_CHECKING:
    from anyhook.model.llm import LLMRequest, LLMResponse, ToolConfig

QUESTIONS = {
    "before_prompt": "Send this prompt to the agent?",
    "before_model": "Send this request to the model?",
    "after_model": "Use this response of the model?",
    "before_tool": "Run {tool}?",
    "after_tool": "Give the result of {tool} to the agent?",
    "after_agent": "Let the agent end its turn?",
    "before_compress": "Compress the conversation?",
}
"""Canonical event to the question that a yes answers; other events are shown by their names."""


def tag_context(text: str) -> str:
    """Mark a text as a hook's, so that the model does not take it for the user's."""
    escaped = text.replace("<", "&lt;").replace(">", "&gt;")
    return f"<hook_context>{escaped}</hook_context>"


def join_context(text: str, context: tuple[str, ...]) -> str:
    """Return a text followed by the tagged texts of hooks."""
    return "\n\n".join((text, *map(tag_context, context)))


def text_response(text: str) -> LLMResponse:
    """Return a complete response of the model that consists of a text."""
    candidate: Any = {"content": {"role": "model", "parts": [text] if text else []}, "index": 0}
    return {"text": text, "candidates": [candidate]}


@dataclass(frozen=True, slots=True)
class Question:
    """What the user is asked because a hook wants a confirmation.

    Attributes:
        tool: The host's tool; `None` if the question is not about a tool.
        arguments: The tool's arguments, after the changes of hooks.
        reason: Why a hook asks; empty if it gives no reason.
        event: Canonical name of the event. A yes lets it happen; a no counts as a denial.
        text: What the event is about: the prompt, the text of a response, the result of a tool.
    """

    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    event: str = "before_tool"
    text: str = ""

    @property
    def summary(self) -> str:
        """The question as one sentence."""
        return QUESTIONS.get(self.event, f"Allow {self.event}?").format(tool=self.tool)


@dataclass(frozen=True, slots=True)
class Prompt:
    """The outcome of a prompt.

    Attributes:
        text: The user's text.
        context: Texts that hooks add for the agent, those of the session's start first.
        denied: Why it must not reach the model; `None` if it may.
    """

    text: str
    context: tuple[str, ...] = ()
    denied: str | None = None

    @property
    def full_text(self) -> str:
        """The text followed by what hooks add."""
        return join_context(self.text, self.context)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The outcome of a request to the model.

    Attributes:
        request: The request to send.
        response: The response to use in place of the model's; `None`: ask the model.
        denied: Why the model must not be asked; `None` if it may. A response may accompany it.
        tools: The tools that the model may call; `None` if no hook restricts them.
    """

    request: LLMRequest
    response: LLMResponse | None = None
    denied: str | None = None
    tools: ToolConfig | None = None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The outcome of a response of the model.

    Attributes:
        response: The response that the agent, its history and its user get; `None`: it is
            discarded, with its tool calls.
        changed: Whether it differs from the model's.
        denied: Why it was discarded.
    """

    response: LLMResponse | None
    changed: bool = False
    denied: str | None = None


@dataclass(frozen=True, slots=True)
class ToolRun:
    """Whether a tool runs, and with which arguments.

    Attributes:
        allowed: Whether it runs.
        arguments: The host's arguments to use.
        approved: The host need not ask its user itself.
        reason: Why it does not run, for the agent.
        context: Texts for the agent.
    """

    allowed: bool
    arguments: dict[str, Any]
    approved: bool = False
    reason: str = ""
    context: tuple[str, ...] = ()


def left_out_run(name: str, arguments: dict[str, Any]) -> ToolRun:
    """Return what happens to a call of a tool that a hook kept from the model: it does not run."""
    reason = f"a hook left {name} out of the tools for this request, so it does not run"
    return ToolRun(allowed=False, arguments=arguments, reason=reason)


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """What the agent gets as a tool's result.

    Attributes:
        output: The result: the tool's own, or a text that replaces it.
        replaced: Whether it is not the tool's own.
        context: Texts for the agent next to it.
        tail_call: A tool of the host, with arguments, to run next; its result replaces this one.
    """

    output: Any
    replaced: bool = False
    context: tuple[str, ...] = ()
    tail_call: tuple[str, dict[str, Any]] | None = None

    @property
    def full_output(self) -> Any:
        """The output followed by what hooks add; the very output if they add nothing."""
        return join_context(result_text(self.output), self.context) if self.context else self.output


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """What follows a turn.

    Attributes:
        next_prompt: The agent's next prompt, if hooks keep it from ending, with their context.
        clear_context: Forget the conversation first.
    """

    next_prompt: str | None = None
    clear_context: bool = False
