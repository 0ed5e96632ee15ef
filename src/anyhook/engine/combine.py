"""From the results of handlers to one decision.

Pure, and independent of the order in which handlers finished. The verdict is the strongest one:
stop > deny > defer > ask > allow > none (`anyhook.engine.verdicts`). Every other field has a policy
(`anyhook.engine.policies`). An event of an agent can name another way for each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.agents.spec import Denial
from anyhook.agents.spec.rules import REFUSED_INPUT
from anyhook.engine.policies import POLICIES, combine_field
from anyhook.engine.verdicts import set_verdict
from anyhook.model.answers import BLOCKING_EXIT, NO_OPINION, Audience, Outcome
from anyhook.model.decisions import NO_DECISION, Blame, Decision, Message
from anyhook.model.diagnostics import diagnose
from anyhook.model.draft import DecisionDraft, FieldValue
from anyhook.model.event import ToolEvent
from anyhook.model.record import replace
from anyhook.model.sequence import carries, is_set
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import EventSpec, RuleSet
    from anyhook.engine.run import Results
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

FIELDS_WITHOUT_EFFECT = {Outcome.DEFER: frozenset({"tool_input", "context"})}
"""Verdict to the fields that it makes void: a deferred call is asked again as the model made it."""


class GroupedResult(NamedTuple):
    """A result and the index of its group in the plan."""

    group: int
    result: HandlerResult


def combine(rules: RuleSet, spec: EventSpec, event: Event, results: Results) -> Decision:
    """Combine the results of all handlers of an event. Never raises for what they hold.

    The results are in plan order, grouped as the plan is.
    """
    all_results: list[HandlerResult] = []
    answered: list[GroupedResult] = []
    diagnostics: list[Diagnostic] = []
    for group, group_results in enumerate(results):
        for original in group_results:
            result = original
            if result.answer.outcome is Outcome.DENY:
                result = _with_reason(rules, spec, result)
            all_results.append(result)
            diagnostics += result.diagnostics
            if result.answer is not NO_OPINION or result.reply is not None:
                answered.append(GroupedResult(group, result))
    if not all_results:
        return NO_DECISION
    draft = DecisionDraft(event, spec.wire)
    outcome = Outcome.NONE
    if answered:
        set_verdict(rules, spec, draft, [item.result for item in answered])
        _set_fields(rules, spec, draft, answered)
        if draft.outcome is Outcome.DENY:
            if spec.denial is Denial.NOTHING:
                draft.fields["goes_on"] = True
            elif spec.denial is Denial.EMPTIES:
                draft.set("tool_config", {"mode": "NONE"}, draft.blame.get("outcome", ()))
        _refuse_input(rules, spec, draft)
        outcome = draft.outcome
    return Decision(
        **draft.fields,
        messages=tuple(_route_texts(rules, spec, all_results, outcome)),
        blame=draft.blame,
        results=tuple(all_results),
        diagnostics=(*diagnostics, *draft.diagnostics),
    )


def _refuse_input(rules: RuleSet, spec: EventSpec, draft: DecisionDraft) -> None:
    """Report changed arguments that the agent refuses, and deny the call where that is known."""
    changed = draft.fields.get("tool_input")
    if changed is None or not isinstance(draft.event, ToolEvent):
        return
    tool, arguments = draft.event.tool_name, draft.event.tool_input
    argument = rules.refused_argument(spec, tool, arguments, changed)
    if not argument:
        return
    handler = draft.blame["tool_input"][-1].handler
    if not spec.input_refusal:
        problem = REFUSED_INPUT.format(tool=tool, argument=argument)
        text = f"{draft.event_name}: {handler.label!r} {problem}"
        place = handler.place
        draft.diagnostics.append(diagnose("output-field", text, place, handler=handler.label))
        return
    draft.discard(*[name for name in draft.blame if name.partition(".")[0] == "tool_input"])
    if draft.outcome is not Outcome.DENY:
        reason = spec.input_refusal.format(event=spec.wire, tool=tool, argument=argument)
        draft.set("outcome", Outcome.DENY, [Blame(handler, str(Outcome.DENY))])
        draft.set("reason", reason, [Blame(handler, reason)])


def _with_reason(rules: RuleSet, spec: EventSpec, result: HandlerResult) -> HandlerResult:
    """Give a denial without a reason one that names the hook, because the agent reads it."""
    answer = result.answer
    has_other_text = answer.stop or answer.llm_response is not None
    if has_other_text or "reason" not in spec.effective_fields:
        return result
    if spec.default_reason is None:
        template = rules.default_reason
        has_reason = bool(answer.reason)
    else:
        # An agent with a reason of its own uses it only if the hook gives none at all.
        template = spec.default_reason
        has_reason = answer.reason is not None
    if has_reason or not template:
        return result
    reason = template.format(label=result.handler.label, event=spec.wire)
    return replace(result, answer=answer.replace(reason=reason))


def _set_fields(
    rules: RuleSet, spec: EventSpec, draft: DecisionDraft, results: list[GroupedResult]
) -> None:
    set_fields: set[str] = set()
    for item in results:
        set_fields.update(item.result.answer.__dict__)
    coercions = rules.loaded_coercions
    cleared = frozenset() if coercions is None else coercions.cleared
    void = FIELDS_WITHOUT_EFFECT.get(draft.outcome, frozenset())
    if draft.outcome is Outcome.DENY:
        void |= spec.discarded_on_denial
    for field in POLICIES:
        if field not in set_fields:
            continue
        if field in void:
            for value in _values_of(results, field):
                place, label = value.handler.place, value.handler.label
                no_effect = f"{field} of {label!r} has no effect together with {draft.outcome}"
                text = f"{draft.event_name}: {no_effect}"
                draft.diagnostics.append(diagnose("output-no-effect", text, place, handler=label))
            continue
        values = _values_of(results, field, last_replaces=field in cleared)
        if values:
            combine_field(rules, spec, draft, field, values)


def _values_of(
    results: list[GroupedResult], field: str, *, last_replaces: bool = False
) -> list[FieldValue]:
    """Return the values of a field in plan order.

    With `last_replaces`, a value of a wrong type, which was decoded as `None`, removes those
    before.
    """
    values: list[FieldValue] = []
    for group, result in results:
        value = getattr(result.answer, field)
        if is_set(field, value):
            values.append(FieldValue(result.handler, group, value))
        elif last_replaces and field in result.answer.__dict__:
            values.clear()
    return values


# -- which audience gets which text


def _route_texts(
    rules: RuleSet, spec: EventSpec, results: list[HandlerResult], outcome: Outcome
) -> Iterator[Message]:
    """Yield every text of the answers and the streams, with its audience."""
    is_void = outcome is Outcome.DENY and "context" in spec.discarded_on_denial
    has_context = "context" in spec.effective_fields and not is_void
    context_audience = Audience.AGENT if has_context else Audience.DEBUG
    reason_audiences = {
        Outcome.DENY: spec.reason_audience,
        Outcome.ASK: Audience.USER,
        Outcome.ALLOW: spec.allow_audience,
    }
    for result in results:
        answer = result.answer
        if answer is NO_OPINION and not result.stdout and not result.stderr:
            continue
        if result.handler.shadow:
            continue
        stop_reason = (answer.stop_reason or answer.reason) if answer.stop else None
        reason_audience = stdout_audience = stderr_audience = Audience.DEBUG
        if carries(answer, outcome):
            reason_audience = reason_audiences.get(outcome, Audience.DEBUG)
        if not answer.suppress_output:
            stdout_audience = spec.stdout_audience
        if result.status is Status.WARNED:
            is_block = result.exit_code == BLOCKING_EXIT
            stderr_audience = spec.block_audience if is_block else rules.warning_audience
        texts = (
            ("reason", answer.reason, reason_audience),
            ("stop_reason", stop_reason, Audience.USER),
            ("system_message", answer.system_message, spec.message_audience),
            ("context", answer.context, context_audience),
            ("stdout", result.stdout.strip(), stdout_audience),
            ("stderr", result.stderr.strip(), stderr_audience),
        )
        for field, text, audience in texts:
            if text:
                yield Message(audience, text, field, result.handler)
