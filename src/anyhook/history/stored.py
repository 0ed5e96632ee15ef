"""Stored events, read back from their rows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.errors import UsageError
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.rows import uncompressed

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from anyhook.history.store import History

EVENT_COLUMNS = (
    "SELECT events.id, agent, session, event, time, payload, source, project, tool, decision,"
    " reconstructed, redacted, cut, key, refusal, reached_hooks"
)
"""The columns that `read_events` takes, of the tables `EVENT_TABLES`."""
EVENT_TABLES = (
    "events JOIN sessions ON sessions.id = session_id JOIN bodies ON bodies.event_id = events.id"
)
_RESULTS = (
    "SELECT event_id, label, place, kind, digest, status, shadow, started, duration, exit_code,"
    " signal, answer, stdout, stderr, truncated, error FROM results"
    " JOIN hooks ON hooks.id = hook_id WHERE event_id IN ({}) ORDER BY results.rowid"
)
_BATCH = 500
"""Events whose results are read by one statement."""


def get_event(history: History, number: int) -> RecordedEvent:
    """Return an event by its number.

    Raises:
        UsageError: If there is none.
    """
    rows = history.connection.execute(
        f"{EVENT_COLUMNS} FROM {EVENT_TABLES} WHERE events.id = ?", (number,)
    )
    events = read_events(history.connection, rows)
    if not events:
        raise UsageError(f"the history has no event {number}")
    return events[0]


def read_events(connection: sqlite3.Connection, rows: Iterable[Any]) -> list[RecordedEvent]:
    """Return events with the results of their hooks from rows of `EVENT_COLUMNS`."""
    rows = list(rows)
    results: dict[int, list[RecordedResult]] = {}
    for start in range(0, len(rows), _BATCH):
        numbers = [row[0] for row in rows[start : start + _BATCH]]
        places = ", ".join("?" * len(numbers))
        for number, *columns in connection.execute(_RESULTS.format(places), numbers):
            results.setdefault(number, []).append(_read_result(*columns))
    return [_read_event(*row, results=results.get(row[0], [])) for row in rows]


def _read_result(*columns: Any) -> RecordedResult:
    hook, place, kind, digest, status, shadow, started, duration, *rest = columns
    exit_code, signal, answer, stdout, stderr, truncated, error = rest
    return RecordedResult(
        hook=hook,
        place=place,
        kind=kind,
        status=status,
        shadow=bool(shadow),
        started=started or 0.0,
        duration=duration,
        exit_code=exit_code,
        signal=signal,
        answer=json.loads(answer) if answer else {},
        stdout=stdout or "",
        stderr=stderr or "",
        truncated=bool(truncated),
        error=error,
        digest=digest,
    )


def _read_event(number: int, *columns: Any, results: list[RecordedResult]) -> RecordedEvent:
    agent, session, event, time, payload, source, project, tool, decision, *rest = columns
    reconstructed, redacted, cut, key, refusal, reached_hooks = rest
    return RecordedEvent(
        agent=agent,
        session=session,
        event=event,
        time=time,
        payload=json.loads(uncompressed(payload)),
        source=source,
        project=project,
        tool=tool,
        decision=None if decision is None else json.loads(decision),
        results=tuple(results),
        reconstructed=tuple(reconstructed.split(",")) if reconstructed else (),
        redacted=redacted,
        cut=bool(cut),
        key=key,
        refusal=refusal,
        has_reached_hooks=bool(reached_hooks),
        id=number,
    )
