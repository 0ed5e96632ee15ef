"""What the history knows about hooks. It is opened for reading only, and may be missing."""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from anyhook.history.journal import history_directory
from anyhook.history.queries import Filter, search
from anyhook.history.schema import VERSION
from anyhook.history.statistics import statistics
from anyhook.history.store import FILE, History

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.cli.panel.snapshot import PanelHook
    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.history.statistics import HookStatistics

    Results = list[tuple[RecordedEvent, RecordedResult]]

DAYS = 30
"""Days that are counted."""
MAX_EVENTS = 50
"""Recorded events that are offered to be fired again."""
BUSY_SECONDS = 1.0


class PastResults:
    """Counts of the hooks of the last 30 days.

    Args:
        hooks: The counts, those of the hook that ran most often first.
    """

    def __init__(self, hooks: tuple[HookStatistics, ...] = ()) -> None:
        self._by_place: dict[tuple[str, str], HookStatistics] = {}
        self._by_file: dict[tuple[str, str], HookStatistics] = {}
        for counts in hooks:
            self._by_place[counts.hook, counts.place] = counts
            # An edit above a hook moves its line; then the last line that it had counts.
            key = counts.hook, counts.place.rpartition(":")[0]
            known = self._by_file.get(key)
            if known is None or known.last < counts.last:
                self._by_file[key] = counts

    def of(self, hook: PanelHook) -> HookStatistics | None:
        """Return the counts of a hook; `None` if it did not run."""
        place = hook.handler.place
        label = hook.handler.label
        exact = self._by_place.get((label, str(place)))
        return exact or self._by_file.get((label, place.file))


@contextmanager
def _open_to_read() -> Iterator[History | None]:
    """Open the history without creating, changing or repairing it; `None` if that is impossible."""
    path = Path(history_directory()) / FILE
    if not path.is_file():
        yield None
        return
    address = f"file:{quote(str(path))}?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        yield History(path, connection) if version == VERSION else None
    finally:
        connection.close()


def read_past_results() -> PastResults:
    """Count the results of all hooks; no history is an empty one."""
    try:
        with _open_to_read() as history:
            if history is None:
                return PastResults()
            since = time.time() - DAYS * 86400
            return PastResults(statistics(history, since=since).hooks)
    except sqlite3.Error:  # damaged, or locked for too long: the panel works without it
        return PastResults()


def read_events(hook: PanelHook, limit: int = MAX_EVENTS) -> list[RecordedEvent]:
    """Return recorded events of the agent and the event of a hook, the newest first."""
    wanted = Filter(agent=hook.engine.agent.name, event=hook.row.definition.event)
    return _search(wanted, limit)


def read_results(hook: PanelHook, limit: int) -> list[tuple[RecordedEvent, RecordedResult]]:
    """Return the last results of a hook with their events, the newest first."""
    wanted = Filter(
        agent=hook.engine.agent.name,
        event=hook.row.definition.event,
        hook=hook.handler.label,
    )
    label = hook.handler.label
    results: list[tuple[RecordedEvent, RecordedResult]] = []
    for event in _search(wanted, limit):
        results += [(event, result) for result in event.results if result.hook == label]
    return results[:limit]


def _search(wanted: Filter, limit: int) -> list[RecordedEvent]:
    try:
        with _open_to_read() as history:
            return [] if history is None else search(history, wanted, limit=limit)
    except sqlite3.Error:
        return []
