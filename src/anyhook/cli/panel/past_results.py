"""What the history knows about hooks. It is opened for reading only, and may be missing."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from anyhook.engine.hook_files import files_of
from anyhook.history.filters import Filter
from anyhook.history.hooks import HookName, RunCounts, count_runs, hook_names
from anyhook.history.search import search
from anyhook.history.store import History
from anyhook.manage.hooks import configured_handlers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from anyhook.cli.panel.snapshot import HookKey, PanelHook
    from anyhook.history.events import RecordedEvent, RecordedResult

    Results = list[tuple[RecordedEvent, RecordedResult]]

T = TypeVar("T")
DAYS = 30
"""Days that are counted."""
MAX_EVENTS = 50
"""Recorded events that are offered to be fired again."""
MAX_SEARCHES = 5
"""Searches for the results of a hook whose label others have, too."""


CountKey = tuple[str, str, HookName]
"""Agent, canonical event, and the names of the hook."""


@dataclass(slots=True)
class PastResults:
    """Counts of the hooks of the last 30 days.

    Attributes:
        counts: The counts by agent, event and hook.
        sources: The names of all hooks in the history, to the time of the last run.
    """

    counts: Mapping[CountKey, RunCounts] = field(default_factory=dict)
    sources: Mapping[HookName, float] = field(default_factory=dict)
    _sources_of: dict[HookKey, list[HookName]] = field(default_factory=dict, compare=False)

    def of(self, hook: PanelHook) -> RunCounts | None:
        """Return the counts of a hook; `None` if it did not run."""
        agent, event = hook.engine.agent.name, hook.row.definition.event
        sums = RunCounts()
        for source in self.sources_of(hook):
            counts = self.counts.get((agent, event, source))
            if counts is not None:
                sums.add(counts)
        return sums if sums.runs else None

    def sources_of(self, hook: PanelHook) -> list[HookName]:
        """Return the names under which results of a hook are recorded; empty if there are none."""
        key = (*hook.key, str(hook.handler.place))
        if key not in self._sources_of:
            self._sources_of[key] = self._find_sources(hook)
        return self._sources_of[key]

    def _find_sources(self, hook: PanelHook) -> list[HookName]:
        if hook.is_recorder or not self.sources:
            return []
        handler, engine = hook.handler, hook.engine
        files = {str(file) for file in files_of(engine, handler)}
        found = [source for source in self.sources if source.place in files]
        found += [
            source
            for source in (
                HookName(handler.label, ""),
                HookName(handler.label, str(handler.place)),
            )
            if source in self.sources
        ]
        return found or self._moved_sources(hook)

    def _moved_sources(self, hook: PanelHook) -> list[HookName]:
        """Return the names of a hook before an edit above it moved its line."""
        handler = hook.handler
        current = {str(other.place) for other in configured_handlers(hook.engine)}
        former: list[HookName] = []
        for source in self.sources:
            file = source.place.rpartition(":")[0]
            is_same_hook = source.label == handler.label and file == handler.place.file
            if is_same_hook and source.place not in current:
                former.append(source)
        return sorted(former, key=self.sources.__getitem__)[-1:]


def read_past_results() -> PastResults:
    """Count the results of all hooks; no history is an empty one."""
    return _ask(lambda history: PastResults(_counts(history), hook_names(history)), PastResults())


def _ask(question: Callable[[History], T], default: T) -> T:
    """Return the answer of the history; the default without a history, or with a damaged one."""
    try:
        history = History.open_to_read()
        if history is None:
            return default
        with history:
            return question(history)
    except sqlite3.Error:  # or locked for too long: the panel works without it
        return default


def _counts(history: History) -> dict[CountKey, RunCounts]:
    """Return the counts of the last days by agent, event and hook."""
    counts: dict[CountKey, RunCounts] = {}
    for key, of_version in count_runs(history, since=time.time() - DAYS * 86400).items():
        counts.setdefault((key.agent, key.event, key.name), RunCounts()).add(of_version)
    return counts


def read_events(hook: PanelHook, limit: int = MAX_EVENTS) -> list[RecordedEvent]:
    """Return recorded events of the agent and the event of a hook, the newest first."""
    wanted = Filter(agent=hook.engine.agent.name, event=hook.row.definition.event)
    return _ask(lambda history: search(history, wanted, limit=limit), [])


def read_results(hook: PanelHook, sources: Collection[HookName], limit: int) -> Results:
    """Return the last results of a hook with their events, the newest first.

    Args:
        hook: The hook.
        sources: The names under which they are recorded.
        limit: How many.
    """

    def ask(history: History) -> Results:
        results: Results = []
        for label in {source.label for source in sources}:
            results += _results_of(history, hook, label, sources, limit)
        return sorted(results, key=lambda pair: -pair[0].time)[:limit]

    return _ask(ask, [])


def _results_of(
    history: History,
    hook: PanelHook,
    label: str,
    sources: Collection[HookName],
    limit: int,
) -> Results:
    """Return the last results with a label that are those of a hook."""
    wanted = Filter(agent=hook.engine.agent.name, event=hook.row.definition.event, hook=label)
    results: Results = []
    before = 0
    for _ in range(MAX_SEARCHES):
        events = search(history, wanted, limit=limit, before=before)
        for event in events:
            for result in event.results:
                if HookName(result.hook, result.place) in sources:
                    results.append((event, result))
        if len(events) < limit or len(results) >= limit:
            break
        before = events[-1].id
    return results
