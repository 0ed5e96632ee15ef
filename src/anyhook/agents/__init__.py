"""The registry of coding agents.

An agent is a folder of this package and a line of `NAMES`. The folder's `__init__.py` holds the
marks by which payloads are recognized. The tables are imported by `get_agent`, because a hook that
an agent starts on every event needs those of one agent only.
"""

from __future__ import annotations

from anyhook.agents.entry import event_of_shape, load_object
from anyhook.errors import UnknownNameError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from anyhook.agents.entry import AgentEntry
    from anyhook.agents.spec import AgentSpec

NAMES = (
    "gemini",
    "claude",
    "terminai",
    "cursor",
    "qwen",
    "opencode",
    "copilot",
    "codex",
    "generic",
)

AGENTS: Mapping[str, AgentEntry] = {
    name: load_object(f"anyhook.agents.{name}:ENTRY") for name in NAMES
}
"""Name to entry. A payload that could be of several agents is attributed to the first one."""

AGENT_VARIABLE = "ANYHOOK_AGENT"
"""Variable with which an engine tells its commands the name of the agent whose hooks they are."""
CODING_AGENTS = tuple(name for name, entry in AGENTS.items() if entry.is_program)
"""The agents that are programs, which `generic` is not."""


def get_agent(name: str) -> AgentSpec:
    """Return the tables of an agent.

    Raises:
        UnknownNameError: If the agent does not exist.
    """
    if name not in AGENTS:
        raise UnknownNameError("agent", name, AGENTS)
    spec: AgentSpec = load_object(AGENTS[name].spec)
    return spec


def agents_of_event(name: str) -> tuple[str, ...]:
    """Return the names of the agents that have an event.

    It is named as the agent writes it: `PreToolUse` (Claude Code), `SessionStart` (several agents).
    """
    return tuple(agent for agent in CODING_AGENTS if name in AGENTS[agent].events)


def recognize(payload: Mapping[str, Any], environ: Mapping[str, str]) -> str | None:
    """Return the name of the agent that sent a payload.

    The payload decides: its event, its members, the path of its transcript, its tool. Between
    agents whose payloads are alike the environment decides: what an engine says, then the variables
    of the agents. It is `None` if that cannot be determined.
    """
    candidates: list[AgentEntry] = []
    for entry in AGENTS.values():
        event = payload.get(entry.event_key)
        has_event = isinstance(event, str) and event in entry.events
        if event is None:
            has_event = event_of_shape(entry.shapes, payload) is not None
        if has_event:
            candidates.append(entry)
    # The marks are looked for one after another, as long as several agents are left. A mark that no
    # agent has, like a transcript in another directory, does not count against any of them.
    marks = {entry.name: _marks(entry, payload) for entry in candidates}
    for mark in ("own members", "members", "transcript", "tool"):
        if len(candidates) <= 1:
            break
        marked = [entry for entry in candidates if marks[entry.name][mark]]
        if marked:
            candidates = marked
    # An event without a proper name can be of any agent.
    possible = candidates or list(AGENTS.values())
    named = environ.get(AGENT_VARIABLE)
    if named in [entry.name for entry in possible]:
        return named
    variables = environ.keys()
    in_environment = [entry for entry in possible if not variables.isdisjoint(entry.variables)]
    if in_environment:
        # A fork sets the variables of its original, too.
        originals: set[str] = set()
        for entry in in_environment:
            originals.update(entry.extends)
        candidates = [entry for entry in in_environment if entry.name not in originals]
    return candidates[0].name if candidates else None


def _marks(entry: AgentEntry, payload: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether a payload has each mark of an agent."""
    path, tool = payload.get("transcript_path", ""), payload.get("tool_name")
    has_required = entry.required_members <= payload.keys()
    has_transcript = path is None and entry.null_transcript
    if isinstance(path, str):
        has_transcript = entry.transcript_part in path.replace("\\", "/")
    return {
        "own members": not entry.own_members.isdisjoint(payload),
        "members": has_required and entry.absent_members.isdisjoint(payload),
        "transcript": has_transcript,
        "tool": isinstance(tool, str) and tool in entry.tools,
    }


def agent_that_started(environ: Mapping[str, str]) -> AgentEntry | None:
    """Return the agent that has started a process, as its variables show; `None` if none has.

    It notices an agent that forgets itself, and none that removes its variables.
    """
    for entry in AGENTS.values():
        if any(environ.get(name) for name in (*entry.variables, *entry.child_variables)):
            return entry
    return None
