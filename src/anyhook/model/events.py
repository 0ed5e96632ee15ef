"""The events of an agent, typed.

One class per canonical event. An agent's own name of an event, the keys of its fields in payloads,
and the field that matchers see are data in `anyhook.agents`. A field that an agent does not send
has its default. The events that few agents have are in three other modules, because each class
costs a cold hook 0.03 ms; all of them can be imported from `anyhook`.
"""

from __future__ import annotations

from anyhook.model.event import CallT_co as CallT_co
from anyhook.model.event import Event as Event
from anyhook.model.event import ToolEvent as ToolEvent
from anyhook.model.event import UnknownEvent as UnknownEvent
from anyhook.model.event import copy_json as copy_json
from anyhook.model.event import json_kind as json_kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anyhook.model.answers import Answer
    from anyhook.model.llm import LLMRequest, LLMResponse
    from anyhook.model.tools import ToolCall, ToolResult


class BeforeTool(ToolEvent[CallT_co]):
    """A tool is about to run. Hooks can deny it, ask the user, or change its arguments."""

    name = "before_tool"


class AfterTool(ToolEvent[CallT_co]):
    """A tool has run. The model has not received its result yet.

    Claude Code, Copilot CLI, Cursor, OpenCode and Qwen Code send `post_tool_use_failure` in its
    place for a call that failed. A function with both decorators gets every result.

    Attributes:
        tool_response: The result: an object by the reference, any JSON in practice.
        duration_ms: Run time of the tool in milliseconds.
    """

    name = "after_tool"

    tool_response: Any = None
    duration_ms: float | None = None

    @property
    def result(self) -> ToolResult:
        """The result in a form that does not depend on the agent: `text`, `exit_code`, etc."""
        from anyhook.model.tools import NO_VOCABULARY, read_result

        call: ToolCall = self.call
        result = (self.vocabulary or NO_VOCABULARY).read_result(call, self.tool_response)
        # Forms leave out what they know to be the agent's own words; a guard searches all texts.
        text = read_result(self.tool_response).text
        return result.replace(text=text or result.text)


class BeforePrompt(Event):
    """The user submitted a prompt, which the agent has not processed yet.

    Attributes:
        prompt: Text of the prompt.
        session_title: Title that the user gave the session.
        source: Origin of the prompt: `user`, `sdk`, `system`, `loop_wakeup`, `schedule_wakeup` or
            `poll_event`.
    """

    name = "before_prompt"

    prompt: str
    session_title: str | None = None
    source: str | None = None


class AfterAgent(Event):
    """The agent is about to end its turn. A denial continues it with the reason as its next prompt.

    Attributes:
        prompt: The user's prompt.
        prompt_response: The final text of the model.
        stop_hook_active: Whether a hook has already continued the agent in this turn. A hook that
            denies without checking it can continue the agent for ever.
        background_tasks: Tasks that are still running.
        session_crons: Timers of the session.
    """

    name = "after_agent"

    prompt: str
    prompt_response: str
    stop_hook_active: bool = False
    background_tasks: list[Any] | None = None
    session_crons: list[Any] | None = None


class BeforeModel(Event):
    """A request is about to be sent to the model.

    Attributes:
        llm_request: The request; see `anyhook.model.llm_types`.
    """

    name = "before_model"

    llm_request: LLMRequest


class AfterModel(Event):
    """The model has responded. The agent has not processed the response yet.

    Attributes:
        llm_request: The request; see `anyhook.model.llm_types`.
        llm_response: The response.
    """

    name = "after_model"

    llm_request: LLMRequest
    llm_response: LLMResponse


class BeforeToolSelection(Event):
    """The agent is about to offer tools to the model. Hooks can restrict them.

    Attributes:
        llm_request: The request that offers them; see `anyhook.model.llm_types`.
    """

    name = "before_tool_selection"

    llm_request: LLMRequest

    def only(self, *tools: str) -> Answer:
        """Return an answer that lets the model call only these tools.

        Args:
            tools: Canonical names, or the agent's; without any, the model may call no tool.
        """
        from anyhook.model.answers import Answer
        from anyhook.model.tools import NO_VOCABULARY

        vocabulary = self.vocabulary or NO_VOCABULARY
        names = [vocabulary.name(tool) or tool for tool in tools]
        mode: Any = "ANY" if names else "NONE"
        return Answer(tool_config={"mode": mode, "allowedFunctionNames": names})


class SessionStart(Event):
    """A session began.

    Attributes:
        source: `startup`, `resume` or `clear`; in Claude Code also `compact` and `fork`.
        model: Name of the model, if the agent sends it.
        session_title: Title that the user gave the session.
        seconds_since_last_response: Seconds since the last response in a resumed session.
        context_tokens: Tokens in the context of a resumed session.
        prompt_cache_likely_expired: Whether the whole context is likely to be billed again.
        estimated_cache_write_usd: Estimated price of that in US dollars.
    """

    name = "session_start"

    source: str
    model: str | None = None
    session_title: str | None = None
    seconds_since_last_response: float | None = None
    context_tokens: float | None = None
    prompt_cache_likely_expired: bool | None = None
    estimated_cache_write_usd: float | None = None


class SessionEnd(Event):
    """A session ended.

    Attributes:
        reason: `exit`, `clear`, `logout`, `prompt_input_exit` or `other`.
    """

    name = "session_end"

    reason: str


class BeforeCompress(Event):
    """The context is about to be compressed.

    Attributes:
        trigger: `manual` or `auto`.
        custom_instructions: The user's instructions for the summary.
    """

    name = "before_compress"

    trigger: str
    custom_instructions: str | None = None


class Notification(Event):
    """The agent notifies its user, for example that a tool waits for permission.

    Attributes:
        notification_type: `ToolPermission`; in Claude Code `permission_prompt`, `idle_prompt`, …
        message: Text of the notification.
        details: Object whose members depend on its `type`.
        title: Title of the notification.
    """

    name = "notification"

    notification_type: str
    message: str = ""
    details: dict[str, Any] | None = None
    title: str | None = None


EVENTS: dict[str, type[Event]] = {
    cls.name: cls
    for cls in (
        SessionStart,
        SessionEnd,
        BeforePrompt,
        AfterAgent,
        BeforeModel,
        AfterModel,
        BeforeToolSelection,
        BeforeTool,
        AfterTool,
        BeforeCompress,
        Notification,
    )
}
"""Canonical name to class, in the order of a session."""


def event_class(name: str) -> type[Event]:
    """Return the class of a canonical event; `UnknownEvent` if there is none of that name."""
    if name in EVENTS:
        return EVENTS[name]
    from anyhook.model.tool_events import TOOL_EVENTS

    if name in TOOL_EVENTS:
        return TOOL_EVENTS[name]
    from anyhook.model.turn_events import TURN_EVENTS

    if name in TURN_EVENTS:
        return TURN_EVENTS[name]
    from anyhook.model.session_events import SESSION_EVENTS

    return SESSION_EVENTS.get(name, UnknownEvent)


def all_events() -> dict[str, type[Event]]:
    """Return the classes of all canonical events by name."""
    from anyhook.model.session_events import SESSION_EVENTS
    from anyhook.model.tool_events import TOOL_EVENTS
    from anyhook.model.turn_events import TURN_EVENTS

    return {**EVENTS, **TOOL_EVENTS, **TURN_EVENTS, **SESSION_EVENTS}
