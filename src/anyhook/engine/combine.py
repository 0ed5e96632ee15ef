"""From the results of handlers to one decision.

Pure, and independent of the order in which handlers finished. The verdict is the strongest one:
stop > deny > defer > ask > allow > none (`anyhook.engine.verdicts`). Every other field has a policy
(`anyhook.engine.policies`). An event of an agent can name another way for each of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anyhook.engine.policies import POLICIES, combine_field
from anyhook.engine.verdicts import set_verdict
from anyhook.model.answers import NO_OPINION, Audience, Outcome
from anyhook.model.decisions import NO_DECISION, Decision, Message
from anyhook.model.diagnostics import diagnose
from anyhook.model.draft import DecisionDraft, FieldValue
from anyhook.model.sequence import carries, is_set
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import EventSpec, RuleSet
    from anyhook.engine.run import Results
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.events import Event

    GroupedResult = tuple[int, HandlerResult]

BLOCKING_EXIT = 2
"""The exit code that denies, on events that can be denied."""
FIELDS_WITHOUT_EFFECT = {Outcome.DEFER: frozenset({"tool_input", "context"})}
"""Verdict to the fields that it makes void: a deferred call is asked again as the model made it."""


def combine(rules: RuleSet, spec: EventSpec, event: Event, results: Results) -> Decision:
    """Combine the results of all handlers of an event. Never raises for what they hold.

    Args:
        rules: The rule set of the agent.
        spec: The event under that rule set.
        event: The event as it was dispatched.
        results: In plan order, grouped as the plan is.
    """
    grouped: list[GroupedResult] = []
    for group, group_results in enumerate(results):
        grouped += [(group, _with_reason(rules, spec, result)) for result in group_results]
    if not grouped:
        return NO_DECISION
    draft = DecisionDraft(event, spec.wire)
    answered = [
        (group, r) for group, r in grouped if r.answer is not NO_OPINION or r.reply is not None
    ]
    if answered:
        set_verdict(rules, spec, draft, [result for _, result in answered])
        _set_fields(rules, spec, draft, answered)
    flat = tuple(result for _, result in grouped)
    problems = [problem for result in flat for problem in result.diagnostics]
    return Decision(
        **draft.fields,
        messages=tuple(_route_texts(rules, spec, flat, draft.outcome)),
        blame=draft.blame,
        results=flat,
        diagnostics=(*problems, *draft.diagnostics),
    )


def _with_reason(rules: RuleSet, spec: EventSpec, result: HandlerResult) -> HandlerResult:
    """Give a denial without a reason one that names the hook, because the agent reads it."""
    answer = result.answer
    # An agent with a reason of its own uses it only if the hook gives none at all.
    has_reason = answer.reason if spec.default_reason is None else answer.reason is not None
    is_unexplained = answer.outcome is Outcome.DENY and not has_reason
    has_other_text = answer.stop or answer.llm_response is not None
    if not is_unexplained or has_other_text or "reason" not in spec.effective_fields:
        return result
    template = rules.default_reason if spec.default_reason is None else spec.default_reason
    if not template:
        return result
    reason = template.format(label=result.handler.label, event=spec.wire)
    return replace(result, answer=answer.replace(reason=reason))


def _set_fields(
    rules: RuleSet, spec: EventSpec, draft: DecisionDraft, results: list[GroupedResult]
) -> None:
    set_fields = {field for _, result in results for field in result.answer.__dict__}
    void = FIELDS_WITHOUT_EFFECT.get(draft.outcome, frozenset())
    if draft.outcome is Outcome.DENY:
        void |= spec.discarded_on_denial
    for field in POLICIES:
        if field not in set_fields:
            continue
        if field in void:
            _report_void(draft, field, _values_of(results, field))
            continue
        last_replaces = field in rules.cleared_by_invalid
        values = _values_of(results, field, last_replaces=last_replaces)
        if values:
            combine_field(rules, spec, draft, field, values)


def _values_of(
    results: list[GroupedResult], field: str, *, last_replaces: bool = False
) -> list[FieldValue]:
    """Return the values of a field in plan order.

    Args:
        results: Results with an answer.
        field: Field of the answer.
        last_replaces: A value of a wrong type, which was decoded as `None`, removes those before.
    """
    values: list[FieldValue] = []
    for group, result in results:
        value = getattr(result.answer, field)
        if is_set(field, value):
            values.append(FieldValue(result.handler, group, value))
        elif last_replaces and field in result.answer.__dict__:
            values.clear()
    return values


def _report_void(draft: DecisionDraft, field: str, values: list[FieldValue]) -> None:
    for value in values:
        label = value.handler.label
        text = f"{draft.event_name}: {field} of {label!r} has no effect beside {draft.outcome}"
        place = value.handler.place
        draft.diagnostics.append(diagnose("output-no-effect", text, place, handler=label))


# -- which audience gets which text


def _route_texts(
    rules: RuleSet, spec: EventSpec, results: tuple[HandlerResult, ...], outcome: Outcome
) -> Iterator[Message]:
    """Yield every text of the answers and the streams, with its audience."""
    is_context_void = outcome is Outcome.DENY and "context" in spec.discarded_on_denial
    reads_context = "context" in spec.effective_fields and not is_context_void
    for result in results:
        answer = result.answer
        if answer is NO_OPINION and not result.stdout and not result.stderr:
            continue
        if result.handler.shadow:
            continue
        stop_reason = (answer.stop_reason or answer.reason) if answer.stop else None
        texts = (
            ("reason", answer.reason, _reason_audience(spec, result, outcome)),
            ("stop_reason", stop_reason, Audience.USER),
            ("system_message", answer.system_message, spec.message_audience),
            ("context", answer.context, Audience.AGENT if reads_context else Audience.DEBUG),
            ("stdout", result.stdout.strip(), _stdout_audience(spec, result)),
            ("stderr", result.stderr.strip(), _stderr_audience(rules, spec, result)),
        )
        for field, text, audience in texts:
            if text:
                yield Message(audience, text, field, result.handler)


def _reason_audience(spec: EventSpec, result: HandlerResult, outcome: Outcome) -> Audience:
    if not carries(result.answer, outcome):
        return Audience.DEBUG
    audiences = {
        Outcome.DENY: spec.reason_audience,
        Outcome.ASK: Audience.USER,
        Outcome.ALLOW: spec.allow_audience,
    }
    return audiences.get(outcome, Audience.DEBUG)


def _stdout_audience(spec: EventSpec, result: HandlerResult) -> Audience:
    return Audience.DEBUG if result.answer.suppress_output else spec.stdout_audience


def _stderr_audience(rules: RuleSet, spec: EventSpec, result: HandlerResult) -> Audience:
    if result.status is not Status.WARNED:
        return Audience.DEBUG
    return spec.block_audience if result.exit_code == BLOCKING_EXIT else rules.warning_audience
