"""How the verdicts of several handlers become the verdict of a decision.

An event names one of `VERDICTS` (`EventSpec.verdict_policy`).
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
    from collections.abc import Callable, Mapping

    from anyhook.agents.spec import EventSpec, RuleSet
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
    if not spec.combines_replies:
        VERDICTS[spec.verdict_policy](spec, draft, results)
        return
    # The release combines the replies, and interprets the combined one.
    coercions = rules.loaded_coercions
    if coercions is None or coercions.decide is None or coercions.reply_of is None:
        return
    replies: list[Mapping[str, Any]] = []
    for result in results:
        reply = result.reply
        # One without output, like a function, replies what it means.
        replies.append(coercions.reply_of(result.answer) if reply is None else reply)
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


def _take_strongest(spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]) -> None:
    outcome = strongest_outcome(result.answer for result in results)
    carriers = _set_outcome(draft, results, outcome)
    stoppers: list[HandlerResult] = []
    for result in results:
        # On some events a denial ends the agent's loop, too.
        is_ending_denial = spec.denial is Denial.ENDS and result.answer.outcome is Outcome.DENY
        if result.answer.stop or is_ending_denial:
            stoppers.append(result)
    if stoppers:
        _set_stop(draft, stoppers)
        draft.fields["stops_after"] = not spec.stop_prevents
    if spec.reason_policy == "all":
        reasons = _blame_reasons(stoppers, "stop_reason") or _blame_reasons(results, "reason")
    elif stoppers:
        reasons = _blame_reasons(stoppers, "stop_reason", "reason")
    else:
        reasons = _blame_reasons(carriers, "reason")
    if spec.reason_policy == "first":
        reasons = reasons[:1]
    if reasons:
        text = join_lines(str(blame.value) for blame in reasons)
        draft.set("reason", text, reasons)


def _take_last(_spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]) -> None:
    """Take the last verdict, so that an allowance cancels a denial before it."""
    last_verdict = _last_with(results, "outcome")
    if last_verdict is not None:
        deciding = [last_verdict]
        hook_file = last_verdict.handler.hook_file
        if hook_file:
            # The functions of a file give one verdict, as when an agent runs the file.
            deciding = [result for result in results if result.handler.hook_file == hook_file]
        _set_outcome(draft, deciding, strongest_outcome(result.answer for result in deciding))
    last_stop = _last_with(results, "stop")
    if last_stop is not None and last_stop.answer.stop:
        _set_stop(draft, [last_stop])
    # The last stop reason counts, also without a stop; if it is empty, the last reason.
    for name in ("stop_reason", "reason"):
        last = _last_with(results, name)
        text = None if last is None else getattr(last.answer, name)
        if last is not None and text:
            draft.set("reason", text, [Blame(last.handler, text)])
            return


def _take_highest_layer(
    spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Take the strongest verdict of the highest layer that has one; hooks of the host come first.

    The layers of a plan are in ascending order (`SettingsFormat.layer_order`).
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
        answer, handler = result.answer, result.handler
        if STRENGTH[answer.outcome] > STRENGTH[draft.outcome]:
            message = (
                f"{draft.event_name}: {handler.label!r} of the {handler.layer} layer answers "
                f"{answer.outcome}, and the {highest} layer, which counts more, {draft.outcome}"
            )
            draft.diagnostics.append(
                diagnose("conflict", message, handler.place, handler=handler.label)
            )


def _take_last_or_administrators(
    spec: EventSpec, draft: DecisionDraft, results: list[HandlerResult]
) -> None:
    """Take the last verdict, unless a hook of the administrator denies."""
    verdicts = [result for result in results if result.handler.layer in ADMINISTRATORS]
    denials = [result for result in verdicts if result.answer.outcome is Outcome.DENY]
    _take_last(spec, draft, denials or results)


def _take_none(_spec: EventSpec, _draft: DecisionDraft, _results: list[HandlerResult]) -> None:
    """Leave the verdict out: the event has none."""


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
    weaker: list[Overridden] = []
    for result in results:
        own = result.answer.outcome
        if own is not Outcome.NONE and STRENGTH[own] < STRENGTH[outcome]:
            weaker.append(Overridden(result.handler, str(own)))
    blames = [Blame(result.handler, str(outcome), tuple(weaker)) for result in carriers]
    draft.set("outcome", outcome, blames)
    approvers = [result for result in carriers if result.answer.approve]
    if outcome is Outcome.ALLOW and approvers:
        draft.set("approve", True, [Blame(result.handler, True) for result in approvers])
    return carriers


def _set_stop(draft: DecisionDraft, stoppers: list[HandlerResult]) -> None:
    draft.set("stop", True, [Blame(result.handler, True) for result in stoppers])


def _blame_reasons(results: list[HandlerResult], *fields: str) -> list[Blame]:
    """Return the first of these fields that is set, of every answer that sets one."""
    blames: list[Blame] = []
    for result in results:
        for field in fields:
            reason = getattr(result.answer, field)
            if reason:
                blames.append(Blame(result.handler, reason))
                break
    return blames


def _last_with(results: list[HandlerResult], field: str) -> HandlerResult | None:
    """Return the last result whose answer sets a field, also to a value without effect."""
    for result in reversed(results):
        if field in result.answer.__dict__:
            return result
    return None
