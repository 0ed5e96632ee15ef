"""The events of an agent's life, typed.

One class per canonical event. What an agent calls the event on the wire, which of its fields it
has and under which keys, and which of them a matcher sees, is data in `anyhook.agents`. Fields
that an agent does not send are empty. The events that Claude Code alone has are in
`anyhook.model.further_events`.
"""

from __future__ import annotations

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Generic, Self

    from typing_extensions import TypeVar

    from anyhook.model.answers import Answer
    from anyhook.model.llm import LLMRequest, LLMResponse
    from anyhook.model.tools import ToolCall, ToolResult, Vocabulary

    CallT_co = TypeVar("CallT_co", bound=ToolCall, covariant=True, default=ToolCall)

    class OfTool(Generic[CallT_co]):
        """An event of one tool, for type checkers: `BeforeTool[Shell]`."""

else:
    CallT_co = None

    class OfTool:
        """An event of one tool, for type checkers: `BeforeTool[Shell]` is `BeforeTool`."""

        def __class_getitem__(cls, _call: object) -> type:
            return cls


class Event(Record):
    """What every event carries.

    Attributes:
        session_id: The agent's session.
        transcript_path: File that holds the session's transcript; empty if there is none.
        cwd: Working directory of the agent; commands run here. Empty: the project directory.
        timestamp: ISO 8601 time of the event; the engine fills it in when it is empty.
        prompt_id: The user's prompt that the event belongs to.
        permission_mode: How the agent asks for permission (`default`, `plan`, `acceptEdits`,
            `auto`, `dontAsk`, `bypassPermissions`).
        agent_id: The subagent that the event happened in.
        agent_type: Its type.
        effort: How hard the model thinks, `{"level": …}`.
        scratchpad_dir: Directory for the agent's notes.
        raw: The payload that the event was decoded from, whole; `None` if it was built in Python.
        wire_name: The agent's own name of the event; empty if it was built in Python.
        vocabulary: The agent's words for tools; `None` if nobody said which agent it is.
    """

    name: ClassVar[str] = ""
    """Canonical name, for example `before_tool`."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    timestamp: str = ""
    prompt_id: str | None = None
    permission_mode: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    effort: dict[str, Any] | None = None
    scratchpad_dir: str | None = None
    raw: Mapping[str, Any] | None = None
    wire_name: str = ""
    vocabulary: Vocabulary | None = None

    @property
    def text(self) -> str:
        """Every text that the event is about, one a line: what a guard searches.

        Those are the strings inside the fields of its own: the arguments of a tool call and what
        came back, a prompt, the conversation; not the session's identifiers and paths.
        """
        from anyhook.model.tools import all_texts

        own = [f for f in self.record_fields if f not in Event.record_fields]
        return "\n".join(text for f in own for text in all_texts(getattr(self, f)))

    def copy(self) -> Self:
        """Return an event whose JSON values are not shared with this one."""
        values = self.__dict__.items()
        return type(self)(
            **{f: copy_json(v) if isinstance(v, dict | list) else v for f, v in values}
        )


class ToolEvent(Event, OfTool[CallT_co]):
    """What the tool events share. For type checkers, `BeforeTool[Shell]` is that of one tool.

    Attributes:
        tool_name: The tool, as the agent names it (`write_file`, `mcp_github_get_issue`).
        tool_input: The arguments of the call.
        mcp_context: The server behind an MCP tool (`server_name`, `tool_name`, `command`, `args`,
            `cwd`, `url`, `tcp`); `None` for other tools.
        original_request_name: The tool that the model asked for, when another runs in its place.
        tool_use_id: Identifier of the call.
        mcp_server: The server behind an MCP tool (`name`, `source`), as Claude Code tells it.
    """

    tool_name: str
    tool_input: dict[str, Any]
    mcp_context: dict[str, Any] | None = None
    original_request_name: str | None = None
    tool_use_id: str | None = None
    mcp_server: dict[str, Any] | None = None

    @property
    def call(self) -> CallT_co:
        """The call in canonical words, `event.call.command` for example."""
        from anyhook.model.tools import NO_WORDS

        words = self.vocabulary or NO_WORDS
        call: Any = words.call(self.tool_name, self.tool_input, self.mcp_context)
        return call  # type: ignore[no-any-return] # its class is chosen by the name of the tool

    @property
    def tool(self) -> str:
        """Canonical name of the tool (`shell`, `write_file`, `mcp__server__tool`)."""
        return self.call.tool

    @property
    def text(self) -> str:
        """Every text in the arguments and in the result: what a guard searches."""
        from anyhook.model.tools import all_texts

        values = (self.tool_input, getattr(self, "tool_response", None))
        return "\n".join(text for value in values for text in all_texts(value))

    def rewrite(self, **changes: Any) -> Answer:
        """Answer with changed arguments; those that are not named stay as they are.

        Args:
            changes: Arguments by their canonical names (`command`, `file_path`, `content`, …) or
                the agent's own, and fields of the answer (`system_message`, `context`, …).

        Raises:
            TypeError: If the tool has no such argument, or if a name could be both: an argument
                of a tool that is not in the vocabulary, and a field of the answer.
        """
        from anyhook.model.answers import Answer, Outcome
        from anyhook.model.tools import NO_WORDS, check_argument

        arguments: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        call: ToolCall = self.call
        for name, value in changes.items():
            if call.has(name):
                arguments[name] = value
            elif name in Answer.record_names and name != "tool_input" and call.is_known:
                fields[name] = value
            else:
                check_argument(call, self.tool_name, name)
                arguments[name] = value
        if fields.get("approve"):
            fields.setdefault("outcome", Outcome.ALLOW)
        words = self.vocabulary or NO_WORDS
        changed = words.arguments(call.tool, arguments)
        return Answer(tool_input={**self.tool_input, **changed}, **fields)


class BeforeTool(ToolEvent[CallT_co]):
    """A tool is about to run. It can be denied, asked about, or given other arguments."""

    name = "before_tool"


class AfterTool(ToolEvent[CallT_co]):
    """A tool has run; its result has not reached the model yet.

    Attributes:
        tool_response: What the tool returned; an object in the reference, any JSON in the wild.
        duration_ms: Milliseconds that it took.
    """

    name = "after_tool"

    tool_response: Any = None
    duration_ms: float | None = None

    @property
    def result(self) -> ToolResult:
        """What came back, whatever its shape: `text`, `stdout`, `exit_code`, and so on."""
        from anyhook.model.tools import read_result

        return read_result(self.tool_response)


class BeforePrompt(Event):
    """The user submitted a prompt; the agent has not planned yet.

    Attributes:
        prompt: Its text.
        session_title: Title that the user gave the session.
        source: Who wrote it: `user`, `sdk`, `system`, `loop_wakeup`, `schedule_wakeup` or
            `poll_event`.
    """

    name = "before_prompt"

    prompt: str
    session_title: str | None = None
    source: str | None = None


class AfterAgent(Event):
    """The agent believes it is done. A denial sends it round again.

    Attributes:
        prompt: The user's prompt.
        prompt_response: The final text of the model.
        stop_hook_active: A hook has already sent the agent round in this turn.
        background_tasks: Tasks that still run.
        session_crons: Timers of the session.
    """

    name = "after_agent"

    prompt: str
    prompt_response: str
    stop_hook_active: bool = False
    background_tasks: list[Any] | None = None
    session_crons: list[Any] | None = None


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

    def only(self, *tools: str) -> Answer:
        """Answer that the model may call these tools alone.

        Args:
            tools: Canonical names, or the agent's own; none at all means no tool.
        """
        from anyhook.model.answers import Answer
        from anyhook.model.tools import NO_WORDS

        words = self.vocabulary or NO_WORDS
        names = [words.name(tool) or tool for tool in tools]
        return Answer(
            tool_config={"mode": "ANY" if names else "NONE", "allowedFunctionNames": names}
        )


class SessionStart(Event):
    """A session began.

    Attributes:
        source: `startup`, `resume`, `clear`; Claude Code: also `compact` and `fork`.
        model: The model, if the agent says.
        session_title: Title that the user gave the session.
        seconds_since_last_response: Age of a session that is resumed.
        context_tokens: Its size.
        prompt_cache_likely_expired: Whether resuming it pays for the whole context again.
        estimated_cache_write_usd: How much, in US dollars.
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
    """A session ended. `reason` is `exit`, `clear`, `logout`, `prompt_input_exit` or `other`."""

    name = "session_end"

    reason: str


class BeforeCompress(Event):
    """The context is about to be compressed.

    Attributes:
        trigger: `manual` or `auto`.
        custom_instructions: What the user wants kept.
    """

    name = "before_compress"

    trigger: str
    custom_instructions: str | None = None


class Notification(Event):
    """The agent tells its user something, for example that a tool waits for permission.

    Attributes:
        notification_type: `ToolPermission`; Claude Code: `permission_prompt`, `idle_prompt`, …
        message: The text.
        details: What the notification is about; its members depend on its `type`.
        title: Its title.
    """

    name = "notification"

    notification_type: str
    message: str = ""
    details: dict[str, Any] | None = None
    title: str | None = None


class UnknownEvent(Event):
    """An event that the agent does not know. It is never taken for another one."""

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


def event_class(name: str) -> type[Event]:
    """Return the class of a canonical event; `UnknownEvent` if there is none of that name."""
    found = EVENTS.get(name)
    if found is None:
        from anyhook.model.further_events import FURTHER_EVENTS

        found = FURTHER_EVENTS.get(name, UnknownEvent)
    return found


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
        `string`, `boolean`, `number`, `object`, `array` or `any`.
    """
    kind = _kinds_of.get((cls, field))
    if kind is None:
        kind = _kinds_of[cls, field] = _find_kind(cls, field)
    return kind


_kinds_of: dict[tuple[type[Event], str], str] = {}


def _find_kind(cls: type[Event], field: str) -> str:
    for owner in cls.__mro__:
        kind = owner.__dict__.get("__annotations__", {}).get(field)  # noqa: RUF063 - strings, not types
        if kind is not None:
            return _KINDS.get(str(kind).removesuffix(" | None"), "any")
    return "any"


_KINDS = {
    "str": "string",
    "bool": "boolean",
    "float": "number",
    "list[Any]": "array",
    "dict[str, Any]": "object",
    "LLMRequest": "object",
    "LLMResponse": "object",
}
