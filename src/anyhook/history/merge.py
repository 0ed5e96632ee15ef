"""Put together what several hooks have recorded about one event.

An agent sends an event to each of its hooks, and each hook file records it with its own answer. An
event of a hook belongs to one that is already there if both have the same payload, the session is
the same, it happened shortly before, and the hook has not answered it yet.
"""

from __future__ import annotations

import json
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
        by_identity: dict[tuple[str, bytes], list[int]] = {}
        for event in events:
            if event.source not in MERGED_SOURCES:
                new.append(event)
                continue
            identity = identity_of(event.agent, event.event, dump(event.payload))
            equal = by_identity.setdefault((event.session, identity), [])
            # The last one first: a call may be repeated, or parallel calls may be equal.
            position = next((n for n in reversed(equal) if _belongs(new[n], event)), None)
            if position is not None:
                new[position] = _merge(new[position], event)
            elif not self._merge_into_stored(event, identity):
                equal.append(len(new))
                new.append(event)
        self._history.insert(new, redact=False)
        return len(new)

    def _merge_into_stored(self, event: RecordedEvent, identity: bytes) -> bool:
        connection = self._history.connection
        rows = connection.execute(
            "SELECT events.id, decision FROM events JOIN sessions ON sessions.id = session_id"
            " JOIN bodies ON event_id = events.id WHERE agent = ? AND session = ?"
            " AND identity = ? AND time > ? AND time < ? AND source IN ('hook', 'tap')"
            " ORDER BY time DESC",
            (event.agent, event.session, identity, event.time - WINDOW, event.time + WINDOW),
        ).fetchall()
        for number, decision in rows:
            hooks = connection.execute(
                "SELECT label, place FROM results JOIN hooks ON hooks.id = hook_id"
                " WHERE event_id = ?",
                (number,),
            ).fetchall()
            if not any((result.hook, result.place) in hooks for result in event.results):
                stored = None if decision is None else json.loads(decision)
                self._history.add_results(number, event, combine(stored, event.decision))
                return True
        return False


def _belongs(first: RecordedEvent, second: RecordedEvent) -> bool:
    known = {(result.hook, result.place) for result in first.results}
    is_new = not any((result.hook, result.place) in known for result in second.results)
    return is_new and abs(first.time - second.time) < WINDOW


def _merge(first: RecordedEvent, second: RecordedEvent) -> RecordedEvent:
    return first._replace(
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
