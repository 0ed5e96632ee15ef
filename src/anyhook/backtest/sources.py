"""Where a backtest takes events from: parts of the history, of files, and of directories.

A part is small, can be sent to another process, and knows a content hash, so that its results can
be kept.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from anyhook.backtest.results import MOST_PROBLEMS
from anyhook.history.rows import DIGEST_SIZE, dump
from anyhook.history.store import FILE, History
from anyhook.history.text import has_words, query_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PART = 4096
"""Numbers of events in one part of the history."""


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
        """Return the payload as an object.

        Raises:
            ValueError: If it is none.
        """
        payload = json.loads(self.payload) if isinstance(self.payload, str) else self.payload
        if not isinstance(payload, dict):
            raise ValueError("the payload is no object")  # noqa: TRY004 - one exception for a bad row
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
        """Identifies the part, whatever its content; empty if `digest` takes no time."""
        ...

    @property
    def stamp(self) -> str:
        """Changes whenever the content at the location changes, and is there without reading it."""
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
        payload = row.payload if isinstance(row.payload, str) else dump(row.payload)
        if not has_words(payload, self.words):
            return False
        return self.since <= time and not (self.until and time >= self.until)


_HAS_WORDS = "events.id IN (SELECT rowid FROM texts WHERE texts MATCH ?)"


@dataclass(frozen=True, slots=True)
class HistoryPart:
    """The events of the history whose numbers are in a range.

    Attributes:
        directory: Directory of the history.
        first: Number of the first event.
        end: Number after the last one.
        selection: Which of them take part.
    """

    directory: str
    first: int
    end: int
    selection: Selection
    location = ""
    stamp = ""

    def digest(self) -> str:
        """Return a hash of the identities of the events."""
        # One row instead of thousands: a run whose results are kept does little else.
        identities = self._query("group_concat(events.id || hex(identity))", "")[0][0] or ""
        return hashlib.blake2b(identities.encode(), digest_size=DIGEST_SIZE).hexdigest()

    def read(self, wanted: frozenset[str] | None) -> Rows:
        """Return the events."""
        found = Rows(Counter(), set(), (), self.digest())
        columns = "event, agent || '/' || session, count(*)"
        for event, session, number in self._query(columns, "GROUP BY event, events.session_id"):
            found.events[event] += number
            found.sessions.add(session)
        names = ""
        if wanted is not None:
            if not wanted & found.events.keys():
                return found
            listed = ", ".join(f"'{name}'" for name in sorted(wanted))
            names = f"AND event IN ({listed}) "
        columns = (
            "CAST(events.id AS TEXT), agent, event, tool, agent || '/' || session, payload,"
            " reconstructed, redacted"
        )
        rows = self._query(columns, f"{names}ORDER BY events.id", bodies=True)
        found.rows = [EventRow(*row) for row in rows]
        return found

    def _query(self, columns: str, rest: str, *, bodies: bool = False) -> list[Any]:
        condition, values = self.selection.condition()
        join = "JOIN bodies ON bodies.event_id = events.id" if bodies else ""
        with History.open(self.directory) as history:
            return history.connection.execute(
                f"SELECT {columns} FROM events JOIN sessions ON sessions.id = session_id {join}"
                f" WHERE events.id >= ? AND events.id < ? AND {condition} {rest}",
                (self.first, self.end, *values),
            ).fetchall()


_RANGE = (
    "SELECT min(events.id), max(events.id) FROM events JOIN sessions ON sessions.id = session_id"
)


def parts_of_history(directory: str, selection: Selection) -> Iterator[HistoryPart]:
    """Yield the parts of the history, the oldest first.

    Their limits do not depend on the selection, so that parts which have not changed are found
    again when time moves on.
    """
    if not (Path(directory) / FILE).exists():
        return
    condition, values = selection.condition()
    with History.open(directory) as history:
        query = f"{_RANGE} WHERE {condition}"
        first, last = history.connection.execute(query, values).fetchone()
    if first is None:
        return
    for start in range(first - first % PART, last + 1, PART):
        yield HistoryPart(directory, start, start + PART, selection)
