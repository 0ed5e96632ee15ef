"""The base classes of events."""

from __future__ import annotations

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any, ClassVar, Generic, Self

    from typing_extensions import TypeVar

    from anyhook.model.answers import Answer
    from anyhook.model.call_effects import CallEffects, Match
    from anyhook.model.tools import ToolCall, Vocabulary
    from anyhook.shell.command import Command

    CallT_co = TypeVar("CallT_co", bound=ToolCall, covariant=True, default=ToolCall)

    class OfTool(Generic[CallT_co]):
        """An event of one tool, for type checkers: `BeforeTool[Shell]`."""

else:
    CallT_co = None

    # `typing.Generic` costs a hook the import of `typing`, and only type checkers need it.
    class OfTool:
        """An event of one tool, for type checkers: `BeforeTool[Shell]` is `BeforeTool`."""

        def __class_getitem__(cls, _call: object) -> type:
            return cls


STARTS_NOTHING = ("list", "status", "read", "stop", "signal", "summarize")
"""Operations of a tool that also starts programs, like `manage_processes` of TerminaI."""
CODE_RUNNERS = {
    **dict.fromkeys(("bash", "sh", "shell"), ("bash", "-c")),
    **dict.fromkeys(("python", "python3"), ("python3", "-c")),
    **dict.fromkeys(("javascript", "js", "node"), ("node", "-e")),
}
"""Language of a tool that runs code, like `execute_repl` of TerminaI, to how a shell runs it."""


class Event(Record):
    """The fields of every event.

    Attributes:
        session_id: Identifier of the agent's session.
        transcript_path: Path of the session's transcript; empty if there is none.
        cwd: Working directory of the agent, in which commands run; empty for the project directory.
        timestamp: Time of the event in ISO 8601; the engine sets it if it is empty.
        prompt_id: Identifier of the user's prompt that led to the event.
        permission_mode: How the agent asks for permission: `default`, `plan`, `acceptEdits`,
            `auto`, `dontAsk` or `bypassPermissions`.
        agent_id: Identifier of the subagent in which the event happened.
        agent_type: Type of that subagent.
        effort: Reasoning effort of the model, `{"level": …}`.
        scratchpad_dir: Directory for the agent's notes.
        raw: The whole payload that was decoded; `None` for an event that was built in Python.
        wire_name: The agent's name of the event; empty for an event that was built in Python.
        vocabulary: The agent's names of tools and arguments; `None` if the agent is unknown.
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
        """All strings in the fields of this kind of event, one per line, for guards to search.

        For example the arguments and the result of a tool call, a prompt, or a conversation; not
        the identifiers and paths that every event has.
        """
        own_fields = [field for field in self.record_fields if field not in Event.record_fields]
        return join_texts(getattr(self, field) for field in own_fields)

    def copy(self) -> Self:
        """Return an event whose JSON values are not shared with this one."""
        containers = {
            name: copy_json(value)
            for name, value in self.__dict__.items()
            if isinstance(value, _CONTAINERS) and name in self.record_names
        }
        return self.replace(**containers)


class ToolEvent(Event, OfTool[CallT_co]):
    """The fields of every event of a tool call.

    For type checkers, `BeforeTool[Shell]` is the event of one tool.

    Attributes:
        tool_name: The tool, as the agent names it (`write_file`, `mcp_github_get_issue`).
        tool_input: The arguments of the call, as the agent names them.
        mcp_context: The server of an MCP tool (`server_name`, `tool_name`, `command`, `args`,
            `cwd`, `url`, `tcp`), from Gemini CLI; `None` for other tools.
        original_request_name: The tool that the model requested, if another one replaced it.
        tool_use_id: Identifier of the call.
        mcp_server: The server of an MCP tool (`name`, `source`), from Claude Code.
    """

    tool_name: str
    tool_input: dict[str, Any]
    mcp_context: dict[str, Any] | None = None
    original_request_name: str | None = None
    tool_use_id: str | None = None
    mcp_server: dict[str, Any] | None = None

    @property
    def call(self) -> CallT_co:
        """The call by canonical names: `event.call.command`."""
        from anyhook.model.tools import NO_VOCABULARY

        vocabulary = self.vocabulary or NO_VOCABULARY
        call: Any = vocabulary.call(self.tool_name, self.tool_input, self.mcp_context)
        return call  # type: ignore[no-any-return] # its class is chosen by the name of the tool

    @property
    def tool(self) -> str:
        """Canonical name of the tool (`shell`, `write_file`, `mcp__server__tool`)."""
        from anyhook.model.tools import NO_VOCABULARY

        vocabulary = self.vocabulary or NO_VOCABULARY
        return vocabulary.tool(self.tool_name, self.mcp_context)

    @property
    def text(self) -> str:
        """All strings in the arguments and the result, one per line, for guards to search."""
        return join_texts((self.tool_input, getattr(self, "tool_response", None)))

    @property
    def commands(self) -> tuple[Command, ...]:
        """What a call of the shell runs in the end, behind `sudo`, `sh -c`, `xargs` and the like.

        Also what an MCP tool runs that has a `command`, which is never certain; empty for other
        tools. A text that cannot be read is one command with `certain=False`.
        """
        return self._effects.commands

    def _read_commands(self) -> tuple[Command, ...]:
        call: ToolCall = self.call
        from anyhook.model.call_effects import runs_command

        if call.tool != "shell" and not runs_command(call):
            return ()
        from anyhook.shell.commands import read_commands

        text = call.arguments.get("command")
        if text is None and call.arguments.get("operation") in STARTS_NOTHING:
            return ()
        runner = CODE_RUNNERS.get(str(call.arguments.get("language")).lower())
        if text is None and runner:
            text = [*runner, call.arguments.get("code")]
        # Some agents take a list of words; any other type cannot be read.
        if isinstance(text, list) and all(isinstance(word, str) for word in text):
            from shlex import join

            text = join(text)
        shell = "powershell" if self.tool_name.lower() == "powershell" else None
        if not isinstance(text, str):
            # A tool that may do without a command shows what it was given.
            text, shell = str(call.arguments if text is None else text), "unknown"
        # Cursor 3.9 has `cwd` in place of the argument of its reference.
        directory = call.arguments.get("directory") or call.arguments.get("cwd")
        cwd = self.cwd
        if isinstance(directory, str) and directory:
            from anyhook.shell.paths import join_path

            cwd = join_path(cwd, directory)
        commands = read_commands(text, home=_home(), cwd=cwd, shell=shell)
        # Where a server runs them is not known.
        return commands if call.tool == "shell" else tuple([it.as_uncertain() for it in commands])

    @property
    def _effects(self) -> CallEffects:
        effects: CallEffects | None = self.__dict__.get("_call_effects")
        if effects is not None:
            return effects
        from anyhook.model.call_effects import CallEffects

        row = self.vocabulary.tools.get(self.tool) if self.vocabulary else None
        effects = CallEffects(
            self.call,
            self._read_commands(),
            directory=self.cwd,
            home=_home(),
            patch=row.patch if row else "",
        )
        self.__dict__["_call_effects"] = effects
        return effects

    def runs(self, program: str, *operands: str, options: Collection[str] = ()) -> Match:
        """Return whether a call of the shell runs a program.

        Args:
            program: Its name without directories; `*` stands for any characters (`mkfs*`). The
                words of a command, like `"git push --force"`, mean its program and the rest.
            operands: What its first arguments are that are not options: `"push"`; `*` stands for
                any characters here, too.
            options: The options that it has, all of them, each in any spelling: `{"--force"}`.

        Returns:
            A match that is true also where only the running shell knows; see `Match.certain`.
        """
        return self._effects.runs(program, *operands, options=options)

    def reads(self, *patterns: str, but_not: Collection[str] = ()) -> Match:
        """Return whether the call reads a file that one of some patterns covers.

        Args:
            patterns: Paths in which `*` stands for a part of a name and `**` for directories:
                `src/**` from the working directory, `~/.ssh/**`, `/etc/**`; `.env` anywhere.
            but_not: Patterns of paths that do not count: `.env.example`, `/tmp/**`.
        """
        return self._effects.does("reads", patterns, but_not)

    def writes(self, *patterns: str, but_not: Collection[str] = ()) -> Match:
        """Return whether the call creates or changes a file that one of some patterns covers."""
        return self._effects.does("writes", patterns, but_not)

    def deletes(self, *patterns: str, but_not: Collection[str] = ()) -> Match:
        """Return whether the call deletes a file that one of some patterns covers.

        Deleting a directory deletes what is in it; moving a file deletes it where it was.
        """
        return self._effects.does("deletes", patterns, but_not)

    def contacts(self, *patterns: str, but_not: Collection[str] = ()) -> Match:
        """Return whether the call contacts a host: `example.com`, `*.example.com`, `*`."""
        return self._effects.contacts(patterns, but_not)

    def rewrite(self, **changes: Any) -> Answer:
        """Return an answer with changed arguments; the others stay as they are.

        Args:
            changes: Arguments by their canonical names (`command`, `file_path`, `content`, …) or
                the agent's, and other fields of the answer (`system_message`, `context`, …).

        Raises:
            TypeError: If the tool has no such argument, or if a name is ambiguous: of a tool
                outside the vocabulary it may be an argument or a field of the answer.
        """
        from anyhook.model.answers import Answer, Outcome
        from anyhook.model.tools import NO_VOCABULARY, check_argument

        arguments: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        call: ToolCall = self.call
        for name, value in changes.items():
            is_field = name in Answer.record_names and name != "tool_input"
            if call.has(name):
                arguments[name] = value
            elif is_field and call.is_known:
                fields[name] = value
            else:
                check_argument(call, self.tool_name, name)
                arguments[name] = value
        if fields.get("approve"):
            fields.setdefault("outcome", Outcome.ALLOW)
        vocabulary = self.vocabulary or NO_VOCABULARY
        changed = vocabulary.arguments(call.tool, arguments)
        return Answer(tool_input={**self.tool_input, **changed}, **fields)


def _home() -> str | None:
    from os import environ

    return environ.get("HOME") or environ.get("USERPROFILE")


class UnknownEvent(Event):
    """An event that the agent's tables do not have. It never stands for another event."""

    name = "unknown"


def events_in(module: Mapping[str, object]) -> dict[str, type[Event]]:
    """Return the classes of a module's events by canonical name, in the order of the module."""
    events: dict[str, type[Event]] = {}
    for value in module.values():
        if isinstance(value, type) and issubclass(value, Event) and value.name:
            events[value.name] = value
    return events


def join_texts(values: Iterable[Any]) -> str:
    """Return all strings in some JSON values, one per line."""
    from anyhook.model.tools import all_texts

    return "\n".join([text for value in values for text in all_texts(value)])


_CONTAINERS = (dict, list)


def copy_json(value: Any) -> Any:
    """Copy dicts and lists; share everything else, which is immutable in JSON."""
    # Most values are not containers: a call for each of them would take most of the time.
    if isinstance(value, dict):
        return {
            key: copy_json(item) if isinstance(item, _CONTAINERS) else item
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [copy_json(item) if isinstance(item, _CONTAINERS) else item for item in value]
    return value


_JSON_TYPES = {
    "str": "string",
    "bool": "boolean",
    "float": "number",
    "list[Any]": "array",
    "dict[str, Any]": "object",
    "LLMRequest": "object",
    "LLMResponse": "object",
}
"""Annotation of a field to its JSON type."""

_json_types: dict[tuple[type[Event], str], str] = {}
"""Cache of `json_kind`."""


def json_kind(cls: type[Event], field: str) -> str:
    """Return the JSON type that a field of an event must have in a payload.

    It is `string`, `boolean`, `number`, `object`, `array` or `any`.
    """
    json_type = _json_types.get((cls, field))
    if json_type is None:
        annotation = ""
        for base in reversed(cls.__mro__):
            annotations = base.__dict__.get("__annotations__", {})  # noqa: RUF063 - strings, not types
            annotation = str(annotations.get(field, annotation))
        kind = annotation.removesuffix(" | None")
        json_type = _json_types[cls, field] = _JSON_TYPES.get(kind, "any")
    return json_type
