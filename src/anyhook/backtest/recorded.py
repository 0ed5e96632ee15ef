"""The decisions that were made when the events happened, as a baseline."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.backtest.decided import crash_text, shown_text
from anyhook.backtest.results import Decided, Result
from anyhook.model.answers import STRENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anyhook.backtest.sources import Selection
    from anyhook.backtest.subjects import Subject
    from anyhook.history.store import History

FAILED = "('failed', 'timed_out')"
"""Statuses of results that count as a crash."""


@dataclass(frozen=True, slots=True)
class RecordedBaseline:
    """What was decided when the events of a selection happened.

    Attributes:
        title: Whose decisions these are, for people.
        result: The decisions.
    """

    title: str
    result: Result


def recorded_baseline(
    history: History, selection: Selection, subject: Subject, after: Result
) -> RecordedBaseline:
    """Return the recorded decisions on the events of a selection.

    A hook file is compared with its own answers if it was recorded on one of the events: others
    have decided, too. Without such answers, and for a project, the decisions of all hooks count.

    Args:
        history: The store.
        selection: The events.
        subject: What was evaluated.
        after: Its result; both count the same events.
    """
    result = Result(after.events, after.sessions)
    if subject.is_project:
        title = "what was recorded"
    else:
        numbers = _numbers_of_hook(history, subject.path)
        if numbers and _has_results(history, selection, numbers):
            for decided in _answers_of(history, selection, numbers):
                result.add_decided(decided)
            return RecordedBaseline(f"what {subject.title} answered when it was recorded", result)
        title = f"the recorded decisions of all hooks, because {subject.title} was not recorded"
    for decided in _decisions(history, selection):
        result.add_decided(decided)
    return RecordedBaseline(title, result)


def _numbers_of_hook(history: History, path: str) -> list[int]:
    """Return the numbers of the versions of a hook file.

    A hook of the same name counts if its file is not there any more: it was moved.
    """
    name, own, moved = Path(path).name, [], []
    rows = history.connection.execute("SELECT id, label, place, file FROM hooks")
    for number, label, place, file in rows:
        known = file or place.rpartition(":")[0] or place
        if known and os.path.realpath(known) in (path, os.path.realpath(path)):
            own.append(number)
        elif label == name and not (known and os.path.exists(known)):  # noqa: PTH110 - a text
            moved.append(number)
    return own or moved


def _has_results(history: History, selection: Selection, numbers: Iterable[int]) -> bool:
    condition, values = selection.condition()
    row = history.connection.execute(
        "SELECT 1 FROM results JOIN events ON events.id = results.event_id"
        f" JOIN sessions ON sessions.id = session_id WHERE {condition}"
        f" AND hook_id IN ({_listed(numbers)}) LIMIT 1",
        values,
    ).fetchone()
    return row is not None


def _answers_of(
    history: History, selection: Selection, numbers: Iterable[int]
) -> Iterator[Decided]:
    """Yield the events on which a hook had an opinion, or has failed."""
    condition, values = selection.condition()
    rows = history.connection.execute(
        "SELECT events.id, agent || '/' || session, event, tool, payload,"
        " json_group_array(json(answer)) FILTER (WHERE answer IS NOT NULL),"
        f" max(CASE WHEN status IN {FAILED} THEN ifnull(error, status) END),"
        " group_concat(DISTINCT label) FROM results"
        " JOIN hooks ON hooks.id = hook_id JOIN events ON events.id = results.event_id"
        " JOIN sessions ON sessions.id = session_id JOIN bodies ON bodies.event_id = events.id"
        f" WHERE {condition} AND hook_id IN ({_listed(numbers)})"
        f" AND (answer IS NOT NULL OR status IN {FAILED}) GROUP BY events.id ORDER BY events.id",
        values,
    )
    for *columns, answers, error, label in rows:
        yield _decided(columns, _strongest(json.loads(answers)), [label], error)


def _strongest(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of several answers of one hook file; the strongest verdict counts."""
    fields: dict[str, Any] = {}
    ranks = {str(outcome): rank for outcome, rank in STRENGTH.items()}
    for answer in sorted(answers, key=lambda one: ranks.get(one.get("outcome", ""), 0)):
        fields |= answer
    return fields


def _decisions(history: History, selection: Selection) -> Iterator[Decided]:
    """Yield the events on which all hooks together had an opinion, or one has failed."""
    condition, values = selection.condition()
    rows = history.connection.execute(
        "SELECT events.id, agent || '/' || session, event, tool, payload, decision,"
        " (SELECT group_concat(label, char(10)) FROM results JOIN hooks ON hooks.id = hook_id"
        "  WHERE results.event_id = events.id AND answer IS NOT NULL),"
        " (SELECT max(ifnull(error, status)) FROM results"
        f"  WHERE results.event_id = events.id AND status IN {FAILED}) AS failure FROM events"
        " JOIN sessions ON sessions.id = session_id JOIN bodies ON bodies.event_id = events.id"
        f" WHERE {condition} AND (decision <> '{{}}' OR failure IS NOT NULL) ORDER BY events.id",
        values,
    )
    for *columns, decision, labels, error in rows:
        fields = json.loads(decision) if decision else {}
        fields.pop("blame", None)
        if fields or error:
            yield _decided(columns, fields, sorted(labels.split("\n") if labels else []), error)


def _decided(
    columns: list[Any], fields: Mapping[str, Any], hooks: Iterable[str], error: str | None
) -> Decided:
    number, session, event, tool, payload = columns
    text = shown_text(json.loads(payload))
    crash = crash_text(error) if error else ""
    return Decided(str(number), session, event, tool, text, fields, tuple(hooks), crash=crash)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
