"""The denials that a user would look at first.

Each question reads a bounded number of rows through an index, so that the answer for a large store
comes as fast as for a small one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.history.filters import Filter
from anyhook.history.search import search_in_time
from anyhook.history.verdicts import DENYING, FAILURES

if TYPE_CHECKING:
    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.history.store import History

MAX_DENIALS = 300
"""Latest denials, of all verdicts together, that are grouped."""


@dataclass(slots=True)
class DenialGroup:
    """Denials of the same hooks, of one tool, for the same reason."""

    latest: RecordedEvent
    signs: list[str] = field(default_factory=list)
    """Why a user would look at it, the strongest first."""
    sessions: Counter[tuple[str, str]] = field(default_factory=Counter)
    weight: int = 0
    events: list[RecordedEvent] = field(default_factory=list)


def denials_to_look_at(history: History) -> list[DenialGroup]:
    """Return the newest denials in groups, those first that more than a denial speaks for."""
    denials: list[RecordedEvent] = []
    for verdict in DENYING:
        chosen = Filter(verdict=verdict)
        denials += search_in_time(history, chosen, limit=MAX_DENIALS, seconds=0.2).events
    denials.sort(key=lambda event: -event.time)
    groups: dict[tuple[Any, ...], DenialGroup] = {}
    for event in denials[:MAX_DENIALS]:
        # No hook has denied an event that only stopped: all that decide count.
        deciding = [result for result in event.results if not result.shadow]
        denying = [result for result in deciding if result.verdict == "deny"]
        hooks = [result.hook for result in denying or deciding]
        key = (tuple(hooks), event.tool or event.event, event.reason)
        group = groups.get(key)
        if group is None:
            group = groups[key] = DenialGroup(event)
        group.sessions[event.agent, event.session] += 1
        group.events.append(event)
    for group in groups.values():
        _weigh(group)
    return sorted(groups.values(), key=lambda group: (-group.weight, -group.latest.time))


def _weigh(group: DenialGroup) -> None:
    """Find out why a user would look at a group of denials."""
    signs: list[tuple[int, str]] = []
    results: list[RecordedResult] = []
    for event in group.events:
        results += event.results
    if any(result.trouble in FAILURES for result in results):
        signs.append((40, "a hook failed, and its failure denies"))
    if any(result.verdict == "allow" and not result.shadow for result in results):
        signs.append((30, "another hook allowed it"))
    most = max(group.sessions.values())
    if most >= 3:
        signs.append((25, f"{most} times in one session: the agent may be stuck"))
    if any(event.stop for event in group.events):
        signs.append((20, "it ended the agent's turn"))
    if not group.latest.reason:
        signs.append((10, "the agent got no reason"))
    signs.sort(reverse=True)
    group.signs = [text for _, text in signs]
    group.weight = sum(weight for weight, _ in signs)
