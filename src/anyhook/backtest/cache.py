"""Results that are kept: an interrupted run continues, and an unchanged one is instant.

The content hash of each part of a file is kept with the stamp of the file, so that a file which has
not changed is not read again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import struct
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.backtest.reads import VARIABLE, file_digest, variable_digest
from anyhook.backtest.results import PackedResult, Result
from anyhook.sandbox.environment import sandbox_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.backtest.slices import Evaluated
    from anyhook.backtest.sources import Part

DAMAGED = (ValueError, KeyError, TypeError, struct.error, zlib.error)
FILE = "backtest.sqlite"
LARGEST = 1024**3
"""Bytes of results that are kept; the ones that were not used for the longest time go first."""
MOST_STAMPS = 500_000
"""Stamps that are kept: those of 4 TB of JSON lines."""
_TABLES = """
CREATE TABLE IF NOT EXISTS kept_results (
    subject TEXT NOT NULL, part TEXT NOT NULL, counts BLOB NOT NULL, decided BLOB NOT NULL,
    files TEXT NOT NULL, used REAL NOT NULL, PRIMARY KEY (subject, part)
);
DROP TABLE IF EXISTS part_results;
CREATE TABLE IF NOT EXISTS stamps (
    location TEXT PRIMARY KEY, stamp TEXT NOT NULL, digest TEXT NOT NULL, used REAL NOT NULL
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
        self._digests: dict[str, str] = {}
        self._environ = sandbox_environment()
        with contextlib.suppress(sqlite3.Error, OSError):
            self._connection = _open(Path(directory) / FILE)

    def has_results(self, subject: str) -> bool:
        """Return whether there is a result of these hooks.

        Args:
            subject: Hash of the hooks.
        """
        return bool(
            self._execute("SELECT 1 FROM kept_results WHERE subject = ? LIMIT 1", (subject,))
        )

    def get(self, subject: str, part: str, root: str) -> Result | None:
        """Return a kept result, unless what the hooks have read is something else now.

        Args:
            subject: Hash of the hooks.
            part: Hash of the events.
            root: Directory of the hook file, which the names of files are relative to.
        """
        row = self._execute(
            "SELECT counts, decided, files FROM kept_results WHERE subject = ? AND part = ?",
            (subject, part),
        )
        if not row:
            return None
        counts, decided, files = row[0]
        self._used.append((time.time(), subject, part))
        try:
            if not self._are_unchanged(json.loads(files), root):
                return None
            return Result.unpack(PackedResult(counts, decided))
        except DAMAGED:  # or of another release
            return None

    def _are_unchanged(self, files: Mapping[str, str], root: str) -> bool:
        for name, digest in files.items():
            path = name if name.startswith(VARIABLE) else os.path.join(root, name)  # noqa: PTH118
            if path not in self._digests:
                self._digests[path] = self._current_digest(path)
            if self._digests[path] != digest:
                return False
        return True

    def _current_digest(self, path: str) -> str:
        if path.startswith(VARIABLE):
            return variable_digest(path.removeprefix(VARIABLE), self._environ)
        return file_digest(path)

    def put(self, subject: str, evaluated: Evaluated) -> None:
        """Keep the result on a part, unless it depends on something that changes."""
        if evaluated.files is None:
            return
        files = json.dumps(evaluated.files)
        self._execute(
            "INSERT OR REPLACE INTO kept_results VALUES (?, ?, ?, ?, ?, ?)",
            (subject, evaluated.digest, *evaluated.result.pack(), files, time.time()),
        )

    def digest_of(self, part: Part) -> str | None:
        """Return the content hash of a part; `None` if the part was never seen.

        It is only read again if the file has changed since.

        Raises:
            UsageError: If it cannot be read.
        """
        if not part.stamp:
            return part.digest()
        rows = self._execute(
            "SELECT stamp, digest FROM stamps WHERE location = ?", (part.location,)
        )
        if rows and rows[0][0] == part.stamp:
            return str(rows[0][1])
        if not rows and not part.is_quick:
            return None
        # Something was appended, or the file was written again.
        digest = part.digest()
        self.put_digest(part, digest)
        return digest

    def put_digest(self, part: Part, digest: str) -> None:
        """Keep the content hash of a part."""
        if part.stamp:
            self._execute(
                "INSERT OR REPLACE INTO stamps VALUES (?, ?, ?, ?)",
                (part.location, part.stamp, digest, time.time()),
            )

    def close(self) -> None:
        """Note what was used, remove what is too much, and close the file."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with contextlib.suppress(sqlite3.Error):
            connection.execute("BEGIN")
            connection.executemany(
                "UPDATE kept_results SET used = ? WHERE subject = ? AND part = ?", self._used
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
    connection.execute(
        "DELETE FROM stamps WHERE location IN"
        " (SELECT location FROM stamps ORDER BY used DESC LIMIT -1 OFFSET ?)",
        (MOST_STAMPS,),
    )
    query = "SELECT coalesce(sum(length(counts) + length(decided)), 0) FROM kept_results"
    total = connection.execute(query).fetchone()[0]
    if total <= LARGEST:
        return
    rows = connection.execute(
        "SELECT subject, part, length(counts) + length(decided) FROM kept_results ORDER BY used"
    ).fetchall()
    for subject, part, size in rows:
        if total <= LARGEST:
            break
        connection.execute(
            "DELETE FROM kept_results WHERE subject = ? AND part = ?", (subject, part)
        )
        total -= size
