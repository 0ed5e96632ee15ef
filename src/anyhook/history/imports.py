"""Import the sessions that agents have left on disk into the store."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.outline import outline_of
from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.transcripts import TranscriptEvent, transcript_formats
from anyhook.errors import UnknownNameError, UsageError
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.merge import merge_decisions
from anyhook.history.rows import dump, marks_for, uncompressed
from anyhook.journal.records import answer_record
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.secrets.redact import redact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from anyhook.history.store import History


BATCH = 4000
"""Events of one transaction; with 1000, it takes a tenth longer."""
BATCH_CHARACTERS = 16 * 1024**2
"""Characters of their payloads after which a transaction ends: a screenshot has a million."""


@dataclass(slots=True)
class Imported:
    """What was imported."""

    files: int = 0
    unchanged: int = 0
    events: int = 0
    known: int = 0
    size: int = 0
    """Bytes that were read."""
    problems: list[str] = field(default_factory=list)


def find_transcripts(
    home: Path, environ: Mapping[str, str], agents: Iterable[str]
) -> list[TranscriptFile]:
    """Find the transcripts of agents, the oldest change first.

    An agent may name another place in the environment. Without `agents`, those of all agents are
    found whose transcripts can be read.

    Raises:
        UsageError: If the transcripts of an agent cannot be read, or it does not exist.
    """
    formats = transcript_formats()
    for name in agents:
        if name in CODING_AGENTS and name not in formats:
            raise UsageError(
                f"anyhook cannot read transcripts of {get_agent(name).title}; to record its "
                f"sessions from now on: anyhook history record on --agent {name}"
            )
        if name not in formats:
            raise UnknownNameError("agent with readable transcripts", name, formats, list_all=True)
    transcripts: list[TranscriptFile] = []
    for name in tuple(agents) or formats:
        for path in formats[name].find(home, environ):
            with contextlib.suppress(OSError):  # it was removed meanwhile
                transcripts.append(TranscriptFile.at(name, path))
    return sorted(transcripts, key=lambda file: file.mtime)


def import_transcripts(
    history: History,
    files: Iterable[TranscriptFile],
    *,
    on_file: Callable[[TranscriptFile], object] = lambda _file: None,
) -> Imported:
    """Import transcripts; what was imported or recorded before is not stored twice.

    Raises:
        HistoryError: If the store cannot be written. What was imported before stays.
    """
    imported = Imported()
    formats = transcript_formats()
    batch = _Batch(history, imported)
    files = list(files)
    changed: set[TranscriptFile] = set()
    for file in files:
        row = history.connection.execute(
            "SELECT inode, size, mtime FROM files WHERE path = ?", (str(file.path),)
        ).fetchone()
        if row != (file.inode, file.size, file.mtime):
            changed.add(file)
    originals = find_originals(files) if changed else {}
    for file in files:
        if file not in changed:
            imported.unchanged += 1
        else:
            live = _LiveEvents(history)
            original = originals.get(file)
            copied = set() if original is None else keys_of(original)
            for event in formats[file.agent].read(file.path, imported.problems.append):
                if event.key in copied:
                    imported.known += 1
                else:
                    batch.add(_PendingEvent(file, live, event))
            batch.finish(file)
        on_file(file)
    batch.write()
    return imported


class _PendingEvent(NamedTuple):
    """An event of a transcript that is not stored yet."""

    file: TranscriptFile
    live: _LiveEvents
    event: TranscriptEvent

    @property
    def key(self) -> str:
        """Its key in the store."""
        return stored_key(self.file.agent, self.event.key)


class _Batch:
    """Events that are stored in one transaction, of one large or of several small transcripts.

    A transaction takes 1 ms and writes parts of the full-text index that are put together later.
    """

    def __init__(self, history: History, imported: Imported) -> None:
        self._history = history
        self._imported = imported
        self._events: list[_PendingEvent] = []
        self._characters = 0
        self._files: list[TranscriptFile] = []

    def add(self, event: _PendingEvent) -> None:
        """Add an event, and store the batch when it is large enough."""
        self._events.append(event)
        self._characters += _count_characters(event.event.payload)
        if len(self._events) >= BATCH or self._characters >= BATCH_CHARACTERS:
            self.write()

    def finish(self, file: TranscriptFile) -> None:
        """Mark a transcript as read, in the transaction of its last events."""
        self._files.append(file)

    def write(self) -> None:
        """Store the batch."""
        if not self._events and not self._files:
            return
        with self._history.transaction():
            new = self._new_events()
            self._history.insert(new)
            self._history.connection.executemany(
                "INSERT OR REPLACE INTO files (path, inode, size, mtime) VALUES (?, ?, ?, ?)",
                [(str(file.path), file.inode, file.size, file.mtime) for file in self._files],
            )
        self._imported.events += len(new)
        self._imported.known += len(self._events) - len(new)
        self._imported.files += len(self._files)
        self._imported.size += sum([file.size for file in self._files])
        self._events.clear()
        self._characters = 0
        self._files.clear()

    def _new_events(self) -> list[RecordedEvent]:
        """Return the events that were neither imported nor recorded before.

        Those that were get the reason why they were refused: it is known later than the call.
        """
        keys = [pending.key for pending in self._events]
        rows = self._history.connection.execute(
            f"SELECT key, id, refusal IS NOT NULL FROM events WHERE key IN ({marks_for(keys)})",
            keys,
        )
        stored = {key: (number, is_refused) for key, number, is_refused in rows}
        new: list[RecordedEvent] = []
        for pending, key in zip(self._events, keys, strict=True):
            refusal = pending.event.refusal
            if key in stored:
                number, is_refused = stored[key]
                if refusal is not None and number and not is_refused:
                    self._history.set_refusal(number, refusal.reason)
                continue
            stored[key] = 0, False
            event = recorded_event(pending.file.agent, pending.event, pending.file.mtime / 1e9)
            live = pending.live.take(event)
            if live is None:
                new.append(event)
            elif refusal is not None:
                self._history.set_refusal(live, refusal.reason)
        return new


def _count_characters(value: dict[str, Any] | list[Any]) -> int:
    """Return how long the strings in a JSON object or array are together."""
    count = 0
    items = value.values() if isinstance(value, dict) else value
    for item in items:
        if isinstance(item, str):
            count += len(item)
        elif isinstance(item, (dict, list)):
            count += _count_characters(item)
    return count


def stored_key(agent: str, key: str) -> str:
    """Return the key of an imported event in the store, which is unique among all agents."""
    return f"{agent}/{key}"


def recorded_event(agent: str, event: TranscriptEvent, default_time: float) -> RecordedEvent:
    """Return an event of a transcript as the store takes it.

    `default_time` is the Unix timestamp of an event without a time.
    """
    spec = get_agent(agent)
    outline = outline_of(spec, event.payload)
    event_spec = spec.by_canonical.get(event.event)
    decision: dict[str, Any] | None = None
    results: list[RecordedResult] = []
    for reply in event.replies:
        handler = HandlerSpec("command", Layer.USER, Place(""), command=reply.command or None)
        answer: dict[str, Any] = {}
        status = "ran"
        if event_spec is not None:
            end = ProcessExit(reply.exit_code or 0, None, reply.stdout, reply.stderr)
            output = decode_exit(spec, spec.documented, event_spec, handler, end)
            answer, status = answer_record(output.answer), str(output.status)
        result = RecordedResult(
            hook=handler.label if reply.command else "a hook",
            status=status,
            exit_code=reply.exit_code,
            answer=answer,
            stdout=reply.stdout,
            stderr=reply.stderr,
            version={"command": reply.command} if reply.command else {},
        )
        results.append(result)
        decision = merge_decisions(event.event, decision, result.answer)
    return RecordedEvent(
        agent=agent,
        session=outline.session,
        event=event.event,
        time=default_time if event.time is None else event.time,
        payload=event.payload,
        source="import",
        project=outline.project,
        tool=outline.tool,
        decision=decision,
        results=tuple(results),
        reconstructed=event.reconstructed,
        key=stored_key(agent, event.key),
        refusal=None if event.refusal is None else event.refusal.reason,
        has_reached_hooks=event.refusal is None or event.refusal.has_reached_hooks,
    )


class _LiveEvents:
    """Finds events of transcripts that were recorded while they happened."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._left: dict[tuple[str, str], dict[str, list[int]]] = {}

    def take(self, event: RecordedEvent) -> int | None:
        """Return the number of the event if it was recorded live; each answers once."""
        session = (event.agent, event.session)
        if session not in self._left:
            numbers: dict[str, list[int]] = {}
            rows = self._history.connection.execute(
                "SELECT events.id, event, payload FROM events"
                " JOIN sessions ON sessions.id = session_id JOIN bodies ON event_id = events.id"
                " WHERE agent = ? AND session = ? AND source <> 'import' ORDER BY events.id DESC",
                session,
            )
            for number, name, stored in rows:
                payload = json.loads(uncompressed(stored))
                numbers.setdefault(_happening(name, payload), []).append(number)
            self._left[session] = numbers
        left = self._left[session]
        if not left:
            return None
        same = left.get(_happening(event.event, event.payload))
        return same.pop() if same else None


def _happening(event: str, payload: Mapping[str, Any]) -> str:
    """Return what identifies an event in its session: the call's id, else what it was about."""
    identifier = payload.get("tool_use_id")
    if not identifier:
        about = [payload.get(name) for name in ("tool_name", "toolName", "tool_input", "toolArgs")]
        about.append(payload.get("prompt"))
        text, _ = redact_json(dump(about))  # as the secrets of what was recorded live are
        identifier = hashlib.blake2b(text.encode()).hexdigest()
    return f"{event} {identifier}"


LATEST = float("inf")


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A transcript that was found."""

    agent: str
    path: Path
    size: int
    """Bytes."""
    mtime: int
    """Time of the last change, in nanoseconds."""
    inode: int

    @classmethod
    def at(cls, agent: str, path: Path) -> TranscriptFile:
        """Return the transcript at a path.

        Raises:
            OSError: If it does not exist.
        """
        status = path.stat()
        return cls(agent, path, status.st_size, status.st_mtime_ns, status.st_ino)


def find_originals(files: Iterable[TranscriptFile]) -> dict[TranscriptFile, TranscriptFile]:
    """Return each fork with its original, among all transcripts, also those not read this time."""
    by_directory = attrgetter("agent", "path.parent")
    originals: dict[TranscriptFile, TranscriptFile] = {}
    for _, group in groupby(sorted(files, key=by_directory), by_directory):
        families: dict[str, list[TranscriptFile]] = {}
        for file in group:
            events = transcript_formats()[file.agent].read(file.path, lambda _problem: None)
            first = next(events, None)
            if first is not None and first.key:
                families.setdefault(first.key, []).append(file)
        for family in families.values():
            if len(family) > 1:
                original = _original_of(family)
                originals |= {file: original for file in family if file is not original}
    return originals


def keys_of(file: TranscriptFile) -> set[str]:
    """Return the keys of all events of a transcript."""
    return set(_times_by_key(file))


def _original_of(family: Sequence[TranscriptFile]) -> TranscriptFile:
    """Return the transcript that the others have copied.

    A copy is made when its session goes on, with everything that the original has then. So what
    the original has for itself came later than the first event that a copy has for itself.
    """
    times = {file: _times_by_key(file) for file in family}

    def first_own_time(file: TranscriptFile) -> float:
        others: set[str] = set()
        for other in family:
            if other is not file:
                others.update(times[other])
        own_times = [time for key, time in times[file].items() if key not in others]
        return min(own_times, default=LATEST)

    return max(family, key=lambda file: (first_own_time(file), -file.mtime))


def _times_by_key(file: TranscriptFile) -> dict[str, float]:
    events = transcript_formats()[file.agent].read(file.path, lambda _problem: None)
    return {event.key: event.time or 0.0 for event in events}
