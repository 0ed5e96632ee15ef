"""Members of replies that an agent does not have: what was probably meant by them.

Made of the output tables of all agents. Only a reply that holds such a member needs this.
"""

from __future__ import annotations

from anyhook.agents import AGENTS, get_agent
from anyhook.model.diagnostics import Severity
from anyhook.model.record import Record
from anyhook.model.suggest import closest, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyhook.agents.spec import AgentSpec

    Path = tuple[str, ...]


class MemberProblem(Record):
    """What is wrong with one member of a reply.

    Attributes:
        code: Code of the diagnostic.
        message: What is wrong, and what to write instead.
        severity: How bad it is.
    """

    code: str
    message: str
    severity: Severity = Severity.WARNING


def explain_members(
    agent: AgentSpec, event: str, parent: Path, names: Iterable[str]
) -> Iterator[MemberProblem]:
    """Explain members that the reply to an event does not have.

    Args:
        agent: Whose reply it is.
        event: Canonical name of the event.
        parent: Path of the object that they stand in.
        names: Their names.

    Yields:
        One problem for each member that is not reported elsewhere (`AgentSpec.foreign_members`,
        members of other events).
    """
    reported = {*agent.foreign_members, *(item.path for item in agent.output_fields)}
    for name in sorted(names):
        if (*parent, name) not in reported:
            yield _explain(agent, event, parent, name)


def owner_of(path: Path, agent: AgentSpec) -> str | None:
    """Return the title of the agent whose replies have a member that those of `agent` lack."""
    if _has(agent, path[-1]):
        return None
    others = (get_agent(name) for name in AGENTS)
    return next((other.title for other in others if _has(other, path[-1])), None)


def _has(agent: AgentSpec, name: str) -> bool:
    return any(item.path[-1] == name for item in agent.output_fields)


def _explain(agent: AgentSpec, event: str, parent: Path, name: str) -> MemberProblem:
    members = _members(agent, event, parent)
    shown = _shown((*parent, name))
    place = next((path for path in members if path[-1] == name), None)
    if place is not None:
        return MemberProblem(
            code="output-misplaced",
            message=f"{shown} has no effect there; write {_example(place)}",
        )
    spelled = [path for path in members if fold(path[-1]) == fold(name)]
    owner = None if spelled else owner_of((*parent, name), agent)
    if owner is not None:
        return MemberProblem(
            code="output-foreign",
            message=f"{shown} is a member of {owner}'s replies; {agent.title} does not have it",
        )
    meant = spelled[0] if spelled else _nearest(members, parent, name)
    if meant is not None:
        return MemberProblem(
            code="output-unknown", message=f"unknown member {shown}; did you mean {_shown(meant)}?"
        )
    return MemberProblem(
        code="output-unknown",
        message=f"unknown member {shown}; {agent.title} does not have it",
        severity=Severity.INFO,
    )


def _members(agent: AgentSpec, event: str, parent: Path) -> list[Path]:
    """Return the paths of all members of a reply, those inside `parent` first."""
    containers = agent.reply_objects(event)
    places = [parent, *(place for place in containers if place != parent)]
    return [(*place, name) for place in places for name in sorted(containers.get(place, ()))]


def _nearest(members: list[Path], parent: Path, name: str) -> Path | None:
    for candidates in ([path for path in members if path[:-1] == parent], members):
        found = closest(name, (path[-1] for path in candidates))
        if found is not None:
            return next(path for path in candidates if path[-1] == found)
    return None


def _shown(path: Path) -> str:
    return f"`{'.'.join(path)}`"


def _example(path: Path) -> str:
    """Return how a member is written, for example `"hookSpecificOutput": {"toolConfig": …}`."""
    opening = "".join(f'"{name}": {{' for name in path[:-1])
    where = "" if path[:-1] else " at the top level"
    return f'{opening}"{path[-1]}": …{"}" * (len(path) - 1)}{where}'
