"""Where a backtest takes events from: parts of the history, of files, and of directories.

A part is small, can be sent to another process, and knows a content hash, so that its results can
be kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from anyhook.history.rows import DIGEST_SIZE
from anyhook.history.store import FILE, History

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        payload: The payload as JSON text.
        reconstructed: Names of members that were not recorded, with commas between them.
        redacted: Number of secrets that were replaced.
    """

    ref: str
    agent: str
    event: str
    tool: str | None
    session: str
    payload: str
    reconstructed: str | None = None
    redacted: int = 0


@dataclass(slots=True)
class Rows:
    """The events of a part.

    Attributes:
        events: Canonical name to number, of all events.
        sessions: Their sessions.
        rows: The events with a wanted name, in the order of the source.
    """

    events: Counter[str]
    sessions: set[str]
    rows: list[EventRow]


class Part(Protocol):
    """Some events of a source."""

    def digest(self) -> str:
        """Return a hash of the content of the events."""
        ...

    def read(self, wanted: frozenset[str]) -> Rows:
        """Return the events.

        Args:
            wanted: Canonical names of the events whose payloads are needed.
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
    """

    since: float = 0.0
    until: float = 0.0
    agent: str = ""
    tool: str = ""
    event: str = ""
    session: str = ""

    def condition(self) -> tuple[str, list[Any]]:
        """Return the condition on the tables `events` and `sessions`, and its values."""
        comparisons = (
            ("events.time >= ?", self.since),
            ("events.time < ?", self.until),
            ("sessions.agent = ?", self.agent),
            ("events.tool = ?", self.tool),
            ("events.event = ?", self.event),
            ("sessions.session = ?", self.session),
        )
        used = [(text, value) for text, value in comparisons if value]
        return " AND ".join(["1", *[text for text, _ in used]]), [value for _, value in used]


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

    def digest(self) -> str:
        """Return a hash of the identities of the events."""
        hasher = hashlib.blake2b(digest_size=DIGEST_SIZE)
        for row in self._query("events.id, identity", ""):
            hasher.update(row[0].to_bytes(8, "big"))
            hasher.update(row[1])
        return hasher.hexdigest()

    def read(self, wanted: frozenset[str]) -> Rows:
        """Return the events."""
        found = Rows(Counter(), set(), [])
        columns = "event, agent || '/' || session, count(*)"
        for event, session, number in self._query(columns, "GROUP BY event, events.session_id"):
            found.events[event] += number
            found.sessions.add(session)
        if not wanted & found.events.keys():
            return found
        names = ", ".join(f"'{name}'" for name in sorted(wanted))
        columns = (
            "CAST(events.id AS TEXT), agent, event, tool, agent || '/' || session, payload,"
            " reconstructed, redacted"
        )
        rows = self._query(columns, f"AND event IN ({names}) ORDER BY events.id", bodies=True)
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
