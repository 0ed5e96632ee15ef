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


@dataclass(frozen=True, slots=True)
class ShadowNames:
    """With which names the results of shadows are recorded, and which are those of other hooks."""

    labels: Collection[str]
    files: Collection[str]
    other_files: Collection[str]
    """Files of other hooks with the same label: `grep#3f2a` and `grep#91bc`."""
    other_digests: Collection[str]


def shadow_decisions(
    history: History, agent: str, names: ShadowNames, limit: int
) -> ShadowDecisions:
    """Return what shadows would have decided.

    A shadow may have run on millions of events: only examples are kept.
    """
    rows = history.connection.execute(
        "SELECT time, session, event, tool, trouble, answer, error"
        " FROM results JOIN hooks ON hooks.id = hook_id"
        " JOIN events ON events.id = results.event_id"
        " JOIN sessions ON sessions.id = session_id WHERE shadow AND agent = ?"
        f" AND (label IN ({marks_for(names.labels)}) OR file IN ({marks_for(names.files)}))"
        f" AND ifnull(file, '') NOT IN ({marks_for(names.other_files)})"
        f" AND ifnull(digest, '') NOT IN ({marks_for(names.other_digests)}) ORDER BY time DESC",
        (agent, *names.labels, *names.files, *names.other_files, *names.other_digests),
    )
    decisions = ShadowDecisions()
    for time, session, event, tool, trouble, answer, error in rows:
        fields: dict[str, Any] = json.loads(answer) if answer else {}
        verdict = verdict_of(fields, has_failed=trouble in FAILURES)
        reason = reason_of(fields) or error or ""
        decision = ShadowDecision(time, session, event, tool, verdict, reason)
        decisions.add(decision, limit)
    return decisions
