"""How the verdicts of several handlers become the verdict of a decision.

An event names one of `VERDICTS` (`EventSpec.verdict`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.spec import Denial
from anyhook.model.answers import STRENGTH, Outcome, join_lines
from anyhook.model.decisions import Blame, Overridden
from anyhook.model.diagnostics import diagnose
from anyhook.model.layers import Layer
from anyhook.model.sequence import carries, strongest_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from anyhook.agents.spec import EventSpec, RuleSet
    from anyhook.model.answers import Answer
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.draft import DecisionDraft

ADMINISTRATORS = frozenset({Layer.MANAGED, Layer.SYSTEM})
"""Layers of whose denials no later allowance cancels one (`last_or_administrators`)."""


def set_verdict(
    rules: RuleSet, spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Set the outcome, the stop and the reason of a decision.

    The results hold an answer and are in plan order.
    """
    if spec.combines_replies:
        _decide_by_replies(rules, spec, draft, results)
    else:
        VERDICTS[spec.verdict_policy](spec, draft, results)


def _take_strongest(spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]) -> None:
    outcome = strongest_outcome(result.answer for result in results)
    carriers = _set_outcome(draft, results, outcome)
    stoppers = [result for result in results if _ends_loop(spec, result.answer)]
    if stoppers:
        _set_stop(draft, stoppers)
        draft.fields["stops_after"] = not spec.stop_prevents
    reasons = _effective_reasons(spec, results, stoppers, carriers)
    if reasons:
        text = join_lines(str(blame.value) for blame in reasons)
        draft.set("reason", text, reasons)


def _ends_loop(spec: EventSpec, answer: Answer) -> bool:
    """Return whether an answer ends the agent's loop: on some events a denial does, too."""
    if answer.stop:
        return True
    return spec.denial is Denial.ENDS and answer.outcome is Outcome.DENY


def _take_last(_spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]) -> None:
    """Take the last verdict, so that an allowance cancels a denial before it."""
    last_verdict = _last_with(results, "outcome")
    if last_verdict is not None:
        _set_outcome(draft, [last_verdict], last_verdict.answer.outcome)
    last_stop = _last_with(results, "stop")
    if last_stop is not None and last_stop.answer.stop:
        _set_stop(draft, [last_stop])
    _set_last_reason(draft, results)


def _take_highest_layer(
    spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Take the strongest verdict of the highest layer that has one; hooks of the host come first.

    The layers of a plan are in ascending order (`AgentSpec.layer_order`).
    """
    verdicts = [result for result in results if result.answer.outcome is not Outcome.NONE]
    if not verdicts:
        _take_strongest(spec, draft, results)
        return
    layers = [result.handler.layer for result in verdicts]
    # The host's hooks run first, and still decide.
    highest = Layer.RUNTIME if Layer.RUNTIME in layers else layers[-1]
    deciding = [result for result in results if result.handler.layer is highest]
    _take_strongest(spec, draft, deciding)
    for result in verdicts:
        is_stronger = STRENGTH[result.answer.outcome] > STRENGTH[draft.outcome]
        if is_stronger:
            _report_overruled(draft, result, highest)


def _report_overruled(draft: DecisionDraft, result: HandlerResult, deciding: Layer) -> None:
    """Report a verdict that a weaker one of a higher layer overrules."""
    label = result.handler.label
    message = (
        f"{draft.event_name}: {label!r} of the {result.handler.layer} layer answers "
        f"{result.answer.outcome}, and the {deciding} layer, which counts more, {draft.outcome}"
    )
    draft.diagnostics.append(diagnose("conflict", message, result.handler.place, handler=label))


def _take_last_or_administrators(
    spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Take the last verdict, unless a hook of the administrator denies."""
    denials = [result for result in results if _is_denial_of_administrator(result)]
    _take_last(spec, draft, denials or results)


def _is_denial_of_administrator(result: HandlerResult) -> bool:
    is_denial = result.answer.outcome is Outcome.DENY
    return is_denial and result.handler.layer in ADMINISTRATORS


def _take_none(_spec: EventSpec, _draft: DecisionDraft, _results: list[HandlerResult]) -> None:
    """Leave the verdict out: the event has none."""


def _decide_by_replies(
    rules: RuleSet, spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Let the release combine the replies, and interpret the combined one."""
    coercions = rules.loaded_coercions
    if coercions is None or coercions.decide is None or coercions.reply_of is None:
        return
    replies = [_reply_of(result, coercions.reply_of) for result in results]
    verdict = coercions.decide(spec.canonical, replies)
    outcome = verdict.get("outcome", Outcome.NONE)
    if outcome is Outcome.NONE:
        return
    carriers = _set_outcome(draft, results, outcome)
    if not carriers:
        # None of the replies means this alone: all of them together do.
        carriers = results
        draft.set("outcome", outcome, [Blame(result.handler, str(outcome)) for result in results])
    reason = verdict.get("reason")
    if reason:
        draft.set("reason", reason, [Blame(result.handler, reason) for result in carriers])


def _reply_of(
    result: HandlerResult, reply_of: Callable[[Answer], dict[str, Any]]
) -> Mapping[str, Any]:
    """Return what a handler replied; of one without output, like a function, what it means."""
    if result.reply is not None:
        return result.reply
    return reply_of(result.answer)


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
    overridden = tuple(_weaker_verdicts(results, outcome))
    blames = [Blame(result.handler, str(outcome), overridden) for result in carriers]
    draft.set("outcome", outcome, blames)
    approvers = [result for result in carriers if result.answer.approve]
    if outcome is Outcome.ALLOW and approvers:
        draft.set("approve", True, [Blame(result.handler, True) for result in approvers])
    return carriers


def _weaker_verdicts(results: list[HandlerResult], outcome: Outcome) -> Iterator[Overridden]:
    for result in results:
        own = result.answer.outcome
        if own is not Outcome.NONE and STRENGTH[own] < STRENGTH[outcome]:
            yield Overridden(result.handler, str(own))


def _set_stop(draft: DecisionDraft, stoppers: list[HandlerResult]) -> None:
    draft.set("stop", True, [Blame(result.handler, True) for result in stoppers])


# -- reasons


def _effective_reasons(
    spec: EventSpec,
    results: list[HandlerResult],
    stoppers: list[HandlerResult],
    carriers: list[HandlerResult],
) -> list[Blame]:
    """Return the reasons that the decision shows, by the event's `reason_policy`.

    The stoppers are the results that stop, and the carriers those that carry the outcome.
    """
    if spec.reason_policy == "all":
        return _blame_reasons(stoppers, _stop_reason) or _blame_reasons(results, _reason)
    if stoppers:
        reasons = _blame_reasons(stoppers, _any_reason)
    else:
        reasons = _blame_reasons(carriers, _reason)
    return reasons[:1] if spec.reason_policy == "first" else reasons


def _blame_reasons(
    results: list[HandlerResult], reason_of: Callable[[Answer], str | None]
) -> list[Blame]:
    blames: list[Blame] = []
    for result in results:
        reason = reason_of(result.answer)
        if reason:
            blames.append(Blame(result.handler, reason))
    return blames


def _reason(answer: Answer) -> str | None:
    return answer.reason


def _stop_reason(answer: Answer) -> str | None:
    return answer.stop_reason


def _any_reason(answer: Answer) -> str | None:
    return answer.stop_reason or answer.reason


def _set_last_reason(draft: DecisionDraft, results: list[HandlerResult]) -> None:
    """Set the last stop reason, also without a stop; if it is empty, the last reason."""
    for name in ("stop_reason", "reason"):
        result = _last_with(results, name)
        if result is None:
            continue
        text = getattr(result.answer, name)
        if text:
            draft.set("reason", text, [Blame(result.handler, text)])
            return


def _last_with(results: list[HandlerResult], field: str) -> HandlerResult | None:
    """Return the last result whose answer sets a field, also to a value without effect."""
    for result in reversed(results):
        if field in result.answer.__dict__:
            return result
    return None
