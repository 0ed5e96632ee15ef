"""Questions of the page to the history, beside those of `anyhook.history.queries`.

Each reads a bounded number of rows through an index, so that a page of a large store is as fast as
one of a small store.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from anyhook.history.checked import SECONDS
from anyhook.history.queries import AGENT_NAMES, Filter, events_of, get_event
from anyhook.page.searching import search_in_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.history.events import RecordedEvent
    from anyhook.history.queries import SessionSummary
    from anyhook.history.store import History

LATEST_RUNS = 5_000
"""Runs of hooks that counts and durations are taken from."""
LATEST_DENIALS = 300
"""Denials that are grouped."""
NEW_SECONDS = 7 * 86400.0
"""Seconds for which a hook's first denial is new."""
FIRST_DENIAL_SECONDS = 0.05
"""Seconds for which earlier denials of hooks are searched."""
FAILED = ("failed", "timed_out")
NEAR = 1000
"""Events before and after one that are compared with it."""
MOST_EQUAL = 5
END = (1e18, 0)
"""The position after every event of a session."""


# -- hooks


@dataclass(slots=True)
class HookSummary:
    """What a hook did on its latest runs.

    Attributes:
        name: Its label.
        place: Its position.
        runs: Number of runs.
        outcomes: Verdict to number, without `none`.
        failures: How often it failed or timed out.
        durations: Seconds of the runs, where they are known.
        last: Unix timestamp of the last run.
    """

    name: str
    place: str
    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    durations: list[float] = field(default_factory=list)
    last: float = 0.0

    def percentile(self, share: float) -> float | None:
        """Return a percentile of the durations in seconds; `None` if none is known."""
        return percentile(self.durations, share)


def percentile(values: list[float], share: float) -> float | None:
    """Return a percentile; `None` of no values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def hook_summaries(history: History) -> list[HookSummary]:
    """Return what every hook did on the latest runs, the one that ran most often first."""
    rows = history.connection.execute(
        f"SELECT label, place, results.outcome, status, {SECONDS}, event_id FROM results"
        " CROSS JOIN hooks ON hooks.id = hook_id ORDER BY results.rowid DESC LIMIT ?",
        (LATEST_RUNS,),
    )
    found: dict[tuple[str, str], HookSummary] = {}
    for label, place, outcome, status, duration, event_id in rows:
        summary = found.get((label, place))
        if summary is None:
            summary = found[label, place] = HookSummary(label, place)
            # The newest run of a hook comes first: the time of one event is read for each hook.
            summary.last = _time_of(history, event_id)
        summary.runs += 1
        summary.failures += status in FAILED
        if outcome != "none":
            summary.outcomes[outcome] += 1
        if duration is not None:
            summary.durations.append(duration)
    return sorted(found.values(), key=lambda summary: -summary.runs)


def _time_of(history: History, event_id: int) -> float:
    row = history.connection.execute("SELECT time FROM events WHERE id = ?", (event_id,)).fetchone()
    return 0.0 if row is None else float(row[0])


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
    """

    hook_id: int
    event_id: int
    time: float
    outcome: str
    status: str
    duration: float | None


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
            f"SELECT hook_id, event_id, time, results.outcome, status, {SECONDS} FROM results"
            " CROSS JOIN events ON events.id = event_id"
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


# -- denials


@dataclass(slots=True)
class DenialGroup:
    """Denials of the same hooks, of one tool, for the same reason.

    Attributes:
        latest: The newest of them.
        signs: Why a user would look at it, the strongest first.
        count: How many.
        sessions: Their sessions.
        weight: How early it is shown.
        texts: What they were about, to number.
    """

    latest: RecordedEvent
    signs: list[str] = field(default_factory=list)
    count: int = 0
    sessions: Counter[tuple[str, str]] = field(default_factory=Counter)
    weight: int = 0
    events: list[RecordedEvent] = field(default_factory=list)


def denials_to_look_at(history: History, now: float) -> list[DenialGroup]:
    """Return the newest denials in groups, those first that more than a denial speaks for.

    Args:
        history: The store.
        now: Unix timestamp.
    """
    groups: dict[tuple[Any, ...], DenialGroup] = {}
    for event in _denials(history):
        hooks = tuple(result.hook for result in event.results if _denies(event, result.outcome))
        key = (hooks, event.tool or event.event, event.reason)
        group = groups.get(key)
        if group is None:
            group = groups[key] = DenialGroup(event)
        group.count += 1
        group.sessions[event.agent, event.session] += 1
        group.events.append(event)
    new = _first_denials(history, list(groups.values()), now)
    for group in groups.values():
        _weigh(group, is_new=bool(new & {event.id for event in group.events}))
    return sorted(groups.values(), key=lambda group: (-group.weight, -group.latest.time))


def _denials(history: History) -> list[RecordedEvent]:
    """Return the newest events that were denied or stopped, the newest first."""
    found: dict[int, RecordedEvent] = {}
    for outcome in ("deny", "stop"):
        wanted = Filter(outcome=outcome)
        latest = search_in_time(history, wanted, limit=LATEST_DENIALS, seconds=0.2)
        for event in latest.events:
            found[event.id] = event
    return sorted(found.values(), key=lambda event: -event.time)


def _denies(event: RecordedEvent, outcome: str) -> bool:
    return outcome == "deny" or event.outcome != "deny"


def _weigh(group: DenialGroup, *, is_new: bool) -> None:
    """Find out why a user would look at a group of denials."""
    signs: list[tuple[int, str]] = []
    if any(_has_failed(event) for event in group.events):
        signs.append((40, "a hook failed, and its failure denies"))
    if any(_hooks_disagree(event) for event in group.events):
        signs.append((30, "another hook allowed it"))
    most = max(group.sessions.values())
    if most >= 3:
        signs.append((25, f"{most} times in one session: the agent may be stuck"))
    if any(event.stop for event in group.events):
        signs.append((20, "it ended the agent's turn"))
    if is_new:
        signs.append((15, "the first denial of this hook"))
    if not group.latest.reason:
        signs.append((10, "the agent got no reason"))
    signs.sort(reverse=True)
    group.signs = [text for _, text in signs]
    group.weight = sum(weight for weight, _ in signs)


def _has_failed(event: RecordedEvent) -> bool:
    return any(result.status in FAILED for result in event.results)


def _hooks_disagree(event: RecordedEvent) -> bool:
    return any(result.outcome == "allow" for result in event.results)


def _first_denials(history: History, groups: list[DenialGroup], now: float) -> set[int]:
    """Return the events of the last week in which a hook denied something for the first time.

    Hooks for which that is not found in time count as hooks with former denials.
    """
    first: dict[str, RecordedEvent] = {}
    for group in groups:
        for event in group.events:
            for hook in _denying(event):
                if hook not in first or event.id < first[hook].id:
                    first[hook] = event
    found: set[int] = set()
    deadline = monotonic() + FIRST_DENIAL_SECONDS
    for hook, event in first.items():
        left = deadline - monotonic()
        if left <= 0:
            break
        if event.time >= now - NEW_SECONDS and not _denied_before(history, hook, event.id, left):
            found.add(event.id)
    return found


def _denying(event: RecordedEvent) -> list[str]:
    return [result.hook for result in event.results if result.outcome == "deny"]


def _denied_before(history: History, hook: str, number: int, seconds: float) -> bool:
    """Return whether an event before a number was denied when a hook ran, or may have been."""
    wanted = Filter(outcome="deny", hook=hook)
    found = search_in_time(history, wanted, limit=1, before=number, seconds=seconds)
    return bool(found.events) or found.is_partial


# -- events


def neighbours(history: History, event: RecordedEvent) -> tuple[int, int]:
    """Return the numbers of the events before and after one in its session; 0 for none."""
    found: list[int] = []
    for comparison, order in (("<", "DESC"), (">", "ASC")):
        row = history.connection.execute(
            "SELECT events.id FROM sessions CROSS JOIN events ON session_id = sessions.id"
            f" WHERE agent = ? AND session = ? AND (time, events.id) {comparison} (?, ?)"
            f" ORDER BY time {order}, events.id {order} LIMIT 1",
            (event.agent, event.session, event.time, event.id),
        ).fetchone()
        found.append(0 if row is None else int(row[0]))
    return found[0], found[1]


def same_event_elsewhere(history: History, event: RecordedEvent) -> list[RecordedEvent]:
    """Return other events with the same payload in the same session, for example of a retry.

    Only the events near it are compared: a session may have a million.
    """
    numbers: list[int] = []
    for comparison, order in (("<", "DESC"), (">", "ASC")):
        rows = history.connection.execute(
            "SELECT near.id FROM (SELECT events.id, identity FROM sessions"
            " CROSS JOIN events ON session_id = sessions.id WHERE agent = ? AND session = ?"
            f" AND (time, events.id) {comparison} (?, ?)"
            f" ORDER BY time {order}, events.id {order} LIMIT ?) AS near"
            " WHERE identity = (SELECT identity FROM events WHERE id = ?) LIMIT ?",
            (event.agent, event.session, event.time, event.id, NEAR, event.id, MOST_EQUAL),
        )
        numbers += [number for (number,) in rows]
    return [get_event(history, number) for number in sorted(numbers)]


def agents_of(history: History) -> list[str]:
    """Return the agents that have sessions."""
    return [agent for (agent,) in history.connection.execute(AGENT_NAMES)]


Position = tuple[float, int]
"""Time and number of an event of a session, which order its events."""


def position_before(
    history: History, session: SessionSummary, position: Position, distance: int
) -> Position:
    """Return the position of the event that is some events before a position in a session."""
    row = history.connection.execute(
        "SELECT time, id FROM events WHERE session_id = ? AND (time, id) < (?, ?)"
        " ORDER BY time DESC, id DESC LIMIT 1 OFFSET ?",
        (session.id, *position, distance),
    ).fetchone()
    return (0.0, 0) if row is None else (float(row[0]), int(row[1]))


def position_of(history: History, number: int) -> Position:
    """Return the position of an event."""
    return _time_of(history, number), number


def latest_events(history: History, session: SessionSummary, limit: int) -> list[RecordedEvent]:
    """Return the last events of a session in the order of their time."""
    return events_of(
        history, session, limit=limit, after=position_before(history, session, END, limit)
    )


def summary_of(name: str, place: str, runs: list[HookRun]) -> HookSummary:
    """Return the counts of some runs of a hook."""
    summary = HookSummary(name, place, runs=len(runs))
    for run in runs:
        summary.failures += run.status in FAILED
        summary.last = max(summary.last, run.time)
        if run.outcome != "none":
            summary.outcomes[run.outcome] += 1
        if run.duration is not None:
            summary.durations.append(run.duration)
    return summary


def hook_files(history: History) -> list[str]:
    """Return the Python files of hooks that ran last, the newest first."""
    rows = history.connection.execute(
        "SELECT DISTINCT file FROM hooks WHERE file LIKE '%.py' ORDER BY id DESC LIMIT 50"
    )
    return [file for (file,) in rows]
