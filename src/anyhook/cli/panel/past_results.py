"""What the history knows about hooks. It is opened for reading only, and may be missing."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from anyhook.engine.hook_files import files_of
from anyhook.history.filters import Filter
from anyhook.history.hooks import (
    HookName,
    RunCounts,
    count_runs,
    hook_names,
    hook_runs,
    hook_versions,
    latest_results,
)
from anyhook.history.search import search
from anyhook.history.store import History
from anyhook.model.definitions import handlers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from anyhook.cli.panel.actions import HookKey, PanelHook
    from anyhook.history.events import RecordedEvent, RecordedResult

    Results = list[tuple[RecordedEvent, RecordedResult]]

T = TypeVar("T")
DAYS = 30
"""Days that are counted."""
MAX_EVENTS = 50
"""Recorded events that are offered to be fired again."""


CountKey = tuple[str, str, HookName]
"""Agent, canonical event, and the names of the hook."""


@dataclass(slots=True)
class PastResults:
    """Counts of the hooks of the last 30 days."""

    counts: Mapping[CountKey, RunCounts] = field(default_factory=dict)
    sources: Mapping[HookName, float] = field(default_factory=dict)
    """The names of all hooks in the history, to the time of the last run."""
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
        names = [source for source in self.sources if source.place in files]
        for place in ("", str(handler.place)):
            source = HookName(handler.label, place)
            if source in self.sources:
                names.append(source)
        if names:
            return names
        # Names from before an edit above the hook moved its line.
        current = {str(other.place) for other in handlers_of(engine.definitions)}
        former: list[HookName] = []
        for source in self.sources:
            file = source.place.rpartition(":")[0]
            is_same_hook = source.label == handler.label and file == handler.place.file
            if is_same_hook and source.place not in current:
                former.append(source)
        return sorted(former, key=self.sources.__getitem__)[-1:]


def read_past_results() -> PastResults:
    """Count the results of all hooks; no history is an empty one."""

    def ask(history: History) -> PastResults:
        counts: dict[CountKey, RunCounts] = {}
        for key, of_version in count_runs(history, since=time.time() - DAYS * 86400).items():
            counts.setdefault((key.agent, key.event, key.name), RunCounts()).add(of_version)
        return PastResults(counts, hook_names(history))

    return _ask(ask, PastResults())


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


def read_events(hook: PanelHook) -> list[RecordedEvent]:
    """Return recorded events of the agent and the event of a hook, the newest first."""
    chosen = Filter(agent=hook.engine.agent.name, event=hook.row.definition.event)
    return _ask(lambda history: search(history, chosen, limit=MAX_EVENTS), [])


def read_results(hook: PanelHook, sources: Collection[HookName], limit: int) -> Results:
    """Return the last results that a hook has under some names, the newest first."""

    def ask(history: History) -> Results:
        versions: list[int] = []
        for label, place in sources:
            versions += hook_versions(history, label, place)
        agent, event = hook.engine.agent.name, hook.row.definition.event
        runs = hook_runs(history, versions, agent=agent, event=event)
        results = latest_results(history, sources, runs, limit)
        return sorted(results, key=lambda pair: -pair[0].time)

    return _ask(ask, [])
