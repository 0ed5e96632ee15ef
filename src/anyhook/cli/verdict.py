"""What an agent does with a decision, in words, under each rule set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.agents.spec import Denial
from anyhook.model.answers import Outcome

if TYPE_CHECKING:
    from anyhook.agents.spec import EventSpec, RuleSet
    from anyhook.engine.compare import Difference
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an agent does under one rule set.

    Attributes:
        rules: Name of the rule set.
        release: The reference or the release that it describes.
        word: The outcome in one or two words, in capitals.
        effect: What the agent does, as a sentence without a subject: `runs this call`.
        denied: Whether the event is denied or the agent is ended.
        style: How the word is shown, for rich.
    """

    rules: str
    release: str
    word: str
    effect: str
    denied: bool
    style: str


EFFECTS = {
    Denial.PREVENTS: ("does not go on with this", "goes on"),
    Denial.HIDES: ("gets the reason in place of the result", "gets the result"),
    Denial.INFORMS: ("gets the reason beside the result", "gets the result"),
    Denial.CONTINUES: ("continues, with the reason as its next prompt", "stops, as it wanted to"),
    Denial.NOTHING: ("goes on: this event cannot be denied", "goes on"),
}
"""What a denial does to what the agent does when it is denied, and when it is not."""
TOOL_EFFECTS = ("does not run this call", "runs this call")
STYLES = {
    Outcome.DENY: "bold white on red",
    Outcome.ASK: "bold black on yellow",
    Outcome.DEFER: "bold black on yellow",
    Outcome.ALLOW: "bold black on green",
    Outcome.NONE: "dim",
}


def verdicts(
    engine: Engine, event: Event, decision: Decision, differences: list[Difference]
) -> list[Verdict]:
    """Return what the agent does under the engine's rules, and under those that differ in it.

    Args:
        engine: The engine.
        event: The event.
        decision: Its decision.
        differences: What other rule sets make of the same results.
    """
    own = _verdict(engine.rules, event, decision)
    others = [
        _verdict(engine.agent.rule_sets[difference.rules], event, difference.decision)
        for difference in differences
    ]
    changed = [other for other in others if (other.word, other.effect) != (own.word, own.effect)]
    return [own, *changed]


def _verdict(rules: RuleSet, event: Event, decision: Decision) -> Verdict:
    spec = rules.by_canonical[event.name]
    return Verdict(
        rules=rules.name,
        release=rules.release,
        word=_word(decision),
        effect=_effect(spec, decision),
        denied=decision.denied,
        style="bold white on red" if decision.stop else STYLES[decision.outcome],
    )


def _word(decision: Decision) -> str:
    words = ["STOP"] if decision.stop else []
    if decision.outcome is not Outcome.NONE or not decision.stop:
        outcome = "approve" if decision.approve else str(decision.outcome)
        words.append("no decision" if outcome == "none" else outcome.upper())
    return " + ".join(words)


def _effect(spec: EventSpec, decision: Decision) -> str:
    denied, goes_on = EFFECTS[spec.denial]
    if spec.denial is Denial.PREVENTS and spec.subject == "tool_name":
        denied, goes_on = TOOL_EFFECTS
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
    goes_on_first = decision.outcome is Outcome.DENY or decision.stops_after
    return f"{effect}, then ends" if goes_on_first else "ends"
