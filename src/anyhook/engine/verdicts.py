"""How the verdicts of several handlers become the verdict of a decision.

An event names one of `VERDICTS` (`EventSpec.verdict`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.spec import Denial
from anyhook.model.answers import STRENGTH, Outcome, join_lines
from anyhook.model.decisions import Blame, Overridden
from anyhook.model.diagnostics import diagnose
from anyhook.model.layers import Layer
from anyhook.model.sequence import carries, strongest_outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.agents.spec import EventSpec, RuleSet
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.draft import DecisionDraft


def set_verdict(
    rules: RuleSet, spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Set the outcome, the stop and the reason of a decision.

    Args:
        rules: The rule set.
        spec: The event.
        draft: The decision.
        results: The results that hold an answer, in plan order.
    """
    if spec.combines_replies:
        _decide_by_replies(rules, spec, draft, results)
    else:
        VERDICTS[spec.verdict_policy](spec, draft, results)


def _take_strongest(spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]) -> None:
    outcome = strongest_outcome(result.answer for result in results)
    carriers = _set_outcome(draft, results, outcome)
    stoppers = [result for result in results if result.answer.stop]
    if spec.denial is Denial.ENDS and outcome is Outcome.DENY:
        stoppers = [result for result in results if result in stoppers or result in carriers]
    if stoppers:
        _set_stop(draft, stoppers)
        draft.fields["stops_after"] = not spec.stop_prevents
    if spec.reason_policy == "all":
        reasons = _reasons_of_all(results, stoppers)
    else:
        reasons = _reasons_that_count(stoppers, carriers)
    if spec.reason_policy == "first":
        reasons = reasons[:1]
    if reasons:
        draft.set("reason", join_lines(str(blame.value) for blame in reasons), reasons)


def _take_last(_spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]) -> None:
    """Take the last verdict, so that an allowance cancels a denial before it."""
    verdicts = [result for result in results if "outcome" in result.answer.__dict__]
    if verdicts:
        _set_outcome(draft, verdicts[-1:], verdicts[-1].answer.outcome)
    stops = [result for result in results if "stop" in result.answer.__dict__]
    if stops and stops[-1].answer.stop:
        _set_stop(draft, stops[-1:])
    _set_last_reason(draft, results)


def _take_highest_layer(
    spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Take the strongest verdict of the highest layer that has one; hooks of the host come first.

    The layers of a plan are in ascending order (`AgentSpec.layer_order`).
    """
    with_verdict = [r for r in results if r.answer.outcome is not Outcome.NONE]
    if not with_verdict:
        _take_strongest(spec, draft, results)
        return
    layers = [result.handler.layer for result in with_verdict]
    highest = Layer.RUNTIME if Layer.RUNTIME in layers else layers[-1]
    deciding = [result for result in results if result.handler.layer is highest]
    _take_strongest(spec, draft, deciding)
    for result in with_verdict:
        if STRENGTH[result.answer.outcome] > STRENGTH[draft.outcome]:
            _report_overruled(draft, result, highest)


def _report_overruled(draft: DecisionDraft, result: HandlerResult, layer: Layer) -> None:
    label = result.handler.label
    message = (
        f"{draft.event_name}: {label!r} of the {result.handler.layer} layer answers "
        f"{result.answer.outcome}, and the {layer} layer, which counts more, {draft.outcome}"
    )
    draft.diagnostics.append(diagnose("conflict", message, result.handler.place, handler=label))


def _take_last_or_administrators(
    spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Take the last verdict, unless a hook of the administrator denies."""
    denials = [
        result
        for result in results
        if result.handler.layer in ADMINISTRATORS and result.answer.outcome is Outcome.DENY
    ]
    _take_last(spec, draft, denials or results)


def _take_none(_spec: EventSpec, _draft: DecisionDraft, _results: list[HandlerResult]) -> None:
    """Leave the verdict out: the event has none."""


def _decide_by_replies(
    rules: RuleSet, spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Let the release combine the replies, and interpret the combined one."""
    coercions = rules.loaded_coercions
    if coercions is None or coercions.decide is None or coercions.reply_of is None:
        return
    reply_of = coercions.reply_of
    replies = [
        result.reply if result.reply is not None else reply_of(result.answer) for result in results
    ]
    verdict = coercions.decide(spec.canonical, replies)
    outcome = verdict.get("outcome", Outcome.NONE)
    if outcome is Outcome.NONE:
        return
    carriers = _set_outcome(draft, results, outcome)
    if not carriers:  # only together the replies mean this
        carriers = results
        draft.set("outcome", outcome, [Blame(result.handler, str(outcome)) for result in results])
    if verdict.get("reason"):
        reason = verdict["reason"]
        draft.set("reason", reason, [Blame(result.handler, reason) for result in carriers])


ADMINISTRATORS = frozenset({Layer.MANAGED, Layer.SYSTEM})
VERDICTS: dict[str, Callable[[EventSpec, DecisionDraft, list[HandlerResult]], None]] = {
    "strongest": _take_strongest,
    "last": _take_last,
    "highest_layer": _take_highest_layer,
    "last_or_administrators": _take_last_or_administrators,
    "none": _take_none,
}
"""Ways to combine verdicts, by the name that an event uses."""


def _set_outcome(
    draft: DecisionDraft, results: list[HandlerResult], outcome: Outcome
) -> list[HandlerResult]:
    """Set the outcome. Returns the results that carry it."""
    carriers = [result for result in results if carries(result.answer, outcome)]
    if not carriers:
        return []
    overrode = tuple(
        Overridden(result.handler, str(result.answer.outcome))
        for result in results
        if 0 < STRENGTH[result.answer.outcome] < STRENGTH[outcome]
    )
    blames = [Blame(result.handler, str(outcome), overrode) for result in carriers]
    draft.set("outcome", outcome, blames)
    approvers = [result for result in carriers if result.answer.approve]
    if outcome is Outcome.ALLOW and approvers:
        draft.set("approve", True, [Blame(result.handler, True) for result in approvers])
    return carriers


def _set_stop(draft: DecisionDraft, stoppers: list[HandlerResult]) -> None:
    draft.set("stop", True, [Blame(result.handler, True) for result in stoppers])


def _reasons_that_count(
    stoppers: list[HandlerResult], carriers: list[HandlerResult]
) -> list[Blame]:
    """Return the reasons of the handlers that stopped, else of those that carry the outcome."""
    if stoppers:
        return [
            Blame(result.handler, text)
            for result in stoppers
            if (text := result.answer.stop_reason or result.answer.reason)
        ]
    return _reasons(carriers)


def _reasons_of_all(results: list[HandlerResult], stoppers: list[HandlerResult]) -> list[Blame]:
    """Return the stop reasons; if nothing stops with one, the reasons of all handlers."""
    stop_reasons = [
        Blame(result.handler, result.answer.stop_reason)
        for result in stoppers
        if result.answer.stop_reason
    ]
    return stop_reasons or _reasons(results)


def _reasons(results: list[HandlerResult]) -> list[Blame]:
    return [
        Blame(result.handler, result.answer.reason) for result in results if result.answer.reason
    ]


def _set_last_reason(draft: DecisionDraft, results: list[HandlerResult]) -> None:
    """Set the last stop reason, also without a stop; if it is empty, the last reason."""
    for name in ("stop_reason", "reason"):
        givers = [result for result in results if name in result.answer.__dict__]
        text = getattr(givers[-1].answer, name) if givers else None
        if text:
            draft.set("reason", text, [Blame(givers[-1].handler, text)])
            return
