"""The state of a run with hooks, and the run that the current code belongs to."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.tool import ToolOriginType, get_function_tool_origin

from agents import FunctionTool, LocalShellTool
from anyhook.errors import StoppedError
from anyhook.integrations.framework import Framework
from anyhook.integrations.results import left_out_run

if TYPE_CHECKING:
    from collections.abc import Collection

    from agents import Agent, Model
    from anyhook.integrations.factory import SessionFactory
    from anyhook.integrations.results import ToolRun
    from anyhook.integrations.session import Session

_HOSTED_TOOLS = (
    "hosted tools (web search, file search, code interpreter, images, hosted MCP and shell) and "
    "computer actions run without a hook; only BeforeToolSelection can take them away"
)
OPENAI_AGENTS = Framework(
    title="OpenAI Agents SDK",
    missing={"before_tool.hosted_tools": _HOSTED_TOOLS, "after_tool.hosted_tools": _HOSTED_TOOLS},
)
"""What hooks cannot do; reported when such a tool is first offered to a model."""
WITHOUT_HOSTED_TOOLS = OPENAI_AGENTS.replace(missing={})
"""The same for agents without such tools."""

current_session: ContextVar[SessionState | None] = ContextVar(
    "anyhook_openai_agents_session", default=None
)
"""The state of the run with hooks that the current code belongs to; runs inside tools share it."""


@dataclass
class SessionState:
    """A session, and the objects of the SDK that a run in it uses.

    Attributes:
        session: Decides.
        factory: What made the session.
        named_tools: The tools that the host maps to canonical ones, by their names.
        agents: Copies of agents, by the identity of the original.
        models: Hooked models, by the identity of the original.
        hooked_tools: Originals and hooked tools, by the identity of the original.
        function_tools: Function tools, by the names that hooks may use for tail calls.
        decided: What hooks decided for calls that have not run yet, by call and tool.
        left_out_calls: Identifiers of calls of tools that the model was not offered.
        left_out_handoffs: Tools of handoffs that the last response called without an offer; the
            SDK does not pass the identifiers of their calls.
        refusals: Reasons for which hooks ended a turn without an answer.
        denied_requests: Those of them that kept a request from the model.
        is_turn_denied: Whether a denied request ended the turn, which is to be forgotten.
        has_reported_hosted_tools: Whether tools that run without hooks were reported.
    """

    session: Session
    factory: SessionFactory
    named_tools: Collection[str]
    agents: dict[int, Agent[Any]] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    hooked_tools: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    function_tools: dict[str, FunctionTool] = field(default_factory=dict)
    decided: dict[tuple[str, str], ToolRun] = field(default_factory=dict)
    left_out_calls: set[str] = field(default_factory=set)
    left_out_handoffs: set[str] = field(default_factory=set)
    refusals: set[str] = field(default_factory=set)
    denied_requests: set[str] = field(default_factory=set)
    is_turn_denied: bool = False
    has_reported_hosted_tools: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether no hook listens, and nothing is observed."""
        return not (self.factory.is_observed or self.factory.engine.listens())

    def listens(self, *events: str) -> bool:
        """Return whether a hook listens to one of some events, or they are observed.

        Raises:
            StoppedError: If a hook ended the agent. The SDK may have turned the first such error
                into a result, and continued.
        """
        if self.session.stopped is not None:
            raise StoppedError(self.session.stopped)
        return self.factory.listens(*events)

    def host_name(self, tool: Any) -> str:
        """Return the host's name of a tool; tools of MCP servers and shells get canonical ones."""
        name = str(tool.name)
        if name in self.named_tools:
            return name
        if isinstance(tool, LocalShellTool):
            return "shell"
        origin = get_function_tool_origin(tool) if isinstance(tool, FunctionTool) else None
        if origin is None or origin.type is not ToolOriginType.MCP:
            return name
        # The name at the server, which differs if the SDK prefixes names with the server's.
        binding = getattr(tool, "_mcp_tool_binding", None)
        return f"mcp__{origin.mcp_server_name}__{binding[1] if binding else name}"

    def known_names(self, tool: Any) -> tuple[str, str, str]:
        """Return the names by which hooks may choose a tool."""
        host_name = self.host_name(tool)
        return str(tool.name), host_name, self.session.tools.shown_name(host_name)

    async def decide(self, name: str, arguments: dict[str, Any], call_id: str) -> ToolRun:
        """Report a call, once: the SDK asks for an approval, then checks it, then runs it."""
        key = (call_id, name)
        if call_id in self.left_out_calls:
            return self.decided.setdefault(key, left_out_run(name, arguments))
        if key not in self.decided:
            self.decided[key] = await self.session.before_tool(name, arguments, call_id=call_id)
        return self.decided[key]

    async def decide_handoff(self, name: str, arguments: dict[str, Any]) -> ToolRun:
        """Report a handoff, which the model requests as a call of a tool."""
        if name in self.left_out_handoffs:
            return left_out_run(name, arguments)
        self.session.tool_checks.exempt(name)
        return await self.session.before_tool(name, arguments)
