"""What is new in the history: takes it out of the journal and hands it to the open pages.

One thread reads for all pages, and for each session that a page shows. It keeps the latest events
only, so that a page which is slow, or a session with many events a second, makes nothing grow: a
page gets the latest rows, and the number of those that it did not get.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from sse_starlette import ServerSentEvent

from anyhook.errors import HistoryError, UsageError
from anyhook.history.filters import Filter
from anyhook.history.ingest import ingest
from anyhook.history.search import search
from anyhook.history.sessions import SessionSummary, find_session, is_ended, latest_events, sessions
from anyhook.history.store import History
from anyhook.journal.lines import DIRECTORY
from anyhook.page.render import PageLinks, one_row_per_call, render

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from pathlib import Path

    from anyhook.history.events import RecordedEvent


TICK = 0.2
"""Seconds between two looks at the journal."""
ROWS = 60
"""Events that an update of all sessions holds at most."""
SESSION_ROWS = 200
"""Events of a session that its page shows at most while it is live."""
RECENT_ROWS = 20
"""Events that a page may show without the answers that came while it was loaded."""
SESSIONS_SECONDS = 15.0
"""Seconds after which the ages of the sessions are shown anew."""
Signature = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Latest:
    """The latest part of the history."""

    newest: int = 0
    """Number of the newest event."""
    oldest: int = 0
    """Number of the oldest event of this part."""
    rows: dict[int, tuple[Signature, str]] = field(default_factory=dict)
    """Number of an event to its signature and its row; calls have one row."""
    recent: str = ""
    """The recent sessions, as they are shown."""


@dataclass(frozen=True, slots=True)
class LatestOfSession:
    """The latest part of a session."""

    rows: dict[int, tuple[Signature, str]] = field(default_factory=dict)
    """Number of an event to its signature and its row, in the order of their time."""
    total: int = 0
    """Number of events of the session."""
    facts: str = ""
    """What is known of the session, as it is shown."""


SessionKey = tuple[str, str]
"""Agent and identifier of a session."""


class Live:
    """Watches the history in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._latest: Latest | None = None
        self._watched: Counter[SessionKey] = Counter()
        self._sessions: dict[SessionKey, LatestOfSession] = {}
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
        shown_at = 0.0
        while not self._ended.is_set():
            try:
                with History.open(self._directory) as history:
                    while not self._ended.wait(TICK):
                        try:
                            journal = sorted((history.path.parent / DIRECTORY).glob("*.jsonl"))
                            files = tuple((path.name, path.stat().st_size) for path in journal)
                        except OSError:  # also of a file that was removed meanwhile
                            files = ()
                        state = files, history.data_version()
                        is_old = time.monotonic() - shown_at > SESSIONS_SECONDS
                        if state == seen and not is_old:
                            self._read_sessions(history, is_changed=False)
                            continue
                        if seen is None or seen[0] != state[0]:
                            self._problems = ingest(history).problems
                        # The state from before: what was written meanwhile is taken next time.
                        seen, shown_at = state, time.monotonic()
                        self._read(history)
                        self._read_sessions(history, is_changed=True)
            except (HistoryError, sqlite3.Error, OSError) as error:  # a full disk, a locked store
                self._problems = [str(error)]
                seen = None  # the next round reads everything again, and finds the problems anew
                self._ended.wait(1.0)

    def _read(self, history: History) -> None:
        rendered = self._latest.rows if self._latest is not None else {}
        events = search(history, Filter(), limit=ROWS)
        rows = _rows(one_row_per_call(events), rendered, has_session=True)
        numbers = [event.id for event in events] or [0]
        recent = render(
            "recent_sessions.html",
            PageLinks(),
            recent=recent_sessions(history),
            recent_minutes=RECENT_MINUTES,
        )
        self._latest = Latest(max(numbers), min(numbers), rows, recent)

    def _read_sessions(self, history: History, *, is_changed: bool) -> None:
        """Read the sessions that pages show, or only those that are new among them."""
        former = self._sessions
        sessions: dict[SessionKey, LatestOfSession] = {}
        for key in list(self._watched):
            before = former.get(key, LatestOfSession())
            if key in former and not is_changed:
                sessions[key] = before
                continue
            agent, name = key
            try:
                session = find_session(history, name, agent)
            except UsageError:  # it was removed
                sessions[key] = LatestOfSession()
                continue
            events = latest_events(history, session, SESSION_ROWS)
            rows = _rows(events, before.rows, has_session=False)
            facts = render("session_facts.html", PageLinks(), session=session)
            sessions[key] = LatestOfSession(rows, session.events, facts)
        self._sessions = sessions

    # -- the pages

    async def session_updates(
        self, agent: str, session: str, newest: int
    ) -> AsyncIterator[ServerSentEvent]:
        """Yield what came in a session after the newest event of a page, until it is closed."""
        key = agent, session
        self._watched[key] += 1
        try:
            async for update in self._send(_OpenSession(newest), lambda: self._sessions.get(key)):
                yield update
        finally:
            self._watched[key] -= 1
            if not self._watched[key]:
                del self._watched[key]

    async def updates(self, newest: int) -> AsyncIterator[ServerSentEvent]:
        """Yield what came after the newest event of a page, until it is closed."""
        async for update in self._send(_OpenPage(newest), lambda: self._latest):
            yield update

    async def _send(
        self, page: Any, latest_of: Callable[[], Latest | LatestOfSession | None]
    ) -> AsyncIterator[ServerSentEvent]:
        while not self._ended.is_set():
            latest = latest_of()
            if latest is not None and latest is not page.shown:
                yield ServerSentEvent(json.dumps(page.update(latest)), id=str(page.newest))
            await anyio.sleep(TICK / 2)


class _OpenPage:
    """What a page shows, from the number of its newest event on."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.shown = Latest()

    def update(self, latest: Latest) -> dict[str, Any]:
        """Return what the page does not show yet."""
        rows: list[dict[str, Any]] = []
        for number in sorted(latest.rows):
            signature, row = latest.rows[number]
            if number not in self.shown.rows or self.shown.rows[number][0] != signature:
                rows.append({"id": number, "verdict": signature[0], "html": row})
        # Events that came since the newest one and are not among the latest ones.
        skipped = 0
        if self.newest:
            skipped = max(0, latest.oldest - self.newest - 1)
        update: dict[str, Any] = {"rows": rows, "skipped": skipped}
        if latest.recent != self.shown.recent:
            update["sessions"] = latest.recent
        self.shown = latest
        self.newest = max(self.newest, latest.newest)
        return update


class _OpenSession:
    """What the page of a session shows, from the number of its newest event on."""

    def __init__(self, newest: int) -> None:
        self.newest = newest
        self.shown: LatestOfSession | None = None

    def update(self, latest: LatestOfSession) -> dict[str, Any]:
        """Return what the page does not show yet."""
        # The events that the page shows as they are.
        if self.shown is not None:
            signatures = {number: row[0] for number, row in self.shown.rows.items()}
        else:
            signatures = {}
            for number in list(latest.rows)[:-RECENT_ROWS]:
                if number <= self.newest:
                    signatures[number] = latest.rows[number][0]
        rows: list[dict[str, Any]] = []
        previous = 0
        for number, (signature, row) in latest.rows.items():
            if signatures.get(number) != signature:
                entry = {"id": number, "verdict": signature[0], "html": row, "after": previous}
                rows.append(entry)
            previous = number
        oldest = min(latest.rows, default=0)
        update = {
            "rows": rows,
            "total": latest.total,
            "facts": latest.facts,
            # Between the events of the page and these there may be others.
            "clear": len(latest.rows) >= SESSION_ROWS and oldest > self.newest,
        }
        self.shown = latest
        self.newest = max([self.newest, *latest.rows])
        return update


def _rows(
    events: Iterable[RecordedEvent],
    before: Mapping[int, tuple[Signature, str]],
    *,
    has_session: bool,
) -> dict[int, tuple[Signature, str]]:
    """Return the rows of events; those that did not change are not rendered again."""
    rows: dict[int, tuple[Signature, str]] = {}
    for event in events:
        signature = (event.verdict, len(event.results))
        row = before.get(event.id)
        if row is None or row[0] != signature:
            text = render("event_row.html", PageLinks(), event=event, has_session=has_session)
            row = signature, text
        rows[event.id] = row
    return rows


RECENT_MINUTES = 10
"""Minutes after its last event for which a session is recent."""
MAX_RECENT = 12


@dataclass(frozen=True, slots=True)
class RecentSession:
    """A session with an event in the last minutes."""

    summary: SessionSummary
    is_ended: bool


def recent_sessions(history: History) -> list[RecentSession]:
    """Return the recent sessions, those first that have not ended."""
    since = time.time() - RECENT_MINUTES * 60
    recent = [
        RecentSession(session, is_ended(history, session))
        for session in sessions(history, since=since, limit=MAX_RECENT)
    ]
    return sorted(recent, key=lambda session: session.is_ended)
