"""What the history knows about hooks. It is opened for reading only, and may be missing."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from anyhook.history.filters import Filter
from anyhook.history.hooks import (
    RecordedHook,
    RunCounts,
    RunKey,
    count_runs,
    hook_runs,
    latest_results,
    recorded_hooks,
)
from anyhook.history.search import search
from anyhook.history.store import History
from anyhook.manage.recorded_hooks import records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyhook.cli.panel.actions import HookKey, PanelHook
    from anyhook.history.events import RecordedEvent, RecordedResult

    Results = list[tuple[RecordedEvent, RecordedResult]]

T = TypeVar("T")
DAYS = 30
"""Days that are counted."""
MAX_EVENTS = 50
"""Recorded events that are offered to be fired again."""


@dataclass(slots=True)
class PastResults:
    """Counts of the hooks of the last 30 days."""

    counts: Mapping[RunKey, RunCounts] = field(default_factory=dict)
    recorded: Sequence[RecordedHook] = ()
    """All hooks in the history."""
    _records: dict[HookKey, list[RecordedHook]] = field(default_factory=dict, compare=False)

    def of(self, hook: PanelHook) -> RunCounts | None:
        """Return the counts of a hook; `None` if it did not run."""
        agent, event = hook.engine.agent.name, hook.row.definition.event
        sums = RunCounts()
        for record in self.records_of(hook):
            counts = self.counts.get(RunKey(agent, event, record.name, record.number))
            if counts is not None:
                sums.add(counts)
        return sums if sums.runs else None

    def records_of(self, hook: PanelHook) -> list[RecordedHook]:
        """Return what is recorded of a hook; empty for nothing."""
        if hook.is_recorder or not self.recorded:
            return []
        key = (*hook.key, str(hook.handler.place))
        if key not in self._records:
            self._records[key] = records_of(hook.engine, hook.handler, self.recorded)
        return self._records[key]


def read_past_results() -> PastResults:
    """Count the results of all hooks; no history is an empty one."""

    def ask(history: History) -> PastResults:
        counts = count_runs(history, since=time.time() - DAYS * 86400)
        return PastResults(counts, recorded_hooks(history))

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


def read_recorded_events(hook: PanelHook) -> list[RecordedEvent]:
    """Return recorded events of the agent and the event of a hook, the newest first."""
    chosen = Filter(agent=hook.engine.agent.name, event=hook.row.definition.event)
    return _ask(lambda history: search(history, chosen, limit=MAX_EVENTS), [])


def read_results(hook: PanelHook, records: Sequence[RecordedHook], limit: int) -> Results:
    """Return the last results of a hook that is recorded as some versions, the newest first."""

    def ask(history: History) -> Results:
        numbers = [record.number for record in records]
        agent, event = hook.engine.agent.name, hook.row.definition.event
        runs = hook_runs(history, numbers, agent=agent, event=event)
        results = latest_results(history, records, runs, limit)
        return sorted(results, key=lambda pair: -pair[0].time)

    return _ask(ask, [])
