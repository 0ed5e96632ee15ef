"""What each agent can do on each event: the table that degrading, checking and the docs read.

It is not written down but follows from the agents' own tables: an ability is there when the
agent's reference gives it an effect, and kept when the release that was observed does so too.
"""

from __future__ import annotations

from enum import StrEnum

from anyhook.agents.spec import Denial
from anyhook.model.answers import Answer, Audience, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec, EventSpec


class Support(StrEnum):
    """How far an agent goes."""

    YES = "yes"
    PROMISED = "promised"
    """Its reference says so; the release that was observed ignores it."""
    UNTOLD = "untold"
    """Its reference does not say so; the release that was observed does it."""
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
"""Ability to the field of an answer that stands for it, and an answer that asks for it."""


def support(agent: AgentSpec, event: str, ability: str) -> Support:
    """Look up what an agent does with an ability on an event.

    Args:
        agent: The agent.
        event: Canonical name of the event.
        ability: A key of `ABILITIES`.
    """
    found: Support | None = agent.known.get((support, event, ability))
    if found is None:
        found = agent.known[support, event, ability] = _support(agent, event, ability)
    return found


def _support(agent: AgentSpec, event: str, ability: str) -> Support:
    promised = _has(agent, agent.documented.by_canonical.get(event), ability)
    observed = agent.rule_sets.get("observed")
    kept = _has(agent, observed.by_canonical.get(event), ability) if observed else promised
    if promised:
        return Support.YES if kept else Support.PROMISED
    return Support.UNTOLD if kept else Support.NO


def shows_stderr(agent: AgentSpec, event: str) -> bool:
    """Return whether exit code 2 shows standard error to the user on an event, and does no more.

    That is a way to reach the user where the agent's JSON has no message, if the reference and the
    release that was observed agree on it.
    """
    specs = [rules.by_canonical.get(event) for rules in agent.rule_sets.values()]
    return all(
        spec is not None and not spec.can_block and spec.block_audience is Audience.USER
        for spec in specs
    )


def stderr_message(agent: AgentSpec, event: str, answer: Answer) -> str | None:
    """Return the message to the user that has to go to standard error, with exit code 2."""
    if answer.system_message is None or support(agent, event, "message") is not Support.NO:
        return None
    return answer.system_message if shows_stderr(agent, event) else None


def can_express(agent: AgentSpec, event: str, ability: str) -> bool:
    """Return whether a reply to an event has a member for an ability, with an effect or without.

    Args:
        agent: The agent.
        event: Canonical name of the event.
        ability: A key of `ABILITIES`.
    """
    field, sample = ABILITIES[ability]
    spec = agent.by_canonical.get(event)
    return spec is not None and _has_member(agent, spec, field, sample)


def abilities_of(answer: Answer) -> list[str]:
    """List the abilities that an answer asks for."""
    found = [
        ability
        for ability, (field, sample) in ABILITIES.items()
        if field != "outcome"
        and (value := getattr(answer, field)) is not None
        and value is not False
        if field != "approve" or answer.outcome is sample.outcome
    ]
    wanted = {Outcome.DENY: "deny", Outcome.ASK: "ask", Outcome.DEFER: "defer"}
    return ([wanted[answer.outcome]] if answer.outcome in wanted else []) + found


def _has(agent: AgentSpec, spec: EventSpec | None, ability: str) -> bool:
    field, sample = ABILITIES[ability]
    if spec is None or field not in spec.acts_on or field in spec.backfires:
        return False
    if spec.any_output and field not in spec.any_output:
        return False  # saying it would say something else too
    if ability == "deny" and spec.denial is Denial.NOTHING:
        return False
    if spec.outcomes is not None and field in ("outcome", "approve"):
        return sample.outcome in spec.outcomes and _has_member(agent, spec, field, sample)
    return _has_member(agent, spec, field, sample)


def _has_member(agent: AgentSpec, spec: EventSpec, field: str, sample: Answer) -> bool:
    """Tell whether the agent's JSON has a member for it on the event."""
    wanted = "outcome" if field == "approve" else field
    for item in agent.written(spec.canonical):
        if item.field != wanted:
            continue
        words = item.words or agent.words
        if wanted != "outcome" or (sample.outcome, sample.approve) in words.values():
            return True
    return False
