"""On which events a hook should have run and did not: events of agents against recorded runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.history.store import History


@dataclass(frozen=True, slots=True)
class Reach:
    """How many events of some sessions a hook listens to, and how many reached it.

    Attributes:
        matched: Number of events that it listens to.
        reached: Number of those on which it ran.
        first: Unix timestamp of the first event that it listens to; 0 if there is none.
    """

    matched: int = 0
    reached: int = 0
    first: float = 0.0


@dataclass(frozen=True, slots=True)
class ReachQuestion:
    """Which events are looked at for which hook.

    Attributes:
        agent: Name of the agent.
        event: Canonical name of the event.
        since: Unix timestamp: sessions that began earlier are left out, because their agent may
            have read other settings.
        project: Directory of the only project, with those below it; empty for all.
        file: File with which the runs of the hook are recorded.
        label: Label with which they are recorded.
    """

    agent: str
    event: str
    since: float
    project: str
    file: str
    label: str


_GROUPS = (
    "SELECT min(events.id), count(*), min(time), sum(EXISTS (SELECT 1 FROM results"
    " JOIN hooks ON hooks.id = hook_id WHERE event_id = events.id "
    " AND (file = ? OR label = ?)))"
    " FROM events JOIN sessions ON sessions.id = session_id"
    " WHERE started >= ? AND time >= ? AND agent = ? AND event = ?"
    " AND (? = '' OR project = ? OR substr(project, 1, length(?) + 1) = ? || '/')"
    " GROUP BY tool"
)


def reach_of(history: History, question: ReachQuestion, listens_to: Callable[[int], bool]) -> Reach:
    """Return how many events of recorded and imported sessions reached a hook.

    Args:
        history: The store.
        question: The events and the hook.
        listens_to: Returns whether the hook listens to the event of a number. It is asked once for
            each tool.
    """
    rows = history.connection.execute(
        _GROUPS,
        (
            question.file,
            question.label,
            question.since,
            question.since,
            question.agent,
            question.event,
            *[question.project] * 4,
        ),
    )
    matched = reached = 0
    first = 0.0
    for number, count, time, seen in rows.fetchall():
        if listens_to(number):
            matched += count
            reached += seen
            first = min(first or time, time)
    return Reach(matched, reached, first)
