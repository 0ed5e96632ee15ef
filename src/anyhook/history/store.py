"""The store of the history: one SQLite file in the user's data directory.

SQLite, because many processes read and write it at once, it survives a killed process and a full
disk, it searches text, and it comes with Python.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anyhook.errors import HistoryError
from anyhook.file_errors import explain_error
from anyhook.history.events import hook_digest
from anyhook.history.rows import (
    MAX_REFUSAL,
    Rows,
    dump,
    indexed_text,
    keep_as_it_is,
    storable,
    storable_name,
    with_storable_names,
)
from anyhook.history.schema import VERSION, OtherVersionError, create_tables
from anyhook.history.spans import remove_empty_spans
from anyhook.history.verdicts import verdict_of
from anyhook.journal.lines import history_directory
from anyhook.locks import locked
from anyhook.secrets.redact import redact_json, redact_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.history.events import RecordedEvent, RecordedResult

FILE = "history.sqlite"
BUSY_SECONDS = 10.0
"""Seconds to wait for another process that writes."""
READ_BUSY_SECONDS = 1.0
"""Seconds that a reader waits which can do without the history."""
BATCH = 2000
"""Events of one transaction."""


class History:
    """The user's history, open for reading and writing.

    ```python
    with History.open() as history:
        history.add(events)
    ```

    Args:
        path: The file of the store.
        connection: A connection to it, whose tables exist.

    Attributes:
        set_aside: Why and where an unusable former file was moved; empty if there was none.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self._sessions: dict[tuple[str, str], int] = {}
        self._hooks: dict[tuple[str, str, str, str], int] = {}
        self.set_aside = ""

    @classmethod
    def open(cls, directory: str | os.PathLike[str] | None = None) -> Self:
        """Open the store, and create it if it does not exist.

        A file that is damaged is renamed, so that nothing in it is lost, and a new one is begun:
        see `set_aside`.

        Args:
            directory: Directory of the history; by default `history` in the user's data directory.

        Raises:
            HistoryError: If it cannot be opened, or was written by another release. The message
                says what to do.
        """
        path = Path(directory or history_directory()) / FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # SQLite names no cause if it cannot open a file, and would create one for everybody.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            try:
                return cls(path, _connect(path))
            except sqlite3.DatabaseError as error:
                if _primary_code(error) == sqlite3.SQLITE_BUSY:
                    raise
                # Of several processes that find a damaged store, one sets it aside.
                with locked(path):
                    return cls._reopen(path)
        except OtherVersionError:
            raise HistoryError(
                f"{path} was written by another release of anyhook; use that one, or move it away"
            ) from None
        except sqlite3.DatabaseError as error:
            raise HistoryError(explain_store_error(path, error, "opened")) from error
        except OSError as error:
            problem = f"{path} cannot be opened: {explain_error(path, error, 'change')}"
            raise HistoryError(problem) from error

    @classmethod
    def _reopen(cls, path: Path) -> Self:
        """Open the store, and set it aside before if it is damaged."""
        try:
            return cls(path, _connect(path))
        except sqlite3.DatabaseError as error:
            if not is_damaged(error):
                raise
        moved = path.with_name(f"former-{time.time_ns()}.sqlite")
        for suffix in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(f"{moved}{suffix}")
        history = cls(path, _connect(path))
        history.set_aside = f"the history was damaged; it is kept as {moved}, a new one begun"
        return history

    @classmethod
    def open_to_read(cls, directory: str | os.PathLike[str] | None = None) -> Self | None:
        """Open the store without creating, changing or repairing it; `None` if there is none.

        Raises:
            sqlite3.Error: If it cannot be read.
        """
        path = Path(directory or history_directory()) / FILE
        if not path.is_file():
            return None
        address = f"{path.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(
            address, uri=True, timeout=READ_BUSY_SECONDS, isolation_level=None
        )
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        except BaseException:
            connection.close()
            raise
        if version == VERSION:
            return cls(path, connection)
        connection.close()
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Do several changes at once, or none of them.

        Raises:
            HistoryError: If the store cannot be written: the disk is full, or another process
                holds it for longer than 10 seconds.
        """
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            # Another process may have removed a session, whose number is then given to another one.
            self._sessions.clear()
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise HistoryError(explain_store_error(self.path, error, "written")) from error

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one state of the store: events may be added or removed at any time."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            self.connection.execute("ROLLBACK")

    def _roll_back(self) -> None:
        # What was looked up may have been added by the transaction.
        self._sessions.clear()
        self._hooks.clear()
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    # -- adding events

    def add(self, events: Iterable[RecordedEvent]) -> int:
        """Store events without their secrets, in batches, each in one transaction.

        Args:
            events: The events, in the order in which they happened.

        Returns:
            How many were stored.

        Raises:
            HistoryError: If the store cannot be written. The batches before are stored.
        """
        count = 0
        iterator = iter(events)
        batch = list(islice(iterator, BATCH))
        while batch:
            with self.transaction():
                self.insert(batch)
            count += len(batch)
            batch = list(islice(iterator, BATCH))
        return count

    def insert(self, events: Iterable[RecordedEvent], *, redact: bool = True) -> None:
        """Insert events within a transaction of the caller.

        What was in the journal has no secrets to `redact`.
        """
        redact_text = redact_json if redact else keep_as_it_is
        rows = Rows(self.newest_event() + 1, redact_text)
        for event in map(with_storable_names, events):
            session_id = self._session_id(event)
            rows.add(event, session_id, [self._hook_id(event, r) for r in event.results])
        rows.write(self.connection)

    def add_results(
        self, number: int, event: RecordedEvent, decision: Mapping[str, Any] | None
    ) -> None:
        """Add the results of further hooks to a stored event, in a transaction of the caller."""
        self._remove_from_index(number)
        event = with_storable_names(event)
        hook_ids = [self._hook_id(event, result) for result in event.results]
        rows = Rows(number, keep_as_it_is)
        rows.add_results(number, event, hook_ids)
        rows.write(self.connection)
        self.connection.execute(
            "UPDATE events SET verdict = ?, redacted = max(redacted, ?) WHERE id = ?",
            (verdict_of(decision), event.redacted, number),
        )
        self.connection.execute(
            "UPDATE bodies SET decision = ? WHERE event_id = ?",
            (None if decision is None else dump(decision), number),
        )
        self._add_to_index(number)

    def set_refusal(self, number: int, refusal: str) -> None:
        """Add to a stored event why its call was not executed, in a transaction of the caller."""
        refusal = redact_text(storable(refusal[:MAX_REFUSAL]))
        self._remove_from_index(number)
        self.connection.execute("UPDATE events SET refusal = ? WHERE id = ?", (refusal, number))
        self._add_to_index(number)

    def _add_to_index(self, number: int) -> None:
        self.connection.execute(
            "INSERT INTO texts (rowid, text, marks) VALUES (?, ?, ?)",
            (number, *indexed_text(self.connection, number)),
        )

    def _remove_from_index(self, number: int) -> None:
        self.connection.execute(
            "INSERT INTO texts (texts, rowid, text, marks) VALUES ('delete', ?, ?, ?)",
            (number, *indexed_text(self.connection, number)),
        )

    def newest_event(self) -> int:
        """Return the number of the newest event; 0 if there is none."""
        row = self.connection.execute("SELECT ifnull(max(id), 0) FROM events").fetchone()
        return int(row[0])

    def data_version(self) -> int:
        """Return a number that differs after another connection has changed the store."""
        return int(self.connection.execute("PRAGMA data_version").fetchone()[0])

    def _session_id(self, event: RecordedEvent) -> int:
        key = (event.agent, event.session)
        number = self._sessions.get(key)
        if number is None:
            row = self.connection.execute(
                "INSERT INTO sessions (agent, session, project, started, ended)"
                " VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (agent, session) DO UPDATE"
                " SET project = iif(project = '', excluded.project, project) RETURNING id",
                (*key, event.project, event.time, event.time),
            ).fetchone()
            number = self._sessions[key] = row[0]
        return number

    def _hook_id(self, event: RecordedEvent, result: RecordedResult) -> int:
        digest = hook_digest(result)
        key = (result.hook, result.place, result.kind, digest or "")
        number = self._hooks.get(key)
        if number is None:
            file = result.version.get("file")
            row = self.connection.execute(
                "INSERT INTO hooks (label, place, kind, file, digest, first, last)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (label, place, kind, ifnull(digest, ''))"
                " DO UPDATE SET kind = kind RETURNING id",
                (*key[:3], file and storable_name(file), digest, event.time, event.time),
            ).fetchone()
            number = self._hooks[key] = row[0]
        return number

    # -- limits

    def prune(self, *, days: float = 0.0, size: int = 0, now: float | None = None) -> int:
        """Remove the oldest events above the limits.

        Args:
            days: Days after which an event is removed; 0 for no limit.
            size: Bytes of the file above which the oldest events are removed; 0 for no limit.
            now: Unix timestamp; by default the current time.

        Returns:
            How many events were removed.

        Raises:
            HistoryError: If the store cannot be written.
        """
        removed = 0
        if days:
            oldest = (time.time() if now is None else now) - days * 86400
            removed += self._remove("time < ?", (oldest,))
        while size and self.size() > size:
            (events,) = self.connection.execute("SELECT count(*) FROM events").fetchone()
            count = self._remove("1", (), limit=max(BATCH, events // 10))
            if not count:
                break
            removed += count
            with contextlib.suppress(sqlite3.OperationalError):  # another process is reading
                self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.connection.execute("PRAGMA incremental_vacuum")
        return removed

    def size(self) -> int:
        """Return the bytes of the store that hold something."""
        pages = self.connection.execute("PRAGMA page_count").fetchone()[0]
        free = self.connection.execute("PRAGMA freelist_count").fetchone()[0]
        size = self.connection.execute("PRAGMA page_size").fetchone()[0]
        return int((pages - free) * size)

    def _remove(self, condition: str, values: tuple[Any, ...], *, limit: int = -1) -> int:
        """Remove the oldest events of a condition from all tables, in batches.

        `limit` is how many; -1 for all.
        """
        removed = 0
        while removed != limit:
            size = BATCH if limit < 0 else min(BATCH, limit - removed)
            with self.transaction():
                rows = self.connection.execute(
                    f"SELECT id, session_id FROM events WHERE {condition} ORDER BY time LIMIT ?",
                    (*values, size),
                ).fetchall()
                for number, _ in rows:
                    self._remove_from_index(number)
                self.connection.executemany(
                    "DELETE FROM events WHERE id = ?", [(number,) for number, _ in rows]
                )
                of_sessions = Counter(session for _, session in rows)
                self.connection.executemany(
                    "UPDATE sessions SET events = events - ? WHERE id = ?",
                    [(count, session) for session, count in of_sessions.items()],
                )
                self.connection.executemany(
                    "DELETE FROM sessions WHERE id = ? AND NOT EXISTS"
                    " (SELECT 1 FROM events WHERE session_id = sessions.id)",
                    [(session,) for session in of_sessions],
                )
                remove_empty_spans(self.connection)
            removed += len(rows)
            if len(rows) < size:
                break
        return removed


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        if connection.execute("PRAGMA page_count").fetchone()[0] == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        # A power failure may lose the last transactions, but cannot damage the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        create_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def is_damaged(error: sqlite3.DatabaseError) -> bool:
    """Return whether an error means that the content of the file is damaged."""
    if not hasattr(error, "sqlite_errorcode"):  # of the module: a text is not UTF-8
        return isinstance(error, sqlite3.OperationalError)
    return _primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _primary_code(error: sqlite3.DatabaseError) -> int:
    """Return the code of an error without its details, which are in the higher bits."""
    return error.sqlite_errorcode & 0xFF


def explain_store_error(path: Path, error: sqlite3.Error, action: str) -> str:
    """Return why a store cannot be `opened`, `read` or `written`, with the remedy for a damage."""
    if not (isinstance(error, sqlite3.DatabaseError) and is_damaged(error)):
        return f"{path} cannot be {action}: {error}"
    # The message of an error of the module holds the text.
    has_code = hasattr(error, "sqlite_errorcode")
    cause = str(error) if has_code else "a text is not valid UTF-8"
    return (
        f"{path} is damaged ({cause}). Rename it, and a new one is begun with what was recorded in "
        "the last two days; anyhook history import reads older sessions again"
    )
