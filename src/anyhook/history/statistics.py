"""Counts of the history: events, decisions, tools and the results of each hook.

Each event is read once, in spans of their numbers: the caller can show how far it is, and Ctrl-C
ends it within one span.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.history.checked import SECONDS
from anyhook.history.filters import HAS_ANSWER, HAS_FAILED
from anyhook.history.record import RECORDER_KIND
from anyhook.history.spans import numbers_between

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyhook.history.store import History

SPAN = 100_000
"""Events that are counted by one query, which takes about 0.1 s."""


@dataclass(frozen=True, slots=True)
class HookStatistics:
    """How often a hook ran and what it answered.

    Attributes:
        hook: Its label.
        place: Its position.
        versions: Number of versions.
        runs: Number of events.
        outcomes: Verdict to number, without `none`.
        failures: Number of events on which it failed or timed out, could not be started or was
            ended by a signal.
        warnings: Number of events on which it ended with another exit code that blocks nothing.
        seconds: Mean duration in seconds; `None` if it is not known.
        slowest: Longest duration in seconds.
        shadow: Number of events on which it ran as a shadow.
        last: Unix timestamp of the last run.
    """

    hook: str
    place: str
    versions: int
    runs: int
    outcomes: dict[str, int]
    failures: int
    warnings: int
    seconds: float | None
    slowest: float | None
    shadow: int
    last: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of a part of the history.

    Attributes:
        sessions: Number of sessions.
        events: Canonical name of an event to number.
        outcomes: Verdict to number of events; `stop` for ended loops, `change` for answers without
            a verdict.
        sessions_with: Verdict to number of sessions with at least one such event.
        tools: Canonical name of a tool to number of its calls.
        sources: Source to number of events.
        hooks: The hooks, the one that ran most often first.
    """

    sessions: int
    events: dict[str, int]
    outcomes: dict[str, int]
    sessions_with: dict[str, int]
    tools: dict[str, int]
    sources: dict[str, int]
    hooks: tuple[HookStatistics, ...]


def statistics(
    history: History,
    *,
    agent: str = "",
    since: float = 0.0,
    on_progress: Callable[[float], object] = lambda _share: None,
) -> Statistics:
    """Count the events since a time.

    Args:
        history: The store.
        agent: Name of the agent; empty for all.
        since: Unix timestamp; 0 for all.
        on_progress: Called with the share that is counted, from 0 to 1.
    """
    connection = history.connection
    where, values = _condition(agent, since)
    first, end = numbers_between(connection, since)
    counts = _Counts()
    for start in range(first, end, SPAN):
        span = (start, min(start + SPAN, end), *values)
        counts.add_events(connection.execute(_EVENTS.format(where), span))
        counts.add_changes(connection.execute(_CHANGES.format(where), span))
        counts.add_results(connection.execute(_RESULTS.format(where), (*span, RECORDER_KIND)))
        on_progress((span[1] - first) / (end - first))
    return counts.statistics()


def _condition(agent: str, since: float) -> tuple[str, tuple[Any, ...]]:
    """Return the condition on events beside their numbers, and its values."""
    # With the plus sign, the numbers decide which events are read, and not the index of times.
    where, values = "+time >= ?", (since,)
    if not agent:
        return where, values
    return f"{where} AND session_id IN (SELECT id FROM sessions WHERE agent = ?)", (*values, agent)


_EVENTS = (
    "SELECT session_id, event, iif(event = 'before_tool', tool, NULL), source,"
    " iif(outcome = 'none' AND stop, 'stop', outcome), count(*) FROM events"
    " WHERE id >= ? AND id < ? AND {} GROUP BY 1, 2, 3, 4, 5"
)
_CHANGES = (
    "SELECT session_id, count(DISTINCT event_id) FROM results"
    " CROSS JOIN events ON events.id = event_id"
    f" WHERE event_id >= ? AND event_id < ? AND {{}} AND {HAS_ANSWER}"
    " AND events.outcome = 'none' AND NOT stop GROUP BY 1"
)
_RESULTS = (
    "SELECT label, place, hooks.id, results.outcome, count(*),"
    f" sum({HAS_FAILED}), sum(status = 'warned' AND NOT {HAS_FAILED}),"
    f" total({SECONDS}), count({SECONDS}), max({SECONDS}),"
    " sum(shadow), max(time) FROM results CROSS JOIN events ON events.id = event_id"
    " JOIN hooks ON hooks.id = hook_id"
    " WHERE event_id >= ? AND event_id < ? AND {} AND kind <> ? GROUP BY hooks.id, 4"
)


class _Counts:
    """Sums over the spans."""

    def __init__(self) -> None:
        self._sessions: set[int] = set()
        self._sessions_with: dict[str, set[int]] = {}
        self._events: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        # Number of a session to its events without an opinion or a change.
        self._without_opinion: Counter[int] = Counter()
        self._tools: Counter[str] = Counter()
        self._sources: Counter[str] = Counter()
        self._hooks: dict[tuple[str, str], _HookCounts] = {}

    def add_events(self, rows: Iterable[Any]) -> None:
        """Add the rows of `_EVENTS`."""
        for session, event, tool, source, outcome, number in rows:
            self._sessions.add(session)
            self._events[event] += number
            if outcome == "none":
                self._without_opinion[session] += number
            else:
                self._sessions_with.setdefault(outcome, set()).add(session)
                self._outcomes[outcome] += number
            self._sources[source] += number
            if tool is not None:
                self._tools[tool] += number

    def add_changes(self, rows: Iterable[Any]) -> None:
        """Take the events of `_CHANGES` from those without a verdict, behind `add_events`."""
        for session, number in rows:
            self._sessions_with.setdefault("change", set()).add(session)
            self._outcomes["change"] += number
            self._without_opinion[session] -= number

    def add_results(self, rows: Iterable[Any]) -> None:
        """Add the rows of `_RESULTS`."""
        for label, place, version, outcome, *numbers in rows:
            hook = self._hooks.setdefault((label, place), _HookCounts())
            hook.versions.add(version)
            hook.add(outcome, numbers)

    def statistics(self) -> Statistics:
        """Return the sums."""
        hooks = [counts.statistics(*hook) for hook, counts in self._hooks.items()]
        outcomes = self._outcomes.copy()
        sessions_with = {name: len(found) for name, found in self._sessions_with.items()}
        without_opinion = +self._without_opinion
        if without_opinion:
            outcomes["none"] = without_opinion.total()
            sessions_with["none"] = len(without_opinion)
        return Statistics(
            sessions=len(self._sessions),
            events=dict(self._events.most_common()),
            outcomes=dict(outcomes.most_common()),
            sessions_with=sessions_with,
            tools=dict(self._tools.most_common()),
            sources=dict(self._sources.most_common()),
            hooks=tuple(sorted(hooks, key=lambda hook: -hook.runs)),
        )


@dataclass(slots=True)
class _HookCounts:
    """Sums of one hook."""

    versions: set[int] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    warnings: int = 0
    seconds: float = 0.0
    timed: int = 0
    slowest: float | None = None
    shadow: int = 0
    last: float = 0.0

    def add(self, outcome: str, numbers: Iterable[Any]) -> None:
        """Add the results with one verdict: the columns of `_RESULTS` behind it."""
        runs, failures, warnings, seconds, timed, slowest, shadow, last = numbers
        self.outcomes[outcome] += runs
        self.failures += failures
        self.warnings += warnings
        self.seconds += seconds
        self.timed += timed
        if slowest is not None:
            self.slowest = max(slowest, self.slowest or 0.0)
        self.shadow += shadow
        self.last = max(self.last, last)

    def statistics(self, hook: str, place: str) -> HookStatistics:
        """Return the sums."""
        return HookStatistics(
            hook,
            place,
            versions=len(self.versions),
            runs=self.outcomes.total(),
            outcomes={name: count for name, count in self.outcomes.items() if name != "none"},
            failures=self.failures,
            warnings=self.warnings,
            seconds=self.seconds / self.timed if self.timed else None,
            slowest=self.slowest,
            shadow=self.shadow,
            last=self.last,
        )
