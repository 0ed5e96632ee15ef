"""The canonical vocabulary of tools, and what a call of one means whatever agent made it.

The names are those of DeepWork's generic layer where it has one. A tool that is not in the
vocabulary keeps its raw name, and is never taken for another.
"""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.model.calls import Arguments
else:
    Arguments = object

TOOLS: dict[str, tuple[str, ...]] = {
    "shell": (
        "command",
        "description",
        "directory",
        "background",
        "timeout",
        "dangerouslyDisableSandbox",
    ),
    "read_file": ("file_path", "offset", "limit", "pages"),
    "read_many_files": ("include", "exclude"),
    "write_file": ("file_path", "content"),
    "edit_file": ("file_path", "old_string", "new_string", "replace_all"),
    "edit_notebook": ("notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"),
    "list_directory": ("path",),
    "glob": ("pattern", "path"),
    "grep": (
        "pattern",
        "path",
        "glob",
        "type",
        "output_mode",
        "ignore_case",
        "only_matching",
        "line_numbers",
        "lines_before",
        "lines_after",
        "lines_around",
        "context",
        "head_limit",
        "offset",
        "multiline",
    ),
    "web_fetch": ("url", "prompt", "offset"),
    "web_search": ("query", "allowed_domains", "blocked_domains"),
    "agent": ("prompt", "description", "agent_type", "model", "background", "isolation", "name"),
    "ask_user": ("questions", "answers"),
    "write_todos": ("todos",),
    "save_memory": ("fact",),
    "skill": ("name", "args"),
    "enter_plan_mode": (),
    "exit_plan_mode": ("plan",),
}
"""Canonical tool to its canonical arguments; one that a single agent has keeps that agent's name.

Their types are in `anyhook.model.calls`.
"""

PATHS = frozenset({"file_path", "notebook_path", "path", "directory"})
"""Canonical arguments that hold one path."""

MCP_PREFIX = "mcp__"
"""The canonical name of an MCP tool is `mcp__SERVER__TOOL`, case kept."""


class Tool(Record, kw_only=False):
    """One tool of the canonical vocabulary, as an agent has it.

    Attributes:
        names: The agent's names, the newest first; older ones are understood.
        keys: Canonical argument to the agent's; arguments that are not here have the same name.
        items: Canonical argument that is a list of objects to their keys, likewise.
        without: Canonical arguments that the agent's tool does not have.
    """

    names: tuple[str, ...]
    keys: Mapping[str, str] = MappingProxyType({})
    items: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    without: frozenset[str] = frozenset()


class Vocabulary(Record):
    """An agent's words for tools.

    Attributes:
        agent: Whose words.
        tools: Canonical tool to the agent's.
        mcp_name: Template of the name of an MCP tool, with `{server}` and `{tool}`.
    """

    agent: str
    tools: Mapping[str, Tool]
    mcp_name: str

    def __repr__(self) -> str:
        return f"<words of {self.agent}>"

    @cached_property
    def canonical(self) -> Mapping[str, str]:
        """The agent's tool names, older ones too, with the canonical name."""
        return {name: tool for tool, row in self.tools.items() for name in row.names}

    def name(self, tool: str) -> str | None:
        """Return the agent's name of a canonical tool; `None` if it has no such tool."""
        if tool.startswith(MCP_PREFIX):
            server, found, inner = tool.removeprefix(MCP_PREFIX).partition("__")
            return self.mcp_name.format(server=server, tool=inner) if found else None
        return self.tools[tool].names[0] if tool in self.tools else None

    def tool(self, name: str, mcp: Mapping[str, Any] | None = None) -> str:
        """Return the canonical name of an agent's tool; its own if it has none.

        Args:
            name: As the agent names it.
            mcp: The server behind it (`server_name`, `tool_name`), which some agents tell apart.
        """
        found = self.canonical.get(name)
        if found is not None:
            return found
        server, inner = (mcp or {}).get("server_name"), (mcp or {}).get("tool_name")
        if isinstance(server, str) and isinstance(inner, str):
            return f"{MCP_PREFIX}{server}__{inner}"
        return name

    def call(
        self, name: str, given: Mapping[str, Any], mcp: Mapping[str, Any] | None = None
    ) -> ToolCall:
        """Put a tool call in canonical words."""
        tool = self.tool(name, mcp)
        kind = CALLS.get(tool, ToolCall)
        row = self.tools.get(tool)
        if row is None:
            return kind(tool=tool, arguments=dict(given))
        back = _turned(row.keys)
        arguments = {back.get(k, k): v for k, v in given.items()}
        for key, names in row.items.items():
            if key in arguments:
                arguments[key] = _renamed(arguments[key], _turned(names))
        return kind(tool=tool, arguments=arguments, own_names=back)

    def arguments(self, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Put canonical arguments of a canonical tool in the agent's words."""
        row = self.tools.get(tool)
        if row is None:
            return dict(given)
        return {
            row.keys.get(key, key): _renamed(value, row.items[key]) if key in row.items else value
            for key, value in given.items()
        }


def _turned(names: Mapping[str, str]) -> dict[str, str]:
    return {wire: own for own, wire in names.items()}


def _renamed(items: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(items, list):
        return items
    return [
        {names.get(k, k): v for k, v in item.items()} if isinstance(item, dict) else item
        for item in items
    ]


class ToolCall(Record, Arguments):
    """A tool call in canonical words.

    Attributes:
        tool: Canonical name, or the raw one of a tool outside the vocabulary.
        arguments: Arguments under their canonical names; those that have none keep theirs.
        own_names: The agent's names of arguments, with the canonical ones.
    """

    tool: str
    arguments: Mapping[str, Any]
    own_names: Mapping[str, str] = MappingProxyType({})

    @property
    def is_known(self) -> bool:
        """Whether the tool is in the vocabulary, so that its arguments are known."""
        return self.tool in TOOLS

    def has(self, name: str) -> bool:
        """Return whether the call has an argument of that name, or can have one."""
        known = TOOLS.get(self.tool, ())
        return name in known or name in self.own_names or name in self.arguments

    if not TYPE_CHECKING:  # a type checker knows the arguments of each tool

        def __getattr__(self, name: str) -> Any:
            return self._argument(name)

    def _argument(self, name: str) -> Any:
        """Return an argument that the tool can have; `None` if the call does not have it.

        Raises:
            AttributeError: If it is no argument of the tool and the call does not have it.
        """
        values = self.__dict__
        tool, arguments = values.get("tool", ""), values.get("arguments", {})
        name = values.get("own_names", {}).get(name, name)
        known = TOOLS.get(tool, ())
        if name in known or name in arguments:
            return arguments.get(name)
        from anyhook.model.suggest import did_you_mean

        names = [*known, *arguments]
        hint = did_you_mean(name, names) or f"it has {', '.join(names) or 'no arguments'}"
        raise AttributeError(f"a call of {tool!r} has no {name!r}; {hint}")


def check_argument(call: ToolCall, tool_name: str, name: str) -> None:
    """Refuse a name that is no argument of a call, or may be meant for something else.

    Args:
        call: A call that has no argument of that name.
        tool_name: The tool, as the agent names it.
        name: What its author wants to set.

    Raises:
        TypeError: If the tool has no such argument, or it may be a field of the answer as well.
    """
    from anyhook.model.answers import Answer
    from anyhook.model.suggest import did_you_mean

    if call.is_known:
        known = TOOLS[call.tool]
        hint = did_you_mean(name, [*known, *call.own_names]) or f"it has {', '.join(known)}"
        raise TypeError(
            f"{tool_name} has no argument {name!r}; {hint} "
            "(for one that anyhook does not know, return Answer(tool_input={...}))"
        )
    if name in Answer.record_names:
        raise TypeError(
            f"{name!r} may be an argument of {tool_name} or a field of the answer; "
            f"write event.rewrite(...).replace({name}=...) for the answer, or return "
            f"Answer(tool_input={{{name!r}: ...}}) for the argument"
        )


CALLS: dict[str, type[ToolCall]] = {}
"""Canonical tool to the class of its calls, where an author has imported it."""


NO_WORDS = Vocabulary(agent="nobody", tools={}, mcp_name="{server}__{tool}")
"""The vocabulary of an agent that nobody knows: every tool keeps its raw name."""


class ToolResult(Record):
    """What a tool returned, whatever its shape.

    Attributes:
        text: All text in it, as far as it can be told.
        stdout: Standard output of a shell command, if the agent keeps it apart.
        stderr: Its standard error, likewise.
        exit_code: Its exit code, if the agent says.
        file_path: The file that was read or written, if the agent says.
        interrupted: Whether it was cut short.
        error: The text of an error; `None` if it went well.
        success: Whether it went well; `None` if the agent does not report it.
        replacement_count: Number of texts that an edit replaced, or `None`.
        line_count: Number of lines that were read, or `None`.
        truncated: Whether the result was cut by the agent, or `None`.
        raw: As the agent sent it.
    """

    text: str = ""
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    file_path: str | None = None
    interrupted: bool = False
    error: str | None = None
    success: bool | None = None
    replacement_count: int | None = None
    line_count: int | None = None
    truncated: bool | None = None
    raw: Any = None


NO_SUCCESS = "the tool reports that it did not succeed"
"""The error of a result that reports a failure and holds no text."""


def read_result(response: Any, error: str | None = None) -> ToolResult:
    """Look at what a tool returned: an object of any agent, a text, or any other JSON."""
    if not isinstance(response, dict):
        return ToolResult(text=text_of(response), error=error, raw=response)
    file = response.get("file")
    inner = file if isinstance(file, dict) else {}
    parts = [text_of(response[key]) for key in _TEXTS if key in response]
    if not parts:
        parts = [text_of(inner.get("content"))]
    text = "\n".join(filter(None, parts))
    success = _boolean(response.get("success"))
    if error is None:
        error = _texts(response.get("error")) or None
    if error is None and success is False:
        error = text or NO_SUCCESS
    line_count = _integer(response.get("lineCount"))
    if line_count is None:
        line_count = _integer(inner.get("numLines"))
    return ToolResult(
        text=text,
        stdout=_string(response.get("stdout")),
        stderr=_string(response.get("stderr")),
        exit_code=_integer(response.get("exitCode")),
        file_path=_string(response.get("filePath")) or _string(inner.get("filePath")),
        interrupted=response.get("interrupted") is True,
        error=error,
        success=success,
        replacement_count=_integer(response.get("replacementCount")),
        line_count=line_count,
        truncated=_boolean(response.get("truncated")),
        raw=response,
    )


_TEXTS = ("llmContent", "stdout", "stderr", "content", "result", "text")
"""Members of a response that hold its text."""


def all_texts(value: Any) -> list[str]:
    """List every string inside a JSON value, in order."""
    found: list[str] = []
    open_values = [value]
    while open_values:
        item = open_values.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            open_values.extend(reversed(list(item.values())))
        elif isinstance(item, list):
            open_values.extend(reversed(item))
    return found


def text_of(value: Any) -> str:
    """Return the text of a value; of a list of parts (`{"text": …}`) that of the parts."""
    parts = value if isinstance(value, list) else [value]
    texts = [p["text"] if isinstance(p, dict) and _string(p.get("text")) else p for p in parts]
    return _texts(texts)


def _texts(value: Any) -> str:
    return "\n".join(text for text in all_texts(value) if text)


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
