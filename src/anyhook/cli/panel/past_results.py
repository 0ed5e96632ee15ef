"""What the history knows about hooks. It is opened for reading only, and may be missing."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from anyhook.engine.hook_files import files_of
from anyhook.history.filters import Filter
from anyhook.history.journal import history_directory
from anyhook.history.queries import search
from anyhook.history.record import RECORDER_KIND
from anyhook.history.schema import VERSION
from anyhook.history.spans import numbers_between
from anyhook.history.statistics import SPAN
from anyhook.history.store import FILE, History
from anyhook.manage.hooks import configured_handlers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from anyhook.cli.panel.snapshot import HookKey, PanelHook
    from anyhook.history.events import RecordedEvent, RecordedResult

    Results = list[tuple[RecordedEvent, RecordedResult]]

DAYS = 30
"""Days that are counted."""
MAX_EVENTS = 50
"""Recorded events that are offered to be fired again."""
MAX_SEARCHES = 5
"""Searches for the results of a hook whose label others have, too."""
BUSY_SECONDS = 1.0


class ResultSource(NamedTuple):
    """The names under which the results of a hook are recorded.

    Attributes:
        label: Its label.
        place: `FILE:LINE` in the settings, by an engine; its own file, by a hook file; empty, by a
            recorder around a command.
    """

    label: str
    place: str


@dataclass(slots=True)
class RunCounts:
    """How often a hook ran on an event and what it answered.

    Attributes:
        runs: Number of events.
        outcomes: Verdict to number, without `none`.
        failures: Number of events on which it failed or timed out.
        warnings: Number of events on which its exit code meant a warning.
        timed: Number of runs whose duration is known.
        total: Sum of their durations in seconds.
        slowest: Longest of them in seconds.
    """

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    warnings: int = 0
    timed: int = 0
    total: float = 0.0
    slowest: float = 0.0

    @property
    def seconds(self) -> float | None:
        """Mean duration in seconds; `None` if it is not known."""
        return self.total / self.timed if self.timed else None

    def add(self, other: RunCounts) -> None:
        """Add the counts of other runs."""
        self.runs += other.runs
        self.outcomes += other.outcomes
        self.failures += other.failures
        self.warnings += other.warnings
        self.timed += other.timed
        self.total += other.total
        self.slowest = max(self.slowest, other.slowest)


CountKey = tuple[str, str, ResultSource]
"""Agent, canonical event, and the names of the hook."""


@dataclass(slots=True)
class PastResults:
    """Counts of the hooks of the last 30 days.

    Attributes:
        counts: The counts by agent, event and hook.
        sources: The names of all hooks in the history, to the time of the last run.
    """

    counts: Mapping[CountKey, RunCounts] = field(default_factory=dict)
    sources: Mapping[ResultSource, float] = field(default_factory=dict)
    _sources_of: dict[HookKey, list[ResultSource]] = field(default_factory=dict, compare=False)

    def of(self, hook: PanelHook) -> RunCounts | None:
        """Return the counts of a hook; `None` if it did not run."""
        agent, event = hook.engine.agent.name, hook.row.definition.event
        sums = RunCounts()
        for source in self.sources_of(hook):
            counts = self.counts.get((agent, event, source))
            if counts is not None:
                sums.add(counts)
        return sums if sums.runs else None

    def sources_of(self, hook: PanelHook) -> list[ResultSource]:
        """Return the names under which results of a hook are recorded; empty if there are none."""
        key = (*hook.key, str(hook.handler.place))
        if key not in self._sources_of:
            self._sources_of[key] = self._find_sources(hook)
        return self._sources_of[key]

    def _find_sources(self, hook: PanelHook) -> list[ResultSource]:
        if hook.is_recorder or not self.sources:
            return []
        handler, engine = hook.handler, hook.engine
        files = {str(file) for file in files_of(engine, handler)}
        found = [source for source in self.sources if source.place in files]
        found += [
            source
            for source in (
                ResultSource(handler.label, ""),
                ResultSource(handler.label, str(handler.place)),
            )
            if source in self.sources
        ]
        return found or self._moved_sources(hook)

    def _moved_sources(self, hook: PanelHook) -> list[ResultSource]:
        """Return the names of a hook before an edit above it moved its line."""
        handler = hook.handler
        current = {str(other.place) for other in configured_handlers(hook.engine)}
        former: list[ResultSource] = []
        for source in self.sources:
            file = source.place.rpartition(":")[0]
            is_same_hook = source.label == handler.label and file == handler.place.file
            if is_same_hook and source.place not in current:
                former.append(source)
        return sorted(former, key=self.sources.__getitem__)[-1:]


@contextmanager
def _open_to_read() -> Iterator[History | None]:
    """Open the history without creating, changing or repairing it; `None` if that is impossible."""
    path = Path(history_directory()) / FILE
    if not path.is_file():
        yield None
        return
    address = f"file:{quote(str(path))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        yield History(path, connection) if version == VERSION else None
    finally:
        connection.close()


def read_past_results() -> PastResults:
    """Count the results of all hooks; no history is an empty one."""
    try:
        with _open_to_read() as history:
            if history is None:
                return PastResults()
            return PastResults(_read_counts(history, time.time() - DAYS * 86400), _sources(history))
    except sqlite3.Error:  # damaged, or locked for too long: the panel works without it
        return PastResults()


def _sources(history: History) -> dict[ResultSource, float]:
    rows = history.connection.execute(
        "SELECT label, place, max(last) FROM hooks WHERE kind <> ? GROUP BY label, place",
        (RECORDER_KIND,),
    )
    return {ResultSource(label, place): last or 0.0 for label, place, last in rows}


_COUNTS = (
    "SELECT agent, event, label, place, results.outcome, count(*),"
    " sum(status IN ('failed', 'timed_out')), sum(status = 'warned'), count(duration),"
    " total(duration), ifnull(max(duration), 0) FROM results"
    " CROSS JOIN events ON events.id = event_id JOIN sessions ON sessions.id = session_id"
    " JOIN hooks ON hooks.id = hook_id"
    " WHERE event_id >= ? AND event_id < ? AND +time >= ? AND kind <> ? GROUP BY 1, 2, hook_id, 5"
)


def _read_counts(history: History, since: float) -> dict[CountKey, RunCounts]:
    """Return the counts by agent, event and hook since a Unix timestamp, read in spans."""
    counts: dict[CountKey, RunCounts] = {}
    first, end = numbers_between(history.connection, since)
    for start in range(first, end, SPAN):
        limits = (start, min(start + SPAN, end), since, RECORDER_KIND)
        for agent, event, label, place, outcome, *numbers in history.connection.execute(
            _COUNTS, limits
        ):
            runs, failures, warnings, timed, total, slowest = numbers
            outcomes = Counter({} if outcome == "none" else {outcome: runs})
            key = agent, event, ResultSource(label, place)
            known = counts.setdefault(key, RunCounts())
            known.add(RunCounts(runs, outcomes, failures, warnings, timed, total, slowest))
    return counts


def read_events(hook: PanelHook, limit: int = MAX_EVENTS) -> list[RecordedEvent]:
    """Return recorded events of the agent and the event of a hook, the newest first."""
    wanted = Filter(agent=hook.engine.agent.name, event=hook.row.definition.event)
    try:
        with _open_to_read() as history:
            return [] if history is None else search(history, wanted, limit=limit)
    except sqlite3.Error:
        return []


def read_results(hook: PanelHook, sources: Collection[ResultSource], limit: int) -> Results:
    """Return the last results of a hook with their events, the newest first.

    Args:
        hook: The hook.
        sources: The names under which they are recorded.
        limit: How many.
    """
    results: Results = []
    try:
        with _open_to_read() as history:
            if history is not None:
                for label in {source.label for source in sources}:
                    results += _results_of(history, hook, label, sources, limit)
    except sqlite3.Error:
        return []
    results.sort(key=lambda pair: -pair[0].time)
    return results[:limit]


def _results_of(
    history: History,
    hook: PanelHook,
    label: str,
    sources: Collection[ResultSource],
    limit: int,
) -> Results:
    """Return the last results with a label that are those of a hook."""
    wanted = Filter(agent=hook.engine.agent.name, event=hook.row.definition.event, hook=label)
    results: Results = []
    before = 0
    for _ in range(MAX_SEARCHES):
        events = search(history, wanted, limit=limit, before=before)
        for event in events:
            for result in event.results:
                if ResultSource(result.hook, result.place) in sources:
                    results.append((event, result))
        if len(events) < limit or len(results) >= limit:
            break
        before = events[-1].id
    return results
