"""What hooks did: questions of the page to the history.

Each reads a bounded number of rows through an index, as those of `anyhook.page.queries` do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

from anyhook.history.checked import SECONDS
from anyhook.history.queries import get_event
from anyhook.history.record import RECORDER_KIND
from anyhook.page.queries import time_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.history.store import History

LATEST_RUNS = 5_000
"""Runs of hooks that counts and durations are taken from."""
MOST_ROWS = 20_000
"""Rows that are read for them: where recording is on, the recorder runs on every event."""
RECORDER_FILE = "/anyhook/authoring/recorder.py"
FAILED = ("failed", "timed_out")
LATEST = 10
"""Results of a kind that the view of a hook shows."""


@dataclass(slots=True)
class HookSummary:
    """What a hook did on its latest runs.

    Attributes:
        name: Its label.
        place: Its position.
        runs: Number of runs.
        outcomes: Verdict to number, without `none` and without those of a shadow.
        shadow_outcomes: Verdict to number, as a shadow: these did not count.
        failures: How often it failed or timed out.
        warnings: How often its exit code meant a warning.
        durations: Seconds of the runs, where they are known.
        last: Unix timestamp of the last run.
    """

    name: str
    place: str
    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    shadow_outcomes: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    warnings: int = 0
    durations: list[float] = field(default_factory=list)
    last: float = 0.0

    def percentile(self, share: float) -> float | None:
        """Return a percentile of the durations in seconds; `None` if none is known."""
        return percentile(self.durations, share)

    def add(self, outcome: str, status: str, duration: float | None, *, is_shadow: bool) -> None:
        """Count a run."""
        self.runs += 1
        self.failures += status in FAILED
        self.warnings += status == "warned"
        if outcome != "none":
            (self.shadow_outcomes if is_shadow else self.outcomes)[outcome] += 1
        if duration is not None:
            self.durations.append(duration)


def percentile(values: list[float], share: float) -> float | None:
    """Return a percentile; `None` of no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


@dataclass(frozen=True, slots=True)
class HookSummaries:
    """What every hook did on the latest runs.

    Attributes:
        hooks: The hooks, the one that ran most often first.
        is_limited: Whether there are earlier runs.
    """

    hooks: list[HookSummary]
    is_limited: bool


def hook_summaries(history: History) -> HookSummaries:
    """Return what every hook did on the latest runs, without the recorder."""
    rows = history.connection.execute(
        f"SELECT label, place, kind, file, results.outcome, status, shadow, {SECONDS}, event_id"
        " FROM results CROSS JOIN hooks ON hooks.id = hook_id ORDER BY results.rowid DESC LIMIT ?",
        (MOST_ROWS,),
    )
    found: dict[tuple[str, str], HookSummary] = {}
    row_count = run_count = 0
    for label, place, kind, file, outcome, status, shadow, duration, event_id in rows:
        row_count += 1
        if kind == RECORDER_KIND or (file or "").endswith(RECORDER_FILE):
            continue
        summary = found.get((label, place))
        if summary is None:
            summary = found[label, place] = HookSummary(label, place)
            # The newest run of a hook comes first: the time of one event is read for each hook.
            summary.last = time_of(history, event_id)
        summary.add(outcome, status, duration, is_shadow=bool(shadow))
        run_count += 1
        if run_count == LATEST_RUNS:
            break
    hooks = sorted(found.values(), key=lambda summary: -summary.runs)
    return HookSummaries(hooks, run_count == LATEST_RUNS or row_count == MOST_ROWS)


@dataclass(frozen=True, slots=True)
class HookRun:
    """A run of a hook.

    Attributes:
        hook_id: Number of the version of the hook.
        event_id: Number of the event.
        time: Unix timestamp.
        outcome: Its verdict.
        status: How it ended.
        duration: Seconds; `None` if it is not known.
        shadow: Whether it ran as a shadow.
    """

    hook_id: int
    event_id: int
    time: float
    outcome: str
    status: str
    duration: float | None
    shadow: int = 0


@dataclass(frozen=True, slots=True)
class HookVersion:
    """A version of a hook.

    Attributes:
        digest: Content hash; `None` if it is not known.
        file: Its file.
        runs: How many of the latest runs were its.
        first: Unix timestamp of the first of them.
        last: Unix timestamp of the last of them.
    """

    digest: str | None
    file: str | None
    runs: int
    first: float
    last: float


def hook_versions(
    history: History, name: str, place: str
) -> dict[int, tuple[str | None, str | None]]:
    """Return the versions of a hook: number to content hash and file."""
    rows = history.connection.execute(
        "SELECT id, digest, file FROM hooks WHERE label = ? AND place = ?", (name, place)
    )
    return {number: (digest, file) for number, digest, file in rows}


def used_versions(
    versions: Mapping[int, tuple[str | None, str | None]], runs: Iterable[HookRun]
) -> list[HookVersion]:
    """Return the versions that the latest runs used, the newest first."""
    times: dict[int, list[float]] = {}
    for run in runs:
        times.setdefault(run.hook_id, []).append(run.time)
    used = [
        HookVersion(*versions[number], len(found), min(found), max(found))
        for number, found in times.items()
    ]
    return sorted(used, key=lambda version: -version.last)


def hook_runs(history: History, hook_ids: Iterable[int]) -> list[HookRun]:
    """Return the latest runs of some versions of a hook, the newest first.

    The runs of each version are read backwards in the index and put together as far as they are
    needed: SQLite would sort all runs of all versions.
    """
    versions = [
        history.connection.execute(
            f"SELECT hook_id, event_id, time, results.outcome, status, {SECONDS}, shadow"
            " FROM results CROSS JOIN events ON events.id = event_id"
            " WHERE hook_id = ? ORDER BY event_id DESC",
            (number,),
        )
        for number in hook_ids
    ]
    rows = merge(*versions, key=_event_of, reverse=True)
    return [HookRun(*row) for row in islice(rows, LATEST_RUNS)]


def _event_of(row: tuple[int, int]) -> int:
    return row[1]


@dataclass(slots=True)
class Span:
    """The runs of a hook in a part of the time.

    Attributes:
        start: Unix timestamp of its start.
        runs: The runs.
    """

    start: float
    runs: list[HookRun] = field(default_factory=list)

    @property
    def outcomes(self) -> Counter[str]:
        """Verdict to number; a failure counts as `failed`."""
        return Counter("failed" if run.status in FAILED else run.outcome for run in self.runs)

    @property
    def durations(self) -> list[float]:
        """Seconds of the runs, where they are known."""
        return [run.duration for run in self.runs if run.duration is not None]


_HOUR, _DAY = 3600, 86400
STEPS = (60, 300, 900, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 30 * _DAY)
"""Seconds of a part of the time."""
MOST_SPANS = 30


def spans_of(runs: list[HookRun]) -> list[Span]:
    """Return the runs of a hook in parts of equal length, the oldest first; at most 30."""
    if not runs:
        return []
    first, last = min(run.time for run in runs), max(run.time for run in runs)
    step: float = next((one for one in STEPS if (last - first) / one < MOST_SPANS - 1), STEPS[-1])
    start = first - first % step
    spans = [Span(start + step * number) for number in range(int((last - start) // step) + 1)]
    for run in runs:
        spans[int((run.time - start) // step)].runs.append(run)
    return spans[-MOST_SPANS * 4 :]


def summary_of(name: str, place: str, runs: list[HookRun]) -> HookSummary:
    """Return the counts of some runs of a hook."""
    summary = HookSummary(name, place)
    for run in runs:
        summary.add(run.outcome, run.status, run.duration, is_shadow=bool(run.shadow))
        summary.last = max(summary.last, run.time)
    return summary


@dataclass(frozen=True, slots=True)
class LatestResults:
    """The newest results of a kind.

    Attributes:
        results: Each event with the result of the hook, the newest first.
        rest: How many older ones there are among the runs.
    """

    results: list[tuple[RecordedEvent, RecordedResult]]
    rest: int


def latest_results(
    history: History,
    hook: HookSummary,
    runs: Iterable[HookRun],
    is_wanted: Callable[[HookRun], bool],
) -> LatestResults:
    """Return the newest results of a hook of one kind.

    Args:
        history: The store.
        hook: The hook.
        runs: Its runs, the newest first.
        is_wanted: Whether a run is of that kind.
    """
    wanted = [run for run in runs if is_wanted(run)]
    found: list[tuple[RecordedEvent, RecordedResult]] = []
    for run in wanted[:LATEST]:
        event = get_event(history, run.event_id)
        for result in event.results:
            if (result.hook, result.place) == (hook.name, hook.place):
                found.append((event, result))
                break
    return LatestResults(found, max(0, len(wanted) - LATEST))


def hook_files(history: History) -> list[str]:
    """Return the Python files of hooks that ran last, the newest first."""
    rows = history.connection.execute(
        "SELECT DISTINCT file FROM hooks WHERE file LIKE '%.py' ORDER BY id DESC LIMIT 50"
    )
    return [file for (file,) in rows]
