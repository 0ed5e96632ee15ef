"""What a hook would have stopped among the user's own calls that ran."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.agents.translate import call_of
from anyhook.history.replay import past_decisions
from anyhook.history.stored import get_event
from anyhook.history.verdicts import verdict_of
from anyhook.model.events import ToolEvent

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from anyhook.backtest.results import Decided
    from anyhook.history.filters import Filter
    from anyhook.history.store import History

STOPPED = ("deny", "stop", "ask")


@dataclass(slots=True)
class ReviewGroup:
    """Calls that a hook would have stopped for the same reason.

    Attributes:
        outcome: What it would have answered.
        reason: Its reason.
        calls: The calls by their text, each text with the events.
    """

    outcome: str
    reason: str
    calls: dict[str, list[Decided]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Number of the events."""
        return sum(map(len, self.calls.values()))

    def ordered(self) -> list[tuple[str, list[Decided]]]:
        """Return the calls, the most frequent first."""
        return sorted(self.calls.items(), key=lambda item: (-len(item[1]), item[0]))


def calls_to_review(
    history: History, selection: Filter, decided: Iterable[Decided]
) -> list[ReviewGroup]:
    """Group what a hook would have stopped and was not stopped then, the most frequent first.

    Args:
        history: The store.
        selection: The events that the hook was asked about.
        decided: What it answered.
    """
    stopped_then = {
        str(past.event_id)
        for past in past_decisions(history, selection)
        if any(verdict_of(answer) in ("deny", "stop") for answer in past.answers)
    }
    groups: dict[tuple[str, str], ReviewGroup] = {}
    for event in decided:
        if event.outcome not in STOPPED or event.ref in stopped_then:
            continue
        reason = str(event.decision.get("reason") or event.decision.get("stop_reason") or "")
        key = (event.outcome, reason)
        group = groups.setdefault(key, ReviewGroup(*key))
        group.calls.setdefault(event.text, []).append(event)
    return sorted(groups.values(), key=lambda group: (-group.number, group.reason))


def labelled_row(
    history: History, event: Decided, label: str, families: list[str]
) -> dict[str, Any]:
    """Return a past call as a row of a labelled set, by the canonical names of its tool.

    Args:
        history: The store.
        event: The call.
        label: `dangerous` or `benign`.
        families: The kinds of danger for which the label holds.
    """
    recorded = get_event(history, int(event.ref))
    agent = get_agent(recorded.agent)
    decoded, _ = decode_event(agent, recorded.payload)
    row: dict[str, Any] = {"label": label, "families": families, "source": "own history"}
    if decoded.cwd:
        row["cwd"] = decoded.cwd
    if not isinstance(decoded, ToolEvent):
        raise TypeError(f"{decoded.name} has no tool")
    call = call_of(decoded, agent)
    if call.tool == "shell" and isinstance(call.arguments.get("command"), str):
        return {"command": call.arguments["command"], **row}
    content = {"event": decoded.name, "tool": call.tool, "input": dict(call.arguments)}
    return {"event": content, **row}


def add_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Append rows to a labelled set, which is made if it does not exist.

    Raises:
        OSError: If it cannot be written.
    """
    with path.open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
