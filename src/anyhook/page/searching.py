"""Searches that end in time, however large the history and whatever the filter.

A filter may describe events that are rare or not there at all, and then every event that has one
of its properties is a candidate. A search reads the events backwards in parts of growing size. It
ends when its time is over, and returns where to continue.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.history.queries import search

if TYPE_CHECKING:
    from anyhook.history.events import RecordedEvent
    from anyhook.history.queries import Filter
    from anyhook.history.store import History

SECONDS = 0.06
"""After which a search begins no other part."""
BLOCK = 16_384
"""Events whose earliest and latest time are kept."""
FIRST_PART = 4 * BLOCK
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


class TimeRanges:
    """The earliest and latest time of each block of events.

    Numbers mostly follow the time, but imported events are stored later than they happened. A
    search for a time skips the blocks that have none of it, without an index of both.
    """

    def __init__(self) -> None:
        self._ranges: dict[int, tuple[float, float]] = {}
        self._newest = 0
        self._lock = threading.Lock()

    def range_of(self, history: History, block: int, newest: int) -> tuple[float, float]:
        """Return the earliest and latest time of the events of a block.

        Args:
            history: The store.
            block: Number of the block.
            newest: Number of the newest event.
        """
        with self._lock:
            if newest < self._newest:  # events were removed, whose numbers are given again
                self._ranges.clear()
            self._newest = newest
            known = self._ranges.get(block)
        if known is not None:
            return known
        first, last = history.connection.execute(
            "SELECT min(time), max(time) FROM events WHERE id >= ? AND id < ?",
            (block * BLOCK, (block + 1) * BLOCK),
        ).fetchone()
        found = (0.0, 0.0) if first is None else (float(first), float(last))
        if (block + 1) * BLOCK <= newest:
            with self._lock:
                self._ranges[block] = found
        return found

    def read_all(self, history: History, ended: threading.Event) -> None:
        """Read the ranges of all blocks, the newest first, until the end is requested."""
        newest = newest_event(history)
        for block in range(newest // BLOCK, -1, -1):
            if ended.is_set():
                return
            self.range_of(history, block, newest)


def newest_event(history: History) -> int:
    """Return the number of the newest event; 0 if there is none."""
    return int(history.connection.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()[0])


def search_in_time(
    history: History,
    wanted: Filter,
    ranges: TimeRanges,
    *,
    limit: int,
    before: int = 0,
    seconds: float | None = None,
) -> Found:
    """Return the events that a filter describes, as far as they are found in time.

    Args:
        history: The store.
        wanted: The filter.
        ranges: The times of blocks of events.
        limit: How many.
        before: Number of the event after which to continue; 0 for the start.
        seconds: After which no other part is begun; by default `SECONDS`. The first part is always
            read.
    """
    deadline = time.monotonic() + (SECONDS if seconds is None else seconds)
    parts = _Parts(history, wanted, ranges, deadline)
    position = before or parts.newest + 1
    events: list[RecordedEvent] = []
    size = FIRST_PART
    while position > 1:
        started = time.monotonic()
        first = parts.skipped(position)
        if first == position:
            first = parts.first_of(position, size)
            room = limit - len(events)
            events += search(history, wanted, limit=room, before=position, after=first - 1)
            if len(events) >= limit:
                return Found(events, events[-1].id)
            size = _next_size(size, time.monotonic() - started, parts.left)
        position = first
        if parts.left <= 0:
            break
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
    return max(BLOCK, int(size * growth))


def _time_at(history: History, number: int) -> float:
    """Return the time of the first event from a number on."""
    row = history.connection.execute(
        "SELECT time FROM events WHERE id >= ? ORDER BY id LIMIT 1", (number,)
    ).fetchone()
    return 0.0 if row is None else float(row[0])


class _Parts:
    """Chooses what a search reads next.

    Args:
        history: The store.
        wanted: The filter.
        ranges: The times of blocks of events.
        deadline: Monotonic time at which no other part is begun.
    """

    def __init__(
        self, history: History, wanted: Filter, ranges: TimeRanges, deadline: float
    ) -> None:
        self.newest = newest_event(history)
        self._history = history
        self._wanted = wanted
        self._ranges = ranges
        self._deadline = deadline
        self._has_time = bool(wanted.since or wanted.until)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._deadline - time.monotonic()

    def skipped(self, end: int) -> int:
        """Return the first event of the blocks before `end` that hold none of the wanted time."""
        first = end
        while first > 1 and not self._may_hold(first - 1):
            first = max(1, (first - 1) // BLOCK * BLOCK)
            if self.left <= 0:
                break
        return first

    def first_of(self, end: int, size: int) -> int:
        """Return the first event of the next part, which ends before `end`."""
        if not self._has_time:
            return max(1, end - size)
        first = max(1, (end - 1) // BLOCK * BLOCK)
        while first > 1 and end - first < size and self.left > 0 and self._may_hold(first - 1):
            first = max(1, first - BLOCK)
        return first

    def _may_hold(self, number: int) -> bool:
        """Return whether the block of an event may hold events of the wanted time."""
        if not self._has_time:
            return True
        first, last = self._ranges.range_of(self._history, number // BLOCK, self.newest)
        until = self._wanted.until
        return last >= self._wanted.since and (not until or first < until)
