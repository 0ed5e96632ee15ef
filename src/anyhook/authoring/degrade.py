"""An answer as an agent can carry it out: what it cannot do is done another way, and told."""

from __future__ import annotations

from anyhook.agents.capabilities import (
    ABILITIES,
    Support,
    abilities_of,
    shows_stderr,
    support,
)
from anyhook.agents.spec import Denial
from anyhook.errors import UsageError
from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.events import Event
    from anyhook.model.llm import ToolConfig

AS_MEANT = ""
"""What is done instead of an ability where the user notices no difference."""
LOST = "it reaches neither the agent nor the user"
"""What happens to a text that can be handed to neither the agent nor the user."""


class UnsupportedError(UsageError):
    """The agent cannot do what the hook wants, and the hook refuses to do less."""


def fit(
    agent: AgentSpec, event: Event, answer: Answer, *, refuse: bool = False
) -> tuple[Answer, list[str]]:
    """Make an answer one that the agent can carry out.

    Args:
        agent: The agent.
        event: What it is the answer to.
        answer: What the hook wants.
        refuse: Raise instead of doing something else.

    Returns:
        The answer to give, and what was done another way, for people.

    Raises:
        UnsupportedError: If something is not possible and `refuse` is set.
    """
    notes: list[str] = []
    if answer.approve and answer.outcome is not Outcome.ALLOW:
        answer = answer.replace(approve=False)  # no agent has a word for that
    for ability in abilities_of(answer):
        how = support(agent, event.name, ability)
        if how in (Support.YES, Support.UNDOCUMENTED):
            continue
        step = FALLBACKS[ability]
        changed, instead = step(agent, event, answer, how)
        if instead == AS_MEANT:
            continue
        wire = event.wire_name or event.name
        verb = "ignores" if how is Support.PROMISED else "has no"
        note = f"{agent.title} {verb} {NAMES[ability]} on {wire}"
        if refuse:
            raise UnsupportedError(note)
        notes.append(f"{note}; {instead}")
        answer = changed
    return _finished(agent, event, answer, notes), notes


def _finished(agent: AgentSpec, event: Event, answer: Answer, notes: list[str]) -> Answer:
    """Add what the agent's form needs: whole values, and verdicts that go with a field."""
    spec = _real(agent, event)
    changes = _whole(event, answer)
    if answer.outcome is Outcome.ALLOW and spec.verdict_policy == "last":
        changes["outcome"] = Outcome.NONE  # it would cancel the denial of another hook
    for field, implied in spec.implied_fields.items():
        if getattr(answer, field) not in (None, False):
            changes |= implied
            changes["reason"] = answer.reason or answer.stop_reason or "answered by a hook"
    if spec.any_output_sets and all(
        getattr(answer, field) is None for field in spec.any_output_sets
    ):
        if answer != NO_OPINION and not notes:
            note = f"{agent.title} takes any output on {spec.wire} for a choice of tools"
            notes.append(f"{note}; {LOST}")
        if not notes:
            return NO_OPINION
        # the agent reads standard error too, unless there is an answer on standard output
        changes["tool_config"] = _same_choice(event)
    whole = answer.replace(**changes) if changes else answer
    stop_reason = (whole.stop_reason or whole.reason) if whole.stop else None
    if whole.stop_reason != stop_reason:
        whole = whole.replace(stop_reason=stop_reason)
    if whole.reason is not None and not _may_say_why(agent, spec, whole):
        whole = whole.replace(reason=None)
    return whole


def _same_choice(event: Event) -> ToolConfig:
    """Return the choice of tools that is in force: an answer that changes nothing."""
    from anyhook.model.llm import check_tool_config

    request: Any = getattr(event, "llm_request", {})
    current = request.get("toolConfig")
    return check_tool_config(current)[0] if isinstance(current, dict) else {"mode": "AUTO"}


def _may_say_why(agent: AgentSpec, spec: EventSpec, answer: Answer) -> bool:
    """Tell whether a reason has a verdict beside it, or may stand alone."""
    members = agent.written_fields(spec.canonical)
    said = (answer.outcome, answer.approve)
    verdicts = [m for m in members if m.field == "outcome"]
    if any(said in (m.words or agent.decision_words).values() for m in verdicts):
        return True
    alone = all(len(m.path) == 1 for m in members if m.field == "reason")
    return alone and answer.outcome is Outcome.NONE


def _whole(event: Event, answer: Answer) -> dict[str, Any]:
    """Complete what agents put in place of their own instead of laying it over that."""
    changes: dict[str, Any] = {}
    if answer.tool_input is not None:
        changes["tool_input"] = {**getattr(event, "tool_input", {}), **answer.tool_input}
    config = (answer.llm_request or {}).get("config")
    own = getattr(event, "llm_request", {}).get("config")
    if answer.llm_request and isinstance(config, dict) and isinstance(own, dict):
        changes["llm_request"] = {**answer.llm_request, "config": {**own, **config}}
    if answer.llm_response is not None:
        from anyhook.model.llm import complete_response, merge_response

        before = getattr(event, "llm_response", None)
        changes["llm_response"] = (
            complete_response(answer.llm_response)
            if before is None
            else merge_response(before, answer.llm_response)
        )
    if answer.tool_config is not None:
        from anyhook.model.llm import check_tool_config

        changes["tool_config"] = check_tool_config(answer.tool_config)[0] or None
    return changes


def _real(agent: AgentSpec, event: Event) -> EventSpec:
    rules = agent.rule_sets.get("observed") or agent.documented
    return rules.by_canonical.get(event.name) or agent.by_canonical[event.name]


# -- one way out for each ability


def _can(agent: AgentSpec, event: Event, ability: str) -> bool:
    return support(agent, event.name, ability) in (Support.YES, Support.UNDOCUMENTED)


def _joined(first: str | None, second: str | None) -> str | None:
    return "\n".join(text for text in (first, second) if text) or None


def _without(answer: Answer, ability: str, how: Support) -> Answer:
    """Take a field out, unless the reference promises it: another release may keep that."""
    field, _ = ABILITIES[ability]
    if how is Support.PROMISED and ability not in ("stop", "ask", "defer"):
        return answer
    if field == "outcome":
        return answer.replace(outcome=Outcome.NONE, reason=None)
    empty = {"stop": False, "approve": False, "clear_context": False}
    return answer.replace(**{field: empty.get(field)})


def _say(agent: AgentSpec, event: Event, answer: Answer, text: str | None) -> tuple[Answer, str]:
    """Give a text to the agent if possible, else to the user."""
    continues = agent.by_canonical[event.name].denial is Denial.CONTINUES
    if text and not continues and _can(agent, event, "context"):  # it would go on to read it
        return answer.replace(context=_joined(answer.context, text)), "the agent is told"
    told = support(agent, event.name, "tell")
    if text and told is not Support.NO:
        message = _joined(answer.system_message, text)
        instead = "only the log has it" if told is Support.PROMISED else "the user is told"
        return answer.replace(system_message=message), instead
    if text and shows_stderr(agent, event.name):
        message = _joined(answer.system_message, text)
        return answer.replace(system_message=message), "the user gets it on standard error"
    return answer, LOST if text else "nothing happens"


def _deny(agent: AgentSpec, event: Event, answer: Answer, reason: str) -> tuple[Answer, str]:
    """Deny if possible, else stop the agent, else give the reason to the agent or the user."""
    denial = agent.by_canonical[event.name].denial
    if denial is Denial.CONTINUES:  # a denial would send the agent round again, each time
        return _say(agent, event, answer, reason)
    if _can(agent, event, "deny"):
        if STRENGTH[answer.outcome] < STRENGTH[Outcome.DENY]:
            answer = answer.replace(outcome=Outcome.DENY, approve=False, reason=reason)
        return answer, "it is denied"
    if denial is not Denial.NOTHING and _can(agent, event, "stop"):
        return answer.replace(stop=True, stop_reason=reason), "the agent is stopped"
    if _can(agent, event, "filter_tools"):
        return answer.replace(tool_config={"mode": "NONE"}), "the model may call no tool"
    return _say(agent, event, answer, reason)


def _no_denial(agent: AgentSpec, event: Event, answer: Answer, how: Support) -> tuple[Answer, str]:
    rest = _without(answer, "deny", how)
    return _deny(agent, event, rest, answer.reason or "denied by a hook")


def _no_question(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    if event.name in ASK_ANYWAY:
        return _without(answer, "ask", how), "the user is asked anyway"
    reason = answer.reason or "a hook wants the user to confirm this"
    return _deny(agent, event, _without(answer, "ask", how), f"{reason} (nobody can be asked)")


def _no_delay(agent: AgentSpec, event: Event, answer: Answer, how: Support) -> tuple[Answer, str]:
    rest = _without(answer, "defer", how)
    if event.name in ASK_ANYWAY:
        return rest, "the user is asked"
    if _can(agent, event, "ask"):
        return rest.replace(outcome=Outcome.ASK, reason=answer.reason), "the user is asked"
    return _deny(agent, event, rest, answer.reason or "a hook wants this decided later")


def _no_approval(
    _agent: AgentSpec, _event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    return _without(answer, "approve", how), "the agent may still ask its user"


def _no_stop(agent: AgentSpec, event: Event, answer: Answer, how: Support) -> tuple[Answer, str]:
    reason = answer.stop_reason or answer.reason or "stopped by a hook"
    rest = _without(answer, "stop", how).replace(stop_reason=None)
    return _deny(agent, event, rest, reason)


def _no_rewrite(agent: AgentSpec, event: Event, answer: Answer, how: Support) -> tuple[Answer, str]:
    import json

    wanted = json.dumps(answer.tool_input, ensure_ascii=False, default=str)
    rest = _without(answer, "rewrite", how)
    return _deny(agent, event, rest, f"call it with these arguments instead: {wanted}")


def _no_replacement(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    from anyhook.model.tools import all_texts

    text = "\n".join(all_texts(answer.tool_output)) or str(answer.tool_output)
    rest = _without(answer, "replace_result", how)
    if agent.by_canonical[event.name].denial is Denial.HIDES and _can(agent, event, "deny"):
        return _deny(agent, event, rest, text)
    return _say(agent, event, rest, text)


def _no_context(agent: AgentSpec, event: Event, answer: Answer, how: Support) -> tuple[Answer, str]:
    return _say(agent, event, _without(answer, "context", how), answer.context)


def _no_message(agent: AgentSpec, event: Event, answer: Answer, how: Support) -> tuple[Answer, str]:
    if shows_stderr(agent, event.name):
        return answer, AS_MEANT
    return _without(answer, "tell", how), LOST


def _nothing(ability: str) -> Callable[..., tuple[Answer, str]]:
    def step(_agent: AgentSpec, _event: Event, answer: Answer, how: Support) -> tuple[Answer, str]:
        return _without(answer, ability, how), "nothing happens"

    return step


ASK_ANYWAY = frozenset({"permission_request", "elicitation"})
"""Events at which the user is asked if no hook decides."""

FALLBACKS: dict[str, Callable[[AgentSpec, Event, Answer, Support], tuple[Answer, str]]] = {
    "deny": _no_denial,
    "ask": _no_question,
    "defer": _no_delay,
    "approve": _no_approval,
    "stop": _no_stop,
    "rewrite": _no_rewrite,
    "replace_result": _no_replacement,
    "context": _no_context,
    "tell": _no_message,
    "change_request": _nothing("change_request"),
    "respond": _nothing("respond"),
    "filter_tools": _nothing("filter_tools"),
    "clear_context": _nothing("clear_context"),
    "tail_call": _nothing("tail_call"),
}
"""Ability to what is done where an agent does not have it."""

NAMES = {
    "deny": "denials",
    "ask": "asking the user",
    "defer": "deferred calls",
    "approve": "approvals",
    "stop": "stopping",
    "rewrite": "changed arguments",
    "replace_result": "replaced results",
    "context": "context for the agent",
    "tell": "messages to the user",
    "change_request": "changes of the request",
    "respond": "responses of hooks",
    "filter_tools": "choosing tools",
    "clear_context": "clearing the context",
    "tail_call": "calls in place of a result",
}
"""Ability to what it is called in a sentence."""
