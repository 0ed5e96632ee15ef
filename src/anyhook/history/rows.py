"""The rows of the store for events, the words of the index for them, and events read back."""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from anyhook.history.events import DIGEST_SIZE, RecordedEvent, RecordedResult
from anyhook.history.spans import NUMBERS_PER_SPAN, Times, extend, store_times
from anyhook.history.text import marks, searched_text
from anyhook.model.record import replace
from anyhook.secrets.redact import redact_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Sized


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
MIN_COMPRESSED = 1024
"""Characters of a payload from which it is compressed."""
MAX_REFUSAL = 4000
"""Characters of the reason of a refusal that are stored."""
MARKED = ("agent", "event", "tool", "verdict", "source", "session", "result")
"""Kinds of words in the index, besides those for hooks."""


_EVENT_ROW = (
    *("id", "session_id", "time", "event", "tool", "verdict", "source", "identity", "key"),
    *("reconstructed", "redacted", "cut", "size", "refusal", "reached_hooks"),
)
_BODY_ROW = ("event_id", "payload", "decision")
_RESULT_ROW = (
    *("event_id", "hook_id", "status", "verdict", "trouble", "shadow", "started", "duration"),
    *("exit_code", "signal", "answer", "stdout", "stderr", "truncated", "error"),
)
"""Columns of the rows that `Rows` makes, in their order. A named tuple takes 3 % longer."""


class Rows:
    """The rows of a batch of events.

    `redact` replaces the secrets in a JSON text and counts them.
    """

    def __init__(self, first_id: int, redact: Callable[[str], tuple[str, int]]) -> None:
        self._next = first_id
        self._redact = redact
        self._events: list[tuple[Any, ...]] = []
        self._bodies: list[tuple[Any, ...]] = []
        self._texts: list[tuple[int, str, str]] = []
        self._results: list[tuple[Any, ...]] = []
        self._sessions: dict[int, list[float]] = {}
        self._hooks: Times = {}
        self._spans: Times = {}

    def add(self, event: RecordedEvent, session_id: int, hook_ids: list[int]) -> None:
        """Add the rows of an event."""
        number = self._next
        self._next += 1
        payload, redacted = self._redact(dump(event.payload))
        decision = None
        if event.decision is not None:
            decision, in_decision = self._redact(dump(event.decision))
            redacted += in_decision
        refusal = event.refusal and self._redacted(event.refusal[:MAX_REFUSAL])
        self._events.append(
            (
                number,
                session_id,
                event.time,
                event.event,
                event.tool,
                event.verdict,
                event.source,
                event_identity(event.agent, event.event, payload),
                event.key,
                ",".join(event.reconstructed) or None,
                event.redacted + redacted,
                event.cut,
                len(payload),
                refusal,
                event.has_reached_hooks,
            )
        )
        self._bodies.append((number, compressed(payload), decision))
        hooks = [result.hook for result in event.results]
        text = searched_text(event.payload, event.decision, refusal)
        if redacted:
            text = searched_text(json.loads(payload), json.loads(decision or "null"), refusal)
        self._texts.append((number, storable(text), event_marks(event, hooks)))
        self.add_results(number, event, hook_ids)
        extend(self._spans, number // NUMBERS_PER_SPAN, event.time)
        times = self._sessions.setdefault(session_id, [0, event.time, event.time])
        times[0] += 1
        times[1] = min(times[1], event.time)
        times[2] = max(times[2], event.time)

    def add_results(self, number: int, event: RecordedEvent, hook_ids: list[int]) -> None:
        """Add the rows of the results of an event."""
        for hook_id, result in zip(hook_ids, event.results, strict=True):
            answer = None
            if result.answer:
                answer = self._redacted(dump(result.answer))
            self._results.append(
                (
                    number,
                    hook_id,
                    result.status,
                    result.verdict,
                    result.trouble or None,
                    result.shadow,
                    result.started,
                    result.duration,
                    result.exit_code,
                    result.signal,
                    answer,
                    self._redacted(result.stdout),
                    self._redacted(result.stderr),
                    result.truncated,
                    self._redacted(result.error),
                )
            )
            extend(self._hooks, hook_id, event.time)

    def _redacted(self, text: str | None) -> str | None:
        return storable(self._redact(text)[0]) if text else None

    def write(self, connection: sqlite3.Connection) -> None:
        """Insert the rows."""
        _insert(connection, "events", _EVENT_ROW, self._events)
        _insert(connection, "bodies", _BODY_ROW, self._bodies)
        _insert(connection, "results", _RESULT_ROW, self._results)
        connection.executemany(
            "INSERT INTO texts (rowid, text, marks) VALUES (?, ?, ?)", self._texts
        )
        connection.executemany(
            "UPDATE sessions SET events = events + ?, started = min(started, ?),"
            " ended = max(ended, ?) WHERE id = ?",
            [(*times, session_id) for session_id, times in self._sessions.items()],
        )
        connection.executemany(
            "UPDATE hooks SET first = min(first, ?), last = max(last, ?) WHERE id = ?",
            [(*times, hook_id) for hook_id, times in self._hooks.items()],
        )
        store_times(connection, self._spans)


def _insert(
    connection: sqlite3.Connection,
    table: str,
    columns: tuple[str, ...],
    rows: list[tuple[Any, ...]],
) -> None:
    names = ", ".join(columns)
    places = marks_for(columns)
    connection.executemany(f"INSERT INTO {table} ({names}) VALUES ({places})", rows)


def marks_for(values: Sized) -> str:
    """Return a question mark for each value, as a statement has them for its parameters."""
    return ", ".join("?" * len(values))


def keep_as_it_is(text: str) -> tuple[str, int]:
    """Leave a text as it is: it holds no secrets any more."""
    return text, 0


def event_marks(event: RecordedEvent, hooks: Iterable[str]) -> str:
    """Return the words of the index for the properties of an event."""
    properties = (
        event.agent,
        event.event,
        event.tool,
        event.verdict,
        event.source,
        event.session,
        event.result,
    )
    return _marks_of(properties, tuple(hooks))


@lru_cache(maxsize=1024)
def _marks_of(properties: tuple[str | None, ...], hooks: tuple[str, ...]) -> str:
    """Return the words for an event; most events share theirs with many others."""
    values = [*zip(MARKED, properties, strict=True), *[("hook", hook) for hook in hooks]]
    return marks(values)


def indexed_text(connection: sqlite3.Connection, number: int) -> tuple[str, str]:
    """Return the text and the marks under which a stored event was indexed."""
    agent, session, event, tool, source, refusal, payload, decision = connection.execute(
        "SELECT agent, session, event, tool, source, refusal, payload, decision FROM events"
        " JOIN sessions ON sessions.id = session_id JOIN bodies ON event_id = events.id"
        " WHERE events.id = ?",
        (number,),
    ).fetchone()
    hooks = connection.execute(
        "SELECT label FROM results JOIN hooks ON hooks.id = hook_id WHERE event_id = ?"
        " ORDER BY results.rowid",
        (number,),
    ).fetchall()
    payload = json.loads(uncompressed(payload))
    decision = None if decision is None else json.loads(decision)
    stored = RecordedEvent(
        agent,
        session,
        event,
        0.0,
        payload,
        source,
        tool=tool,
        decision=decision,
        refusal=refusal,
    )
    return storable(searched_text(payload, decision, refusal)), event_marks(
        stored, [hook for (hook,) in hooks]
    )


def dump(value: object) -> str:
    """Return a JSON value as the text that is stored."""
    return storable(_encode(value))


def compressed(payload: str) -> str | bytes:
    """Return the text of a payload as it is stored: a long one takes a third of the space."""
    return zlib.compress(payload.encode(), 1) if len(payload) >= MIN_COMPRESSED else payload


def uncompressed(stored: str | bytes) -> str:
    """Return the text of a stored payload.

    Raises:
        ValueError: If it is damaged.
    """
    if isinstance(stored, str):
        return stored
    try:
        return zlib.decompress(stored).decode()
    except zlib.error as error:
        raise ValueError(f"a stored payload is damaged: {error}") from error


def storable(text: str) -> str:
    r"""Return a text in which lone surrogates are escapes, because SQLite takes none.

    Agents in JavaScript cut texts within an emoji. In a JSON text the escape `\ud83d` has the same
    meaning.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


@lru_cache(maxsize=4096)
def storable_name(name: str) -> str:
    """Return a name or path without secrets, as SQLite can hold it."""
    return redact_text(storable(name))


def with_storable_names(event: RecordedEvent) -> RecordedEvent:
    """Return an event whose names hold no secrets and can be stored.

    The label of a hook may be a command line. The session is not searched for secrets: an
    identifier must stay what it is.
    """
    results: list[RecordedResult] = []
    for result in event.results:
        hook, place = storable_name(result.hook), storable_name(result.place)
        results.append(replace(result, hook=hook, place=place, kind=storable_name(result.kind)))
    return event._replace(
        event=storable_name(event.event),
        project=storable_name(event.project),
        tool=None if event.tool is None else storable_name(event.tool),
        session=storable(event.session),
        key=None if event.key is None else storable(event.key),
        results=tuple(results),
    )


def event_identity(agent: str, event: str, payload: str) -> bytes:
    """Return a hash that equal events share."""
    import hashlib  # late: to read events needs no hash

    names = f"{agent}\0{event}\0".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(names, digest_size=DIGEST_SIZE)
    digest.update(payload.encode("utf-8", "surrogatepass"))
    return digest.digest()


# -- stored events, read back

MAX_INTEGER = 2**63 - 1
"""The greatest integer that SQLite takes."""
EVENT_COLUMNS = (
    "events.id, agent, session, event, time, payload, source, project, tool, decision,"
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


def read_events(connection: sqlite3.Connection, rows: Iterable[Any]) -> list[RecordedEvent]:
    """Return events with the results of their hooks from rows of `EVENT_COLUMNS`."""
    rows = list(rows)
    results: dict[int, list[RecordedResult]] = {}
    for start in range(0, len(rows), _BATCH):
        numbers = [row[0] for row in rows[start : start + _BATCH]]
        statement = _RESULTS.format(marks_for(numbers))
        for number, *columns in connection.execute(statement, numbers):
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
