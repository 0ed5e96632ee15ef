"""Put together what several hooks have recorded about one event.

An agent sends an event to each of its hooks, and each hook file records it with its own answer. An
event of a hook belongs to one that is already there if both have the same payload, the session is
the same, it happened shortly before, and the hook has not answered it yet.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anyhook.history.rows import dump, identity_of
from anyhook.model.answers import STRENGTH, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.history.events import RecordedEvent
    from anyhook.history.store import History

WINDOW = 600.0
"""Seconds between two hooks of one event: the longest usual timeout."""
MERGED_SOURCES = ("hook", "tap")
"""Sources of which each record is about one hook."""


class Merger:
    """Adds events to a store; those of several hooks are put together.

    Args:
        history: The store.
    """

    def __init__(self, history: History) -> None:
        self._history = history

    def add(self, events: Iterable[RecordedEvent]) -> int:
        """Add events within a transaction of the caller, and return how many are new."""
        new: list[RecordedEvent] = []
        by_identity: dict[tuple[str, bytes], int] = {}
        merged = 0
        for event in events:
            if event.source not in MERGED_SOURCES:
                new.append(event)
                continue
            identity = identity_of(event.agent, event.event, dump(event.payload))
            position = by_identity.get((event.session, identity))
            if position is not None and _belongs(new[position], event):
                new[position] = _merge(new[position], event)
            elif self._merge_into_stored(event, identity):
                merged += 1
            else:
                by_identity[event.session, identity] = len(new)
                new.append(event)
        self._history.insert(new, redact=False)
        return len(new)

    def _merge_into_stored(self, event: RecordedEvent, identity: bytes) -> bool:
        connection = self._history.connection
        row = connection.execute(
            "SELECT events.id, decision FROM events JOIN sessions ON sessions.id = session_id"
            " JOIN bodies ON event_id = events.id WHERE agent = ? AND session = ?"
            " AND identity = ? AND abs(time - ?) < ? AND source IN ('hook', 'tap')"
            " ORDER BY time DESC LIMIT 1",
            (event.agent, event.session, identity, event.time, WINDOW),
        ).fetchone()
        if row is None:
            return False
        number, decision = row
        hooks = connection.execute(
            "SELECT label, place FROM results JOIN hooks ON hooks.id = hook_id WHERE event_id = ?",
            (number,),
        ).fetchall()
        if any((result.hook, result.place) in hooks for result in event.results):
            return False
        self._history.add_results(
            number,
            event,
            combine(None if decision is None else json.loads(decision), event.decision),
        )
        return True


def _belongs(first: RecordedEvent, second: RecordedEvent) -> bool:
    known = {(result.hook, result.place) for result in first.results}
    is_new = not any((result.hook, result.place) in known for result in second.results)
    return is_new and abs(first.time - second.time) < WINDOW


def _merge(first: RecordedEvent, second: RecordedEvent) -> RecordedEvent:
    return replace(
        first,
        decision=combine(first.decision, second.decision),
        results=(*first.results, *second.results),
        time=min(first.time, second.time),
    )


def combine(
    first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the decision of two answers: the stronger verdict with its reason, and all else."""
    if first is None or second is None:
        found = first if second is None else second
        return None if found is None else dict(found)
    weaker, stronger = first, second
    if _strength(first) >= _strength(second):
        weaker, stronger = second, first
    combined = {**weaker, **stronger}
    if stronger.get("outcome") and "reason" not in stronger:
        combined.pop("reason", None)
    return combined


def _strength(decision: Mapping[str, Any]) -> int:
    try:
        return STRENGTH[Outcome(decision.get("outcome", Outcome.NONE))]
    except ValueError:  # of a newer release
        return STRENGTH[Outcome.NONE]
