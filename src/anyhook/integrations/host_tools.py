"""Translates the tools of a host to the tools that the hooks of its users know, and back.

Hooks that were written for Gemini CLI or Claude Code match tools by that agent's names and read its
arguments. A host that declares what its tools do (`{"bash": "shell"}`) is guarded by these hooks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.agents.tool_names import counterpart_tool
from anyhook.agents.tool_results import read_tool_result, write_host_result
from anyhook.errors import UsageError
from anyhook.model.record import EMPTY, Record
from anyhook.model.suggest import did_you_mean
from anyhook.model.tools import MCP_PREFIX, TOOLS, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.llm import ToolConfig


class HostTool(Record, kw_only=False):
    """One tool of a host.

    Attributes:
        tool: What it does: a canonical name (`shell`, `write_file`, …), the agent's own name
            (`Bash`), or `mcp__SERVER__TOOL`.
        arguments: The host's names of arguments to the canonical ones, where they differ.
        command: Of an MCP tool: the command that starts its server, which hooks see.
        args: The arguments of that command.
        cwd: The directory that the server runs in.
        url: The address of a server that is reached by HTTP.
        tcp: The address of a server that is reached by a socket.
    """

    tool: str
    arguments: Mapping[str, str] = EMPTY
    command: str | None = None
    args: tuple[str, ...] | None = None
    cwd: str | None = None
    url: str | None = None
    tcp: str | None = None

    @property
    def server(self) -> dict[str, Any]:
        """The server's configuration as hooks see it."""
        members: dict[str, Any] = {
            "command": self.command,
            "args": self.args,
            "cwd": self.cwd,
            "url": self.url,
            "tcp": self.tcp,
        }
        server = {name: value for name, value in members.items() if value is not None}
        if self.args is not None:
            server["args"] = list(self.args)  # hooks get JSON, which has no tuples
        return server


class HostTools:
    """Translates calls and results between a host's tools and an agent's vocabulary.

    Args:
        agent: Whose names of tools and arguments the hooks use.
        tools: The host's tools: its name to what it does, a canonical name, the agent's own name of
            such a tool, or a `HostTool`; `None` for a tool that is none of these, so that it is not
            reported. A tool that is not here, and whose name is not canonical, keeps its name.

    Raises:
        UsageError: If a value names no tool, if an argument is given a name that its tool does not
            have, or if a tool that is not one of an MCP server is given a server.
    """

    def __init__(
        self, agent: AgentSpec, tools: Mapping[str, str | HostTool | None] | None = None
    ) -> None:
        self._agent = agent
        self._tools: dict[str, HostTool] = {}
        # An agent may have several names for one tool, and a guard on `PowerShell` means only that.
        self._own_names: dict[str, str] = {}
        self._exempt: set[str] = set()
        for name, tool in (tools or {}).items():
            if tool is None:
                self._exempt.add(name)
            else:
                self._tools[name] = read_host_tool(agent, name, tool)
                word = tool if isinstance(tool, str) else tool.tool
                if word not in TOOLS and word in agent.vocabulary.canonical:
                    self._own_names[name] = word

    @property
    def declared(self) -> Mapping[str, HostTool]:
        """What the host says of its tools, in canonical words."""
        return self._tools

    def is_declared(self, name: str) -> bool:
        """Return whether the host says what a tool is, or its name is canonical."""
        return name in self._tools or name in self._exempt or name in TOOLS

    def is_exempt(self, name: str) -> bool:
        """Return whether the host says that a tool does what no tool of the agent does."""
        return name in self._exempt

    def renamed_arguments(self, name: str) -> Mapping[str, str]:
        """Return the host's names of a tool's arguments to the canonical ones it gives them."""
        return self._tools[name].arguments if name in self._tools else {}

    def canonical_call(self, name: str, arguments: Mapping[str, Any]) -> ToolCall:
        """Return a call with canonical names."""
        tool = self._tools.get(name)
        if tool is None:
            return ToolCall(tool=name, arguments=dict(arguments))
        renamed = {tool.arguments.get(key, key): value for key, value in arguments.items()}
        return ToolCall(tool=tool.tool, arguments=renamed)

    def shown_name(self, name: str) -> str:
        """Return the name that hooks see for a tool."""
        if name in self._own_names:
            return self._own_names[name]
        tool = self._tools.get(name)
        canonical = name if tool is None else tool.tool
        if canonical not in TOOLS and not _is_mcp(canonical):
            return canonical  # a tool that the agent alone has
        return self._agent.vocabulary.name(canonical) or name

    def event_fields(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a tool event: name, arguments and MCP server as hooks see them."""
        call = self.canonical_call(name, arguments)
        context: dict[str, Any] | None = None
        if _is_mcp(call.tool):
            server_name, _, tool_name = call.tool.removeprefix(MCP_PREFIX).partition("__")
            context = {"server_name": server_name, "tool_name": tool_name}
            if name in self._tools:
                context |= self._tools[name].server
        return {
            "tool_name": self.shown_name(name),
            "tool_input": self._agent.vocabulary.arguments(call.tool, call.arguments),
            "mcp_context": context,
        }

    def apply_changes(
        self, name: str, arguments: Mapping[str, Any], new_input: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the host's arguments with the changes that hooks made to what they saw.

        The new input is complete, in the agent's vocabulary.
        """
        old_input = self.event_fields(name, arguments)["tool_input"]
        changed = {
            key: value
            for key, value in new_input.items()
            if key not in old_input or old_input[key] != value
        }
        removed = {key: value for key, value in old_input.items() if key not in new_input}
        host_arguments = dict(arguments)
        for key in self._host_arguments(name, removed):
            host_arguments.pop(key, None)
        # Only changes are translated, so that what hooks leave alone stays as the host wrote it.
        return {**host_arguments, **self._host_arguments(name, changed)}

    def _host_arguments(self, name: str, shown_input: Mapping[str, Any]) -> dict[str, Any]:
        call = self._agent.vocabulary.call(self.shown_name(name), shown_input)
        tool = self._tools.get(name)
        if tool is None:
            return dict(call.arguments)
        host_keys = {canonical: own for own, canonical in tool.arguments.items()}
        return {host_keys.get(key, key): value for key, value in call.arguments.items()}

    def host_name(self, name_for_hooks: str) -> str:
        """Return the host's name of a tool that hooks name; the same if the host has none."""
        canonical = self._agent.vocabulary.tool(name_for_hooks)
        for name, tool in self._tools.items():
            if tool.tool in (canonical, name_for_hooks):
                return name
        return name_for_hooks

    def to_host_config(
        self, config: ToolConfig | None, known_tools: Collection[str]
    ) -> ToolConfig | None:
        """Return a choice of tools with the host's names."""
        if config is None or not config.get("allowedFunctionNames"):
            return config
        names: list[str] = []
        for shown in config["allowedFunctionNames"]:
            kinds = (shown, self._agent.vocabulary.tool(shown))
            own_names = [name for name, tool in self._tools.items() if tool.tool in kinds]
            own_names += [name for name in kinds if name in known_tools and name not in own_names]
            names += dict.fromkeys(own_names or [shown])
        return {**config, "allowedFunctionNames": names}

    def to_response(self, name: str, arguments: Mapping[str, Any], result: ToolResult) -> Any:
        """Return the result of a tool in the agent's form."""
        return write_host_result(self._agent, self.canonical_call(name, arguments), result)

    def response_text(self, name: str, arguments: Mapping[str, Any], response: Any) -> str:
        """Return the text of a response in the agent's form; of one in no such form all of it."""
        if isinstance(response, str):
            return response
        result = read_tool_result(self._agent, self.canonical_call(name, arguments), response)
        has_text = bool(result.text) or result.stdout is not None
        return result.text if has_text else result_text(response)


def read_host_tool(agent: AgentSpec, name: str, value: str | HostTool) -> HostTool:
    """Return what a host says of its tool, in canonical words.

    Raises:
        UsageError: If the tool or an argument does not exist, or if it has a server without being
            of an MCP server.
    """
    if not isinstance(value, str | HostTool):
        raise UsageError(
            f"tools= gives {name!r} the value {value!r}; write the name of a tool, like "
            f"tools={{{name!r}: 'shell'}}, or a HostTool"
        )
    tool = HostTool(value) if isinstance(value, str) else value
    canonical = _read_tool_name(agent, name, tool.tool)
    if tool.server and not _is_mcp(canonical):
        raise UsageError(
            f"the tool {name!r} has a server ({', '.join(tool.server)}); only a tool of an "
            "MCP server has one, HostTool('mcp__SERVER__TOOL', …)"
        )
    arguments = {
        own: _read_argument_name(agent, name, canonical, argument)
        for own, argument in tool.arguments.items()
    }
    return tool.replace(tool=canonical, arguments=arguments)


def _read_tool_name(agent: AgentSpec, name: str, word: str) -> str:
    """Return the canonical name of a tool; of a tool outside the vocabulary, the agent's name."""
    vocabulary = agent.vocabulary
    if word in TOOLS or _is_mcp(word):
        return word
    if word in vocabulary.canonical:
        return vocabulary.canonical[word]
    if word in agent.tools or _is_mcp(vocabulary.tool(word)):
        return word
    own_name = counterpart_tool(agent, word)
    canonical = vocabulary.canonical.get(own_name or "")
    hint = None if canonical is None else f"did you mean {canonical!r}?"
    hint = hint or did_you_mean(word, [*TOOLS, *agent.tools])
    hint = hint or f"it is one of {', '.join(TOOLS)}, or a tool of {agent.title}"
    raise UsageError(
        f"tools= says that {name!r} is {word!r}, which is not a tool of {agent.title}; {hint}"
    )


def _read_argument_name(agent: AgentSpec, name: str, tool: str, word: str) -> str:
    """Return the canonical name of an argument of a tool in the vocabulary."""
    if tool not in TOOLS or word in TOOLS[tool]:
        return word
    row = agent.vocabulary.tools.get(tool)
    own_names = {} if row is None else {own: canonical for canonical, own in row.keys.items()}
    if word in own_names:
        return own_names[word]
    if row is not None and word == row.patch:
        return word
    names = [*TOOLS[tool], *own_names]
    hint = did_you_mean(word, names) or f"it has {', '.join(names) or 'no arguments'}"
    raise UsageError(f"tools= gives {name!r} the argument {word!r}, which {tool!r} lacks; {hint}")


def result_text(output: Any) -> str:
    """Return what a host's tool returned as text: a text as it is, anything else as JSON."""
    if isinstance(output, str):
        return output
    try:
        return json.dumps(output, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(output)


def _is_mcp(tool: str) -> bool:
    return tool.startswith(MCP_PREFIX)
