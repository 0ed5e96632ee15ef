"""The tool of an agent that a name of another agent, or a canonical one, stands for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.model.suggest import closest, fold
from anyhook.model.tools import TOOLS

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec


def suggest_tool(agent: AgentSpec, name: str) -> str | None:
    """Return the tool of an agent that a name most likely stands for; `None` if there is none.

    `Shell` is the tool of another agent that runs commands, so in Claude Code it is `Bash` and not
    `KillShell`, which is the most similar name.
    """
    return counterpart_tool(agent, name) or closest(name, agent.tools)


def counterpart_tool(agent: AgentSpec, name: str) -> str | None:
    """Return the agent's tool for a canonical name or one of another agent; `None` without one.

    If the name stands for different tools in several agents, it is the one in most of them.
    """
    if name in agent.renamed_tools:
        return agent.renamed_tools[name]
    folded = fold(name)
    for tool in TOOLS:
        if fold(tool) == folded:  # `ReadFile` too
            return _own_name(agent, tool)
    votes: Counter[str] = Counter()
    for other_name in CODING_AGENTS:
        other = get_agent(other_name)
        current = other.renamed_tools.get(name, name)
        canonical = other.vocabulary.canonical.get(current)
        own = None if canonical is None else _own_name(agent, canonical)
        if own is not None:
            votes[own] += 1
    return votes.most_common(1)[0][0] if votes else None


def _own_name(agent: AgentSpec, tool: str) -> str | None:
    name = agent.vocabulary.name(tool)
    return name if name in agent.tools else None
