"""The events of an agent's life, typed.

One class per canonical event. What a dialect calls the event on the wire, and which of its
fields a matcher sees, is data in `anyhook.dialects`. Fields are those of the hooks reference of
Gemini CLI, whose events are the canonical ones.
"""

from __future__ import annotations

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self

    from anyhook.model.llm import LLMRequest, LLMResponse


class Event(Record):
    """What every event carries.

    Attributes:
        session_id: The agent's session.
        transcript_path: File that holds the session's transcript; empty if there is none.
        cwd: Working directory of the agent; commands run here. Empty: the project directory.
        timestamp: ISO 8601 time of the event; the engine fills it in when it is empty.
        raw: The payload that the event was decoded from, whole; `None` if it was built in Python.
        wire_name: The dialect's own name of the event; empty if it was built in Python.
    """

    name: ClassVar[str] = ""
    """Canonical name, for example `before_tool`."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    timestamp: str = ""
    raw: Mapping[str, Any] | None = None
    wire_name: str = ""

    def copy(self) -> Self:
        """Return an event whose JSON values are not shared with this one."""
        values = self.__dict__.items()
        return type(self)(
            **{f: copy_json(v) if isinstance(v, dict | list) else v for f, v in values}
        )


class ToolEvent(Event):
    """What the two tool events share.

    Attributes:
        tool_name: The tool, as the agent names it (`write_file`, `mcp_github_get_issue`).
        tool_input: The arguments of the call.
        mcp_context: The server behind an MCP tool (`server_name`, `tool_name`, `command`, `args`,
            `cwd`, `url`, `tcp`); `None` for other tools.
        original_request_name: The tool that the model asked for, when another runs in its place.
    """

    tool_name: str
    tool_input: dict[str, Any]
    mcp_context: dict[str, Any] | None = None
    original_request_name: str | None = None


class BeforeTool(ToolEvent):
    """A tool is about to run. It can be denied, asked about, or given other arguments."""

    name = "before_tool"


class AfterTool(ToolEvent):
    """A tool has run; its result has not reached the model yet.

    Attributes:
        tool_response: What the tool returned; an object in the reference, any JSON in the wild.
    """

    name = "after_tool"

    tool_response: Any = None


class BeforePrompt(Event):
    """The user submitted a prompt; the agent has not planned yet (Gemini: `BeforeAgent`)."""

    name = "before_prompt"

    prompt: str


class AfterAgent(Event):
    """The agent believes it is done. A denial sends it round again.

    Attributes:
        prompt: The user's prompt.
        prompt_response: The final text of the model.
        stop_hook_active: A hook has already sent the agent round in this turn.
    """

    name = "after_agent"

    prompt: str
    prompt_response: str
    stop_hook_active: bool = False


class BeforeModel(Event):
    """A request is about to go to the model."""

    name = "before_model"

    llm_request: LLMRequest


class AfterModel(Event):
    """A response came from the model; nobody has seen it yet."""

    name = "after_model"

    llm_request: LLMRequest
    llm_response: LLMResponse


class BeforeToolSelection(Event):
    """The model is about to choose tools; hooks may narrow the choice."""

    name = "before_tool_selection"

    llm_request: LLMRequest


class SessionStart(Event):
    """A session began. `source` is `startup`, `resume` or `clear`."""

    name = "session_start"

    source: str


class SessionEnd(Event):
    """A session ended. `reason` is `exit`, `clear`, `logout`, `prompt_input_exit` or `other`."""

    name = "session_end"

    reason: str


class BeforeCompress(Event):
    """The context is about to be compressed. `trigger` is `manual` or `auto`."""

    name = "before_compress"

    trigger: str


class Notification(Event):
    """The agent tells its user something, for example that a tool waits for permission.

    Attributes:
        notification_type: `ToolPermission`.
        message: The text.
        details: What the notification is about; its members depend on its `type`.
    """

    name = "notification"

    notification_type: str
    message: str = ""
    details: dict[str, Any] | None = None


class UnknownEvent(Event):
    """An event that the dialect does not know. It is never taken for another one."""

    name = "unknown"


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
"""Canonical name to class, in the order of an agent's life."""


def copy_json(value: Any) -> Any:
    """Copy dicts and lists; share everything else, which JSON cannot change."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def json_kind(cls: type[Event], field: str) -> str:
    """Return the JSON type that a field of an event must have on the wire.

    Returns:
        `string`, `boolean`, `object` or `any`.
    """
    for owner in cls.__mro__:
        kind = owner.__dict__.get("__annotations__", {}).get(field)  # noqa: RUF063 - strings, not types
        if kind is not None:
            return _KINDS.get(str(kind).removesuffix(" | None"), "any")
    return "any"


_KINDS = {
    "str": "string",
    "bool": "boolean",
    "dict[str, Any]": "object",
    "LLMRequest": "object",
    "LLMResponse": "object",
}
