"""Searches in the history.

`search_in_time` ends in time, however large the history and whatever the filter. A filter may
describe events that are rare or not there at all, and then every event that has one of its
properties is a candidate. A search reads the events backwards in parts of growing size. It ends
when its time is over, and returns where to continue.

The index does not end at the first event of a part when nothing in it matches: a search for two
common properties that no event has both of goes through both lists once, whatever its time. With
10,000,000 events that takes 0.2 s of processor time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from anyhook.history.rows import EVENT_COLUMNS, EVENT_TABLES, MAX_INTEGER, marks_for, read_events
from anyhook.history.spans import NUMBERS_PER_SPAN, end_of_time, numbers_between, spans_by_time
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.history.events import RecordedEvent
    from anyhook.history.filters import Filter
    from anyhook.history.store import History

SECONDS = 0.06
"""After which a search begins no other part."""
MIN_PART = 16_384
"""Events of a part at least."""
FIRST_PART = 65_536
"""Events of the first part; of one in which all are candidates it takes about 20 ms."""
GROWTH = 4


def newest(history: History, chosen: Filter, *, limit: int = 50) -> list[RecordedEvent]:
    """Return the newest events that a filter describes, whenever they were stored.

    Numbers of events are read in spans, that with the latest time first, until no span that is left
    has an event as new as those that were found.

    Args:
        history: The store.
        chosen: The filter.
        limit: How many.
    """
    best: list[tuple[float, int]] = []
    for first, latest in spans_by_time(history.connection, chosen.since, chosen.until):
        if len(best) == limit and best[-1][0] >= latest:
            break
        query, values = _events_query(
            history,
            chosen,
            columns="events.time, events.id",
            tables="events JOIN sessions ON sessions.id = session_id",
            after=first - 1,
            before=first + NUMBERS_PER_SPAN,
        )
        best += history.connection.execute(query, values)
        best = sorted(best, reverse=True)[:limit]
    numbers = [number for _, number in best]
    rows = history.connection.execute(
        f"SELECT {EVENT_COLUMNS} FROM {EVENT_TABLES} WHERE events.id IN ({marks_for(numbers)})",
        numbers,
    )
    events = {event.id: event for event in read_events(history.connection, rows)}
    return [events[number] for number in numbers]


def search(
    history: History, chosen: Filter, *, limit: int = 50, before: int = 0, after: int = 0
) -> list[RecordedEvent]:
    """Return the events that a filter describes, those that were stored last first.

    It continues after the event with the number `before`, and ends before that with the number
    `after`; 0 for no limit.
    """
    query, values = _events_query(history, chosen, after=after, before=before)
    rows = history.connection.execute(f"{query} DESC LIMIT ?", (*values, min(limit, MAX_INTEGER)))
    return read_events(history.connection, rows)


READ_AT_ONCE = 500
"""Events that are read by one query."""


def iterate(history: History, chosen: Filter) -> Iterator[RecordedEvent]:
    """Yield all events that a filter describes, in the order in which they were stored."""
    last = 0
    while True:
        query, values = _events_query(history, chosen, after=last)
        rows = history.connection.execute(f"{query} LIMIT ?", (*values, READ_AT_ONCE)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield from read_events(history.connection, rows)


def _events_query(
    history: History,
    chosen: Filter,
    *,
    columns: str = EVENT_COLUMNS,
    tables: str = EVENT_TABLES,
    after: int,
    before: int = 0,
) -> tuple[str, list[Any]]:
    """Return the query for the events of a filter in the order of their numbers, and its values.

    `columns` are read of `tables`. The numbers `after` and `before` are excluded; 0 for no limit.
    """
    number = "events.id"
    conditions: list[str] = []
    values: list[Any] = []
    index = chosen.index_query()
    if index:
        # The index is read by its numbers, so that a common word takes no longer.
        tables, number = f"texts CROSS JOIN {tables}", "texts.rowid"
        conditions.append("events.id = texts.rowid")
        conditions.append("texts MATCH ?")
        values.append(index)
    if chosen.since or chosen.until:
        first, end = numbers_between(history.connection, chosen.since, chosen.until)
        after = max(after, first - 1)
        before = min(before or end, end)
    for condition, of_condition in chosen.conditions(number, after, before):
        conditions.append(condition)
        values += of_condition
    comparisons = (
        (f"{number} > ?", after),
        (f"{number} < ?", before),
        # With the plus sign, the numbers decide what is read, and not the index of times.
        ("+events.time >= ?", chosen.since),
        ("+events.time < ?", chosen.until),
    )
    for condition, value in comparisons:
        if value:
            conditions.append(condition)
            values.append(value)
    where = " AND ".join(conditions) or "1"
    return f"SELECT {columns} FROM {tables} WHERE {where} ORDER BY {number}", values


# -- in time


class TimedSearch(Record, kw_only=False):
    """The result of a search that ends in time."""

    events: tuple[RecordedEvent, ...] = ()
    before: int = 0
    """Number of the event after which to continue; 0 if there is nothing more."""
    is_partial: bool = False
    reached: float = 0.0
    """Unix timestamp of the earliest event that was looked at, if it is partial."""


def search_in_time(
    history: History,
    chosen: Filter,
    *,
    limit: int,
    before: int = 0,
    seconds: float | None = None,
) -> TimedSearch:
    """Return the events that a filter describes, as far as they are found in time.

    It continues after the event with the number `before`; 0 for the start. After `seconds`, by
    default `SECONDS`, no other part is begun; the first one is always read.
    """
    deadline = time.monotonic() + (SECONDS if seconds is None else seconds)
    position = before or history.newest_event() + 1
    events: list[RecordedEvent] = []
    size = FIRST_PART
    while True:
        started = time.monotonic()
        # Imported events are stored later than they happened, so parts without the wanted time
        # may be anywhere.
        position = end_of_time(history.connection, position, chosen.since, chosen.until)
        if position <= 1:
            return TimedSearch(tuple(events))
        first = max(1, position - size)
        room = limit - len(events)
        events += search(history, chosen, limit=room, before=position, after=first - 1)
        if len(events) >= limit:
            return TimedSearch(tuple(events), events[-1].id)
        position = first
        now = time.monotonic()
        left = deadline - now
        if left <= 0:
            break
        took = now - started
        growth = min(GROWTH, left / max(took, 1e-6))
        size = max(MIN_PART, int(size * growth))
    if position <= 1:
        return TimedSearch(tuple(events))
    row = history.connection.execute(
        "SELECT time FROM events WHERE id >= ? ORDER BY id LIMIT 1", (position,)
    ).fetchone()
    reached = 0.0 if row is None else float(row[0])
    return TimedSearch(tuple(events), position, is_partial=True, reached=reached)
