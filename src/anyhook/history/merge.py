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
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.outline import member_of
from anyhook.history.events import hook_digest
from anyhook.history.rows import dump, event_identity, storable_name, with_storable_names
from anyhook.journal.records import answer_record
from anyhook.model.answers import STRENGTH, Answer, Outcome
from anyhook.model.llm import check_request, check_response, check_tool_config
from anyhook.model.record import replace
from anyhook.model.sequence import combine_answers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.history.store import History

    HookKey = tuple[tuple[str, str], tuple[str, str]]
    """The name of a hook, and its version."""

WINDOW = 600.0
"""Seconds between two hooks of one event: the longest usual timeout."""
START_DELAY = 5.0
"""Seconds in which an agent starts the next hook of an event."""
MERGED_SOURCES = ("hook", "tap")
"""Sources of which each record is about one hook."""


MAX_COMPARED = 100
"""Events of one payload, which a hook has not answered yet, that are compared with a new answer."""


class _Run(NamedTuple):
    """A hook that has answered an event."""

    name: tuple[str, str]
    version: tuple[str, str]
    began: float
    """Unix timestamp, as `ended`."""
    ended: float


@dataclass(slots=True)
class _KnownEvent:
    """An event that is stored, or is about to be."""

    number: int
    """Its number in the store; its position among the new ones if it is not stored yet."""
    is_stored: bool
    time: float
    """Unix timestamp."""
    runs: dict[tuple[str, str], list[_Run]] = field(default_factory=dict)

    def add(self, runs: Iterable[_Run]) -> None:
        """Add hooks that have answered the event."""
        for run in runs:
            self.runs.setdefault(run.name, []).append(run)

    def has(self, run: _Run) -> bool:
        """Return whether a hook of this version has answered the event."""
        return any(other.version == run.version for other in self.runs.get(run.name, ()))


class _EqualEvents:
    """The known events of one session with one payload, in the order of their time.

    A loop sends thousands of them, so those that a hook has not answered yet are kept for each
    hook: comparing every event with every other one took minutes.
    """

    def __init__(self) -> None:
        self._events: list[_KnownEvent] = []
        self._unanswered: dict[HookKey, list[_KnownEvent]] = {}
        self._runs: dict[HookKey, _Run] = {}

    def add(self, known: _KnownEvent) -> None:
        """Add an event, which is later than the others."""
        self._events.append(known)
        for key, unanswered in self._unanswered.items():
            if not known.has(self._runs[key]):
                unanswered.append(known)

    def take(self, event: RecordedEvent, runs: list[_Run]) -> _KnownEvent | None:
        """Return the last event that an answer belongs to, and add the hooks that gave it.

        The last one comes first: a call may be repeated, or parallel calls may be equal.
        """
        candidates = self._events
        if runs:
            first = runs[0]
            key = (first.name, first.version)
            if key not in self._unanswered:
                self._runs[key] = first
                self._unanswered[key] = [
                    earlier for earlier in self._events if not earlier.has(first)
                ]
            candidates = self._unanswered[key]
        for earlier in islice(reversed(candidates), MAX_COMPARED):
            if abs(earlier.time - event.time) < WINDOW and _is_same_event(earlier, runs, event):
                earlier.add(runs)
                for run in runs:
                    _remove_last(self._unanswered.get((run.name, run.version), []), earlier)
                return earlier
        return None


def _remove_last(events: list[_KnownEvent], event: _KnownEvent) -> None:
    """Remove an event from a list; it is near the end."""
    for index in reversed(range(len(events))):
        if events[index] is event:
            del events[index]
            return


def add_merged(history: History, events: Iterable[RecordedEvent]) -> int:
    """Add events within a transaction of the caller, and return how many are new.

    Those of several hooks are put together.
    """
    # Stored events have such names, and these are compared with them.
    batch = [with_storable_names(event) for event in events]
    times = [event.time for event in batch if event.source in MERGED_SOURCES]
    new: list[RecordedEvent] = []
    groups: dict[tuple[str, bytes], _EqualEvents] = {}
    for event in batch:
        if event.source not in MERGED_SOURCES:
            new.append(event)
            continue
        identity = event_identity(event.agent, event.event, dump(event.payload))
        key = (event.session, identity)
        if key not in groups:
            groups[key] = _stored_events(history, event, identity, min(times), max(times))
        runs: list[_Run] = []
        for result in event.results:
            version = (storable_name(result.version.get("file") or ""), hook_digest(result) or "")
            name = (result.hook, result.place)
            runs.append(_run(name, version, event.time, result.started, result.duration))
        earlier = groups[key].take(event, runs)
        if earlier is None:
            earlier = _KnownEvent(len(new), is_stored=False, time=event.time)
            earlier.add(runs)
            groups[key].add(earlier)
            new.append(event)
        elif earlier.is_stored:
            _add_to_stored(history, earlier, event)
        else:
            first = new[earlier.number]
            earlier.time = min(first.time, event.time)
            new[earlier.number] = first._replace(
                decision=merge_decisions(event.event, first.decision, event.decision),
                results=(*_since(earlier.time, first), *_since(earlier.time, event)),
                time=earlier.time,
            )
    history.insert(new, redact=False)
    return len(new)


def _stored_events(
    history: History, event: RecordedEvent, identity: bytes, earliest: float, latest: float
) -> _EqualEvents:
    """Return the stored events that hooks of a batch may have answered, too.

    `earliest` and `latest` are the Unix timestamps of the first and the last event of the batch.
    """
    rows = history.connection.execute(
        "SELECT events.id, time, label, place, file, digest, results.started, duration"
        " FROM events JOIN sessions ON sessions.id = session_id"
        " LEFT JOIN results ON results.event_id = events.id"
        " LEFT JOIN hooks ON hooks.id = hook_id WHERE agent = ? AND session = ?"
        " AND identity = ? AND time > ? AND time < ? AND source IN ('hook', 'tap')"
        " ORDER BY time, events.id",
        (event.agent, event.session, identity, earliest - WINDOW, latest + WINDOW),
    )
    events: dict[int, _KnownEvent] = {}
    for number, time, label, place, file, digest, started, duration in rows:
        stored = events.setdefault(number, _KnownEvent(number, is_stored=True, time=time))
        if label is not None:
            version = (file or "", digest or "")
            stored.add([_run((label, place), version, time, started, duration)])
    equal = _EqualEvents()
    for stored in events.values():
        equal.add(stored)
    return equal


def _add_to_stored(history: History, earlier: _KnownEvent, event: RecordedEvent) -> None:
    (decision,) = history.connection.execute(
        "SELECT decision FROM bodies WHERE event_id = ?", (earlier.number,)
    ).fetchone()
    stored = None if decision is None else json.loads(decision)
    further = event._replace(results=_since(earlier.time, event))
    merged = merge_decisions(event.event, stored, event.decision)
    history.add_results(earlier.number, further, merged)


def _run(
    name: tuple[str, str],
    version: tuple[str, str],
    time: float,
    started: float | None,
    duration: float | None,
) -> _Run:
    began = time + (started or 0.0)
    return _Run(name, version, began, began + (duration or 0.0))


def _is_same_event(earlier: _KnownEvent, further: list[_Run], event: RecordedEvent) -> bool:
    """Return whether hooks have answered the event that other hooks have answered.

    `further` are the hooks of `event`, which has the same payload as the known one.
    """
    agent = get_agent(event.agent)
    for run in further:
        for other in earlier.runs.get(run.name, ()):
            if run.version == other.version:
                return False  # the event happened twice
            # Without an identifier, they ran at the same time, or one right after the other.
            pause = max(run.began, other.began) - min(run.ended, other.ended)
            if pause >= START_DELAY and not member_of(agent, event.payload, "tool_use_id"):
                return False
    return True


def _since(time: float, event: RecordedEvent) -> tuple[RecordedResult, ...]:
    """Return the results of an event with their starts counted from another time."""
    delay = max(0.0, round(event.time - time, 6))
    if not delay:
        return event.results
    return tuple([replace(result, started=result.started + delay) for result in event.results])


# -- the decision of several answers


_TYPES: dict[str, type] = {
    **dict.fromkeys(("reason", "stop_reason"), str),
    **dict.fromkeys(("stop", "approve", "suppress_output", "clear_context"), bool),
    **dict.fromkeys(("tool_input", "tail_tool_call", "extra"), dict),
    "tool_output": object,
}
"""Field of a recorded answer to the type of its value."""
_CHECKS: dict[str, Callable[[dict[str, Any]], tuple[Any, list[str]]]] = {
    "llm_request": check_request,
    "llm_response": check_response,
    "tool_config": check_tool_config,
}
"""Field of a recorded answer to what returns the members that have the right type."""
_TEXTS = ("context", "system_messages")
"""Fields of a record with a list of texts."""


def merge_decisions(
    event: str, first: Mapping[str, Any] | None, second: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return what two recorded answers to an event decide together.

    `event` is its canonical name. The answers are combined as those of the functions of one hook
    file are, and their texts stay apart, as in the decision of an engine.
    """
    if first is None or second is None:
        decision = first if second is None else second
        return None if decision is None else dict(decision)
    answers = [_read_answer(first), _read_answer(second)]
    merged = answer_record(combine_answers(answers, patches_response=event == "after_model"))
    for name in _TEXTS:
        texts = [*_read_texts(first, name), *_read_texts(second, name)]
        if texts:
            merged[name] = texts
    return merged


def _read_answer(record: Mapping[str, Any]) -> Answer:
    """Return an answer without its texts.

    A value of a wrong type, which a hook may have returned, and an outcome of a newer release are
    left out; both are stored with the result of the hook.
    """
    fields: dict[str, Any] = {}
    if record.get("outcome") in STRENGTH:
        fields["outcome"] = Outcome(record["outcome"])
    for name, expected_type in _TYPES.items():
        if name in record and isinstance(record[name], expected_type):
            fields[name] = record[name]
    for name, check in _CHECKS.items():
        if isinstance(record.get(name), dict):
            fields[name], _ = check(record[name])
    return Answer(**fields)


def _read_texts(record: Mapping[str, Any], name: str) -> list[str]:
    texts = record.get(name)
    if not isinstance(texts, list):
        return []
    return [text for text in texts if isinstance(text, str)]
