"""Sessions that agents have left on disk, as payloads of their hooks.

Each agent's folder fills in a `TranscriptFormat` (`AgentEntry.transcripts`). A hook does not
import it. Reading never raises for what a file contains: what cannot be used is reported.

It is one module because the readers of all agents use all of it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple, cast

from anyhook.agents import AGENTS
from anyhook.agents.entry import load_object
from anyhook.files import open_regular
from anyhook.model.json import DEPTH, parse_json, reject_constant

Problems = Callable[[str], None]
"""Takes what is wrong with a file, with its path and line."""

MAX_LINE = 1 << 28
"""Bytes of a line that is read: 256 MiB. A longer one is skipped."""
BUFFER_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class HookReply:
    """What a hook did on an event, where a transcript has it.

    Attributes:
        kind: The agent's word for the record: `hook_success`, `hook_blocking_error`, …
        command: The command of the hook; empty if it is not known.
        exit_code: Its exit code; `None` if it is not known.
        stdout: Its standard output.
        stderr: Its standard error, or its reason for blocking.
    """

    kind: str
    command: str
    exit_code: int | None
    stdout: str
    stderr: str


class Refusal(NamedTuple):
    """Why a call was not executed.

    Attributes:
        reason: What the agent told its model.
        has_reached_hooks: Whether hooks got the call before it was refused. They do not get a call
            of an unknown tool, one with wrong arguments, and one that some agents deny earlier.
    """

    reason: str
    has_reached_hooks: bool = True


class TranscriptEvent(NamedTuple):
    """An event of a session that is over.

    A named tuple, because an import makes millions of them, and a frozen dataclass takes five
    times as long to make.

    Attributes:
        payload: What the agent sent to hooks, in its own names; `decode_event` reads it.
        event: Canonical name of the event.
        time: Seconds since the epoch; `None` if the file has none.
        reconstructed: Members of the payload that the file does not hold: they were made up, or
            are only close to what hooks got. Optional members that the file does not hold are
            left out of the payload.
        key: Identifies the event among all sessions of the agent. It stays the same when the file
            grows or is resumed, and in a fork that repeats the record.
        line: Number of the record's line in the file, from 1; in a file that is one document, the
            number of the message.
        replies: What hooks did on the event, as far as the file holds it.
        refusal: Why the call was not executed; `None` if it was, or if that is not known.
    """

    payload: dict[str, Any]
    event: str
    time: float | None
    reconstructed: tuple[str, ...]
    key: str
    line: int
    replies: tuple[HookReply, ...] = ()
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class TranscriptFormat:
    """The transcripts of an agent.

    Attributes:
        name: Name of the agent.
        variable: The variable of the environment that names the directory of the agent.
        directory: This directory without the variable, in the home.
        patterns: The files of all sessions in it, those of subagents too.
        read: Takes a file, and what takes problems; returns its events in the order of the file.
            Holds the calls that wait for their result in memory, not the file.
        own_members: Members that one of the first records of a file has. If the files of two agents
            may, the one that is first in the registry has the longer list.
    """

    name: str
    variable: str
    directory: str
    patterns: tuple[str, ...]
    read: Callable[[Path, Problems], Iterator[TranscriptEvent]]
    own_members: frozenset[str] = frozenset()

    def find(self, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
        """Yield the files of all sessions, also those that were compressed with gzip."""
        configured = environ.get(self.variable)
        root = Path(configured) if configured else home / self.directory
        for pattern in self.patterns:
            yield from sorted([*root.glob(pattern), *root.glob(f"{pattern}.gz")])


def get_transcripts(name: str) -> TranscriptFormat | None:
    """Return how the transcripts of an agent are read; `None` if that is not known."""
    path = AGENTS[name].transcripts
    if not path:
        return None
    transcripts: TranscriptFormat = load_object(path)
    return transcripts


def transcript_formats() -> dict[str, TranscriptFormat]:
    """Return the formats that can be read, by the name of the agent."""
    entries = AGENTS.items()
    return {name: load_object(entry.transcripts) for name, entry in entries if entry.transcripts}


# -- files


def without_gz(path: Path) -> Path:
    """Return the path that a file had before it was compressed."""
    return path.with_suffix("") if path.suffix == ".gz" else path


def _open(path: Path) -> BinaryIO:
    # Anybody may put a pipe where agents keep transcripts, and reading it would wait for ever.
    file = open(path, "rb", buffering=BUFFER_SIZE, opener=open_regular)  # noqa: SIM115
    if path.suffix != ".gz":
        return file
    file.close()
    import gzip

    return cast("BinaryIO", gzip.open(path))


# -- lines


def read_records(
    path: Path, problems: Problems, is_needless: Callable[[bytes], object] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file with one per line, each with the number of its line.

    A line that is too long, not JSON or not an object is reported and skipped; of the last line
    that is what a program leaves that was killed. A file that ends with `.gz` is decompressed. A
    line that `is_needless` accepts is skipped without parsing it.
    """
    try:
        file = _open(path)
    except OSError as error:
        problems(f"{path}: cannot be read: {error.strerror}")
        return
    with file:
        number = 0
        is_rest = False
        lines = iter(partial(file.readline, MAX_LINE), b"")
        while True:
            try:
                line = next(lines, None)
            except (OSError, EOFError, zlib.error) as error:
                reason = getattr(error, "strerror", None) or error
                problems(f"{path}:{number + 1}: cannot be read: {reason}")
                return
            if line is None:
                return
            was_rest, is_rest = is_rest, len(line) == MAX_LINE and not line.endswith(b"\n")
            if was_rest:
                continue
            number += 1
            if is_rest:
                problems(f"{path}:{number}: is longer than {MAX_LINE >> 20} MiB; skipped")
                continue
            if is_needless is not None and is_needless(line):
                continue
            record = parse_line(line)
            if isinstance(record, dict):
                yield number, record
            elif record is not None:
                problems(f"{path}:{number}: {describe_line(line, record)}; skipped")


NOT_JSON = object()
"""What `parse_line` returns for a line that is not JSON."""


# Half of the time of `json.loads` on short lines: it looks for blanks and a byte order mark.
_decode_at = json.JSONDecoder(parse_constant=reject_constant).raw_decode


def parse_line(line: bytes) -> Any:
    """Return the value of a line; `None` for a blank one, `NOT_JSON` if it is not JSON."""
    try:
        text = line.decode()
        value, end = _decode_at(text)
    except (ValueError, RecursionError):
        return _parse_odd_line(line)
    if text[end:] not in ("\n", "", "\r\n"):
        return _parse_odd_line(line)
    if line.count(b"[") + line.count(b"{") > DEPTH:
        return _parse_odd_line(line)
    return value


def _parse_odd_line(line: bytes) -> Any:
    """Return the value of a line with blanks, a long number, deep nesting or many objects."""
    try:
        text = line.decode("utf-8-sig").strip()
        return parse_json(text) if text else None
    except (ValueError, RecursionError):
        return NOT_JSON


def describe_line(line: bytes, value: object) -> str:
    """Return what is wrong with a line whose value is not an object."""
    if value is not NOT_JSON:
        return "is JSON, but not an object"
    return "is not JSON" if line.endswith(b"\n") else "is not JSON: the last line was cut"


# -- members of objects from a file


def text_in(record: Mapping[str, Any], key: str) -> str:
    """Return a member that is a string; an empty one if it is anything else."""
    value = record.get(key)
    return value if isinstance(value, str) else ""


def object_in(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a member that is an object; an empty one if it is anything else."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def objects_in(record: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects of a member that is a list."""
    value = record.get(key)
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]


def join_text_blocks(content: object, separator: str = "") -> str:
    """Return a text, or the texts of a list of `{"text": …}` blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return separator.join([text_in(block, "text") for block in blocks if isinstance(block, dict)])


def parse_time(text: object) -> float | None:
    """Return an ISO 8601 time, in UTC if it has no zone, as seconds since the epoch."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=UTC)
        return time.timestamp()
    except (ValueError, OverflowError):
        return None


def read_small_text(path: Path, limit: int = BUFFER_SIZE) -> str:
    """Return the text of a file next to a transcript; an empty one if there is none.

    At most `limit` bytes of it are read.
    """
    try:
        with open(path, "rb", opener=open_regular) as file:
            return file.read(limit).decode("utf-8-sig")
    except (OSError, ValueError):
        return ""


def read_json_file(path: Path, limit: int = BUFFER_SIZE) -> dict[str, Any]:
    """Return the object in a file next to a transcript; an empty one if there is none."""
    try:
        value = parse_json(read_small_text(path, limit))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def remove_line_numbers(text: str) -> str:
    """Return the content of a file from a listing with a number and a tab before each line."""
    return re.sub(r"^ *\d+[\t→]", "", text, flags=re.MULTILINE)


# -- the reader of a file


MAX_HELD_EVENTS = 10_000
"""Events that wait for the result of an earlier call, and calls that wait for a result."""


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


Position = tuple[dict[str, Any], int]
"""A record and the number of its line."""


class SessionReader:
    """Turns the records of a file into events; each agent's subclass has a table of its records.

    The events are in the order of the file. A call is held until its result shows if it was
    executed.

    Attributes:
        takers: Type of a record to the method that reads it.
        needless: Matches a line that can be skipped without parsing it.
        follow_up: Type of records that add to the event before them.
        nearly: Members of all payloads that are only close to what hooks got.
        without_session: What is reported of a file without a session.
        session_id: The session; empty before the record that begins it.
        record: The record that is being read; `line` is its number.
        last: The event that was added last.
    """

    takers: ClassVar[Mapping[str, Callable[[Any, dict[str, Any]], None]]] = {}
    needless: ClassVar[re.Pattern[bytes]]
    follow_up: ClassVar[str] = ""
    nearly: tuple[str, ...] = ()
    without_session: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session_id = ""
        self.record: dict[str, Any] = {}
        self.line = 0
        self.last: Draft | None = None
        self._events: deque[Draft] = deque()
        # Calls without a result; those that something still waits for.
        self._waiting: dict[str, Draft] = {}
        self._open: list[Draft] = []

    @classmethod
    def read(cls, path: Path, problems: Problems) -> Iterator[TranscriptEvent]:
        """Yield the events of a file."""
        reader = cls(path)
        for line, record in reader.records(problems):
            if not cls.follow_up or record.get("type") != cls.follow_up:
                yield from reader.flush()
            reader.record, reader.line = record, line
            reader.take(record)
        reader.end_turns()
        reader.release()
        yield from reader.flush()
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

    # -- events

    def add(self, draft: Draft, at: Position | None = None) -> Draft:
        """Add an event, with what follows from its record."""
        return self.append(self.locate(draft, at))

    def append(self, draft: Draft) -> Draft:
        """Add an event as it is."""
        self._events.append(draft)
        self.last = draft
        return draft

    def hold_call(self, call_id: str, draft: Draft) -> Draft:
        """Add the event before a call, which waits for its result; that names it by its ID."""
        draft.is_open = True
        self.add(draft)
        self.close_call(call_id)  # an id may be used again
        self._waiting[call_id] = draft
        self._open.append(draft)
        if len(self._waiting) > MAX_HELD_EVENTS:
            self.close_call(next(iter(self._waiting)))
        if len(self._open) > MAX_HELD_EVENTS:
            self._open = [call for call in self._open if call.is_open]
        return draft

    def find_call(self, call_id: str) -> Draft | None:
        """Return a call that waits for its result."""
        return self._waiting.get(call_id)

    def close_call(self, call_id: str) -> Draft | None:
        """Return a call whose result has come; `None` if there is no such call."""
        draft = self._waiting.pop(call_id, None)
        if draft is not None:
            draft.is_open = False
        return draft

    def release(self) -> None:
        """Stop waiting for the calls without a result; one that comes late is still joined."""
        for draft in self._open:
            draft.is_open = False
        self._open.clear()

    def flush(self) -> Iterator[TranscriptEvent]:
        """Yield the events that need not wait, and remove them."""
        events = self._events
        while events and (not events[0].is_open or len(events) > MAX_HELD_EVENTS):
            yield events.popleft().finish()
