"""Files as a source of events: exports, conversations and transcripts, of any size.

JSON lines are split into ranges of bytes and Parquet into its row groups, so that no file is read
whole. A transcript is one part, because what an event is depends on what came before.

It is one module because the parts of a file and how their events are read depend on each other.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from anyhook.agents import AGENTS, get_agent
from anyhook.agents.outline import outline_of
from anyhook.agents.transcripts import (
    MAX_LINE,
    TranscriptEvent,
    describe_line,
    get_transcripts,
    parse_line,
    read_records,
)
from anyhook.backtest.sources import EventRow, EventRows, UnreadableEventError, takes
from anyhook.backtest.storage import (
    UNREADABLE,
    StoredFile,
    count_lines,
    find_files,
    read_range,
    unreadable,
)
from anyhook.errors import MissingLibraryError, UsageError
from anyhook.history import trajectories
from anyhook.history.export import EXPORT_FIELDS, REQUIRED, names_of
from anyhook.history.imports import TranscriptFile, find_originals, keys_of
from anyhook.history.recognize import (
    HEAD,
    PARQUET_MARK,
    FileKind,
    Recognized,
    recognize_file,
    recognize_members,
)
from anyhook.model.events import all_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from anyhook.history.filters import Filter

PART_BYTES = 8 * 1024**2
"""Bytes of a part of JSON lines."""
COUNTED_BYTES = 4 * 1024**3
"""Bytes in which lines are counted to name the line of a problem."""
BATCH_ROWS = 1024
"""Rows of Parquet that are decoded at once."""


def parts_of_files(
    places: Iterable[str],
    selection: Filter,
    on_problem: Callable[[str], object] = lambda _text: None,
) -> list[FilePart]:
    """Return the parts of files, in the order of the places, those of directories by their names.

    Events that a session has copied from the one that it forks belong to that one.

    Args:
        places: Paths and URIs of files and directories.
        selection: Which events take part.
        on_problem: Takes a message about each file of a directory that holds no events.

    Raises:
        UsageError: If the file does not exist, it holds no events, pyarrow is missing, or a
            backtest does not take the selection.
    """
    selection.check_for_backtest()
    parts = [*_find_parts(places, selection, on_problem)]
    transcripts: dict[TranscriptFile, FilePart] = {}
    for part in parts:
        is_local = not part.file.store and not part.file.is_compressed
        if part.form.kind is FileKind.TRANSCRIPT and part.form.agent and is_local:
            path = Path(part.file.path)
            transcripts[TranscriptFile.at(part.form.agent, path)] = part
    originals = {
        transcripts[fork]: original for fork, original in find_originals(transcripts).items()
    }
    return [replace(part, original=originals.get(part)) for part in parts]


def _find_parts(
    places: Iterable[str], selection: Filter, on_problem: Callable[[str], object]
) -> Iterator[FilePart]:
    for place in places:
        for file in find_files(place):
            try:
                form = _recognize_file(file)
            except UsageError as error:
                if file.is_named or not file.is_compressed:
                    raise
                on_problem(f"{error}; skipped")
                continue
            if form is not None:
                yield from _split(file, form, selection)
            elif file.is_named:
                raise UsageError(
                    f"{file.name} holds no events; it may be an export of anyhook, conversations "
                    "with calls in the form of OpenAI's API, or a transcript of an agent"
                )
            elif not file.name.endswith(".json"):  # a directory has many that are something else
                on_problem(f"{file.name}: holds no events; skipped")


KNOWN_EVENTS = frozenset(all_events())


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file."""

    file: StoredFile
    form: Recognized
    selection: Filter
    first: int = -1
    """First byte of a range of lines, or number of a row group; -1 for a whole file."""
    end: int = -1
    original: TranscriptFile | None = None
    """The transcript whose events this one has copied."""

    @property
    def title(self) -> str:
        """The file, for messages."""
        return self.file.name

    def read(self, names: frozenset[str] | None) -> EventRows:
        """Return the events, read while they are iterated over."""
        rows = EventRows(Counter(), set(), ())
        reader = _PartReader(self, rows, names)
        if self.form.is_parquet:
            rows.rows = reader.read_row_group()
        elif self.first >= 0:
            rows.rows = reader.read_lines()
        else:
            rows.rows = reader.read_whole()
        return rows


# -- what a file is, and where it is split


def _recognize_file(file: StoredFile) -> Recognized | None:
    with file.open_content() as stream:
        try:
            head = stream.read(HEAD)
            while len(head) < MAX_LINE and b"\n" not in head:  # the first line is longer
                more = stream.read(HEAD)
                if not more:
                    break
                head += more
        except UNREADABLE as error:
            raise unreadable(file.name, error) from error
        if head.startswith(PARQUET_MARK):
            with _open_parquet(file) as table:
                kind = recognize_members(table.schema_arrow.names)
            return None if kind is None else Recognized(kind, is_parquet=True)
        form = recognize_file(head)
        if form is None and len(head) < file.size <= MAX_LINE:  # a document
            form = recognize_file(head + stream.read(file.size))
    return form


@contextmanager
def _open_parquet(file: StoredFile) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingLibraryError(f"Parquet ({file.name})", "pyarrow", "parquet") from error
    with closing(file.open()) as stream:
        try:
            table = ParquetFile(stream if file.store else file.path)
        except (OSError, ArrowException) as error:
            raise UsageError(f"{file.name} is not valid Parquet: {error}") from error
        with table:
            yield table


def _split(file: StoredFile, form: Recognized, selection: Filter) -> Iterator[FilePart]:
    if form.kind is FileKind.TRANSCRIPT or file.is_compressed:
        yield FilePart(file, form, selection)
    elif form.is_lines:
        for first in range(0, file.size, PART_BYTES):
            yield FilePart(file, form, selection, first, min(first + PART_BYTES, file.size))
    elif form.is_parquet:
        with _open_parquet(file) as table:
            for number in range(table.num_row_groups):
                yield FilePart(file, form, selection, number)
    else:
        yield FilePart(file, form, selection)


# -- reading


class _PartReader:
    """Reads the events of one part.

    `names` are the names of the events that are yielded; `None` for all.
    """

    def __init__(self, part: FilePart, rows: EventRows, names: frozenset[str] | None) -> None:
        self._part = part
        self._file = part.file
        self._rows = rows
        self._wanted = names
        self._lines_before = 0 if part.first < 0 else None

    def read_lines(self) -> Iterator[EventRow]:
        """Yield the events of the lines that begin in the range of bytes."""
        start, data = read_range(self._file, self._part.first, self._part.end)
        is_export = self._part.form.kind is FileKind.EXPORT
        ending = b"\n" if data.endswith(b"\n") else b""
        for number, line in enumerate(data.split(b"\n"), 1):
            record = parse_line(line)
            place = f"{self._file.name}@{start}"
            start += len(line) + 1
            if not isinstance(record, dict):
                if record is not None:
                    self._report(number, f"{describe_line(line + ending, record)}; skipped")
            elif is_export:
                yield from self._read_exported(record, place, number)
            else:
                yield from self._read_conversation(record, place, number)

    def read_row_group(self) -> Iterator[EventRow]:
        """Yield the events of a row group of Parquet."""
        from pyarrow import ArrowException

        is_export = self._part.form.kind is FileKind.EXPORT
        names = [name for name in EXPORT_FIELDS if name != "results"]
        if not is_export:
            names = [*trajectories.MESSAGE_LISTS, *trajectories.IDS]
        number = 0
        with _open_parquet(self._file) as table:
            columns = [name for name in table.schema_arrow.names if name in names]
            group = [self._part.first]
            try:
                for batch in table.iter_batches(BATCH_ROWS, group, columns):
                    for row in batch.to_pylist():
                        number += 1
                        place = f"{self._file.name}@{self._part.first}.{number}"
                        if is_export:
                            yield from self._read_exported(row, place, number)
                        else:
                            record = trajectories.drop_nulls(row)
                            yield from self._read_conversation(record, place, number)
            except (OSError, ArrowException) as error:
                self._report(number + 1, f"cannot be read: {error}")

    def read_whole(self) -> Iterator[EventRow]:
        """Yield the events of a transcript or a document."""
        with tempfile.TemporaryDirectory(prefix="anyhook-backtest-") as directory:
            path = self._local_copy(directory)

            def report(problem: str) -> None:
                self._rows.report(problem.replace(str(path), self._file.name))

            if self._part.form.kind is FileKind.EXPORT:
                for number, record in read_records(path, report):  # it was compressed
                    yield from self._read_exported(record, f"{self._file.name}@{number}", number)
                return
            if self._part.form.kind is FileKind.TRANSCRIPT:
                transcripts = get_transcripts(self._part.form.agent)
                events = transcripts.read(path, report) if transcripts else iter(())
                original = self._part.original
                copied = set() if original is None else keys_of(original)
                events = (event for event in events if event.key not in copied)
            else:
                events = trajectories.read(path, report)
            agent = self._part.form.agent or trajectories.AGENT
            yield from self._rows_of(events, agent, self._file.name)

    def _local_copy(self, directory: str) -> Path:
        """Return a file of this machine with the content."""
        if not self._file.store and not self._file.is_compressed:
            return Path(self._file.path)
        copy = Path(directory, PurePosixPath(self._file.path).name)
        if self._file.is_compressed:
            copy = copy.with_suffix("")
        with self._file.open_content() as stream, copy.open("wb") as target:
            try:
                shutil.copyfileobj(stream, target)
            except UNREADABLE as error:
                self._rows.report(str(unreadable(self._file.name, error)))
        return copy

    def _read_exported(
        self, record: Mapping[str, Any], place: str, number: int
    ) -> Iterator[EventRow]:
        try:
            row = _exported_row(record, place)
            time = float(record.get("time") or 0)
        except (KeyError, TypeError, ValueError) as error:
            text = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            self._report(number, f"is not an exported event: {text}; skipped")
            return
        if not self._take(row, time, is_unseen=record.get("has_reached_hooks") is False):
            return
        try:
            yield row._replace(payload=row.read_payload())
        except UnreadableEventError as error:
            self._report(number, f"{error}; skipped")

    def _read_conversation(
        self, record: dict[str, Any], place: str, number: int
    ) -> Iterator[EventRow]:
        stem = PurePosixPath(self._file.path).stem
        if self._part.first > 0:  # rows without an id are numbered within their part
            stem += f"@{self._part.first}"
        conversation = trajectories.Conversation(self._file.name, stem, number, record)

        def report(problem: str) -> None:
            # The conversation names its number in the part.
            prefix = f"{self._file.name}:{number}: "
            self._report(number, problem.removeprefix(prefix))

        yield from self._rows_of(conversation.read(report), trajectories.AGENT, place)

    def _rows_of(
        self, events: Iterable[TranscriptEvent], agent: str, place: str
    ) -> Iterator[EventRow]:
        spec = get_agent(agent)
        for number, event in enumerate(events):
            outline = outline_of(spec, event.payload)
            row = EventRow(
                f"{place}#{number}",
                agent,
                event.event,
                outline.tool,
                f"{agent}/{outline.session}",
                event.payload,
                ",".join(event.reconstructed) or None,
                is_refused=event.refusal is not None,
                is_redacted=False,
            )
            is_unseen = event.refusal is not None and not event.refusal.has_reached_hooks
            if self._take(row, event.time or 0.0, is_unseen=is_unseen):
                yield row

    def _take(self, row: EventRow, time: float, *, is_unseen: bool) -> bool:
        """Count an event, and return whether it is evaluated.

        `is_unseen` means that the agent refused the call before hooks got it.
        """
        selection = self._part.selection
        if not takes(selection, row, time):
            return False
        if is_unseen and not selection.refused:
            self._rows.unseen += 1
            return False
        self._rows.events[row.event] += 1
        self._rows.sessions.add(row.session)
        return self._wanted is None or row.event in self._wanted

    # -- problems

    def _report(self, number: int, problem: str) -> None:
        """Report a problem with a line or row of the part, of which the first is 1."""
        if self._part.form.is_parquet:
            place = f"row {number} of row group {self._part.first}"
        elif self._part.first > COUNTED_BYTES:
            place = f"line {number} after byte {self._part.first}"
        else:
            if self._lines_before is None:
                self._lines_before = count_lines(self._file, self._part.first)
            place = str(self._lines_before + number)
        self._rows.report(f"{self._file.name}:{place}: {problem}")


def _exported_row(record: Mapping[str, Any], place: str) -> EventRow:
    """Return the event of an exported row."""
    agent, session, event, payload = [record[name] for name in REQUIRED]
    if agent not in AGENTS:
        raise ValueError(f"{agent!r} is not an agent")
    if not isinstance(event, str):
        raise TypeError("event is not a text")
    if event not in KNOWN_EVENTS:
        raise ValueError(f"there is no event {event!r}")
    if not isinstance(payload, str | dict):
        raise TypeError("payload is neither an object nor its JSON text")
    tool = record.get("tool")
    if tool is None and "tool" not in record:
        payload = json.loads(payload) if isinstance(payload, str) else payload
        tool = outline_of(get_agent(agent), payload).tool
    return EventRow(
        place,
        agent,
        event,
        tool,
        f"{agent}/{session}",
        payload,
        ",".join(names_of(record.get("reconstructed"))) or None,
        int(record.get("redacted") or 0),
        is_refused=record.get("refusal") is not None,
        is_redacted=False,
    )
