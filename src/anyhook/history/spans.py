"""Between which numbers the events of a time are.

Numbers mostly follow the time, but not always: transcripts of old sessions are imported later. The
table `spans` holds the earliest and the latest time of each 4096 numbers. Without it, a search
until a time reads every newer event that has its words, and the first number since a time takes as
long as reading all events since then: seconds, in a store of millions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping

NUMBERS_PER_SPAN = 4096
"""Numbers of a span."""

Times = dict[int, list[float]]
"""Number of a span or another thing to the earliest and the latest time of its events."""


def extend(times: Times, number: int, time: float) -> None:
    """Extend the times of a thing by one of its events."""
    span = times.setdefault(number, [time, time])
    span[0] = min(span[0], time)
    span[1] = max(span[1], time)


def store_times(connection: sqlite3.Connection, times: Mapping[int, list[float]]) -> None:
    """Extend the stored times of spans."""
    connection.executemany(
        "INSERT INTO spans (number, earliest, latest) VALUES (?, ?, ?)"
        " ON CONFLICT (number) DO UPDATE SET"
        " earliest = min(earliest, excluded.earliest), latest = max(latest, excluded.latest)",
        [(number, *span) for number, span in times.items()],
    )


def remove_empty_spans(connection: sqlite3.Connection) -> None:
    """Remove the spans before the first event; those between others may hold none any more."""
    connection.execute(
        "DELETE FROM spans WHERE number < ifnull((SELECT min(id) / ? FROM events), 1 << 62)",
        (NUMBERS_PER_SPAN,),
    )


def numbers_between(
    connection: sqlite3.Connection, since: float, until: float = 0.0
) -> tuple[int, int]:
    """Return a range of numbers that holds all events of a time.

    It is the first number, which is greater than 0, and the one after the last. The times are Unix
    timestamps, 0 for no limit.
    """
    first, last, lowest, highest = connection.execute(
        "SELECT min(number), max(number), (SELECT min(id) FROM events),"
        " (SELECT max(id) FROM events) FROM spans"
        " WHERE latest >= ? AND (? = 0 OR earliest < ?)",
        (since, until, until),
    ).fetchone()
    if first is None or lowest is None:
        return 1, 1
    return max(first * NUMBERS_PER_SPAN, lowest), min((last + 1) * NUMBERS_PER_SPAN, highest + 1)


def spans_by_time(
    connection: sqlite3.Connection, since: float, until: float
) -> list[tuple[int, float]]:
    """Return the first number and the latest time of each span, that with the latest time first.

    The times are Unix timestamps, 0 for no limit.
    """
    rows = connection.execute(
        "SELECT number * ?, latest FROM spans WHERE latest >= ? AND (? = 0 OR earliest < ?)"
        " ORDER BY latest DESC",
        (NUMBERS_PER_SPAN, since, until, until),
    )
    return list(rows)


def end_of_time(connection: sqlite3.Connection, end: int, since: float, until: float) -> int:
    """Return the number after the last event that may be of a time; 1 if there is none.

    `end` is the number after the last event that counts. The times are Unix timestamps, 0 for no
    limit.
    """
    row = connection.execute(
        "SELECT number FROM spans WHERE number <= ? AND latest >= ? AND (? = 0 OR earliest < ?)"
        " ORDER BY number DESC LIMIT 1",
        ((end - 1) // NUMBERS_PER_SPAN, since, until, until),
    ).fetchone()
    return 1 if row is None else min(end, (row[0] + 1) * NUMBERS_PER_SPAN)
