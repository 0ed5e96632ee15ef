"""What is new in the history: takes it out of the journal and hands it to the open pages.

One thread reads for all pages. It keeps the latest events only, so that a page which is slow, or a
session with many events a second, makes nothing grow: a page gets the latest rows, and the number
of those that it did not get.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from sse_starlette import ServerSentEvent

from anyhook.errors import HistoryError
from anyhook.history.describe import verdict_of
from anyhook.history.ingest import ingest
from anyhook.history.journal import DIRECTORY
from anyhook.history.queries import Filter, search, sessions
from anyhook.history.store import History
from anyhook.page.links import PageLinks
from anyhook.page.render import render

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from anyhook.history.events import RecordedEvent

TICK = 0.2
"""Seconds between two looks at the journal."""
ROWS = 60
"""Events that an update holds at most."""
RUNNING_MINUTES = 10
"""Minutes after its last event for which a session counts as running."""
MOST_RUNNING = 12
SESSIONS_SECONDS = 15.0
"""Seconds after which the ages of the sessions are shown anew."""
Signature = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest part of the history.

    Attributes:
        version: Counts the changes.
        newest: Number of the newest event.
        rows: Number of an event to its signature and its row.
        running: The sessions that run, as they are shown.
    """

    version: int = 0
    newest: int = 0
    rows: dict[int, tuple[Signature, str]] = field(default_factory=dict)
    running: str = ""


class Live:
    """Watches the history.

    Args:
        directory: Directory of the history.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._latest = Latest()
        self._problems: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="anyhook-live", daemon=True)

    @property
    def problems(self) -> list[str]:
        """What could not be read of the journal."""
        return list(self._problems)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._ended.set()
        self._thread.join()

    # -- the thread

    def _watch(self) -> None:
        seen: Any = None
        shown = 0.0
        while not self._ended.is_set():
            try:
                with History.open(self._directory) as history:
                    while not self._ended.wait(TICK):
                        state = self._state(history)
                        is_old = time.monotonic() - shown > SESSIONS_SECONDS
                        if state == seen and not is_old:
                            continue
                        if self._is_in_journal(seen, state):
                            self._take(history)
                        seen, shown = self._state(history), time.monotonic()
                        self._read(history)
            except (HistoryError, sqlite3.Error, OSError) as error:  # a full disk, a locked store
                self._problems = [str(error)]
                self._ended.wait(1.0)

    def _state(self, history: History) -> tuple[Any, ...]:
        """Return what differs after something was recorded, imported or removed."""
        journal = history.path.parent / DIRECTORY
        files = tuple((path.name, path.stat().st_size) for path in _files(journal))
        version = history.connection.execute("PRAGMA data_version").fetchone()[0]
        return files, version

    @staticmethod
    def _is_in_journal(before: tuple[Any, ...] | None, now: tuple[Any, ...]) -> bool:
        return before is None or before[0] != now[0]

    def _take(self, history: History) -> None:
        self._problems = ingest(history).problems

    def _read(self, history: History) -> None:
        before = self._latest
        rows: dict[int, tuple[Signature, str]] = {}
        events = search(history, Filter(), limit=ROWS)
        for event in events:
            signature = _signature(event)
            known = before.rows.get(event.id)
            if known is None or known[0] != signature:
                known = signature, render("event_row.html", PageLinks(), event=event)
            rows[event.id] = known
        newest = max(rows, default=0)
        running = running_sessions(history)
        self._latest = Latest(before.version + 1, newest, rows, running)

    # -- the pages

    async def updates(self, newest: int) -> AsyncIterator[ServerSentEvent]:
        """Yield what is new, until the page is closed.

        Args:
            newest: Number of the newest event that the page shows.
        """
        page = _OpenPage(newest)
        while not self._ended.is_set():
            latest = self._latest
            if latest.version != page.version and latest.version:
                update = page.update(latest)
                yield ServerSentEvent(json.dumps(update), id=str(page.newest))
            await anyio.sleep(TICK / 2)


class _OpenPage:
    """What a page shows.

    Args:
        newest: Number of its newest event.
    """

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.version = 0
        self._sent: dict[int, Signature] = {}
        self._running = ""

    def update(self, latest: Latest) -> dict[str, Any]:
        """Return what the page does not show yet."""
        rows: list[dict[str, Any]] = []
        for number in sorted(latest.rows):
            signature, row = latest.rows[number]
            if self._sent.get(number) != signature:
                rows.append({"id": number, "verdict": signature[0], "html": row})
        update: dict[str, Any] = {"rows": rows, "skipped": _skipped(latest, self.newest)}
        if latest.running != self._running:
            self._running = update["running"] = latest.running
        self._sent = {number: known[0] for number, known in latest.rows.items()}
        self.version = latest.version
        self.newest = max(self.newest, latest.newest)
        return update


def _skipped(latest: Latest, newest: int) -> int:
    """Return how many events came since `newest` that are not among the latest ones."""
    if not newest or not latest.rows:
        return 0
    return max(0, min(latest.rows) - newest - 1)


def _signature(event: RecordedEvent) -> Signature:
    """Return what changes when another hook has answered the event."""
    return verdict_of(event), len(event.results)


def _files(journal: Path) -> list[Path]:
    try:
        return sorted(journal.glob("*.jsonl"))
    except OSError:
        return []


def running_sessions(history: History) -> str:
    """Return the list of the sessions that run."""
    since = time.time() - RUNNING_MINUTES * 60
    running = sessions(history, since=since, limit=MOST_RUNNING)
    return render("running.html", PageLinks(), running=running, running_minutes=RUNNING_MINUTES)
