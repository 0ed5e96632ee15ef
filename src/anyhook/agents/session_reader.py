"""Reads the records of a transcript into events: what the readers of all agents have in common."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.agents.transcripts import TranscriptEvent, parse_time, read_records, text_in

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import ClassVar

    from anyhook.agents.transcripts import HookReply, Problems, Refusal

MAX_HELD_EVENTS = 10_000
"""Events that wait for the result of an earlier call, and calls that wait for a result."""


# -- events that wait


@dataclass(slots=True)
class Draft:
    """An event that is not complete yet: the members of `TranscriptEvent`.

    Attributes:
        reconstructed: Members of the payload that the file does not hold; `SessionReader.locate`
            adds those that are only close to what hooks got.
        place: The start of its key, which the events of one call share; of its record by default.
        is_open: Whether it is a call whose result decides if it was executed.
    """

    payload: dict[str, Any]
    event: str
    reconstructed: tuple[str, ...] = ()
    place: str = ""
    time: float | None = None
    line: int = 0
    replies: list[HookReply] = field(default_factory=list)
    refusal: Refusal | None = None
    is_open: bool = False

    def finish(self) -> TranscriptEvent:
        """Return the event."""
        return TranscriptEvent(
            self.payload,
            self.event,
            self.time,
            self.reconstructed,
            f"{self.place}/{self.event}",
            self.line,
            tuple(self.replies),
            self.refusal,
        )


class EventQueue:
    """Events in the order of the file. A call is held until its result shows if it was executed."""

    def __init__(self) -> None:
        self.last: Draft | None = None
        self._events: deque[Draft] = deque()
        # Calls without a result; those that something still waits for.
        self._calls: dict[str, Draft] = {}
        self._open: list[Draft] = []

    def add(self, draft: Draft) -> Draft:
        """Add an event."""
        self._events.append(draft)
        self.last = draft
        return draft

    def hold(self, call_id: str, draft: Draft) -> None:
        """Add a call that waits for its result.

        The result names it by its ID.
        """
        draft.is_open = True
        self.add(draft)
        self.close_call(call_id)  # an id may be used again
        self._calls[call_id] = draft
        self._open.append(draft)
        if len(self._calls) > MAX_HELD_EVENTS:
            self.close_call(next(iter(self._calls)))
        if len(self._open) > MAX_HELD_EVENTS:
            self._open = [call for call in self._open if call.is_open]

    def find_call(self, call_id: str) -> Draft | None:
        """Return a call that waits for its result."""
        return self._calls.get(call_id)

    def close_call(self, call_id: str) -> Draft | None:
        """Return a call whose result has come; `None` if there is no such call."""
        draft = self._calls.pop(call_id, None)
        if draft is not None:
            draft.is_open = False
        return draft

    def release(self) -> None:
        """Let go the calls that got no result; a result that comes late is still joined."""
        for draft in self._open:
            draft.is_open = False
        self._open.clear()

    def flush(self) -> Iterator[TranscriptEvent]:
        """Yield the events that need not wait, and remove them."""
        events = self._events
        while events and (not events[0].is_open or len(events) > MAX_HELD_EVENTS):
            yield events.popleft().finish()


# -- the reader of a file


Position = tuple[dict[str, Any], int]
"""A record and the number of its line."""


class SessionReader:
    """Turns the records of a file into events; each agent's subclass has a table of its records.

    Attributes:
        takers: Type of a record to the method that reads it.
        needless: Matches a line that can be skipped without parsing it.
        follow_up: Type of records that add to the event before them.
        nearly: Members of all payloads that are only close to what hooks got.
        without_session: What is reported of a file without a session.
        session_id: The session; empty before the record that begins it.
        record: The record that is being read; `line` is its number.
    """

    takers: ClassVar[Mapping[str, Callable[[Any, dict[str, Any]], None]]] = {}
    needless: ClassVar[re.Pattern[bytes]]
    follow_up: ClassVar[str] = ""
    nearly: tuple[str, ...] = ()
    without_session: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queue = EventQueue()
        self.session_id = ""
        self.record: dict[str, Any] = {}
        self.line = 0

    @classmethod
    def read(cls, path: Path, problems: Problems) -> Iterator[TranscriptEvent]:
        """Yield the events of a file."""
        reader = cls(path)
        for line, record in reader.records(problems):
            if not cls.follow_up or record.get("type") != cls.follow_up:
                yield from reader.queue.flush()
            reader.record, reader.line = record, line
            reader.take(record)
        reader.end_turns()
        reader.queue.release()
        yield from reader.queue.flush()
        if not reader.session_id:
            problems(f"{path}: {cls.without_session}")

    def records(self, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the records of the file, each with the number of its line."""
        return read_records(self.path, problems, self.needless.match)

    def take(self, record: dict[str, Any]) -> None:
        """Read a record."""
        raise NotImplementedError

    def end_turns(self) -> None:
        """Add the events of the turns that have ended."""

    def place_of(self, record: dict[str, Any], line: int) -> str:
        """Return what identifies a record among those of all sessions."""
        return text_in(record, "uuid") or str(line)

    def locate(self, draft: Draft, at: Position | None = None) -> Draft:
        """Return an event with what follows from its record.

        By default it is the record that is being read.
        """
        record, draft.line = at or (self.record, self.line)
        draft.place = draft.place or self.place_of(record, draft.line)
        draft.time = parse_time(record.get("timestamp"))
        draft.reconstructed = (*self.nearly, *draft.reconstructed)
        return draft

    def add(self, draft: Draft, at: Position | None = None) -> Draft:
        """Add an event, with what follows from its record."""
        return self.queue.add(self.locate(draft, at))

    def hold_call(self, call_id: str, draft: Draft) -> Draft:
        """Add the event before a call, which waits for its result."""
        self.queue.hold(call_id, self.locate(draft))
        return draft
