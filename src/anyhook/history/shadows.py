"""What shadows would have decided: hooks that ran and did not decide."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.history.verdicts import FAILURES, verdict_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from anyhook.history.store import History


@dataclass(frozen=True, slots=True)
class ShadowDecision:
    """What a shadow would have decided on an event.

    Attributes:
        time: Unix timestamp.
        session: Identifier of the session.
        event: Canonical name of the event.
        tool: Canonical name of the tool.
        outcome: The verdict; `crash` if it failed without one.
        reason: Its reason, or why it failed.
    """

    time: float
    session: str
    event: str
    tool: str | None
    outcome: str
    reason: str


@dataclass(slots=True)
class ShadowDecisions:
    """What shadows would have decided: counts, and some of each decision.

    Attributes:
        counts: Decision to number of events.
        sessions: Identifiers of the sessions.
        examples: Decision to its newest examples, the newest first.
    """

    counts: Counter[str] = field(default_factory=Counter)
    sessions: set[str] = field(default_factory=set)
    examples: dict[str, list[ShadowDecision]] = field(default_factory=dict)

    def add(self, decision: ShadowDecision, limit: int) -> None:
        """Count a decision, and keep it if there are fewer than `limit` examples like it."""
        self.counts[decision.outcome] += 1
        self.sessions.add(decision.session)
        examples = self.examples.setdefault(decision.outcome, [])
        if len(examples) < limit:
            examples.append(decision)


@dataclass(frozen=True, slots=True)
class ShadowNames:
    """With which names the results of shadows are recorded, and which are those of other hooks.

    Attributes:
        labels: Their labels.
        files: Their files.
        other_files: Files of other hooks with the same label: `grep#3f2a` and `grep#91bc`.
        other_digests: Content hashes of these.
    """

    labels: Collection[str]
    files: Collection[str]
    other_files: Collection[str]
    other_digests: Collection[str]


def shadow_decisions(
    history: History, agent: str, names: ShadowNames, limit: int
) -> ShadowDecisions:
    """Return what shadows would have decided.

    A shadow may have run on millions of events: only examples are kept.

    Args:
        history: The store.
        agent: Name of the agent.
        names: The shadows.
        limit: Examples of each decision.
    """
    rows = history.connection.execute(
        "SELECT time, session, event, tool, trouble, answer, error"
        " FROM results JOIN hooks ON hooks.id = hook_id"
        " JOIN events ON events.id = results.event_id"
        " JOIN sessions ON sessions.id = session_id WHERE shadow AND agent = ?"
        f" AND (label IN ({_places(names.labels)}) OR file IN ({_places(names.files)}))"
        f" AND ifnull(file, '') NOT IN ({_places(names.other_files)})"
        f" AND ifnull(digest, '') NOT IN ({_places(names.other_digests)}) ORDER BY time DESC",
        (agent, *names.labels, *names.files, *names.other_files, *names.other_digests),
    )
    decisions = ShadowDecisions()
    for time, session, event, tool, trouble, answer, error in rows:
        fields: dict[str, Any] = json.loads(answer) if answer else {}
        verdict = verdict_of(fields, has_failed=trouble in FAILURES)
        reason = fields.get("reason") or fields.get("stop_reason") or error or ""
        decision = ShadowDecision(time, session, event, tool, verdict, str(reason))
        decisions.add(decision, limit)
    return decisions


def _places(values: Collection[str]) -> str:
    return ", ".join("?" * len(values))
