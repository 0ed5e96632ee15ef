"""The sessions of the history, and the events of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.errors import UsageError
from anyhook.history.filters import in_project
from anyhook.history.rows import EVENT_COLUMNS, EVENT_TABLES, MAX_INTEGER, marks_for, read_events
from anyhook.model.record import EMPTY, Record

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from anyhook.history.events import RecordedEvent
    from anyhook.history.store import History

SHORT_NAME = 8
"""Characters of the name of a session that are shown at least."""
MIN_SESSION_PREFIX = 4
"""Characters of the beginning of a session's identifier that may stand for it."""
MAX_SORTED_SESSIONS = 5000
"""Sessions of an agent that are sorted; of an agent with more, the newest are found by time."""
LAST_EVENTS = 20
"""Events of a session among which its end is looked for."""
BEGINNINGS = ("session_start", "before_prompt")
"""Events that a session which was ended has only after it was resumed."""
_AGENT_NAMES = (
    "WITH RECURSIVE names (name) AS (SELECT min(agent) FROM sessions UNION ALL"
    " SELECT (SELECT min(agent) FROM sessions WHERE agent > name) FROM names"
    " WHERE name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
)
"""Names of the agents that have sessions; `DISTINCT` would read every session."""
_SESSIONS = "SELECT id, agent, session, project, started, ended, events FROM sessions"


class SessionSummary(Record, kw_only=False):
    """A session and what was decided in it."""

    agent: str
    session: str
    project: str
    started: float
    """Unix timestamp of the first event."""
    ended: float
    """Unix timestamp of the last event."""
    events: int
    outcomes: Mapping[str, int] = EMPTY
    """Verdict to number of events, without `none`."""
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

    Filters that are empty or 0 mean all. `since` is the Unix timestamp after which a session has an
    event; a project may be a directory above it; `before` is the end and the number of the session
    after which to continue.
    """
    conditions = ["ended >= ?"]
    values: list[Any] = [since]
    if agent:
        (count,) = history.connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM sessions WHERE agent = ? LIMIT ?)",
            (agent, MAX_SORTED_SESSIONS),
        ).fetchone()
        # The plus sign keeps the index of agents away, whose rows would have to be sorted.
        column = "agent" if count < MAX_SORTED_SESSIONS else "+agent"
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
        f"{_SESSIONS} WHERE {' AND '.join(conditions)} ORDER BY ended DESC, id DESC LIMIT ?",
        (*values, min(limit, MAX_INTEGER)),
    ).fetchall()
    return _summaries(history.connection, rows)


def agents_of(history: History) -> list[str]:
    """Return the agents that have sessions."""
    return [agent for (agent,) in history.connection.execute(_AGENT_NAMES)]


def count_events(history: History, *, since: float) -> dict[str, int]:
    """Return the number of events of each agent since a Unix timestamp."""
    rows = history.connection.execute(
        "SELECT agent, count(*) FROM events JOIN sessions ON sessions.id = session_id"
        " WHERE time >= ? GROUP BY agent",
        (since,),
    )
    return dict(rows.fetchall())


def _summaries(connection: sqlite3.Connection, rows: list[tuple[Any, ...]]) -> list[SessionSummary]:
    """Return sessions from their rows, with the counts of their verdicts."""
    counts = connection.execute(
        "SELECT session_id, verdict, count(*) FROM events"
        f" WHERE session_id IN ({marks_for(rows)}) AND verdict <> 'none' GROUP BY 1, 2",
        [number for number, *_ in rows],
    )
    outcomes: dict[int, dict[str, int]] = {}
    for number, verdict, count in counts:
        outcomes.setdefault(number, {})[verdict] = count
    return [_summary(row, outcomes.get(row[0], {})) for row in rows]


def _summary(row: tuple[Any, ...], outcomes: Mapping[str, int] = EMPTY) -> SessionSummary:
    number, agent, session, project, started, ended, events = row
    return SessionSummary(agent, session, project, started, ended, events, outcomes, number)


def all_sessions(history: History) -> list[SessionSummary]:
    """Return every session in the order of their numbers, without outcomes."""
    return list(map(_summary, history.connection.execute(f"{_SESSIONS} ORDER BY id")))


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
    if not rows and len(name) >= MIN_SESSION_PREFIX:
        rows = _sessions_between(history, name, name + "\U0010ffff", agent)
    if not rows:
        raise UsageError(f"the history has no session {name!r}; anyhook history lists them")
    if len(rows) > 1:
        names = ", ".join(f"{row[1]} {row[2]}" for row in rows)
        raise UsageError(
            f"{name!r} may be several sessions: {names}; add --agent, or more characters of the id"
        )
    return _summaries(history.connection, rows)[0]


def short_names(history: History, names: Iterable[str]) -> dict[str, str]:
    """Return for each session the shortest beginning of its identifier that names only it."""
    shortest: dict[str, str] = {}
    for name in dict.fromkeys(names):
        shortest[name] = name
        for length in range(SHORT_NAME, len(name), SHORT_NAME // 2):
            start = name[:length]
            sessions_like = _sessions_between(history, start, start + "\U0010ffff", "")
            if {row[2] for row in sessions_like} <= {name}:
                shortest[name] = start
                break
    return shortest


def _sessions_between(history: History, first: str, last: str, agent: str) -> list[tuple[Any, ...]]:
    """Return up to six sessions whose identifiers are in a range, the newest of them first."""
    # With the agents, the sessions of each are found by the index of both.
    agents, values = _AGENT_NAMES, [first, last]
    if agent:
        agents, values = "?", [agent, first, last]
    rows = history.connection.execute(
        f"{_SESSIONS} WHERE agent IN ({agents}) AND session BETWEEN ? AND ? LIMIT 6", values
    ).fetchall()
    return sorted(rows, key=lambda row: -float(row[5]))


# -- the events of a session


Position = tuple[float, int]
"""Time and number of an event of a session, which order its events."""
START: Position = (0.0, 0)
"""The position before every event of a session."""
END: Position = (1e18, 0)
"""The position after every event of a session."""


def events_of(
    history: History, session: SessionSummary, *, limit: int = -1, after: Position = START
) -> list[RecordedEvent]:
    """Return the events of a session in the order of their time.

    `after` is the position before the first one, `limit` is -1 for all.
    """
    rows = history.connection.execute(
        f"SELECT {EVENT_COLUMNS} FROM {EVENT_TABLES}"
        " WHERE agent = ? AND session = ? AND (time, events.id) > (?, ?)"
        " ORDER BY time, events.id LIMIT ?",
        (session.agent, session.session, *after, limit),
    )
    return read_events(history.connection, rows)


def latest_events(history: History, session: SessionSummary, limit: int) -> list[RecordedEvent]:
    """Return the last events of a session in the order of their time."""
    return events_of(
        history, session, limit=limit, after=position_before(history, session, END, limit)
    )


def position_before(
    history: History, session: SessionSummary, position: Position, distance: int
) -> Position:
    """Return the position of the event that is some events before a position in a session."""
    row = history.connection.execute(
        "SELECT time, id FROM events WHERE session_id = ? AND (time, id) < (?, ?)"
        " ORDER BY time DESC, id DESC LIMIT 1 OFFSET ?",
        (session.id, *position, distance),
    ).fetchone()
    return START if row is None else (float(row[0]), int(row[1]))


def position_of(history: History, number: int) -> Position:
    """Return the position of an event; its time is 0 if it is not there."""
    row = history.connection.execute("SELECT time FROM events WHERE id = ?", (number,)).fetchone()
    return 0.0 if row is None else float(row[0]), number


def neighbours(history: History, event: RecordedEvent) -> tuple[int, int]:
    """Return the numbers of the events before and after one in its session; 0 for none."""
    numbers: list[int] = []
    for comparison, order in (("<", "DESC"), (">", "ASC")):
        row = history.connection.execute(
            "SELECT events.id FROM sessions CROSS JOIN events ON session_id = sessions.id"
            f" WHERE agent = ? AND session = ? AND (time, events.id) {comparison} (?, ?)"
            f" ORDER BY time {order}, events.id {order} LIMIT 1",
            (event.agent, event.session, event.time, event.id),
        ).fetchone()
        number = 0 if row is None else int(row[0])
        numbers.append(number)
    return numbers[0], numbers[1]


def is_ended(history: History, session: SessionSummary) -> bool:
    """Return whether a session was ended and not resumed.

    Hooks that run in the background may record their event after that of the end.
    """
    rows = history.connection.execute(
        "SELECT event FROM events WHERE session_id = ? ORDER BY time DESC, id DESC LIMIT ?",
        (session.id, LAST_EVENTS),
    )
    for (event,) in rows:
        if event in BEGINNINGS:
            return False
        if event == "session_end":
            return True
    return False


def get_event(history: History, number: int) -> RecordedEvent:
    """Return an event by its number.

    Raises:
        UsageError: If there is none.
    """
    events = get_events(history, [min(number, MAX_INTEGER)])
    if not events:
        raise UsageError(f"the history has no event {number}")
    return events[0]


def get_events(history: History, numbers: Sequence[int]) -> list[RecordedEvent]:
    """Return the events of some numbers, the oldest first."""
    rows = history.connection.execute(
        f"SELECT {EVENT_COLUMNS} FROM {EVENT_TABLES} WHERE events.id IN ({marks_for(numbers)})"
        " ORDER BY events.id",
        numbers,
    )
    return read_events(history.connection, rows)
