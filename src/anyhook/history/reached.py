"""On which events a hook should have run and did not: events of agents against recorded runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.history.rows import storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.history.store import History


class Reach(NamedTuple):
    """How many events of some sessions a hook listens to, and how many reached it."""

    matched: int = 0
    reached: int = 0
    first: float = 0.0
    """Unix timestamp of the first event that it listens to; 0 if there is none."""


class ReachQuestion(NamedTuple):
    """Which events are looked at for which hook."""

    agent: str
    event: str
    since: float
    """Unix timestamp: sessions that began earlier are left out, because their agent may have read
    other settings."""
    project: str
    """Directory of the only project, with those below it; empty for all."""
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

    `listens_to` returns whether the hook listens to the event of a number. It is asked once for
    each tool.
    """
    rows = history.connection.execute(
        _GROUPS,
        (
            storable(question.file),
            question.label,
            question.since,
            question.since,
            question.agent,
            question.event,
            *[storable(question.project)] * 4,
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
