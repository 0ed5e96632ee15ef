"""What a tool of a program does, where its name and those of its arguments make that plain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.tool_names import counterpart_tool
from anyhook.model.call_effects import CallEffects, runs_command
from anyhook.model.record import EMPTY, Record
from anyhook.model.suggest import fold
from anyhook.model.tools import MCP_PREFIX, TOOLS, ToolCall

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from anyhook.agents.spec import AgentSpec

_PATH = ("file_path", "path", "file", "filename")
_CONTENT = ("content", "contents", "text", "body", "data", "file_text")
_COMMAND = ("command", "cmd", "shell_command", "shell_cmd", "bash_command", "command_line")
_OLD = ("old_string", "old_str", "old_text", "old", "search")
_NEW = ("new_string", "new_str", "new_text", "new", "replace", "replacement")

MAIN_ARGUMENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "edit_file": {"file_path": _PATH, "old_string": _OLD, "new_string": _NEW},
    "write_file": {"file_path": _PATH, "content": _CONTENT},
    "shell": {"command": _COMMAND},
    "web_fetch": {"url": ("url", "uri")},
}
"""Canonical tool to the arguments without which it does nothing, each with its usual names.

A tool that has all arguments of a row is of that kind; the first row counts, because editors of
files may have a `command` too.
"""
READS: dict[str, dict[str, tuple[str, ...]]] = {"read_file": {"file_path": _PATH}}
"""The same for tools whose arguments alone say too little: tools that delete have a path, too."""

DEEDS = {
    "shell": "is a shell",
    "write_file": "writes files",
    "edit_file": "edits files",
    "read_file": "reads files",
    "web_fetch": "fetches URLs",
}
"""Canonical tool to what it does, for people."""


class ToolKind(Record, kw_only=False):
    """What a tool does, in canonical words."""

    tool: str
    renamed: Mapping[str, str] = EMPTY
    """Names of its main arguments to the canonical ones, where they differ."""

    def describe(self, agent: AgentSpec) -> str:
        """Return what the tool does, as the end of a sentence: `is a shell`."""
        own_name = agent.vocabulary.name(self.tool) or self.tool
        return DEEDS.get(self.tool, f"does what {own_name} does")

    def mapping(self, name: str) -> str:
        """Return the option that declares a tool of the program to be of this kind."""
        value = f'"{self.tool}"'
        if self.renamed:
            pairs = ", ".join(f'"{own}": "{main}"' for own, main in self.renamed.items())
            value = f"HostTool({value}, {{{pairs}}})"
        return f'tools={{"{name}": {value}}}'

    def is_read(self, name: str, arguments: Collection[str]) -> bool:
        """Return whether hook files see what a tool of this kind does that is not of the agent.

        Args:
            name: Its canonical name, which may be `mcp__SERVER__TOOL`.
            arguments: The names of its arguments.
        """
        call = ToolCall(tool=name, arguments=dict.fromkeys(arguments, "x"))
        if self.tool == "shell":
            return runs_command(call)
        effects = CallEffects(call, (), directory="/", home=None)
        kind = "reads" if self.tool == "read_file" else "writes"
        return bool(effects.does(kind, ["/**"], ()))


def find_kind(agent: AgentSpec, name: str, arguments: Collection[str]) -> ToolKind | None:
    """Return what a tool does if that is plain; `None` if it is not.

    Names of the tool and of its arguments are the program's; the name of a tool of an MCP server
    may also be `mcp__SERVER__TOOL`.
    """
    if name.startswith(MCP_PREFIX):
        name = name.rpartition("__")[2]
    own_name = counterpart_tool(agent, name)
    named = agent.vocabulary.canonical.get(own_name or "")
    if named is not None:
        kind = match_arguments(named, arguments)
        if kind is not None:
            return kind
    for tool in MAIN_ARGUMENTS:
        kind = match_arguments(tool, arguments)
        if kind is not None:
            return kind
    return None


def match_arguments(tool: str, arguments: Collection[str]) -> ToolKind | None:
    """Return the kind with the arguments to rename; `None` if the arguments do not fit the tool.

    The names of the arguments are the program's.
    """
    main_arguments = MAIN_ARGUMENTS.get(tool) or READS.get(tool)
    if main_arguments is None:
        is_like = not TOOLS[tool] or not set(TOOLS[tool]).isdisjoint(arguments)
        return ToolKind(tool) if is_like else None
    by_folded_name = {fold(argument): argument for argument in arguments}
    renamed: dict[str, str] = {}
    for main, usual_names in main_arguments.items():
        folded_names = [fold(usual_name) for usual_name in usual_names]
        own_names = [by_folded_name[name] for name in folded_names if name in by_folded_name]
        if not own_names:
            return None
        if own_names[0] != main:
            renamed[own_names[0]] = main
    return ToolKind(tool, renamed)
