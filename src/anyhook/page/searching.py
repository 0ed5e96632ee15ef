"""Searches that end in time, however large the history and whatever the filter.

A filter may describe events that are rare or not there at all, and then every event that has one
of its properties is a candidate. A search reads the events backwards in parts of growing size. It
ends when its time is over, and returns where to continue.

The index does not end at the first event of a part when nothing in it matches: a search for two
common properties that no event has both of goes through both lists once, whatever its time. With
10,000,000 events that takes 0.2 s of processor time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.history.queries import search
from anyhook.history.spans import end_of_time

if TYPE_CHECKING:
    from anyhook.history.events import RecordedEvent
    from anyhook.history.filters import Filter
    from anyhook.history.store import History

SECONDS = 0.06
"""After which a search begins no other part."""
SMALLEST_PART = 16_384
"""Events of a part at least."""
FIRST_PART = 65_536
"""Events of the first part; of one in which all are candidates it takes about 20 ms."""
GROWTH = 4


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Attributes:
        events: The events, those that were stored last first.
        before: Number of the event after which to continue; 0 if there is nothing more.
        is_partial: Whether time was over before enough events were found.
        reached: Unix timestamp of the earliest event that was looked at, if it is partial.
    """

    events: list[RecordedEvent] = field(default_factory=list)
    before: int = 0
    is_partial: bool = False
    reached: float = 0.0


def newest_event(history: History) -> int:
    """Return the number of the newest event; 0 if there is none."""
    return int(history.connection.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()[0])


def search_in_time(
    history: History,
    wanted: Filter,
    *,
    limit: int,
    before: int = 0,
    seconds: float | None = None,
) -> Found:
    """Return the events that a filter describes, as far as they are found in time.

    Args:
        history: The store.
        wanted: The filter.
        limit: How many.
        before: Number of the event after which to continue; 0 for the start.
        seconds: After which no other part is begun; by default `SECONDS`. The first part is always
            read.
    """
    deadline = time.monotonic() + (SECONDS if seconds is None else seconds)
    position = before or newest_event(history) + 1
    events: list[RecordedEvent] = []
    size = FIRST_PART
    while True:
        started = time.monotonic()
        # Imported events are stored later than they happened, so parts without the wanted time
        # may be anywhere.
        position = end_of_time(history.connection, position, wanted.since, wanted.until)
        if position <= 1:
            return Found(events)
        first = max(1, position - size)
        room = limit - len(events)
        events += search(history, wanted, limit=room, before=position, after=first - 1)
        if len(events) >= limit:
            return Found(events, events[-1].id)
        position = first
        now = time.monotonic()
        left = deadline - now
        if left <= 0:
            break
        size = _next_size(size, now - started, left)
    if position <= 1:
        return Found(events)
    return Found(events, position, is_partial=True, reached=_time_at(history, position))


def _next_size(size: int, took: float, left: float) -> int:
    """Return the size of the next part, such that it ends in time.

    Args:
        size: Events of the last part.
        took: Seconds of the last part.
        left: Seconds that are left.
    """
    growth = min(GROWTH, left / max(took, 1e-6))
    return max(SMALLEST_PART, int(size * growth))


def _time_at(history: History, number: int) -> float:
    """Return the time of the first event from a number on."""
    row = history.connection.execute(
        "SELECT time FROM events WHERE id >= ? ORDER BY id LIMIT 1", (number,)
    ).fetchone()
    return 0.0 if row is None else float(row[0])
