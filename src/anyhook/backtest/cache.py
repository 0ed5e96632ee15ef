"""Results that are kept: an interrupted run continues, and an unchanged one is instant."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.backtest.results import Result

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

FILE = "backtest.sqlite"
LARGEST = 1024**3
"""Bytes of results that are kept; the ones that were not used for the longest time go first."""
_TABLES = """
CREATE TABLE IF NOT EXISTS results (
    subject TEXT NOT NULL, part TEXT NOT NULL, content BLOB NOT NULL, used REAL NOT NULL,
    PRIMARY KEY (subject, part)
) WITHOUT ROWID;
"""


class ResultCache:
    """Results by the content of the hooks and of the events.

    A file that cannot be opened or written is not used, which only costs time.

    Args:
        directory: Directory of the history.
    """

    def __init__(self, directory: str) -> None:
        self._connection: sqlite3.Connection | None = None
        self._used: list[tuple[float, str, str]] = []
        with contextlib.suppress(sqlite3.Error, OSError):
            self._connection = _open(Path(directory) / FILE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def get(self, subject: str, part: str) -> Result | None:
        """Return a kept result.

        Args:
            subject: Hash of the hooks.
            part: Hash of the events.
        """
        row = self._execute(
            "SELECT content FROM results WHERE subject = ? AND part = ?", (subject, part)
        )
        if not row:
            return None
        self._used.append((time.time(), subject, part))
        try:
            return Result.from_json(json.loads(zlib.decompress(row[0][0])))
        except (ValueError, KeyError, TypeError, zlib.error):  # damaged, or of another release
            return None

    def put(self, subject: str, part: str, result: Result) -> None:
        """Keep a result."""
        content = zlib.compress(json.dumps(result.to_json(), default=str).encode(), 1)
        self._execute(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)",
            (subject, part, content, time.time()),
        )

    def close(self) -> None:
        """Note what was used, remove what is too much, and close the file."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(sqlite3.Error):
            connection.execute("BEGIN")
            connection.executemany(
                "UPDATE results SET used = ? WHERE subject = ? AND part = ?", self._used
            )
            _remove_oldest(connection)
            connection.execute("COMMIT")
        connection.close()

    def _execute(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error:  # the disk is full, or the file is damaged
            return []


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.executescript(_TABLES)
    return connection


def _remove_oldest(connection: sqlite3.Connection) -> None:
    total = connection.execute("SELECT coalesce(sum(length(content)), 0) FROM results").fetchone()[
        0
    ]
    if total <= LARGEST:
        return
    rows = connection.execute(
        "SELECT subject, part, length(content) FROM results ORDER BY used"
    ).fetchall()
    for subject, part, size in rows:
        if total <= LARGEST:
            break
        connection.execute("DELETE FROM results WHERE subject = ? AND part = ?", (subject, part))
        total -= size
