"""The tables of the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.history.verdicts import HAS_FAILED

if TYPE_CHECKING:
    import sqlite3

VERSION = 6
"""`PRAGMA user_version` of a store that this release reads and writes."""

TABLES = f"""
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
    verdict       TEXT NOT NULL,
    source        TEXT NOT NULL,
    identity      BLOB NOT NULL,
    key           TEXT,
    reconstructed TEXT,
    redacted      INTEGER NOT NULL,
    cut           INTEGER NOT NULL,
    size          INTEGER NOT NULL,
    refusal       TEXT,
    reached_hooks INTEGER NOT NULL DEFAULT 1
);
CREATE INDEX events_session ON events (session_id, time);
CREATE UNIQUE INDEX events_key ON events (key) WHERE key IS NOT NULL;
CREATE INDEX events_time ON events (time);
CREATE INDEX events_decided ON events (session_id, verdict) WHERE verdict <> 'none';
CREATE INDEX events_refused ON events (session_id) WHERE refusal IS NOT NULL;
CREATE INDEX events_verdict ON events (verdict, time) WHERE verdict <> 'none';

-- Apart from the events, so that lists and counts do not read the payloads.
CREATE TABLE bodies (
    event_id INTEGER PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE,
    payload  TEXT NOT NULL, -- a long one is compressed: `anyhook.history.rows.compressed`
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
    verdict   TEXT NOT NULL,
    trouble   TEXT,
    shadow    INTEGER NOT NULL DEFAULT 0,
    started   REAL CHECK (typeof(started) IN ('real', 'null')),
    duration  REAL CHECK (typeof(duration) IN ('real', 'null')),
    exit_code INTEGER CHECK (typeof(exit_code) IN ('integer', 'null')),
    signal    TEXT,
    answer    TEXT,
    stdout    TEXT,
    stderr    TEXT,
    truncated INTEGER NOT NULL DEFAULT 0,
    error     TEXT
);
CREATE INDEX results_event ON results (event_id);
CREATE INDEX results_hook ON results (hook_id, event_id);
CREATE INDEX results_failed ON results (event_id) WHERE {HAS_FAILED};

-- What a hook did when it was tried; `anyhook.history.trials` says more.
CREATE TABLE trials (
    kind        TEXT NOT NULL,
    agent       TEXT NOT NULL,
    release     TEXT NOT NULL,
    event       TEXT NOT NULL,
    hook        TEXT NOT NULL,
    entry       TEXT NOT NULL,
    content     TEXT NOT NULL,
    file        TEXT NOT NULL,
    time        REAL NOT NULL,
    is_good     INTEGER NOT NULL,
    has_decided INTEGER NOT NULL,
    detail      TEXT NOT NULL,
    calls       TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (agent, event, entry, file, content, kind, hook)
);

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


class OtherVersionError(Exception):
    """The store has the tables of another release."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in a new store.

    Raises:
        OtherVersionError: If the store has other tables.
        sqlite3.Error: If it cannot be read or written.
    """
    if _version_of(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster.
        version = _version_of(connection)
        if version == 0:
            # `executescript` would end the transaction.
            for statement in TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    if version not in (0, VERSION):
        raise OtherVersionError


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
