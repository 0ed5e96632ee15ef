"""Names of agents and tools that a user gives to choose events."""

from __future__ import annotations

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent
from anyhook.errors import UnknownNameError
from anyhook.model.suggest import did_you_mean
from anyhook.model.tools import MCP_PREFIX, TOOLS


def check_agent(name: str) -> None:
    """Check a name of an agent; empty for all agents.

    Raises:
        UnknownNameError: If there is no such agent.
    """
    if name and name not in AGENTS:
        raise UnknownNameError("agent", name, AGENTS, list_all=True)


def canonical_tool(name: str, agent: str = "") -> str:
    """Return the canonical name of a tool that is named as an agent does; else the name itself.

    Args:
        name: A name like `shell` or `Bash`.
        agent: Name of the agent; empty for all. A name that means several tools in them stays.
    """
    if name in TOOLS:
        return name
    names = [agent] if agent else CODING_AGENTS
    tables = [get_agent(one).vocabulary.canonical for one in names]
    tools = {table[name] for table in tables if name in table}
    return tools.pop() if len(tools) == 1 else name


def note_on_tool(name: str) -> str | None:
    """Return a note on a tool that no agent has, with a suggestion; `None` for any other one.

    Args:
        name: A canonical name, or that of an agent. Names of MCP tools are free.
    """
    specs = [get_agent(one) for one in CODING_AGENTS]
    known = dict.fromkeys([*TOOLS, *[tool for spec in specs for tool in spec.tools]])
    if not name or name in known or name.startswith(MCP_PREFIX):
        return None
    hint = (
        did_you_mean(name, TOOLS)
        or did_you_mean(name, known)
        or f"known: {', '.join(TOOLS)}, mcp__SERVER__TOOL"
    )
    return f"no agent has a tool {name!r}, and no event has it; {hint}"
