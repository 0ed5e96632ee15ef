"""The registry of coding agents.

An agent is a folder of this package and a line of `AGENTS`. The folder's `__init__.py` holds what
recognizes the agent's payloads; its tables are imported when `get_agent` asks for them, because a
hook that an agent starts on every event needs those of one agent only.
"""

from __future__ import annotations

from anyhook.agents import claude, gemini, generic, terminai
from anyhook.errors import UnknownNameError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.entry import AgentEntry
    from anyhook.agents.spec import AgentSpec

AGENTS: Mapping[str, AgentEntry] = {
    "gemini": gemini.ENTRY,
    "claude": claude.ENTRY,
    "terminai": terminai.ENTRY,
    "generic": generic.ENTRY,
}
"""Name to entry. A payload that fits several agents is taken for the first of them."""

CODING_AGENTS = tuple(name for name, entry in AGENTS.items() if entry.is_program)
"""The agents that are programs; `generic` is none."""


def get_agent(name: str) -> AgentSpec:
    """Return the tables of an agent.

    Raises:
        UnknownNameError: If there is no agent of that name.
    """
    if name not in AGENTS:
        raise UnknownNameError("agent", name, AGENTS)
    module, _, attribute = AGENTS[name].spec.partition(":")
    spec: AgentSpec = getattr(__import__(module, fromlist=[attribute]), attribute)
    return spec


def agents_of_event(name: str) -> tuple[str, ...]:
    """Return the names of the agents that have an event.

    Args:
        name: As the agent writes it: `PreToolUse` (Claude Code), `SessionStart` (several agents).
    """
    return tuple(agent for agent in CODING_AGENTS if name in AGENTS[agent].events)


def recognise(payload: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the name of the agent that sent a payload.

    The payload decides: its event, its members, the path of its transcript, its tool. The
    environment decides between agents that the payload fits equally.

    Args:
        payload: The event, as read from standard input.
        environ: The environment that the agent gave the hook.

    Returns:
        The name of the agent; `None` if it cannot be determined.
    """
    candidates = _with_event(payload)
    for has_mark in (_has_members, _has_transcript, _has_tool):
        if len(candidates) < 2:
            break
        marked = [entry for entry in candidates if has_mark(entry, payload)]
        candidates = marked or candidates
    in_environment = [
        entry for entry in candidates or AGENTS.values() if _has_variable(entry, environ)
    ]
    candidates = in_environment or candidates
    extended = {entry.extends for entry in candidates}
    for entry in candidates:
        if entry.name not in extended or not in_environment:
            return entry.name
    return None


def _with_event(payload: Mapping[str, Any]) -> list[AgentEntry]:
    """Return the agents that have the event that a payload names."""
    return [
        entry for entry in AGENTS.values() if _event_name(payload, entry.event_key) in entry.events
    ]


def _event_name(payload: Mapping[str, Any], key: str) -> str | None:
    name = payload.get(key)
    return name if isinstance(name, str) else None


def _has_members(entry: AgentEntry, payload: Mapping[str, Any]) -> bool:
    has_required = entry.required_members <= payload.keys()
    return has_required and entry.absent_members.isdisjoint(payload)


def _has_transcript(entry: AgentEntry, payload: Mapping[str, Any]) -> bool:
    path = payload.get("transcript_path")
    return isinstance(path, str) and entry.transcript_part in path.replace("\\", "/")


def _has_tool(entry: AgentEntry, payload: Mapping[str, Any]) -> bool:
    tool = payload.get("tool_name")
    return isinstance(tool, str) and tool in entry.tools


def _has_variable(entry: AgentEntry, environ: Mapping[str, str]) -> bool:
    return any(name in environ for name in entry.variables)
