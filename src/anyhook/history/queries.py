"""Questions to the history: sessions, the events of one, and searches."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.errors import UsageError
from anyhook.history.checked import check_decision, check_result
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.filters import in_project
from anyhook.history.spans import numbers_between

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from anyhook.history.filters import Filter
    from anyhook.history.store import History

SHORTEST_SESSION_PREFIX = 4
"""Characters of the beginning of a session's identifier that may stand for it."""
FEW_SESSIONS = 5000
"""Sessions of an agent that are sorted; of an agent with more, the newest are found by time."""
AGENT_NAMES = (
    "WITH RECURSIVE names (name) AS (SELECT min(agent) FROM sessions UNION ALL"
    " SELECT (SELECT min(agent) FROM sessions WHERE agent > name) FROM names"
    " WHERE name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
)
"""Names of the agents that have sessions; `DISTINCT` would read every session."""


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session and what was decided in it.

    Attributes:
        agent: Name of the agent.
        session: Its identifier.
        project: Directory of the project.
        started: Unix timestamp of the first event.
        ended: Unix timestamp of the last event.
        events: Number of events.
        outcomes: Verdict to number of events, without `none`; `stop` for ended loops.
        id: Its number in the store.
    """

    agent: str
    session: str
    project: str
    started: float
    ended: float
    events: int
    outcomes: dict[str, int] = field(default_factory=dict)
    id: int = 0


def sessions(
    history: History,
    *,
    agent: str = "",
    since: float = 0.0,
    project: str = "",
    limit: int = 50,
    before: tuple[float, int] | None = None,
) -> list[SessionSummary]:
    """Return the sessions, the one with the newest event first.

    Args:
        history: The store.
        agent: Name of the agent; empty for all.
        since: Unix timestamp; sessions with an event after it.
        project: Directory of the project, or one above it; empty for all.
        limit: How many.
        before: End and number of the session after which to continue; `None` for the start.
    """
    conditions = ["ended >= ?"]
    values: list[Any] = [since]
    if agent:
        # The plus sign keeps the index of agents away, whose rows would have to be sorted.
        column = "agent" if _has_few_sessions(history, agent) else "+agent"
        conditions.append(f"{column} = ?")
        values.append(agent)
    if project:
        condition, of_project = in_project(project)
        conditions.append(condition)
        values += of_project
    if before is not None:
        conditions.append("(ended, id) < (?, ?)")
        values += before
    rows = history.connection.execute(
        "SELECT id, agent, session, project, started, ended, events FROM sessions"
        f" WHERE {' AND '.join(conditions)} ORDER BY ended DESC, id DESC LIMIT ?",
        (*values, limit),
    ).fetchall()
    outcomes = _outcomes_of(history.connection, [row[0] for row in rows])
    return [_summary(row, outcomes.get(row[0], {})) for row in rows]


def _has_few_sessions(history: History, agent: str) -> bool:
    (count,) = history.connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE agent = ? LIMIT ?)",
        (agent, FEW_SESSIONS),
    ).fetchone()
    return int(count) < FEW_SESSIONS


def _outcomes_of(
    connection: sqlite3.Connection, session_ids: list[int]
) -> dict[int, dict[str, int]]:
    """Return the counts of verdicts of some sessions."""
    places = ", ".join("?" * len(session_ids))
    rows = connection.execute(
        "SELECT session_id, iif(outcome = 'none', 'stop', outcome), count(*) FROM events"
        f" WHERE session_id IN ({places}) AND (outcome <> 'none' OR stop) GROUP BY 1, 2",
        session_ids,
    )
    found: dict[int, dict[str, int]] = {}
    for number, outcome, count in rows:
        found.setdefault(number, {})[outcome] = count
    return found


def find_session(history: History, name: str, agent: str = "") -> SessionSummary:
    """Return a session by its identifier, by the beginning of it, or the newest one for `last`.

    Raises:
        UsageError: If there is none, or several.
    """
    if name == "last":
        newest = sessions(history, agent=agent, limit=1)
        if not newest:
            raise UsageError("the history has no session; anyhook history import reads transcripts")
        return newest[0]
    rows = _sessions_between(history, name, name, agent)
    if not rows and len(name) >= SHORTEST_SESSION_PREFIX:
        rows = _sessions_between(history, name, name + "\U0010ffff", agent)
    if not rows:
        raise UsageError(f"the history has no session {name!r}; anyhook history lists them")
    if len(rows) > 1:
        names = ", ".join(f"{row[1]} {row[2]}" for row in rows)
        raise UsageError(f"{name!r} may be several sessions: {names}; use --agent or more of it")
    row = rows[0]
    return _summary(row, _outcomes_of(history.connection, [row[0]]).get(row[0], {}))


def _sessions_between(history: History, first: str, last: str, agent: str) -> list[tuple[Any, ...]]:
    """Return up to six sessions whose identifiers are in a range, the newest of them first."""
    agents = "?" if agent else AGENT_NAMES
    rows = history.connection.execute(
        "SELECT id, agent, session, project, started, ended, events FROM sessions"
        # With the agents, the sessions of each are found by the index of both.
        f" WHERE agent IN ({agents}) AND session BETWEEN ? AND ? LIMIT 6",
        (*([agent] if agent else []), first, last),
    ).fetchall()
    return sorted(rows, key=lambda row: -float(row[5]))


def _summary(row: tuple[Any, ...], outcomes: dict[str, int]) -> SessionSummary:
    number, agent, session, project, started, ended, events = row
    return SessionSummary(agent, session, project, started, ended, events, outcomes, number)


def events_of(
    history: History,
    session: SessionSummary,
    *,
    limit: int = -1,
    after: tuple[float, int] = (0.0, 0),
) -> list[RecordedEvent]:
    """Return the events of a session in the order of their time.

    Args:
        history: The store.
        session: The session.
        limit: How many; -1 for all.
        after: Time and number of the event before the first one.
    """
    rows = history.connection.execute(
        f"{_EVENT} WHERE agent = ? AND session = ? AND (time, events.id) > (?, ?)"
        " ORDER BY time, events.id LIMIT ?",
        (session.agent, session.session, *after, limit),
    ).fetchall()
    return _with_results(history.connection, rows)


def get_event(history: History, number: int) -> RecordedEvent:
    """Return an event by its number.

    Raises:
        UsageError: If there is none.
    """
    rows = history.connection.execute(f"{_EVENT} WHERE events.id = ?", (number,)).fetchall()
    if not rows:
        raise UsageError(f"the history has no event {number}")
    return _with_results(history.connection, rows)[0]


def search(
    history: History, wanted: Filter, *, limit: int = 50, before: int = 0, after: int = 0
) -> list[RecordedEvent]:
    """Return the events that a filter describes, those that were stored last first.

    Args:
        history: The store.
        wanted: The filter.
        limit: How many.
        before: Number of the event after which to continue; 0 for the start.
        after: Number of the event before which to end; 0 for the end.
    """
    query, values = _events_query(history, wanted, after=after, before=before)
    rows = history.connection.execute(f"{query} DESC LIMIT ?", (*values, limit))
    return _with_results(history.connection, rows.fetchall())


def iterate(history: History, wanted: Filter, *, batch: int = 500) -> Iterator[RecordedEvent]:
    """Yield all events that a filter describes, in the order in which they were stored.

    Args:
        history: The store.
        wanted: The filter.
        batch: How many are read at once.
    """
    last = 0
    while True:
        query, values = _events_query(history, wanted, after=last)
        rows = history.connection.execute(f"{query} LIMIT ?", (*values, batch)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield from _with_results(history.connection, rows)


def _events_query(
    history: History, wanted: Filter, *, after: int = 0, before: int = 0
) -> tuple[str, list[Any]]:
    """Return the query for the events of a filter in the order of their numbers, and its values.

    Args:
        history: The store.
        wanted: The filter.
        after: Number before the first event.
        before: Number after the last event; 0 for no limit.
    """
    query, number = _EVENT, "events.id"
    conditions: list[str] = []
    values: list[Any] = []
    index = wanted.index_query()
    if index:
        # The index is read by its numbers, so that a common word takes no longer.
        query, number = _EVENT.replace("FROM events", _HITS), "texts.rowid"
        conditions.append("texts MATCH ?")
        values.append(index)
    if wanted.since or wanted.until:
        first, end = numbers_between(history.connection, wanted.since, wanted.until)
        after = max(after, first - 1)
        before = min(before or end, end)
    for condition, of_condition in wanted.conditions(number, after, before):
        conditions.append(condition)
        values += of_condition
    comparisons = (
        (f"{number} > ?", after),
        (f"{number} < ?", before),
        # With the plus sign, the numbers decide what is read, and not the index of times.
        ("+events.time >= ?", wanted.since),
        ("+events.time < ?", wanted.until),
    )
    for condition, value in comparisons:
        if value:
            conditions.append(condition)
            values.append(value)
    return f"{query} WHERE {' AND '.join(conditions) or '1'} ORDER BY {number}", values


_EVENT = (
    "SELECT events.id, agent, session, event, time, payload, source, project, tool, decision,"
    " reconstructed, redacted, cut, key FROM events JOIN sessions ON sessions.id = session_id"
    " JOIN bodies ON bodies.event_id = events.id"
)


_HITS = "FROM texts CROSS JOIN events ON events.id = texts.rowid"


def _with_results(connection: sqlite3.Connection, rows: Iterable[Any]) -> list[RecordedEvent]:
    """Return events from their rows, with the results of their hooks."""
    rows = list(rows)
    results: dict[int, list[RecordedResult]] = {}
    for start in range(0, len(rows), 500):
        numbers = [row[0] for row in rows[start : start + 500]]
        places = ", ".join("?" * len(numbers))
        found = connection.execute(
            "SELECT event_id, label, place, kind, digest, status, outcome, shadow, started,"
            " duration, exit_code, signal, answer, stdout, stderr, truncated, error FROM results"
            f" JOIN hooks ON hooks.id = hook_id WHERE event_id IN ({places})"
            " ORDER BY results.rowid",
            numbers,
        )
        for row in found:
            results.setdefault(row[0], []).append(_result(row[1:]))
    return [_event(row, results.get(row[0], [])) for row in rows]


def _result(row: tuple[Any, ...]) -> RecordedResult:
    hook, place, kind, digest, status, outcome, shadow, started, duration, *rest = row
    exit_code, signal, answer, stdout, stderr, truncated, error = rest
    # A release before wrote values of any type.
    result = RecordedResult(
        hook=hook,
        place=place,
        kind=kind,
        status=status,
        outcome=outcome,
        shadow=bool(shadow),
        started=0.0 if started is None else started,
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
    return check_result(result)


def _event(row: tuple[Any, ...], results: list[RecordedResult]) -> RecordedEvent:
    number, agent, session, event, time, payload, source, project, tool, decision, *rest = row
    reconstructed, redacted, cut, key = rest
    return RecordedEvent(
        agent=agent,
        session=session,
        event=event,
        time=time,
        payload=json.loads(payload),
        source=source,
        project=project,
        tool=tool,
        decision=None if decision is None else check_decision(json.loads(decision)),
        results=tuple(results),
        reconstructed=tuple(reconstructed.split(",")) if reconstructed else (),
        redacted=redacted,
        cut=bool(cut),
        key=key,
        id=number,
    )
