"""What an agent does with a decision under each rule set, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.spec import Denial, EventSpec, RuleSet
from anyhook.engine.compare import RulesDifference, differences
from anyhook.engine.not_run import (
    NotDecided,
    NotRun,
    hooks_that_did_not_run,
    unknown_tool,
    untrusted_in_agent,
    why_not_decided,
)
from anyhook.model.answers import Outcome
from anyhook.model.record import Record
from anyhook.model.text import printable

if TYPE_CHECKING:
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event


class RulesVerdict(Record):
    """What an agent does with a decision under one rule set."""

    rules: str
    release: str
    """The reference or the release that the rule set describes."""
    word: str
    """The outcome in capitals, like `DENY` or `STOP + ASK`; `UNKNOWN` if it is not decided."""
    effect: str
    """What the agent does, without a subject: `runs this call`; else why it is not decided."""
    denied: bool
    """Whether the hooks that ran deny the event or end the agent.

    A denial of an event that cannot be denied does not count.
    """
    decided: bool
    """Whether every hook that listens to the event could decide it, here and in the agent."""
    outcome: str
    """`stop`, `deny`, `ask`, …; empty if it is not decided, or not trusted by the agent."""

    def sentence(self, subject: str) -> str:
        """Return what the agent does, as which the subject names it, or why that is not known."""
        return f"{subject} {self.effect}" if self.decided else self.effect


EFFECTS = {
    Denial.PREVENTS: ("does not go on with this", "goes on"),
    Denial.HIDES: ("gets the reason in place of the result", "gets the result"),
    Denial.INFORMS: ("gets the reason next to the result", "gets the result"),
    Denial.ENDS: ("ends its turn, and shows its user the reason", "goes on"),
    Denial.EMPTIES: ("offers its model no tool, and shows its user the reason", "goes on"),
    Denial.CONTINUES: ("continues, with the reason as its next prompt", "ends its turn"),
    Denial.NOTHING: ("goes on, because this event cannot be denied", "goes on"),
}
"""What the agent does if the event is denied, and if it is not."""
EFFECTS_OF_EVENTS = {
    "before_tool": ("does not run this call", "runs this call"),
    "permission_request": ("does not run this call", "runs this call"),
    "before_prompt": ("erases this prompt", "answers this prompt"),
    "before_model": ("does not ask its model", "asks its model"),
    "after_model": ("discards the response", "uses the response"),
    "before_compress": ("does not compress the conversation", "compresses the conversation"),
    "subagent_stop": (
        "lets the subagent continue, with the reason as its next prompt",
        "lets the subagent end",
    ),
}
"""The same for events of which what is prevented or continued has a name."""


class FiredEvent(Record, kw_only=False):
    """An event that was dispatched, with everything that the views of it show."""

    event: Event
    decision: Decision
    differences: list[RulesDifference]
    """What other rule sets do with the decision."""
    verdicts: list[RulesVerdict]
    """The verdict under the engine's rule set, then those that differ from it."""
    not_decided: NotDecided | None
    """Why the event is not decided; `None` if it is."""
    not_run: list[NotRun]
    """The hooks on the event that did not run."""
    unknown_tool: str | None
    """A note if the agent has no such tool."""


def fired_event(engine: Engine, event: Event, decision: Decision) -> FiredEvent:
    """Return what the views of a dispatched event show."""
    own = _verdict(engine, engine.rules, event, decision)
    verdicts = [own]
    changes = differences(engine, event, decision)
    for difference in changes:
        rules = engine.agent.rule_sets[difference.rules]
        other = _verdict(engine, rules, event, difference.decision)
        if (other.word, other.effect) != (own.word, own.effect):
            verdicts.append(other)
    return FiredEvent(
        event,
        decision,
        changes,
        verdicts,
        why_not_decided(engine, event, decision),
        hooks_that_did_not_run(engine, event, decision),
        unknown_tool(engine, event),
    )


def _verdict(engine: Engine, rules: RuleSet, event: Event, decision: Decision) -> RulesVerdict:
    spec = rules.by_canonical[event.name]
    words: list[str] = []
    if decision.stop:
        words.append("STOP")
    if decision.approve:
        words.append("APPROVE")
    elif decision.outcome is not Outcome.NONE:
        words.append(decision.outcome.upper())
    word = " + ".join(words) or "no decision"
    effect = _effect(spec, decision)
    outcome = "stop" if decision.stop else str(decision.outcome)
    untrusted = untrusted_in_agent(engine, decision) if words else []
    if untrusted:
        effect += f", once it trusts {printable(', '.join(untrusted))}, which it does not run yet"
        outcome = ""
    not_decided = why_not_decided(engine, event, decision)
    if not_decided is not None:
        effect = not_decided.text
        if decision.denied:
            effect += f"; the hooks that ran: {word}"
        word, outcome = "UNKNOWN", ""
    return RulesVerdict(
        rules=rules.name,
        release=rules.release,
        word=word,
        effect=effect,
        denied=decision.denied,
        decided=not_decided is None,
        outcome=outcome,
    )


def effects_of(spec: EventSpec) -> tuple[str, str]:
    """Return what the agent does if an event is denied, and if it is not."""
    effects = EFFECTS[spec.denial]
    if spec.denial in (Denial.PREVENTS, Denial.CONTINUES):
        effects = EFFECTS_OF_EVENTS.get(spec.canonical, effects)
    return effects


def _effect(spec: EventSpec, decision: Decision) -> str:
    denied, goes_on = effects_of(spec)
    effects = {
        Outcome.DENY: denied,
        Outcome.ASK: "asks its user",
        Outcome.DEFER: "leaves the call open, for the host to decide",
        Outcome.ALLOW: goes_on,
        Outcome.NONE: goes_on,
    }
    effect = effects[decision.outcome]
    if not decision.stop:
        return effect
    if decision.outcome is Outcome.DENY and spec.denial is Denial.ENDS:
        return effect
    goes_on_first = decision.outcome is Outcome.DENY or decision.stops_after
    return f"{effect}, then ends" if goes_on_first else "ends"
