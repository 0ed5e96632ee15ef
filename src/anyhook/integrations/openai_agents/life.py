"""The session of a run with what the run has met, and which one this code runs in."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.tool import ToolOriginType, get_function_tool_origin

from agents import FunctionTool, LocalShellTool
from anyhook.errors import StoppedError
from anyhook.integrations.frameworks import Framework

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents import Model
    from anyhook.integrations.session import Session, ToolRun

UNSEEN = (
    "hosted tools (web search, file search, code interpreter, images, hosted MCP and shell) and "
    "computer actions run without a hook; only BeforeToolSelection can take them away"
)
OPENAI_AGENTS = Framework(
    title="OpenAI Agents SDK",
    package="openai-agents",
    missing={"before_tool.hosted_tools": UNSEEN, "after_tool.hosted_tools": UNSEEN},
)
"""What hooks cannot do here; it is told when such a tool is first offered to a model."""
SEEN = Framework(title=OPENAI_AGENTS.title, package=OPENAI_AGENTS.package)
"""The same before any such tool is there."""

living: ContextVar[Life | None] = ContextVar("anyhook_openai_agents", default=None)
"""The life of the guarded run that this code runs in, if any."""


@dataclass
class Life:
    """A session, and what a run under it has met.

    Attributes:
        session: Whose hooks decide.
        mapped: Tools that the host says what they do.
        seen: Whether somebody looks on even without hooks.
        tools: Function tools by the names that hooks may use.
        refused: Reasons for which hooks cut a turn short.
        judged: What hooks said of calls that have not run yet, by call and tool.
        models: Models by the identity of the one inside.
        guarded: Tools with the ones that ask hooks, by the identity of the former.
        told_hosted: Whether it was told that some tools run where nobody can look.
    """

    session: Session
    mapped: Mapping[str, Any]
    seen: bool
    tools: dict[str, FunctionTool] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    judged: dict[tuple[str, str], ToolRun] = field(default_factory=dict)
    models: dict[int, Model] = field(default_factory=dict)
    guarded: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    told_hosted: bool = False

    @property
    def quiet(self) -> bool:
        """Whether there is nobody to tell of anything."""
        return not self.seen and not self.session.engine.definitions

    def hears(self, *events: str) -> bool:
        """Tell whether somebody wants to know of one of some events.

        Raises:
            StoppedError: If a hook ended the agent, whatever the SDK made of that.
        """
        if self.session.stopped is not None:
            raise StoppedError(self.session.stopped)
        return self.seen or any(d.event in events for d in self.session.engine.definitions)

    def told(self, tool: Any) -> str:
        """Return the name of a tool that hooks are told; that of MCP tools is canonical."""
        name = str(tool.name)
        if isinstance(tool, LocalShellTool) and name not in self.mapped:
            return "shell"
        origin = get_function_tool_origin(tool) if isinstance(tool, FunctionTool) else None
        if origin is None or origin.type is not ToolOriginType.MCP or name in self.mapped:
            return name
        binding = getattr(tool, "_mcp_tool_binding", None)
        return f"mcp__{origin.mcp_server_name}__{binding[1] if binding else name}"

    def names(self, tool: Any) -> tuple[str, str]:
        """Return the names that hooks may call a tool by."""
        told = self.told(tool)
        return told, self.session.tools.told(told, {})[0]

    async def judge(self, name: str, arguments: dict[str, Any], call_id: str) -> ToolRun:
        """Tell of a call, once, however often the SDK asks."""
        key = (call_id, name)
        if key not in self.judged:
            self.judged[key] = await self.session.before_tool(name, arguments, call_id=call_id)
        return self.judged[key]
