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
from anyhook.agents.encode import NAMED_REASON, answer_of, give_reason
from anyhook.agents.spec import Denial
from anyhook.errors import UsageError
from anyhook.model.answers import NO_OPINION, STRENGTH, Answer, Outcome, join_lines
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event

    Fallback = tuple[Answer, str]
    """Another answer, and what happens instead; `SAME_EFFECT` if that needs no note."""

SAME_EFFECT = ""
LOST = "it reaches neither the agent nor the user"
"""What happens to a text that can be passed to neither the agent nor the user."""
LEFT_OUT = "it is left out"
INTERRUPTS = frozenset({"interrupt", "denied_interrupt"})
"""Kinds of members that stop the agent only next to a denial."""


class UnsupportedError(UsageError):
    """The agent lacks an ability that a hook with `unsupported="refuse"` needs."""


def fit(
    agent: AgentSpec, event: Event, answer: Answer, *, name: str = "hook", refuse: bool = False
) -> tuple[Answer, list[str]]:
    """Return an answer that the agent supports, and a note for each ability that was replaced.

    The name of the hook is for a denial without a reason.

    Raises:
        UnsupportedError: If the agent lacks an ability and `refuse` is set.
    """
    answer, notes = _without_what_denial_drops(agent, event, answer)
    if notes and refuse:
        raise UnsupportedError(notes[0])
    if answer.approve and answer.outcome is not Outcome.ALLOW:
        answer = answer.replace(approve=False)  # no agent has a word for that
    if answer.tool_output is not None:
        answer, note = fit_result(agent, event, answer)
        if note and refuse:
            raise UnsupportedError(note)
        if note:
            notes.append(note)
    for ability in abilities_of(answer):
        how = support(agent, event.name, ability)
        is_beside_denial = ABILITIES[ability][0] in observed_spec(agent, event).denial_fields
        if is_beside_denial and answer.outcome in (Outcome.DENY, Outcome.ASK):
            continue
        if how in (Support.YES, Support.UNDOCUMENTED):
            continue
        gap = Gap(agent=agent, event=event, answer=answer, ability=ability, support=how)
        fallback, instead = FALLBACKS[ability](gap)
        if instead == SAME_EFFECT:
            continue
        verb = "ignores" if how is Support.PROMISED else "has no"
        note = f"{agent.title} {verb} {NAMES[ability]} on {event.wire_name or event.name}"
        if refuse:
            raise UnsupportedError(note)
        notes.append(f"{note}; {instead}")
        answer = fallback
    answer = _complete(agent, event, answer, notes)
    reason = NAMED_REASON.format(label=name)
    return give_reason(agent, agent.by_canonical[event.name], answer, reason), notes


def fit_decision(agent: AgentSpec, event: Event, decision: Decision) -> tuple[Answer, list[str]]:
    """Return a decision of several hooks as the answer of one.

    A verdict that the agent does not have is replaced by the nearest one, see `fit`: hooks of the
    agent's settings give none, but functions of a program may. A tool configuration gets the form
    that the request of the event has: flat, or under `functionCallingConfig`.
    """
    answer = answer_of(decision)
    notes: list[str] = []
    if any(_is_lost(agent, event, ability) for ability in abilities_of(answer)):
        answer, notes = fit(agent, event, answer)
    request = getattr(event, "llm_request", None)
    if answer.tool_config is not None and isinstance(request, dict):
        from anyhook.model.llm import like_tool_config

        tool_config: Any = like_tool_config(answer.tool_config, request.get("toolConfig"))
        answer = answer.replace(tool_config=tool_config)
    return answer, notes


def _is_lost(agent: AgentSpec, event: Event, ability: str) -> bool:
    """Return whether an ability keeps an event from happening, and no reply has a word for it."""
    if ability == "stop":
        members = agent.written_fields(event.name)
        kinds = {member.kind for member in members if member.field == "stop"}
        return kinds <= INTERRUPTS
    return ability in {"ask", "defer", "deny"} and support(agent, event.name, ability) is Support.NO


def _without_what_denial_drops(
    agent: AgentSpec, event: Event, answer: Answer
) -> tuple[Answer, list[str]]:
    """Leave out the fields that the agent drops because the answer denies; note each of them."""
    notes: list[str] = []
    if answer.outcome is not Outcome.DENY:
        return answer, notes
    dropped = observed_spec(agent, event).discarded_on_denial
    for ability in abilities_of(answer):
        field, _ = ABILITIES[ability]
        if field in dropped:
            wire = event.wire_name or event.name
            notes.append(f"{agent.title} drops {NAMES[ability]} where {wire} is denied; {LEFT_OUT}")
            answer = answer.replace(**{field: None})
    return answer, notes


# -- what the agent's form of a reply needs


def fit_result(agent: AgentSpec, event: Event, answer: Answer) -> tuple[Answer, str]:
    """Give a text in place of a tool's result the form that the agent needs.

    Claude Code ignores a result in another form (`EventSpec.result_members`). There is a note if
    the text could not be put into the result.
    """
    from anyhook.agents.tool_results import required_members, write_tool_result
    from anyhook.agents.values import fault_in_object
    from anyhook.model.events import ToolEvent
    from anyhook.model.tools import ToolResult, all_texts

    if not isinstance(event, ToolEvent):
        return answer, ""
    tool, output = event.tool_name, answer.tool_output
    members = required_members(observed_spec(agent, event), event)
    if not members:
        return answer, ""
    if not isinstance(output, str):
        fault = fault_in_object(output, members)
        return answer, f"{agent.title} ignores this result of {tool}: {fault}" if fault else ""
    result: Any = write_tool_result(agent, event.call, ToolResult(text=output))
    if output in all_texts(result):
        return answer.replace(tool_output=result), ""
    gap = Gap(agent=agent, event=event, answer=answer, ability="replace_result", support=Support.NO)
    fallback, instead = gap.deliver(gap.rest(), output)
    return fallback, f"{agent.title} takes no text as the result of {tool}; {instead}"


def _complete(agent: AgentSpec, event: Event, answer: Answer, notes: list[str]) -> Answer:
    """Add complete values, and the verdicts that some fields imply."""
    spec = observed_spec(agent, event)
    changes = _complete_values(event, answer)
    cancels_denials = spec.allowance_cancels and not answer.approve
    if answer.outcome is Outcome.ALLOW and cancels_denials:
        changes["outcome"] = Outcome.NONE  # it would cancel the denial of another hook
    for field, implied in spec.implied_fields.items():
        if getattr(answer, field) not in (None, False):
            changes |= implied
            changes["reason"] = answer.reason or answer.stop_reason or "answered by a hook"
            changes["approve"] = False  # the agent has no word for a denial that approves
    if spec.any_output_sets and all(
        getattr(answer, field) is None for field in spec.any_output_sets
    ):
        if answer != NO_OPINION and not notes:
            notes.append(f"{agent.title} reads any output on {spec.wire} as a tool choice; {LOST}")
        if not notes:
            return NO_OPINION
        # The agent also reads the notes on standard error, unless standard output has a reply.
        # The tool choice of the event is a reply that changes nothing.
        from anyhook.model.llm import check_tool_config

        current = getattr(event, "llm_request", {}).get("toolConfig")
        changes["tool_config"] = {"mode": "AUTO"}
        if isinstance(current, dict):
            changes["tool_config"] = check_tool_config(current)[0]
    answer = answer.replace(**changes) if changes else answer
    stop_reason = (answer.stop_reason or answer.reason) if answer.stop else None
    if answer.stop_reason != stop_reason:
        answer = answer.replace(stop_reason=stop_reason)
    if answer.reason is not None and not _may_have_reason(agent, spec, answer):
        answer = answer.replace(reason=None)
    return answer


def _may_have_reason(agent: AgentSpec, spec: EventSpec, answer: Answer) -> bool:
    """Return whether the agent's reply has a verdict for the reason, or may hold it alone."""
    members = agent.written_fields(spec.canonical)
    verdict = (answer.outcome, answer.approve)
    for member in members:
        if member.field == "outcome" and verdict in (member.words or agent.decision_words).values():
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


def observed_spec(agent: AgentSpec, event: Event) -> EventSpec:
    """Return what the observed release of an agent does on an event."""
    rules = agent.newest_rules
    return rules.by_canonical.get(event.name) or agent.by_canonical[event.name]


# -- a fallback for each ability


class Gap(Record):
    """An ability, a key of `ABILITIES`, that an answer needs and the agent lacks.

    The support is `PROMISED` or `NO`.
    """

    agent: AgentSpec
    event: Event
    answer: Answer
    ability: str
    support: Support

    @property
    def denial(self) -> Denial:
        """What a denial does on the event."""
        return self.agent.by_canonical[self.event.name].denial

    def supports(self, ability: str) -> bool:
        """Return whether the agent has another ability on the event."""
        return support(self.agent, self.event.name, ability) in (Support.YES, Support.UNDOCUMENTED)

    def rest(self) -> Answer:
        """Return the answer without the ability."""
        # Another release of the agent may keep what its reference promises.
        if self.support is Support.PROMISED and self.ability not in ("stop", "ask", "defer"):
            return self.answer
        field, _ = ABILITIES[self.ability]
        if field == "outcome":
            return self.answer.replace(outcome=Outcome.NONE, reason=None)
        empty_values = {"stop": False, "approve": False, "clear_context": False}
        return self.answer.replace(**{field: empty_values.get(field)})

    def deliver(self, answer: Answer, text: str | None) -> Fallback:
        """Pass a text to the agent if possible, else to the user."""
        if not text:
            return answer, LEFT_OUT
        # At the end of an agent, context would make the agent continue.
        if self.denial is not Denial.CONTINUES and self.supports("context"):
            context = join_lines((answer.context, text))
            return answer.replace(context=context), "the agent gets it as context"
        message_support = support(self.agent, self.event.name, "message")
        if message_support is Support.PROMISED:
            instead = "only the log has it"
        elif message_support is not Support.NO:
            instead = "the user gets it as a message"
        elif shows_stderr(self.agent, self.event.name):
            instead = "the user gets it on standard error"
        else:
            return answer, LOST
        return answer.replace(system_message=join_lines((answer.system_message, text))), instead

    def deny(self, answer: Answer, reason: str) -> Fallback:
        """Deny if possible, else stop the agent, else pass the reason to the agent or the user."""
        if self.denial is Denial.CONTINUES:  # the agent would continue with the reason, for ever
            return self.deliver(answer, reason)
        if self.supports("deny"):
            if STRENGTH[answer.outcome] < STRENGTH[Outcome.DENY]:
                answer = answer.replace(outcome=Outcome.DENY, approve=False, reason=reason)
            return answer, "it is denied"
        if self.denial is not Denial.NOTHING and self.supports("stop"):
            return answer.replace(stop=True, stop_reason=reason), "the agent is stopped"
        if self.supports("filter_tools"):
            answer, _ = self.deliver(answer, reason)
            return answer.replace(tool_config={"mode": "NONE"}), "the model may call no tool"
        return self.deliver(answer, reason)


def _replace_ask(gap: Gap) -> Fallback:
    if gap.event.name in ASK_ANYWAY:
        return gap.rest(), "the user is asked anyway"
    reason = gap.answer.reason or "a hook wants the user to confirm this"
    return gap.deny(gap.rest(), f"{reason} (the user cannot be asked)")


def _replace_defer(gap: Gap) -> Fallback:
    if gap.event.name in ASK_ANYWAY:
        return gap.rest(), "the user is asked"
    reason = gap.answer.reason
    if gap.supports("ask"):
        return gap.rest().replace(outcome=Outcome.ASK, reason=reason), "the user is asked"
    return gap.deny(gap.rest(), reason or "a hook wants this decided later")


def _replace_stop(gap: Gap) -> Fallback:
    reason = gap.answer.stop_reason or gap.answer.reason or "stopped by a hook"
    return gap.deny(gap.rest().replace(stop_reason=None), reason)


def _replace_rewrite(gap: Gap) -> Fallback:
    import json

    arguments = json.dumps(gap.answer.tool_input, ensure_ascii=False, default=str)
    return gap.deny(gap.rest(), f"call it with these arguments instead: {arguments}")


def _replace_result(gap: Gap) -> Fallback:
    from anyhook.model.tools import all_texts

    output = gap.answer.tool_output
    text = "\n".join(all_texts(output)) or str(output)
    if gap.denial is Denial.HIDES and gap.supports("deny"):
        return gap.deny(gap.rest(), text)
    return gap.deliver(gap.rest(), text)


def _replace_message(gap: Gap) -> Fallback:
    if shows_stderr(gap.agent, gap.event.name):
        return gap.answer, SAME_EFFECT
    return gap.rest(), LOST


def _leave_out(gap: Gap) -> Fallback:
    return gap.rest(), LEFT_OUT


ASK_ANYWAY = frozenset({"permission_request", "elicitation"})
"""Events at which the agent asks the user if no hook decides."""

FALLBACKS: dict[str, Callable[[Gap], Fallback]] = {
    "deny": lambda gap: gap.deny(gap.rest(), gap.answer.reason or "denied by a hook"),
    "ask": _replace_ask,
    "defer": _replace_defer,
    "approve": lambda gap: (gap.rest(), "the agent may still ask its user"),
    "stop": _replace_stop,
    "rewrite": _replace_rewrite,
    "replace_result": _replace_result,
    "context": lambda gap: gap.deliver(gap.rest(), gap.answer.context),
    "message": _replace_message,
    "change_request": _leave_out,
    "respond": _leave_out,
    "filter_tools": _leave_out,
    "clear_context": _leave_out,
    "tail_call": _leave_out,
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
