"""Move what hooks and engines have recorded from the journal into the store.

How far a file was read is stored in the same transaction as its events, so that a killed process
neither loses nor doubles one.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from anyhook.agents import AGENTS, get_agent
from anyhook.agents.outline import outline_of
from anyhook.errors import HistoryError
from anyhook.history.background import BackgroundHooks
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.merge import add_merged
from anyhook.history.record_switch import read_switch
from anyhook.journal.lines import DIRECTORY, FORMAT, FULL_MARK, SECONDS_OF_FILE
from anyhook.model.text import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.history.store import History

KEPT_HOURS = 48
"""Hours for which a file of the journal is kept after it was stored, against a damaged store."""
BATCH_BYTES = 4 * 1024 * 1024
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What a line raises that is not a record."""
MAX_NUMBER = 2**53
"""Numbers above are of no use, and SQLite stores none above 2^63."""
_SECONDS = (int, float)
EVENT_MEMBERS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("agent", "session", "event", "source", "project"), (str,)),
    "time": _SECONDS,
    "payload": (dict,),
    "decision": (dict, NoneType),
    "redacted": (int,),
    "cut": (bool,),
}
RESULT_MEMBERS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("hook", "place", "kind", "status", "stdout", "stderr"), (str,)),
    **dict.fromkeys(("shadow", "truncated"), (bool,)),
    **dict.fromkeys(("signal", "error"), (str, NoneType)),
    **dict.fromkeys(("answer", "version"), (dict,)),
    "started": _SECONDS,
    "duration": (*_SECONDS, NoneType),
    "exit_code": (int, NoneType),
}
VERDICT: dict[str, tuple[type, ...]] = {"outcome": (str,)}
"""Members of a line, of a result, and of a decision or an answer, to their types."""
_FILE_NAME = re.compile(r"(\d+)-(\d+)\.jsonl")


@dataclass(slots=True)
class Ingested:
    """What was moved."""

    events: int = 0
    problems: list[str] = field(default_factory=list)


def ingest(history: History) -> Ingested:
    """Store everything that was recorded since the last time.

    The journal is next to the store.

    Raises:
        HistoryError: If the store cannot be written. Nothing is lost: the next call continues.
    """
    ingested = Ingested()
    directory = history.path.parent
    background = BackgroundHooks()
    files: list[tuple[int, Path]] = []
    for path in (directory / DIRECTORY).glob("*.jsonl*"):
        match = _FILE_NAME.fullmatch(path.name)
        if path.name.endswith(FULL_MARK):
            full = path.name.removesuffix(FULL_MARK)
            ingested.problems.append(f"{full} is full: events are missing")
        elif match is None:
            ingested.problems.append(f"{path} is not a file of the journal; it was not read")
        elif int(match[1]) > FORMAT:
            ingested.problems.append(f"{path} is of a newer release; update anyhook to read it")
        else:
            files.append((int(match[2]), path))
    for _, file in sorted(files):
        while _ingest_part(history, file, ingested, background):
            pass
    _remove_old_files(history, directory / DIRECTORY, time.time())
    if not ingested.events:
        return ingested
    try:
        switch = read_switch(str(directory))
    except HistoryError as error:
        ingested.problems.append(str(error))
        return ingested
    if switch is not None:
        history.prune(days=switch.days, size=switch.size)
    return ingested


def _ingest_part(
    history: History, file: Path, ingested: Ingested, background: BackgroundHooks
) -> bool:
    """Store the next part of a file, and return whether there may be more."""
    try:
        status = file.stat()
    except FileNotFoundError:  # another process has removed it
        return False
    start = _stored_bytes(history, file)
    if start >= status.st_size:
        return False
    with history.transaction():
        start = _stored_bytes(history, file)  # another process may have been faster
        with file.open("rb") as stream:
            stream.seek(start)
            content = stream.read(BATCH_BYTES)
            while b"\n" not in content:  # one line is longer than a part, or still written
                more = stream.read(BATCH_BYTES)
                if not more:
                    return False
                content += more
        end = start + content.rindex(b"\n") + 1
        lines = content[: end - start].split(b"\n")
        events = _parse(lines, file, ingested.problems)
        ingested.events += add_merged(history, map(background.without_effect, events))
        history.connection.execute(
            "INSERT OR REPLACE INTO files (path, inode, size, mtime) VALUES (?, ?, ?, ?)",
            (_name_in_store(file), status.st_ino, end, status.st_mtime_ns),
        )
    return end < status.st_size


def _name_in_store(file: Path) -> str:
    """Return the name that a file of the journal keeps when the directory is copied or moved."""
    return f"{DIRECTORY}/{file.name}"


def _stored_bytes(history: History, file: Path) -> int:
    """Return how many bytes of a file of the journal are stored.

    A file with another inode is a copy, from a backup for example, or was begun anew.

    Raises:
        OSError: If the file cannot be read.
    """
    row = history.connection.execute(
        "SELECT size, inode FROM files WHERE path = ?", (_name_in_store(file),)
    ).fetchone()
    if row is None:
        return 0
    size, inode = row
    if inode == file.stat().st_ino:
        return int(size)
    with file.open("rb") as stream:
        stream.seek(size - 1)
        is_copy = stream.read(1) == b"\n"
    return int(size) if is_copy else 0


def _parse(lines: Iterable[bytes], file: Path, problems: list[str]) -> Iterator[RecordedEvent]:
    for line in lines:
        if not line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            # The disk was full or the process was killed while the line was written.
            problems.append(f"{file.name}: a line was cut and is lost ({type(error).__name__})")
            continue
        try:
            yield event_of(record)
        except UNREADABLE as error:
            text = f"{type(error).__name__}: {error}"
            problems.append(f"{file.name}: a line is not an event and is lost ({shorten(text)})")


def event_of(record: Mapping[str, Any]) -> RecordedEvent:
    """Return the event that a line of the journal holds.

    Raises:
        KeyError, TypeError, ValueError: If it holds none, or a member has a wrong type.
    """
    agent = record["agent"]
    if agent not in AGENTS:
        raise ValueError(f"no agent {agent!r}")
    if "tap" in record:
        from anyhook.history.tapped import complete_tapped

        record = complete_tapped(record)
    members = _checked(record, EVENT_MEMBERS)
    payload = members["payload"]
    _checked(members.get("decision") or {}, VERDICT)
    results: list[RecordedResult] = []
    for result in record.get("results", ()):
        of_result = _checked(result, RESULT_MEMBERS)
        _checked(of_result.get("answer", {}), VERDICT)
        results.append(RecordedResult(**of_result))
    return RecordedEvent(
        **{**members, "time": float(members["time"])},
        tool=outline_of(get_agent(agent), payload).tool,
        results=tuple(results),
    )


def _checked(record: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """Return the members of a record that are in a table.

    Raises:
        TypeError, ValueError: If one has another type, or is a number that no store holds.
    """
    members = {name: record[name] for name in types if name in record}
    for name, value in members.items():
        is_flag = isinstance(value, bool) and bool not in types[name]
        if is_flag or not isinstance(value, types[name]):
            raise TypeError(f"{name} is {value!r}")
        lowest = 0 if float in types[name] else -MAX_NUMBER
        if isinstance(value, int | float) and not lowest <= value < MAX_NUMBER:
            raise ValueError(f"{name} is {value!r}")  # NaN, too
    return members


def _remove_old_files(history: History, journal: Path, now: float) -> None:
    """Remove files that were stored two days ago; a changed clock keeps them longer."""
    oldest = int(now // SECONDS_OF_FILE) - KEPT_HOURS
    for path in journal.glob("*.jsonl"):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None or int(match[1]) > FORMAT or int(match[2]) >= oldest:
            continue
        try:
            status = path.stat()
            is_stored = _stored_bytes(history, path) >= status.st_size
            is_old = status.st_mtime < now - KEPT_HOURS * SECONDS_OF_FILE
            if is_stored and is_old:
                path.unlink()
                Path(f"{path}{FULL_MARK}").unlink(missing_ok=True)
                history.connection.execute(
                    "DELETE FROM files WHERE path = ?", (_name_in_store(path),)
                )
        except OSError:  # another process was faster
            continue
