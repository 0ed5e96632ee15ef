"""Counts of the history: events, verdicts, tools and the results of each hook."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.history.hooks import EVENTS_PER_QUERY, HookName, RunCounts, count_runs
from anyhook.history.spans import numbers_between

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.history.store import History


@dataclass(slots=True)
class HookStatistics(RunCounts):
    """How often a hook ran and what it answered."""

    hook: str = ""
    place: str = ""
    version_ids: set[int] = field(default_factory=set)

    @property
    def versions(self) -> int:
        """Number of versions of the hook that ran."""
        return len(self.version_ids)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of a part of the history."""

    sessions: int
    events: dict[str, int]
    outcomes: dict[str, int]
    sessions_with: dict[str, int]
    """Verdict to number of sessions with such an event."""
    tools: dict[str, int]
    sources: dict[str, int]
    hooks: tuple[HookStatistics, ...]
    """The hooks, the one that ran most often first."""


_EVENTS = (
    "SELECT session_id, event, iif(event = 'before_tool', tool, NULL), source, verdict, count(*)"
    # With the plus sign, the numbers decide which events are read, and not the index of times.
    " FROM events WHERE id >= ? AND id < ? AND +time >= ?"
    " AND (? = '' OR session_id IN (SELECT id FROM sessions WHERE agent = ?))"
    " GROUP BY 1, 2, 3, 4, 5"
)


def statistics(
    history: History,
    *,
    agent: str = "",
    since: float = 0.0,
    on_progress: Callable[[float], object] = lambda _share: None,
) -> Statistics:
    """Count the events since a time.

    `agent` is empty for all, `since` is a Unix timestamp or 0. `on_progress` gets the share that is
    counted, from 0 to 1.
    """
    sessions_with: dict[str, set[int]] = {}
    events: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    first, end = numbers_between(history.connection, since)
    for start in range(first, end, EVENTS_PER_QUERY):
        stop = min(start + EVENTS_PER_QUERY, end)
        rows = history.connection.execute(_EVENTS, (start, stop, since, agent, agent))
        for session, event, tool, source, verdict, number in rows:
            sessions_with.setdefault(verdict, set()).add(session)
            events[event] += number
            verdicts[verdict] += number
            sources[source] += number
            if tool is not None:
                tools[tool] += number
        on_progress((stop - first) / (end - first) / 2)
    runs = count_runs(
        history,
        agent=agent,
        since=since,
        on_progress=lambda share: on_progress(0.5 + share / 2),
    )
    hooks: dict[HookName, HookStatistics] = {}
    for key, counts in runs.items():
        label, place = key.name
        hook = hooks.setdefault(key.name, HookStatistics(hook=label, place=place))
        hook.add(counts)
        hook.version_ids.add(key.version)
    return Statistics(
        sessions=len(set().union(*sessions_with.values())),
        events=dict(events.most_common()),
        outcomes=dict(verdicts.most_common()),
        sessions_with={verdict: len(ids) for verdict, ids in sessions_with.items()},
        tools=dict(tools.most_common()),
        sources=dict(sources.most_common()),
        hooks=tuple(sorted(hooks.values(), key=lambda hook: -hook.runs)),
    )
