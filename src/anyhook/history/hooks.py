"""What hooks did: counts of their runs, the runs themselves, and the names they were recorded with.

A question about all time reads its events in spans of their numbers, so that the caller can show
how far it is and Ctrl-C ends it. A question about the latest runs reads a bounded number of rows.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from anyhook.history.filters import in_project
from anyhook.history.rows import marks_for, storable
from anyhook.history.sessions import get_event, position_of
from anyhook.history.spans import numbers_between
from anyhook.history.verdicts import FAILURES, HAS_FAILED, HAS_WARNED, NO_VERDICT
from anyhook.journal.records import RECORDER_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.history.store import History


EVENTS_PER_QUERY = 100_000
"""Events that are counted by one query, which takes about 0.1 s."""
MAX_RUNS = 5_000
"""Latest runs of hooks that counts and durations are taken from."""
MAX_ROWS = 20_000
"""Rows that are read for them: where recording is on, the recorder runs on every event."""
MAX_RESULTS = 10
"""Results of a kind that the view of a hook shows."""


# -- counts


class HookName(NamedTuple):
    """The names with which the results of a hook are recorded."""

    label: str
    place: str
    """`FILE:LINE` in the settings, by an engine; its own file, by a hook file; its script, by a
    recorder around a command, and empty if it names none."""


@dataclass(slots=True)
class RunCounts:
    """How often a hook ran and what it answered."""

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """Verdict to number, without `none` and without those of a shadow."""
    shadow_outcomes: Counter[str] = field(default_factory=Counter)
    """Verdict to number, as a shadow: these did not count."""
    shadow: int = 0
    failures: int = 0
    warnings: int = 0
    timed: int = 0
    total: float = 0.0
    """Sum of their durations in seconds."""
    slowest: float | None = None
    """Longest of them in seconds; `None` if none is known."""
    last: float = 0.0
    """Unix timestamp of the last run; 0 if it is not known."""

    @property
    def seconds(self) -> float | None:
        """Mean duration in seconds; `None` if it is not known."""
        return self.total / self.timed if self.timed else None

    def add(self, other: RunCounts) -> None:
        """Add the counts of other runs."""
        self.runs += other.runs
        self.outcomes += other.outcomes
        self.shadow_outcomes += other.shadow_outcomes
        self.shadow += other.shadow
        self.failures += other.failures
        self.warnings += other.warnings
        self.timed += other.timed
        self.total += other.total
        if other.slowest is not None:
            self.slowest = max(other.slowest, self.slowest or 0.0)
        self.last = max(self.last, other.last)

    def add_verdict(self, verdict: str, number: int, *, is_shadow: bool) -> None:
        """Count the verdict of some runs."""
        self.runs += number
        if is_shadow:
            self.shadow += number
        if verdict != NO_VERDICT:
            (self.shadow_outcomes if is_shadow else self.outcomes)[verdict] += number


class RunKey(NamedTuple):
    """What the counts of runs are kept by."""

    agent: str
    event: str
    name: HookName
    version: int


_COUNTS = (
    "SELECT agent, event, label, place, hook_id, results.verdict, shadow, count(*),"
    f" sum({HAS_FAILED}), sum({HAS_WARNED}), count(duration), total(duration), max(duration),"
    " max(time) FROM results CROSS JOIN events ON events.id = event_id"
    " JOIN sessions ON sessions.id = session_id JOIN hooks ON hooks.id = hook_id"
    # With the plus sign, the numbers decide which events are read, and not the index of times.
    " WHERE event_id >= ? AND event_id < ? AND +time >= ? AND kind <> ?"
    " AND (? = '' OR agent = ?) GROUP BY agent, event, hook_id, results.verdict, shadow"
)


def count_runs(
    history: History,
    *,
    agent: str = "",
    since: float = 0.0,
    on_progress: Callable[[float], object] = lambda _share: None,
) -> dict[RunKey, RunCounts]:
    """Count the runs of all hooks but the recorder.

    `agent` is empty for all, `since` is a Unix timestamp or 0. `on_progress` gets the share that is
    counted, from 0 to 1.
    """
    counts: dict[RunKey, RunCounts] = {}
    first, end = numbers_between(history.connection, since)
    for start in range(first, end, EVENTS_PER_QUERY):
        stop = min(start + EVENTS_PER_QUERY, end)
        rows = history.connection.execute(
            _COUNTS, (start, stop, since, RECORDER_KIND, agent, agent)
        )
        for name, event, label, place, version, verdict, is_shadow, number, *sums in rows:
            failures, warnings, timed, total, slowest, last = sums
            key = RunKey(name, event, HookName(label, place), version)
            runs = RunCounts(
                failures=failures,
                warnings=warnings,
                timed=timed,
                total=total,
                slowest=slowest,
                last=last,
            )
            runs.add_verdict(verdict, number, is_shadow=bool(is_shadow))
            counts.setdefault(key, RunCounts()).add(runs)
        on_progress((stop - first) / (end - first))
    return counts


class RecordedHook(NamedTuple):
    """A version of a hook, as it is recorded."""

    number: int
    name: HookName
    digest: str | None
    """Content hash; `None` if it is not known."""


def recorded_hooks(history: History) -> list[RecordedHook]:
    """Return the versions of all hooks but the recorder."""
    rows = history.connection.execute(
        "SELECT id, label, place, digest FROM hooks WHERE kind <> ?", (RECORDER_KIND,)
    )
    return [
        RecordedHook(number, HookName(label, place), digest)
        for number, label, place, digest in rows
    ]


def hook_labels(history: History) -> list[str]:
    """Return the labels of all hooks, the one that ran last first."""
    rows = history.connection.execute("SELECT DISTINCT label FROM hooks ORDER BY last DESC")
    return [label for (label,) in rows]


# -- the latest runs


@dataclass(slots=True)
class HookSummary(RunCounts):
    """What a hook did on its latest runs."""

    name: str = ""
    place: str = ""
    durations: list[float] = field(default_factory=list)
    """Seconds of the runs, where they are known."""

    def percentile(self, share: float) -> float | None:
        """Return a percentile of the durations in seconds; `None` if none is known."""
        return percentile(self.durations, share)

    def add_run(
        self, verdict: str, trouble: str | None, duration: float | None, *, is_shadow: bool
    ) -> None:
        """Count a run."""
        self.add_verdict(verdict, 1, is_shadow=is_shadow)
        self.failures += trouble in FAILURES
        self.warnings += trouble == "warned"
        if duration is not None:
            self.durations.append(duration)


def percentile(values: list[float], share: float) -> float | None:
    """Return the value that a share of the values do not exceed; `None` of no values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


class HookSummaries(NamedTuple):
    """What every hook did on the latest runs, the one that ran most often first."""

    hooks: list[HookSummary]
    is_limited: bool


def hook_summaries(history: History) -> HookSummaries:
    """Return what every hook did on the latest runs, without the recorder."""
    rows = history.connection.execute(
        "SELECT label, place, kind, verdict, trouble, shadow, duration, event_id"
        " FROM results CROSS JOIN hooks ON hooks.id = hook_id ORDER BY results.rowid DESC LIMIT ?",
        (MAX_ROWS,),
    )
    summaries: dict[HookName, HookSummary] = {}
    row_count = run_count = 0
    for label, place, kind, verdict, trouble, shadow, duration, event_id in rows:
        row_count += 1
        if kind == RECORDER_KIND:
            continue
        name = HookName(label, place)
        if name not in summaries:
            # The newest run of a hook comes first: the time of one event is read for each hook.
            last, _ = position_of(history, event_id)
            summaries[name] = HookSummary(name=label, place=place, last=last)
        summaries[name].add_run(verdict, trouble, duration, is_shadow=bool(shadow))
        run_count += 1
        if run_count == MAX_RUNS:
            break
    hooks = sorted(summaries.values(), key=lambda summary: -summary.runs)
    return HookSummaries(hooks, run_count == MAX_RUNS or row_count == MAX_ROWS)


class StoredRun(NamedTuple):
    """A run of a hook."""

    hook_id: int
    event_id: int
    time: float
    """Unix timestamp."""
    verdict: str
    trouble: str | None
    duration: float | None
    """Seconds; `None` if it is not known."""
    shadow: int


class HookVersion(NamedTuple):
    """A version of a hook."""

    digest: str | None
    """Content hash; `None` if it is not known."""
    file: str | None
    runs: int
    first: float
    """Unix timestamp of the first of them."""
    last: float
    """Unix timestamp of the last of them."""


def hook_versions(
    history: History, name: str, place: str
) -> dict[int, tuple[str | None, str | None]]:
    """Return the versions of a hook: number to content hash and file."""
    rows = history.connection.execute(
        "SELECT id, digest, file FROM hooks WHERE label = ? AND place = ?", (name, place)
    )
    return {number: (digest, file) for number, digest, file in rows}


def used_versions(
    versions: Mapping[int, tuple[str | None, str | None]], runs: Iterable[StoredRun]
) -> list[HookVersion]:
    """Return the versions that the latest runs used, the newest first."""
    times: dict[int, list[float]] = {}
    for run in runs:
        times.setdefault(run.hook_id, []).append(run.time)
    used = [
        HookVersion(*versions[number], len(of_version), min(of_version), max(of_version))
        for number, of_version in times.items()
    ]
    return sorted(used, key=lambda version: -version.last)


def versions_with_digests(history: History, digests: Iterable[str]) -> list[int]:
    """Return the numbers of the versions of hooks that have one of some content hashes."""
    hashes = [*digests]
    rows = history.connection.execute(
        f"SELECT id FROM hooks WHERE digest IN ({marks_for(hashes)})", hashes
    )
    return [number for (number,) in rows]


def hook_runs(
    history: History,
    hook_ids: Iterable[int],
    *,
    agent: str = "",
    event: str = "",
    project: str = "",
) -> list[StoredRun]:
    """Return the latest runs of some versions of a hook, the newest first.

    The runs of each version are read backwards in the index and put together as far as they are
    needed: SQLite would sort all runs of all versions.
    """
    of_project, directories = in_project(project)
    query = (
        "SELECT hook_id, event_id, time, results.verdict, trouble, duration, shadow"
        " FROM results CROSS JOIN events ON events.id = event_id"
        " CROSS JOIN sessions ON sessions.id = session_id"
        " WHERE hook_id = ? AND (? = '' OR agent = ?) AND (? = '' OR event = ?)"
        f" AND {of_project} ORDER BY event_id DESC"
    )
    values = (agent, agent, event, event, *directories)
    versions = [history.connection.execute(query, (number, *values)) for number in hook_ids]
    rows = merge(*versions, key=itemgetter(1), reverse=True)
    return [StoredRun(*row) for row in islice(rows, MAX_RUNS)]


def summary_of(name: str, place: str, runs: list[StoredRun]) -> HookSummary:
    """Return the counts of some runs of a hook."""
    summary = HookSummary(name=name, place=place)
    for run in runs:
        summary.add_run(run.verdict, run.trouble, run.duration, is_shadow=bool(run.shadow))
        summary.last = max(summary.last, run.time)
    return summary


def latest_results(
    history: History, versions: Iterable[RecordedHook], runs: Iterable[StoredRun], limit: int
) -> list[tuple[RecordedEvent, RecordedResult]]:
    """Return the results of the first of some runs of these versions of a hook."""
    by_number = {version.number: version for version in versions}
    results: list[tuple[RecordedEvent, RecordedResult]] = []
    for run in islice(runs, limit):
        event = get_event(history, run.event_id)
        version = by_number[run.hook_id]
        for result in event.results:
            name = HookName(result.hook, result.place)
            if (name, result.digest) == (version.name, version.digest):
                results.append((event, result))
                break
    return results


# -- on which events a hook should have run and did not


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
    " AND {of_project} GROUP BY tool"
)


def reach_of(history: History, question: ReachQuestion, listens_to: Callable[[int], bool]) -> Reach:
    """Return how many events of recorded and imported sessions reached a hook.

    `listens_to` returns whether the hook listens to the event of a number. It is asked once for
    each tool.
    """
    of_project, directories = in_project(question.project)
    rows = history.connection.execute(
        _GROUPS.format(of_project=of_project),
        (
            storable(question.file),
            question.label,
            question.since,
            question.since,
            question.agent,
            question.event,
            *directories,
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
