"""An answer in a form that an agent supports.

What the agent cannot do is replaced by the nearest thing that it can do (`FALLBACKS`), and reported
in a note.
"""

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
from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Outcome, join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.events import Event
    from anyhook.model.llm import ToolConfig

    Fallback = Callable[[AgentSpec, Event, Answer, Support], tuple[Answer, str]]
    """Returns another answer, and what happens instead; `SAME_EFFECT` if that needs no note."""

SAME_EFFECT = ""
LOST = "it reaches neither the agent nor the user"
"""What happens to a text that can be passed to neither the agent nor the user."""
LEFT_OUT = "it is left out"


class UnsupportedError(UsageError):
    """The agent lacks an ability that a hook with `unsupported="refuse"` needs."""


def fit(
    agent: AgentSpec, event: Event, answer: Answer, *, refuse: bool = False
) -> tuple[Answer, list[str]]:
    """Return an answer that the agent supports.

    Args:
        agent: The agent.
        event: The event that is answered.
        answer: The answer of the hook.
        refuse: Raise instead of replacing anything.

    Returns:
        The answer to give, and a note for each ability that was replaced.

    Raises:
        UnsupportedError: If the agent lacks an ability and `refuse` is set.
    """
    notes: list[str] = []
    if answer.approve and answer.outcome is not Outcome.ALLOW:
        answer = answer.replace(approve=False)  # no agent has a word for that
    for ability in abilities_of(answer):
        how = support(agent, event.name, ability)
        if how in (Support.YES, Support.UNTOLD):
            continue
        fallback, instead = FALLBACKS[ability](agent, event, answer, how)
        if instead == SAME_EFFECT:
            continue
        wire = event.wire_name or event.name
        verb = "ignores" if how is Support.PROMISED else "has no"
        note = f"{agent.title} {verb} {NAMES[ability]} on {wire}"
        if refuse:
            raise UnsupportedError(note)
        notes.append(f"{note}; {instead}")
        answer = fallback
    return _complete(agent, event, answer, notes), notes


# -- what the agent's form of a reply needs


def _complete(agent: AgentSpec, event: Event, answer: Answer, notes: list[str]) -> Answer:
    """Add complete values, and the verdicts that some fields imply."""
    spec = _observed_spec(agent, event)
    changes = _complete_values(event, answer)
    if answer.outcome is Outcome.ALLOW and spec.verdict == "last":
        changes["outcome"] = Outcome.NONE  # it would cancel the denial of another hook
    for field, implied in spec.implied.items():
        if getattr(answer, field) not in (None, False):
            changes |= implied
            changes["reason"] = answer.reason or answer.stop_reason or "answered by a hook"
    if spec.any_output and all(getattr(answer, field) is None for field in spec.any_output):
        if answer != NO_OPINION and not notes:
            notes.append(f"{agent.title} reads any output on {spec.wire} as a tool choice; {LOST}")
        if not notes:
            return NO_OPINION
        # The agent also reads the notes on standard error, unless standard output has a reply.
        changes["tool_config"] = _current_tool_config(event)
    answer = answer.replace(**changes) if changes else answer
    stop_reason = (answer.stop_reason or answer.reason) if answer.stop else None
    if answer.stop_reason != stop_reason:
        answer = answer.replace(stop_reason=stop_reason)
    if answer.reason is not None and not _may_have_reason(agent, spec, answer):
        answer = answer.replace(reason=None)
    return answer


def _current_tool_config(event: Event) -> ToolConfig:
    """Return the tool choice of the event: a reply that changes nothing."""
    from anyhook.model.llm import check_tool_config

    request: Any = getattr(event, "llm_request", {})
    current = request.get("toolConfig")
    return check_tool_config(current)[0] if isinstance(current, dict) else {"mode": "AUTO"}


def _may_have_reason(agent: AgentSpec, spec: EventSpec, answer: Answer) -> bool:
    """Return whether the agent's reply has a verdict for the reason, or may hold it alone."""
    members = agent.written(spec.canonical)
    verdict = (answer.outcome, answer.approve)
    for member in members:
        if member.field == "outcome" and verdict in (member.words or agent.words).values():
            return True
    is_top_level = all(len(member.path) == 1 for member in members if member.field == "reason")
    return is_top_level and answer.outcome is Outcome.NONE


def _complete_values(event: Event, answer: Answer) -> dict[str, Any]:
    """Complete the values that agents use instead of their own, and do not merge with them."""
    changes: dict[str, Any] = {}
    if answer.tool_input is not None:
        changes["tool_input"] = {**getattr(event, "tool_input", {}), **answer.tool_input}
    config = (answer.llm_request or {}).get("config")
    own_config = getattr(event, "llm_request", {}).get("config")
    if answer.llm_request and isinstance(config, dict) and isinstance(own_config, dict):
        changes["llm_request"] = {**answer.llm_request, "config": {**own_config, **config}}
    if answer.llm_response is not None:
        from anyhook.model.llm import complete_response, merge_response

        own_response = getattr(event, "llm_response", None)
        if own_response is None:
            changes["llm_response"] = complete_response(answer.llm_response)
        else:
            changes["llm_response"] = merge_response(own_response, answer.llm_response)
    if answer.tool_config is not None:
        from anyhook.model.llm import check_tool_config

        changes["tool_config"] = check_tool_config(answer.tool_config)[0] or None
    return changes


def _observed_spec(agent: AgentSpec, event: Event) -> EventSpec:
    rules = agent.rule_sets.get("observed") or agent.documented
    return rules.by_canonical.get(event.name) or agent.by_canonical[event.name]


# -- a fallback for each ability


def _supports(agent: AgentSpec, event: Event, ability: str) -> bool:
    return support(agent, event.name, ability) in (Support.YES, Support.UNTOLD)


def _without(answer: Answer, ability: str, how: Support) -> Answer:
    """Remove a field, unless the reference promises it: another release may support it."""
    field, _ = ABILITIES[ability]
    if how is Support.PROMISED and ability not in ("stop", "ask", "defer"):
        return answer
    if field == "outcome":
        return answer.replace(outcome=Outcome.NONE, reason=None)
    empty_values = {"stop": False, "approve": False, "clear_context": False}
    return answer.replace(**{field: empty_values.get(field)})


def _deliver(
    agent: AgentSpec, event: Event, answer: Answer, text: str | None
) -> tuple[Answer, str]:
    """Pass a text to the agent if possible, else to the user."""
    if not text:
        return answer, LEFT_OUT
    # At the end of an agent, context would make the agent continue.
    continues = agent.by_canonical[event.name].denial is Denial.CONTINUES
    if not continues and _supports(agent, event, "context"):
        context = join_lines((answer.context, text))
        return answer.replace(context=context), "the agent gets it as context"
    message_support = support(agent, event.name, "message")
    if message_support is Support.PROMISED:
        instead = "only the log has it"
    elif message_support is not Support.NO:
        instead = "the user gets it as a message"
    elif shows_stderr(agent, event.name):
        instead = "the user gets it on standard error"
    else:
        return answer, LOST
    return answer.replace(system_message=join_lines((answer.system_message, text))), instead


def _deny_instead(
    agent: AgentSpec, event: Event, answer: Answer, reason: str
) -> tuple[Answer, str]:
    """Deny if possible, else stop the agent, else pass the reason to the agent or the user."""
    denial = agent.by_canonical[event.name].denial
    if denial is Denial.CONTINUES:  # the agent would continue with the reason, for ever
        return _deliver(agent, event, answer, reason)
    if _supports(agent, event, "deny"):
        if STRENGTH[answer.outcome] < STRENGTH[Outcome.DENY]:
            answer = answer.replace(outcome=Outcome.DENY, approve=False, reason=reason)
        return answer, "it is denied"
    if denial is not Denial.NOTHING and _supports(agent, event, "stop"):
        return answer.replace(stop=True, stop_reason=reason), "the agent is stopped"
    if _supports(agent, event, "filter_tools"):
        return answer.replace(tool_config={"mode": "NONE"}), "the model may call no tool"
    return _deliver(agent, event, answer, reason)


def _replace_deny(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    rest = _without(answer, "deny", how)
    return _deny_instead(agent, event, rest, answer.reason or "denied by a hook")


def _replace_ask(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    rest = _without(answer, "ask", how)
    if event.name in ASK_ANYWAY:
        return rest, "the user is asked anyway"
    reason = answer.reason or "a hook wants the user to confirm this"
    return _deny_instead(agent, event, rest, f"{reason} (the user cannot be asked)")


def _replace_defer(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    rest = _without(answer, "defer", how)
    if event.name in ASK_ANYWAY:
        return rest, "the user is asked"
    if _supports(agent, event, "ask"):
        return rest.replace(outcome=Outcome.ASK, reason=answer.reason), "the user is asked"
    return _deny_instead(agent, event, rest, answer.reason or "a hook wants this decided later")


def _replace_approve(
    _agent: AgentSpec, _event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    return _without(answer, "approve", how), "the agent may still ask its user"


def _replace_stop(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    reason = answer.stop_reason or answer.reason or "stopped by a hook"
    rest = _without(answer, "stop", how).replace(stop_reason=None)
    return _deny_instead(agent, event, rest, reason)


def _replace_rewrite(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    import json

    arguments = json.dumps(answer.tool_input, ensure_ascii=False, default=str)
    rest = _without(answer, "rewrite", how)
    return _deny_instead(agent, event, rest, f"call it with these arguments instead: {arguments}")


def _replace_result(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    from anyhook.model.tools import all_texts

    text = "\n".join(all_texts(answer.tool_output)) or str(answer.tool_output)
    rest = _without(answer, "replace_result", how)
    hides_result = agent.by_canonical[event.name].denial is Denial.HIDES
    if hides_result and _supports(agent, event, "deny"):
        return _deny_instead(agent, event, rest, text)
    return _deliver(agent, event, rest, text)


def _replace_context(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    return _deliver(agent, event, _without(answer, "context", how), answer.context)


def _replace_message(
    agent: AgentSpec, event: Event, answer: Answer, how: Support
) -> tuple[Answer, str]:
    if shows_stderr(agent, event.name):
        return answer, SAME_EFFECT
    return _without(answer, "message", how), LOST


def _leave_out(ability: str) -> Fallback:
    def fallback(
        _agent: AgentSpec, _event: Event, answer: Answer, how: Support
    ) -> tuple[Answer, str]:
        return _without(answer, ability, how), LEFT_OUT

    return fallback


ASK_ANYWAY = frozenset({"permission_request", "elicitation"})
"""Events at which the agent asks the user if no hook decides."""

FALLBACKS: dict[str, Fallback] = {
    "deny": _replace_deny,
    "ask": _replace_ask,
    "defer": _replace_defer,
    "approve": _replace_approve,
    "stop": _replace_stop,
    "rewrite": _replace_rewrite,
    "replace_result": _replace_result,
    "context": _replace_context,
    "message": _replace_message,
    "change_request": _leave_out("change_request"),
    "respond": _leave_out("respond"),
    "filter_tools": _leave_out("filter_tools"),
    "clear_context": _leave_out("clear_context"),
    "tail_call": _leave_out("tail_call"),
}
"""Ability to what is done in an agent that lacks it."""

NAMES = {
    "deny": "denials",
    "ask": "asking the user",
    "defer": "deferred calls",
    "approve": "approvals",
    "stop": "stopping",
    "rewrite": "changed arguments",
    "replace_result": "replaced results",
    "context": "context for the agent",
    "message": "messages to the user",
    "change_request": "changes of the request",
    "respond": "responses of hooks",
    "filter_tools": "choosing tools",
    "clear_context": "clearing the context",
    "tail_call": "calls in place of a result",
}
"""Ability to its name in a sentence."""
