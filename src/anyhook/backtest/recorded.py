"""The decisions that were made when the events happened, as a baseline."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.backtest.decided import crash_text, shown_text
from anyhook.backtest.results import Decided, Result
from anyhook.history.replay import count_runs, past_answers, past_decisions, versions_by_file
from anyhook.model.answers import STRENGTH

if TYPE_CHECKING:
    from anyhook.backtest.subjects import BacktestSubject
    from anyhook.history.filters import Filter
    from anyhook.history.replay import PastDecision
    from anyhook.history.store import History


@dataclass(frozen=True, slots=True)
class RecordedBaseline:
    """What was decided when the events of a selection happened."""

    title: str
    result: Result


def recorded_baseline(
    history: History, selection: Filter, subject: BacktestSubject, after: Result
) -> RecordedBaseline:
    """Return the recorded decisions on the events of a selection.

    A hook file is compared with its own answers if it was recorded on one of the events: others
    have decided, too. Without such answers, and for a project, the decisions of all hooks count.
    `after` is the result of the subject; both count the same events.
    """
    result = Result(after.events, after.sessions)
    if subject.is_project:
        title = "what was recorded"
    else:
        versions = _versions_of_file(history, subject.path)
        number = count_runs(history, selection, versions) if versions else 0
        if number:
            for past in past_answers(history, selection, versions):
                result.add_decided(_decided(past))
            title = (
                f"what {subject.title} answered when it was recorded, on {number:,} of these events"
            )
            return RecordedBaseline(title, result)
        title = f"all hooks together, because {subject.title} was never recorded"
    for past in past_decisions(history, selection):
        result.add_decided(_decided(past))
    return RecordedBaseline(title, result)


def _versions_of_file(history: History, path: str) -> list[int]:
    """Return the numbers of the versions of a hook file.

    A hook of the same name counts if its file is not there any more: it was moved.
    """
    name, own, moved = Path(path).name, [], []
    for number, label, file in versions_by_file(history):
        if file and os.path.realpath(file) in (path, os.path.realpath(path)):
            own.append(number)
        elif label == name and not (file and os.path.exists(file)):  # noqa: PTH110 - a text
            moved.append(number)
    return own or moved


def _decided(past: PastDecision) -> Decided:
    """Return a decision; of several answers of one hook file, the strongest verdict counts."""
    fields: dict[str, Any] = {}
    ranks = {str(outcome): rank for outcome, rank in STRENGTH.items()}
    for answer in sorted(past.answers, key=lambda answer: ranks.get(answer.get("outcome", ""), 0)):
        fields |= answer
    return Decided(
        str(past.event_id),
        past.session,
        past.event,
        past.tool,
        shown_text(past.payload),
        fields,
        past.hooks,
        crash=crash_text(past.error) if past.error else "",
    )
