"""An agent's own tools in the words of its users' hooks, and back.

Hooks that were written for Gemini CLI or Claude Code match tools by that agent's names and read its
arguments. A host that says which of its tools does what (`{"bash": "shell"}`) gets their guards.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.agents.tool_results import read_tool_result, write_tool_result
from anyhook.errors import UsageError
from anyhook.model.record import Record
from anyhook.model.tools import MCP_PREFIX, TOOLS, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from anyhook.agents.spec import AgentSpec


class HostTool(Record, kw_only=False):
    """One tool of a host.

    Attributes:
        tool: What it does: a canonical name (`shell`, `write_file`, …), or `mcp__SERVER__TOOL`.
        arguments: The host's names of arguments to the canonical ones, where they differ.
        command: Of an MCP tool: the command that starts its server, which hooks see.
        args: The arguments of that command.
        cwd: The directory that the server runs in.
        url: The address of a server that is reached by HTTP.
        tcp: The address of a server that is reached by a socket.
    """

    tool: str
    arguments: Mapping[str, str] = {}
    command: str | None = None
    args: tuple[str, ...] | None = None
    cwd: str | None = None
    url: str | None = None
    tcp: str | None = None

    @property
    def server(self) -> dict[str, Any]:
        """What is known of the server, as hooks see it."""
        args = None if self.args is None else list(self.args)
        members = {
            "command": self.command,
            "args": args,
            "cwd": self.cwd,
            "url": self.url,
            "tcp": self.tcp,
        }
        return {name: value for name, value in members.items() if value is not None}


class HostTools:
    """The tools of a host, in its own words and in those of an agent.

    Args:
        agent: Whose words the hooks understand.
        tools: The host's tools: its name to a canonical name, or to a `HostTool`. A tool that is
            not here, and whose name is no canonical one, keeps its name.

    Raises:
        UsageError: If a tool that no MCP server has is given a server.
    """

    def __init__(self, agent: AgentSpec, tools: Mapping[str, str | HostTool] | None = None) -> None:
        self.agent = agent
        self._tools = {
            name: tool if isinstance(tool, HostTool) else HostTool(tool)
            for name, tool in (tools or {}).items()
        }
        for name, tool in self._tools.items():
            if tool.server and not _is_mcp(tool.tool):
                raise UsageError(
                    f"the tool {name!r} has a server ({', '.join(tool.server)}); only a tool of an "
                    "MCP server has one, HostTool('mcp__SERVER__TOOL', …)"
                )

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """Put a call in canonical words."""
        known = self._tools.get(name)
        if known is None:
            return ToolCall(tool=name, arguments=dict(arguments))
        names = known.arguments
        return ToolCall(
            tool=known.tool, arguments={names.get(k, k): v for k, v in arguments.items()}
        )

    def told(
        self, name: str, arguments: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
        """Return the name and arguments that hooks see, and the server behind an MCP tool."""
        call = self.call(name, arguments)
        words = self.agent.vocabulary
        shown = words.name(call.tool) if call.tool in TOOLS or _is_mcp(call.tool) else None
        arguments = words.arguments(call.tool, call.arguments)
        return shown or name, arguments, self._mcp_context(name, call.tool)

    def _mcp_context(self, name: str, tool: str) -> dict[str, Any] | None:
        if not _is_mcp(tool):
            return None
        server, _, inner = tool.removeprefix(MCP_PREFIX).partition("__")
        known = self._tools.get(name)
        own = known.server if known is not None else {}
        return {"server_name": server, "tool_name": inner, **own}

    def changed(
        self, name: str, arguments: Mapping[str, Any], wanted: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the host's arguments after hooks have changed what they saw of them.

        Args:
            name: The host's tool.
            arguments: The host's arguments.
            wanted: The arguments that hooks want, whole, in the agent's words.
        """
        shown, before, _ = self.told(name, arguments)
        nothing = object()
        new = {k: v for k, v in wanted.items() if before.get(k, nothing) != v}
        gone = {k: before[k] for k in before if k not in wanted}
        known = self._tools.get(name)
        back = {own: host for host, own in known.arguments.items()} if known else {}
        words = self.agent.vocabulary

        def host_keys(values: Mapping[str, Any]) -> dict[str, Any]:
            canonical = words.call(shown, values).arguments
            return {back.get(key, key): value for key, value in canonical.items()}

        dropped = host_keys(gone)
        kept = {k: v for k, v in arguments.items() if k not in dropped}
        return {**kept, **host_keys(new)}

    def host_name(self, shown: str, known: Collection[str] = ()) -> str:
        """Return the host's name of a tool as hooks name it; the same if it is none of its own.

        Args:
            shown: As hooks name it.
            known: The tools that the host has.
        """
        canonical = self.agent.vocabulary.tool(shown)
        named = [name for name, tool in self._tools.items() if tool.tool in (canonical, shown)]
        own = [name for name in (shown, canonical) if name in known]
        return [*named, *own, shown][0]

    def response(self, name: str, arguments: Mapping[str, Any], result: ToolResult) -> Any:
        """Write what a tool returned in the agent's form."""
        call = self.call(name, arguments)
        if self.agent.tool_result_form == "raw":
            return result.raw
        return write_tool_result(self.agent, call, result)

    def text(self, name: str, arguments: Mapping[str, Any], response: Any) -> str:
        """Return the text of a response in the agent's form."""
        return read_tool_result(self.agent, self.call(name, arguments), response).text


def text_of(output: Any) -> str:
    """Return the text of what a host's tool returned: a text as it is, anything else as JSON."""
    if isinstance(output, str):
        return output
    try:
        return json.dumps(output, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(output)


def _is_mcp(tool: str) -> bool:
    return tool.startswith(MCP_PREFIX)
