"""Put together what several hooks have recorded about one event.

An agent sends an event to each of its hooks, and each hook file or tap records it with its own
answer. An event of a hook belongs to one that is already there if both have the same payload, the
session is the same, it happened shortly before, and the hook has not answered it yet.

Hooks may share a name: two command lines with `grep`, or `check.sh` of the user and of the project.
Another command, file or content is another hook. A payload with the identifier of a call is
certainly the same event then. Without one, the user may have edited the hook before an equal event,
so its run has to begin before the others have ended, or right after.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.history.rows import dump, identity_of
from anyhook.model.answers import STRENGTH, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.history.store import History

WINDOW = 600.0
"""Seconds between two hooks of one event: the longest usual timeout."""
START_DELAY = 5.0
"""Seconds in which an agent starts the next hook of an event."""
MERGED_SOURCES = ("hook", "tap")
"""Sources of which each record is about one hook."""


class _Run(NamedTuple):
    """A hook that has answered an event.

    Attributes:
        name: Label and place of the hook.
        version: Its file and its content hash.
        began: Unix timestamp.
        ended: Unix timestamp.
    """

    name: tuple[str, str]
    version: tuple[str, str]
    began: float
    ended: float


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
            position = next((n for n in reversed(equal) if self._belongs(new[n], event)), None)
            if position is not None:
                new[position] = _merge(new[position], event)
            elif not self._merge_into_stored(event, identity):
                equal.append(len(new))
                new.append(event)
        self._history.insert(new, redact=False)
        return len(new)

    def _belongs(self, first: RecordedEvent, second: RecordedEvent) -> bool:
        is_near = abs(first.time - second.time) < WINDOW
        return is_near and _is_same_event(self._runs_of(first), self._runs_of(second), second)

    def _runs_of(self, event: RecordedEvent) -> list[_Run]:
        runs: list[_Run] = []
        for result in event.results:
            version = (result.version.get("file") or "", self._history.digest_of(result) or "")
            name = (result.hook, result.place)
            runs.append(_run(name, version, event.time, result.started, result.duration))
        return runs

    def _merge_into_stored(self, event: RecordedEvent, identity: bytes) -> bool:
        connection = self._history.connection
        rows = connection.execute(
            "SELECT events.id, time, decision FROM events JOIN sessions ON sessions.id = session_id"
            " JOIN bodies ON event_id = events.id WHERE agent = ? AND session = ?"
            " AND identity = ? AND time > ? AND time < ? AND source IN ('hook', 'tap')"
            " ORDER BY time DESC",
            (event.agent, event.session, identity, event.time - WINDOW, event.time + WINDOW),
        ).fetchall()
        for number, time, decision in rows:
            if _is_same_event(self._stored_runs(number, time), self._runs_of(event), event):
                stored = None if decision is None else json.loads(decision)
                further = event._replace(results=_since(time, event))
                self._history.add_results(number, further, combine(stored, event.decision))
                return True
        return False

    def _stored_runs(self, number: int, time: float) -> list[_Run]:
        rows = self._history.connection.execute(
            "SELECT label, place, file, digest, started, duration FROM results"
            " JOIN hooks ON hooks.id = hook_id WHERE event_id = ?",
            (number,),
        )
        return [
            _run((label, place), (file or "", digest or ""), time, started, duration)
            for label, place, file, digest, started, duration in rows
        ]


def _run(
    name: tuple[str, str],
    version: tuple[str, str],
    time: float,
    started: float | None,
    duration: float | None,
) -> _Run:
    began = time + (started or 0.0)
    return _Run(name, version, began, began + (duration or 0.0))


def _is_same_event(known: list[_Run], further: list[_Run], event: RecordedEvent) -> bool:
    """Return whether hooks have answered the event that other hooks have answered.

    Args:
        known: The hooks of the event that is there.
        further: The hooks of an event with the same payload.
        event: The event of `further`.
    """
    has_identifier = bool(event.payload.get("tool_use_id"))
    for run in further:
        for other in known:
            if run.name != other.name:
                continue
            if run.version == other.version:
                return False  # the event happened twice
            if not (has_identifier or _is_next_to(run, other)):
                return False
    return True


def _is_next_to(first: _Run, second: _Run) -> bool:
    """Return whether two hooks ran at the same time, or one right after the other."""
    return max(first.began, second.began) - min(first.ended, second.ended) < START_DELAY


def _merge(first: RecordedEvent, second: RecordedEvent) -> RecordedEvent:
    time = min(first.time, second.time)
    return first._replace(
        decision=combine(first.decision, second.decision),
        results=(*_since(time, first), *_since(time, second)),
        time=time,
    )


def _since(time: float, event: RecordedEvent) -> tuple[RecordedResult, ...]:
    """Return the results of an event with their starts counted from another time."""
    delay = max(0.0, round(event.time - time, 6))
    if not delay:
        return event.results
    return tuple([replace(one, started=one.started + delay) for one in event.results])


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
