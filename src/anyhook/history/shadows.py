"""What shadows would have decided: hooks that ran and did not decide."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.history.rows import marks_for
from anyhook.history.verdicts import FAILURES, reason_of, verdict_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from anyhook.history.store import History


@dataclass(frozen=True, slots=True)
class ShadowDecision:
    """What a shadow would have decided on an event."""

    time: float
    """Unix timestamp."""
    session: str
    event: str
    tool: str | None
    outcome: str
    """The verdict; `crash` if it failed without one."""
    reason: str


@dataclass(slots=True)
class ShadowDecisions:
    """What shadows would have decided: counts, and some of each decision."""

    counts: Counter[str] = field(default_factory=Counter)
    """Decision to number of events."""
    sessions: set[str] = field(default_factory=set)
    examples: dict[str, list[ShadowDecision]] = field(default_factory=dict)
    """Decision to its newest examples, the newest first."""

    def add(self, decision: ShadowDecision, limit: int) -> None:
        """Count a decision, and keep it if there are fewer than `limit` examples like it."""
        self.counts[decision.outcome] += 1
        self.sessions.add(decision.session)
        examples = self.examples.setdefault(decision.outcome, [])
        if len(examples) < limit:
            examples.append(decision)


def shadow_decisions(
    history: History, agent: str, hook_ids: Collection[int], limit: int
) -> ShadowDecisions:
    """Return what some versions of hooks would have decided as shadows.

    A shadow may have run on millions of events: only examples are kept.
    """
    rows = history.connection.execute(
        "SELECT time, session, event, tool, trouble, answer, error"
        " FROM results JOIN events ON events.id = event_id"
        " JOIN sessions ON sessions.id = session_id WHERE shadow AND agent = ?"
        f" AND hook_id IN ({marks_for(hook_ids)}) ORDER BY time DESC",
        (agent, *hook_ids),
    )
    decisions = ShadowDecisions()
    for time, session, event, tool, trouble, answer, error in rows:
        fields: dict[str, Any] = json.loads(answer) if answer else {}
        verdict = verdict_of(fields, has_failed=trouble in FAILURES)
        reason = reason_of(fields) or error or ""
        decision = ShadowDecision(time, session, event, tool, verdict, reason)
        decisions.add(decision, limit)
    return decisions
