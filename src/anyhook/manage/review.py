"""What a hook would have stopped among the user's own calls that ran, and the user's labels."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.agents.translate import call_of
from anyhook.atomic_write import replace_file
from anyhook.backtest.run import BacktestProgress, run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.errors import UsageError
from anyhook.history.filters import Filter
from anyhook.history.replay import past_decisions
from anyhook.history.sessions import get_event
from anyhook.history.verdicts import DENYING, HOLDING, reason_of, verdict_of
from anyhook.journal.lines import history_directory
from anyhook.model.events import ToolEvent
from anyhook.redteam.labelled import DANGEROUS, read_rows
from anyhook.redteam.score import claimed_families
from anyhook.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anyhook.backtest.results import Decided
    from anyhook.history.store import History
    from anyhook.redteam.asking import Guard

SELECTION = Filter(event="before_tool")
SOURCE = "own history"
"""The member `source` of rows that are made of past calls."""


@dataclass(slots=True)
class ReviewGroup:
    """Calls that a hook would have stopped for the same reason.

    Attributes:
        outcome: What it would have answered.
        calls: The calls by their text, each text with the events.
        label: The label that all of its calls have in a labelled set; empty if they have none.
    """

    outcome: str
    reason: str
    calls: dict[str, list[Decided]] = field(default_factory=dict)
    label: str = ""

    @property
    def number(self) -> int:
        """Number of the events."""
        return sum(map(len, self.calls.values()))

    def ordered(self) -> list[tuple[str, list[Decided]]]:
        """Return the calls, the most frequent first."""
        return sorted(self.calls.items(), key=lambda item: (-len(item[1]), item[0]))


@dataclass(frozen=True, slots=True)
class CallReview:
    """What a hook file would have stopped among past calls that ran.

    Attributes:
        groups: What it would have stopped, the most frequent reason first.
        families: The kinds of danger that the hook is for; empty if it names none.
        problems: The first problems: what could not be read.
        problem_count: Number of all of them.
        is_complete: Whether every call was tried.
    """

    total: int
    groups: list[ReviewGroup]
    families: list[str]
    problems: list[str]
    problem_count: int
    is_complete: bool

    @property
    def stopped(self) -> int:
        """Number of the calls that it would have stopped."""
        return sum(group.number for group in self.groups)


def review_calls(
    history: History,
    guard: Guard,
    *,
    on_progress: Callable[[BacktestProgress], object] = lambda _progress: None,
) -> CallReview:
    """Ask a hook file about all past calls of tools, in a sandbox.

    The progress is reported now and then; raising `KeyboardInterrupt` there ends the review.

    Raises:
        UsageError: If the hook is not a Python file, or cannot be loaded.
        SandboxError: If no sandbox can be made.
    """
    if not guard.file:
        raise UsageError(
            f"only hook files are asked about past calls, and {guard.title} is a command; for "
            "commands: anyhook backtest --project ."
        )
    with Sandbox.for_project(Path(guard.project), discards_output=True) as sandbox:
        families = sandbox.run(claimed_families, sandbox.inside(guard.file))
    parts = list(parts_of_history(history_directory(), SELECTION))
    run = run_backtest(BacktestSubject(guard.file, guard.title), parts, on_progress=on_progress)
    result = run.result
    total, groups = result.total, list[ReviewGroup]()
    if run.is_complete:
        stopped_then: set[str] = set()
        for past in past_decisions(history, SELECTION):
            if any(verdict_of(answer) in DENYING for answer in past.answers):
                stopped_then.add(str(past.event_id))
        total -= len(stopped_then)
        by_answer: dict[tuple[str, str], ReviewGroup] = {}
        for event in result.decided:
            if event.outcome not in HOLDING or event.ref in stopped_then:
                continue
            key = (event.outcome, reason_of(event.decision))
            group = by_answer.setdefault(key, ReviewGroup(*key))
            group.calls.setdefault(event.text, []).append(event)
        groups = sorted(by_answer.values(), key=lambda group: (-group.number, group.reason))
    return CallReview(
        total, groups, families, result.problems, result.problem_count, run.is_complete
    )


# -- labels


def own_set() -> Path:
    """Return the labelled set of the user's own calls, next to the history."""
    return Path(history_directory()) / "labelled-calls.jsonl"


def mark_labels(history: History, groups: Iterable[ReviewGroup], path: Path) -> None:
    """Set the labels that groups have in a labelled set, which may be missing.

    Raises:
        UsageError: If the set cannot be read.
    """
    labels = {_call_in(row): str(row.get("label", "")) for row in _own_rows(path).values()}
    if not labels:
        return
    for group in groups:
        calls = [_row_of(history, events[0]) for events in group.calls.values()]
        (label, *others) = {labels.get(_call_in(row), "") for row in calls}
        group.label = "" if others else label


def label_calls(
    history: History, calls: Iterable[Decided], label: str, families: Sequence[str], path: Path
) -> None:
    """Add past calls to a labelled set, which is made if it is missing.

    A row of the same call that was made of the history before is replaced; other rows stay. The
    label is `dangerous` or `benign`, and holds for kinds of danger; of a benign call, none stands
    for all.

    Raises:
        UsageError: If a dangerous call has no families, or the set cannot be read or written.
    """
    if label == DANGEROUS and not families:
        raise UsageError(
            "a dangerous call needs kinds of danger; write them into the hook file, like "
            'hooks.about(families=["git"])'
        )
    members = {"label": label, "families": list(families), "source": SOURCE}
    rows: dict[str, dict[str, Any]] = {}
    for call in calls:
        row = _row_of(history, call)
        rows[_call_in(row)] = {**row, **members}
    replaced = {line for line, row in _own_rows(path).items() if _call_in(row) in rows}
    try:
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        lines = [line for line in lines if line.strip() and line not in replaced]
        lines += [json.dumps(row, ensure_ascii=False) for row in rows.values()]
        replace_file(path, "".join(f"{line}\n" for line in lines).encode(), mode=0o600)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error.strerror}") from error


def _row_of(history: History, event: Decided) -> dict[str, Any]:
    """Return a past call as a row without a label, by the canonical names of its tool."""
    recorded = get_event(history, int(event.ref))
    agent = get_agent(recorded.agent)
    decoded, _ = decode_event(agent, recorded.payload)
    if not isinstance(decoded, ToolEvent):
        raise TypeError(f"{decoded.name} has no tool")
    place = {"cwd": decoded.cwd} if decoded.cwd else {}
    call = call_of(decoded, agent)
    if call.tool == "shell" and isinstance(call.arguments.get("command"), str):
        return {"command": call.arguments["command"], **place}
    content = {"event": decoded.name, "tool": call.tool, "input": dict(call.arguments)}
    return {"event": content, **place}


def _call_in(row: Mapping[str, Any]) -> str:
    """Return what identifies the call of a row."""
    return json.dumps([row.get(name) for name in ("command", "event", "cwd")], sort_keys=True)


def _own_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a labelled set that were made of past calls, by their lines."""
    if not path.exists():
        return {}
    rows = [(line, row) for _, line, row in read_rows(path) if isinstance(row, dict)]
    return {line: row for line, row in rows if row.get("source") == SOURCE}
