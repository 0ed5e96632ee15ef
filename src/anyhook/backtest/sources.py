"""Where a backtest takes events from: parts of the history, of files, and of directories.

A part is small, can be sent to another process, and knows a content hash, so that its results can
be kept.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from anyhook.backtest.example_secrets import insert_examples
from anyhook.backtest.results import MOST_PROBLEMS
from anyhook.errors import AnyhookError, UsageError
from anyhook.files import changed_within_tick, identity_of
from anyhook.history.rows import DIGEST_SIZE, dump
from anyhook.history.store import FILE, History
from anyhook.history.text import has_words, query_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PART = 4096
"""Events in one part of the history, unless a session has more: sessions are not divided."""
SESSIONS = 32
"""Sessions that may share a part. Parts begin at multiples of it, so that a session that goes on
changes no other parts."""


class UnreadableEventError(ValueError):
    """The payload of a recorded event cannot be read."""


class EventRow(NamedTuple):
    """A recorded event on its way to a hook.

    Attributes:
        ref: Identifies it in its source.
        agent: Name of the agent.
        event: Canonical name.
        tool: Canonical name of the tool; `None` for other events.
        session: `AGENT/SESSION`.
        payload: The payload, or its JSON text.
        reconstructed: Names of members that were not recorded, with commas between them.
        redacted: Number of secrets that were replaced.
        is_redacted: Whether all secrets were; otherwise they are when a decision is kept.
    """

    ref: str
    agent: str
    event: str
    tool: str | None
    session: str
    payload: str | Mapping[str, Any]
    reconstructed: str | None = None
    redacted: int = 0
    is_redacted: bool = True

    def read_payload(self) -> Mapping[str, Any]:
        """Return the payload as an object, with examples in the place of replaced secrets.

        Raises:
            UnreadableEventError: If it is none.
        """
        if not self.redacted:
            return self.read_stored_payload()
        text = self.payload if isinstance(self.payload, str) else dump(self.payload)
        return self._replace(payload=insert_examples(text)).read_stored_payload()

    def read_stored_payload(self) -> Mapping[str, Any]:
        """Return the payload as an object, as it is stored.

        Raises:
            UnreadableEventError: If it is none.
        """
        try:
            payload = json.loads(self.payload) if isinstance(self.payload, str) else self.payload
        except (ValueError, RecursionError) as error:
            raise UnreadableEventError("payload is no JSON") from error
        if not isinstance(payload, dict):
            raise UnreadableEventError("payload is no object")
        return payload


@dataclass(slots=True)
class Rows:
    """The events of a part. The other attributes are complete when `rows` is at its end.

    Attributes:
        events: Canonical name to number, of all events.
        sessions: Their sessions.
        rows: The events with a wanted name, in the order of the source.
        digest: Hash of their content.
        problems: The first things that could not be read, each with its file and line.
        problem_count: Number of all of them.
    """

    events: Counter[str]
    sessions: set[str]
    rows: Iterable[EventRow]
    digest: str = ""
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0

    def report(self, problem: str) -> None:
        """Add a problem."""
        self.problem_count += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


class Part(Protocol):
    """Some events of a source."""

    @property
    def location(self) -> str:
        """Identifies the part, whatever its content."""
        ...

    @property
    def title(self) -> str:
        """The file that holds it, for messages."""
        ...

    @property
    def stamp(self) -> str:
        """Changes whenever the content at the location changes, and is there without reading it.

        It is empty if there is no such thing.
        """
        ...

    @property
    def is_quick(self) -> bool:
        """Whether `digest` takes little time beside an evaluation."""
        ...

    def __hash__(self) -> int:
        """A part is a value."""
        ...

    def digest(self) -> str:
        """Return a hash of the content of the events."""
        ...

    def read(self, wanted: frozenset[str] | None) -> Rows:
        """Return the events.

        Args:
            wanted: Canonical names of the events whose payloads are needed; `None` for all.
        """
        ...


@contextmanager
def read_errors(part: Part) -> Iterator[None]:
    """Raise every error in the block as one of the source that is read.

    Raises:
        AnyhookError, sqlite3.DatabaseError: As they are raised in the block.
        UsageError: If the block raises anything else.
    """
    try:
        yield
    except AnyhookError:
        raise
    except sqlite3.DatabaseError as error:
        if hasattr(error, "sqlite_errorcode"):
            raise
        # Of the module, not of SQLite: its message holds the text.
        damage = sqlite3.DatabaseError("a text is no valid UTF-8")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from None
    except Exception as error:  # file systems and readers of files have errors of their own
        problem = f"{type(error).__name__}: {error}"
        raise UsageError(f"{part.title} cannot be read: {problem}") from error


@dataclass(frozen=True, slots=True)
class Selection:
    """Which events of the history take part.

    Attributes:
        since: Unix timestamp of the first one; 0 for all.
        until: Unix timestamp after the last one; 0 for all.
        agent: Name of the agent; empty for all.
        tool: Canonical name of the tool; empty for all.
        event: Canonical name of the event; empty for all.
        session: The session; empty for all.
        words: Words that must all occur, as in a search; empty for all.
    """

    since: float = 0.0
    until: float = 0.0
    agent: str = ""
    tool: str = ""
    event: str = ""
    session: str = ""
    words: str = ""

    def condition(self) -> tuple[str, list[Any]]:
        """Return the condition on the tables `events` and `sessions`, and its values."""
        comparisons = (
            ("events.time >= ?", self.since),
            ("events.time < ?", self.until),
            ("sessions.agent = ?", self.agent),
            ("events.tool = ?", self.tool),
            ("events.event = ?", self.event),
            ("sessions.session = ?", self.session),
            (_HAS_WORDS, query_of(self.words)),
        )
        used = [(text, value) for text, value in comparisons if value]
        return " AND ".join(["1", *[text for text, _ in used]]), [value for _, value in used]

    def may_take(self, agent: str, session: str, started: float, ended: float) -> bool:
        """Return whether events of a session of the history may take part.

        Args:
            agent: Name of the agent.
            session: The session.
            started: Unix timestamp of its first event.
            ended: Unix timestamp of its last event.
        """
        is_chosen = self.agent in ("", agent) and self.session in ("", session)
        return is_chosen and self.since <= ended and not (self.until and started >= self.until)

    def takes(self, row: EventRow, time: float) -> bool:
        """Return whether an event takes part that is not in the history.

        Args:
            row: The event.
            time: Its Unix timestamp.
        """
        pairs = (
            (self.agent, row.agent),
            (self.tool, row.tool),
            (self.event, row.event),
            (self.session and f"{row.agent}/{self.session}", row.session),
        )
        for wanted, actual in pairs:
            if wanted and wanted != actual:
                return False
        if self.words:
            payload = row.payload if isinstance(row.payload, str) else dump(row.payload)
            if not has_words(payload, self.words):
                return False
        return self.since <= time and not (self.until and time >= self.until)


_HAS_WORDS = "events.id IN (SELECT rowid FROM texts WHERE texts MATCH ?)"


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """The events of the sessions of the history whose numbers are in a range.

    Attributes:
        directory: Directory of the history.
        first: Number of the first session.
        end: Number after the last one.
        selection: Which of them take part.
        stamp: Changes whenever the store changes; it is older than anything that is read.
    """

    directory: str
    first: int
    end: int
    selection: Selection
    stamp: str = ""
    is_quick = True

    @property
    def location(self) -> str:
        """Identifies the part, whatever its content."""
        return f"{self.directory} {self.first} {self.end} {self.selection}"

    @property
    def title(self) -> str:
        """The file that holds it, for messages."""
        return str(Path(self.directory, FILE))

    def digest(self) -> str:
        """Return a hash of what identifies the events."""
        with History.open(self.directory) as history:
            return self._digest(history)

    def read(self, wanted: frozenset[str] | None) -> Rows:
        """Return the events."""
        with History.open(self.directory) as history:
            # One state of the store: events may be added or removed at any time.
            history.connection.execute("BEGIN")
            found = Rows(Counter(), set(), (), self._digest(history))
            columns = "event, agent || '/' || session, count(*)"
            groups = self._query(history, columns, "GROUP BY event, events.session_id")
            for event, session, number in groups:
                found.events[event] += number
                found.sessions.add(session)
            found.rows = self._read_rows(history, wanted, found.events)
            return found

    def _digest(self, history: History) -> str:
        # One row instead of thousands: a run whose results are kept does little else. The payload
        # is in the identity; the rest may change when results of further hooks come late, or when
        # events were removed and imported again.
        columns = (
            "group_concat(events.id || hex(identity) || redacted || ':' || session || ':'"
            " || ifnull(tool, '') || ':' || ifnull(reconstructed, ''))"
        )
        ((content,),) = self._query(history, columns, "")
        return hashlib.blake2b((content or "").encode(), digest_size=DIGEST_SIZE).hexdigest()

    def _read_rows(
        self, history: History, wanted: frozenset[str] | None, events: Mapping[str, int]
    ) -> list[EventRow]:
        names = ""
        if wanted is not None:
            if not wanted & events.keys():
                return []
            listed = ", ".join(f"'{name}'" for name in sorted(wanted))
            names = f"AND event IN ({listed}) "
        columns = (
            "CAST(events.id AS TEXT), agent, event, tool, agent || '/' || session, payload,"
            " reconstructed, redacted"
        )
        rows = self._query(history, columns, f"{names}ORDER BY events.id", bodies=True)
        return [EventRow(*row) for row in rows]

    def _query(self, history: History, columns: str, rest: str, *, bodies: bool = False) -> Any:
        condition, values = self.selection.condition()
        join = "JOIN bodies ON bodies.event_id = events.id" if bodies else ""
        return history.connection.execute(
            f"SELECT {columns} FROM events JOIN sessions ON sessions.id = session_id {join}"
            f" WHERE session_id >= ? AND session_id < ? AND {condition} {rest}",
            (self.first, self.end, *values),
        )


def parts_of_history(directory: str, selection: Selection) -> Iterator[HistoryPart]:
    """Yield the parts of the history, the oldest sessions first.

    Their limits do not depend on the selection, so that parts which have not changed are found
    again when time moves on.
    """
    if not (Path(directory) / FILE).exists():
        return
    with History.open(directory) as history:
        stamp = store_stamp(directory)
        rows = history.connection.execute(
            "SELECT id, agent, session, started, ended, events FROM sessions ORDER BY id"
        ).fetchall()
        if not _has_events(history, selection):
            return
    for sessions in _split_sessions(rows):
        if any(selection.may_take(*session[1:5]) for session in sessions):
            yield HistoryPart(directory, sessions[0][0], sessions[-1][0] + 1, selection, stamp)


def _has_events(history: History, selection: Selection) -> bool:
    condition, values = selection.condition()
    query = f"SELECT 1 FROM events JOIN sessions ON sessions.id = session_id WHERE {condition}"
    return history.connection.execute(f"{query} LIMIT 1", values).fetchone() is not None


def _split_sessions(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the sessions of each part; a row begins with the number and ends with its events."""
    sessions: list[tuple[Any, ...]] = []
    events = 0
    for row in rows:
        is_full = sessions and events + row[-1] > PART
        if is_full or (sessions and row[0] // SESSIONS != sessions[-1][0] // SESSIONS):
            yield sessions
            sessions, events = [], 0
        sessions.append(row)
        events += row[-1]
    if sessions:
        yield sessions


def store_stamp(directory: str) -> str:
    """Return what changes whenever a store changes: sizes, numbers and times of its files.

    It is empty if the store was changed just now: the next change might leave the same times.
    """
    stamps: list[str] = []
    path = Path(directory, FILE)
    for file in (path, path.with_name(f"{FILE}-wal")):
        identity = identity_of(file)
        if identity is None or not identity[2]:  # opening a store makes an empty one
            continue
        if changed_within_tick(identity):
            return ""
        stamps.append(str(identity))
    return " ".join(stamps)
