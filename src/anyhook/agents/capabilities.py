"""What each agent can do on each event: the table that degrading, checking and the docs read.

It is derived from the agents' tables: an ability is there if the reference gives it an effect, and
kept if the observed release does so too.
"""

from __future__ import annotations

from enum import StrEnum

from anyhook.agents.spec import Denial
from anyhook.model.answers import Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec, EventSpec


class Support(StrEnum):
    """How far an agent supports an ability."""

    YES = "yes"
    PROMISED = "promised"
    """The reference describes it; the observed release ignores it."""
    UNDOCUMENTED = "undocumented"
    """The reference does not describe it; the observed release has it."""
    NO = "no"


ABILITIES: dict[str, tuple[str, Answer]] = {
    "deny": ("outcome", Answer(outcome=Outcome.DENY)),
    "ask": ("outcome", Answer(outcome=Outcome.ASK)),
    "defer": ("outcome", Answer(outcome=Outcome.DEFER)),
    "approve": ("approve", Answer(outcome=Outcome.ALLOW, approve=True)),
    "stop": ("stop", Answer(stop=True)),
    "rewrite": ("tool_input", Answer(tool_input={})),
    "replace_result": ("tool_output", Answer(tool_output="")),
    "context": ("context", Answer(context="")),
    "message": ("system_message", Answer(system_message="")),
    "change_request": ("llm_request", Answer(llm_request={})),
    "respond": ("llm_response", Answer(llm_response={})),
    "filter_tools": ("tool_config", Answer(tool_config={})),
    "clear_context": ("clear_context", Answer(clear_context=True)),
    "tail_call": ("tail_tool_call", Answer(tail_tool_call={})),
}
"""Ability to the field of an answer that it is about, and an answer that asks for it."""

VERDICT_ABILITIES = {Outcome.DENY: "deny", Outcome.ASK: "ask", Outcome.DEFER: "defer"}


def support(agent: AgentSpec, event: str, ability: str) -> Support:
    """Return how far an agent supports an ability on an event.

    The ability is a key of `ABILITIES`.
    """
    if (event, ability) in agent.supports:
        return agent.supports[event, ability]
    is_documented = _has_ability(agent, agent.by_canonical.get(event), ability)
    is_observed = is_documented
    if "observed" in agent.rule_sets:
        observed = agent.rule_sets["observed"].by_canonical.get(event)
        is_observed = _has_ability(agent, observed, ability)
    if is_documented:
        degree = Support.YES if is_observed else Support.PROMISED
    else:
        degree = Support.UNDOCUMENTED if is_observed else Support.NO
    agent.supports[event, ability] = degree
    return degree


def shows_stderr(agent: AgentSpec, event: str) -> bool:
    """Return whether exit code 2 shows standard error to the user on an event, and does no more.

    The reference and the observed release have to agree. Hooks use it to reach the user where
    replies have no message.
    """
    specs = [rules.by_canonical.get(event) for rules in agent.rule_sets.values()]
    return all(spec is not None and spec.shows_stderr for spec in specs)


def stderr_message(agent: AgentSpec, event: str, answer: Answer) -> str | None:
    """Return the message to the user that has to be written to stderr, with exit code 2."""
    if answer.system_message is None or support(agent, event, "message") is not Support.NO:
        return None
    return answer.system_message if shows_stderr(agent, event) else None


def can_express(agent: AgentSpec, event: str, ability: str) -> bool:
    """Return whether replies to an event have a member for an ability, with effect or without.

    The ability is a key of `ABILITIES`.
    """
    field, sample = ABILITIES[ability]
    spec = agent.by_canonical.get(event)
    return spec is not None and _has_member(agent, spec, field, sample)


def abilities_of(answer: Answer) -> list[str]:
    """Return the abilities that an answer asks for."""
    abilities = []
    if answer.outcome in VERDICT_ABILITIES:
        abilities.append(VERDICT_ABILITIES[answer.outcome])
    for ability, (field, sample) in ABILITIES.items():
        value = getattr(answer, field)
        if value is None or value is False or field == "outcome":
            continue
        if field != "approve" or answer.outcome is sample.outcome:
            abilities.append(ability)
    return abilities


def _has_ability(agent: AgentSpec, spec: EventSpec | None, ability: str) -> bool:
    field, sample = ABILITIES[ability]
    if spec is None or field not in spec.effective_fields or field in spec.inverted_fields:
        return False
    if spec.field_policies.get(field) == "sequence_only":
        return False
    # Where any output sets some fields, a reply with another field has a side effect.
    if spec.any_output_sets and field not in spec.any_output_sets:
        return False
    if ability == "deny" and spec.denial is Denial.NOTHING:
        return False
    is_verdict = field in ("outcome", "approve")
    if is_verdict and spec.outcomes is not None and sample.outcome not in spec.outcomes:
        return False
    return _has_member(agent, spec, field, sample)


def _has_member(agent: AgentSpec, spec: EventSpec, field: str, sample: Answer) -> bool:
    """Return whether replies to an event have a member for a field; for a verdict, its word."""
    if field not in ("outcome", "approve"):
        return any(item.field == field for item in agent.written_fields(spec.canonical))
    verdict = (sample.outcome, sample.approve)
    for item in agent.written_fields(spec.canonical):
        words = item.words or agent.decision_words
        if item.field == "outcome" and verdict in words.values():
            return True
    return False
