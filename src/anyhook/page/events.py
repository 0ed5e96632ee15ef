"""The parts of a recorded event that the views show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.history.describe import subject_of
from anyhook.history.verdicts import NO_VERDICT
from anyhook.journal.records import RECORDER_KIND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.history.events import RecordedEvent, RecordedResult

HEADLINE = ("outcome", "reason")
"""Fields of an answer that the list of hooks shows apart from the others."""
WORST_TROUBLE = ("failed", "timed_out", "withheld", "warned")
"""Kinds of trouble that a list of events shows, the worst first."""
SOURCES = {
    "engine": "by an engine",
    "hook": "by a hook file",
    "tap": "by a recorder around a command",
    "import": "in the agent's transcript",
}
"""Source of an event to where it was seen."""


@dataclass(frozen=True, slots=True)
class BlameLine:
    """Which hook set a field, or a part of it."""

    part: str
    """Path below the field, like `content` of `tool_input.content`; empty for all of it."""
    hook: str
    """Its label."""
    place: str
    overrode: tuple[Mapping[str, Any], ...]
    """`hook` and `value` of each value that it replaced."""


def blame_of(blame: Mapping[str, Any], name: str) -> list[BlameLine]:
    """Return the hooks that set a field of a decision."""
    lines: list[BlameLine] = []
    for key, entries in blame.items():
        if key != name and not key.startswith(f"{name}."):
            continue
        part = key[len(name) + 1 :]
        for entry in entries:
            overrode = tuple(entry.get("overrode", ()))
            lines.append(BlameLine(part, entry["hook"], entry.get("place", ""), overrode))
    return lines


def deciders(event: RecordedEvent) -> list[tuple[str, str]]:
    """Return label and position of the hooks that set the verdict of an event.

    Records of hook files have no blame: there, it is the hooks with the same answer.
    """
    decision = event.decision or {}
    name = "stop" if event.verdict == "stop" else "outcome"
    blamed = blame_of(decision.get("blame", {}), name)
    if blamed:
        return [(line.hook, line.place) for line in blamed]
    if event.verdict == NO_VERDICT:
        return []
    return [
        (result.hook, result.place)
        for result in event.results
        if result.verdict == event.verdict and not result.shadow
    ]


def author_results(event: RecordedEvent) -> tuple[RecordedResult, ...]:
    """Return the results of an event without that of the recorder, which every event has."""
    return tuple(result for result in event.results if result.kind != RECORDER_KIND)


def worst_trouble(event: RecordedEvent) -> str:
    """Return the worst trouble that a hook had on an event; empty if none had any."""
    kinds = {result.trouble for result in event.results}
    for kind in WORST_TROUBLE:
        if kind in kinds:
            return kind
    return ""


def one_row_per_call(events: Iterable[RecordedEvent]) -> list[RecordedEvent]:
    """Leave out the end of each call that is listed, unless a hook decided or failed there."""
    events = list(events)
    calls = {_call_of(event) for event in events if event.event == "before_tool"}
    return [
        event
        for event in events
        if event.event != "after_tool"
        or event.verdict != NO_VERDICT
        or worst_trouble(event)
        or _call_of(event) not in calls
    ]


def _call_of(event: RecordedEvent) -> tuple[str, str, str | None, str]:
    return event.agent, event.session, event.tool, subject_of(event)


def decision_fields(decision: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the fields of a decision without the blame, the verdict first."""
    fields = [(name, value) for name, value in decision.items() if name != "blame"]
    return sorted(fields, key=lambda field: field[0] != "outcome")


def other_fields(answer: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields of an answer other than its verdict."""
    return [name for name in answer if name not in HEADLINE]


def longest(results: Iterable[RecordedResult]) -> float:
    """Return the seconds from the start of an event to the end of its last hook."""
    ends = [result.started + (result.duration or 0.0) for result in results]
    return max(ends, default=0.0) or 1.0
