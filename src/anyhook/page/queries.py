"""Questions of the page to the history, beside those of `anyhook.history.queries`.

Each reads a bounded number of rows through an index, so that a page of a large store is as fast as
one of a small store.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from anyhook.history.filters import Filter
from anyhook.history.queries import AGENT_NAMES, events_of, get_event
from anyhook.page.searching import search_in_time

if TYPE_CHECKING:
    from anyhook.history.events import RecordedEvent
    from anyhook.history.queries import SessionSummary
    from anyhook.history.store import History

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


def time_of(history: History, event_id: int) -> float:
    """Return the time of an event; 0 if it is not there."""
    row = history.connection.execute("SELECT time FROM events WHERE id = ?", (event_id,)).fetchone()
    return 0.0 if row is None else float(row[0])


def position_of(history: History, number: int) -> Position:
    """Return the position of an event."""
    return time_of(history, number), number


def latest_events(history: History, session: SessionSummary, limit: int) -> list[RecordedEvent]:
    """Return the last events of a session in the order of their time."""
    return events_of(
        history, session, limit=limit, after=position_before(history, session, END, limit)
    )
