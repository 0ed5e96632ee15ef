"""The tables of the history, and how a store of a former release becomes one of this release."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = 2
"""`PRAGMA user_version` of a store; each release reads its own and migrates former ones."""

TABLES = """
CREATE TABLE sessions (
    id       INTEGER PRIMARY KEY,
    agent    TEXT NOT NULL,
    session  TEXT NOT NULL,
    project  TEXT NOT NULL,
    started  REAL NOT NULL,
    ended    REAL NOT NULL,
    events   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (agent, session)
);
CREATE INDEX sessions_ended ON sessions (ended);

CREATE TABLE events (
    id            INTEGER PRIMARY KEY,
    session_id    INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    time          REAL NOT NULL,
    event         TEXT NOT NULL,
    tool          TEXT,
    outcome       TEXT NOT NULL,
    stop          INTEGER NOT NULL,
    source        TEXT NOT NULL,
    identity      BLOB NOT NULL,
    key           TEXT,
    reconstructed TEXT,
    redacted      INTEGER NOT NULL,
    cut           INTEGER NOT NULL,
    size          INTEGER NOT NULL
);
CREATE INDEX events_session ON events (session_id, time);
CREATE UNIQUE INDEX events_key ON events (key) WHERE key IS NOT NULL;
CREATE INDEX events_time ON events (time);
CREATE INDEX events_decided ON events (session_id, outcome, stop) WHERE outcome <> 'none' OR stop;
CREATE INDEX events_outcome ON events (outcome, time) WHERE outcome <> 'none' OR stop;

-- Apart from the events, so that lists and counts do not read the payloads.
CREATE TABLE bodies (
    event_id INTEGER PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE,
    payload  TEXT NOT NULL,
    decision TEXT
);

CREATE TABLE hooks (
    id      INTEGER PRIMARY KEY,
    label   TEXT NOT NULL,
    place   TEXT NOT NULL,
    kind    TEXT NOT NULL,
    file    TEXT,
    digest  TEXT,
    first   REAL NOT NULL,
    last    REAL NOT NULL
);
CREATE UNIQUE INDEX hooks_version ON hooks (label, place, kind, ifnull(digest, ''));

CREATE TABLE results (
    event_id  INTEGER NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    hook_id   INTEGER NOT NULL REFERENCES hooks (id),
    status    TEXT NOT NULL,
    outcome   TEXT NOT NULL,
    shadow    INTEGER NOT NULL DEFAULT 0,
    started   REAL,
    duration  REAL,
    exit_code INTEGER,
    signal    TEXT,
    answer    TEXT,
    stdout    TEXT,
    stderr    TEXT,
    truncated INTEGER NOT NULL DEFAULT 0,
    error     TEXT
);
CREATE INDEX results_event ON results (event_id);
CREATE INDEX results_hook ON results (hook_id, event_id);

-- Which numbers the events of a time have; `anyhook.history.spans` says more.
CREATE TABLE spans (
    number   INTEGER PRIMARY KEY,
    earliest REAL NOT NULL,
    latest   REAL NOT NULL
);

-- How far each file was read: of the journal in bytes, of a transcript its size and time.
CREATE TABLE files (
    path   TEXT PRIMARY KEY,
    inode  INTEGER NOT NULL,
    size   INTEGER NOT NULL,
    mtime  INTEGER NOT NULL
);

-- `marks` holds words for the tool, the outcome, the hooks, …, so that a search with a filter is
-- one look into the index, however common its words are.
CREATE VIRTUAL TABLE texts USING fts5 (
    text, marks, content = '', columnsize = 0, tokenize = "unicode61 remove_diacritics 2"
);
"""


class Migration(NamedTuple):
    """What makes a store one of the next version.

    Attributes:
        tables: Statements that are executed first.
        step: A statement that is executed for one range of events after the other, with the number
            of the first one and the number after the last one.
    """

    tables: str
    step: str


MIGRATIONS = {
    1: Migration(
        """
CREATE TABLE spans (
    number   INTEGER PRIMARY KEY,
    earliest REAL NOT NULL,
    latest   REAL NOT NULL
);
""",
        "INSERT INTO spans SELECT id / 4096, min(time), max(time) FROM events"
        " WHERE id >= ? AND id < ? GROUP BY 1",
    ),
}
"""Version of a store to its migration. 10,000,000 events take 5 to 15 seconds from 1 to 2."""
STEP = 32 * 4096
"""Events of one step of a migration: whole spans."""
LONGEST_MIGRATION = 600.0
"""Seconds to wait for another process that migrates the store."""


class NewerStoreError(Exception):
    """The store was written by a newer release."""


def prepare(
    connection: sqlite3.Connection,
    on_progress: Callable[[int, int], object] = lambda _done, _all: None,
) -> None:
    """Create the tables, or migrate those of a former release.

    Args:
        connection: The store.
        on_progress: Called while a store is migrated, with the number of events that are done and
            that of all.

    Raises:
        NewerStoreError: If the store was written by a newer release.
        sqlite3.Error: If it cannot be read or written.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == VERSION:
        return
    if version > VERSION:
        raise NewerStoreError
    _begin(connection)
    try:
        # Another process may have been faster.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            _execute(connection, TABLES)
        else:
            for former in range(version, VERSION):
                _migrate(connection, MIGRATIONS[former], on_progress)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _begin(connection: sqlite3.Connection) -> None:
    """Begin to write, and wait for another process that migrates the store.

    A wait within SQLite could not be interrupted, so that it is tried again every ten seconds, the
    timeout of the connection.
    """
    deadline = time.monotonic() + LONGEST_MIGRATION
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        else:
            return


def _migrate(
    connection: sqlite3.Connection,
    migration: Migration,
    on_progress: Callable[[int, int], object],
) -> None:
    _execute(connection, migration.tables)
    last = connection.execute("SELECT max(id) FROM events").fetchone()[0] or 0
    for first in range(0, last + 1, STEP):
        connection.execute(migration.step, (first, first + STEP))
        on_progress(min(first + STEP, last), last)


def _execute(connection: sqlite3.Connection, script: str) -> None:
    for statement in _statements(script):
        connection.execute(statement)


def _statements(script: str) -> list[str]:
    """Split a script at the ends of its statements: `executescript` would end the transaction."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
