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

TOOLS: dict[str, tuple[str, ...]] = {
    "shell": ("command", "description", "directory", "background"),
    "read_file": ("file_path", "offset", "limit"),
    "read_many_files": ("include", "exclude"),
    "write_file": ("file_path", "content"),
    "edit_file": ("file_path", "old_string", "new_string", "replace_all"),
    "edit_notebook": ("notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"),
    "list_directory": ("path",),
    "glob": ("pattern", "path"),
    "grep": ("pattern", "path", "glob"),
    "web_fetch": ("url", "prompt"),
    "web_search": ("query",),
    "agent": ("prompt", "description", "agent_type"),
    "ask_user": ("questions",),
    "write_todos": ("todos",),
    "save_memory": ("fact",),
    "skill": ("name",),
    "enter_plan_mode": (),
    "exit_plan_mode": ("plan",),
}
"""Canonical tool to its canonical arguments."""

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
        row = self.tools.get(tool)
        if row is None:
            return ToolCall(tool=tool, arguments=dict(given))
        back = _turned(row.keys)
        arguments = {back.get(k, k): v for k, v in given.items()}
        for key, names in row.items.items():
            if key in arguments:
                arguments[key] = _renamed(arguments[key], _turned(names))
        return ToolCall(tool=tool, arguments=arguments)

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


class ToolCall(Record):
    """A tool call in canonical words.

    Attributes:
        tool: Canonical name, or the raw one of a tool outside the vocabulary.
        arguments: Arguments under their canonical names; those that have none keep theirs.
    """

    tool: str
    arguments: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        """Return an argument of the tool's vocabulary; `None` if the call does not have it."""
        if name in TOOLS.get(self.__dict__.get("tool", ""), ()):
            return self.arguments.get(name)
        raise AttributeError(f"a call of {self.__dict__.get('tool')!r} has no {name!r}")


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
        raw: As the agent sent it.
    """

    text: str = ""
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    file_path: str | None = None
    interrupted: bool = False
    error: str | None = None
    raw: Any = None


def read_result(response: Any, error: str | None = None) -> ToolResult:
    """Look at what a tool returned: an object of any agent, a text, or any other JSON."""
    if not isinstance(response, dict):
        return ToolResult(text=text_of(response), error=error, raw=response)
    file = response.get("file")
    inner = file if isinstance(file, dict) else {}
    said = response.get("error")
    code = response.get("exitCode")
    return ToolResult(
        text="\n".join(
            filter(
                None,
                [text_of(response[key]) for key in _TEXTS if key in response]
                or [text_of(inner.get("content"))],
            )
        ),
        stdout=_string(response.get("stdout")),
        stderr=_string(response.get("stderr")),
        exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        file_path=_string(response.get("filePath")) or _string(inner.get("filePath")),
        interrupted=response.get("interrupted") is True,
        error=error if error is not None else (_texts(said) or None),
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
