"""Runs a plan: groups in parallel, the handlers of a group in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.engine.forms import answer_from_form
from anyhook.handlers.kinds import get_kind
from anyhook.handlers.results import failed_result
from anyhook.model.answers import NO_OPINION, Outcome
from anyhook.model.decisions import HandlerResult
from anyhook.model.diagnostics import diagnose
from anyhook.model.sequence import (
    CHANGES,
    advance,
    ends_sequence,
    replace_value,
)
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyhook.engine.plan import Plan
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec

    Changes = Mapping[str, Callable[[Any, Any], Any]]

Results = tuple[tuple[HandlerResult, ...], ...]
"""Results in the shape of the plan's groups."""

REPLACED_INPUT: Changes = {**CHANGES, "tool_input": replace_value}
"""Changes of an event whose arguments a hook replaces as a whole."""


async def run_plan(plan: Plan, context: HookContext) -> Results:
    """Run every handler of a plan.

    The results are in plan order, independent of the order in which handlers finished.
    """
    if len(plan.groups) == 1:
        return (await _run_group(plan.groups[0], context),)
    results: list[tuple[HandlerResult, ...]] = [()] * len(plan.groups)

    async def run(index: int, group: tuple[HandlerSpec, ...]) -> None:
        results[index] = await _run_group(group, context)

    async with anyio.create_task_group() as tasks:
        for index, group in enumerate(plan.groups):
            tasks.start_soon(run, index, group)
    return tuple(results)


async def _run_group(
    group: tuple[HandlerSpec, ...], context: HookContext
) -> tuple[HandlerResult, ...]:
    results: list[HandlerResult] = []
    has_ended = False
    for handler in group:
        if has_ended:
            results.append(HandlerResult(handler, Status.SKIPPED))
            continue
        result = await _run_handler(context, handler)
        if handler.shadow:
            result = without_effect(result)
        results.append(result)
        has_ended = _ends_sequence(context, result)
        if len(group) > 1 and not has_ended and _changes_event(context, result):
            context = _advance(context, result)
    return tuple(results)


def _ends_sequence(context: HookContext, result: HandlerResult) -> bool:
    """Return whether the handlers of the sequence after this one are skipped."""
    if context.spec.ending_outcomes is not None:
        return result.answer.outcome in context.spec.ending_outcomes
    return context.rules.ends_sequence and ends_sequence(result.answer)


def _changes_event(context: HookContext, result: HandlerResult) -> bool:
    """Return whether the next handler sees what this one changed."""
    succeeded = result.signal is None and result.exit_code in (None, 0)
    return succeeded or context.rules.chains_failures


def _advance(context: HookContext, result: HandlerResult) -> HookContext:
    changes: Changes = CHANGES
    coercions = context.rules.loaded_coercions
    if coercions is not None:
        changes = coercions.chain
    elif context.spec.replaces_whole_input:
        changes = REPLACED_INPUT
    event = advance(context.spec.chained_fields, context.event, result.answer, changes)
    return context.with_event(event)


def without_effect(result: HandlerResult) -> HandlerResult:
    """Return the result of a shadow: what it answered is kept and does not count."""
    return replace(
        result,
        answer=NO_OPINION,
        shadow_answer=result.answer,
        reply=None,
        failed=False,
        diagnostics=(),
    )


async def _run_handler(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    result = await _run_in_form(context.in_form(handler.form), handler)
    if handler.form:
        answer = answer_from_form(context.agent, handler.form, context.event, result.answer)
        result = replace(result, answer=answer)
    return _limit_continuation(context, handler, result)


async def _run_in_form(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    skipped = context.withhold(handler) or _check_condition(context, handler)
    if skipped is not None:
        return skipped
    try:
        result = await get_kind(handler.kind)(context, handler)
    except Exception as error:  # noqa: BLE001 - a bug in one handler must not cost the others
        result = failed_result(context, handler, f"{type(error).__name__}: {error}")
    return _deny_on_failure(context, handler, result)


def withhold_safely(
    withhold: Callable[[HandlerSpec, str], HandlerResult | None], cwd: str, handler: HandlerSpec
) -> HandlerResult | None:
    """Ask a guard whether a handler may run; one that the guard cannot judge does not run."""
    try:
        return withhold(handler, cwd)
    except Exception as error:  # noqa: BLE001 - a handler that cannot be judged does not run
        return HandlerResult(handler, Status.WITHHELD, error=f"{type(error).__name__}: {error}")


def _check_condition(context: HookContext, handler: HandlerSpec) -> HandlerResult | None:
    """Return the result of a handler whose condition does not cover the call, else `None`."""
    if handler.condition is None or _condition_covers(context, handler.condition):
        return None
    error = f"its condition {handler.condition!r} does not cover the call"
    return HandlerResult(handler, Status.SKIPPED, error=error)


def _condition_covers(context: HookContext, text: str) -> bool:
    from anyhook.matching.conditions import compile_condition

    tool_input = getattr(context.event, "tool_input", {})
    tool_name = getattr(context.event, "tool_name", "")
    condition = compile_condition(text)
    places = {
        "cwd": context.cwd,
        "project": str(context.project_dir),
        "home": str(context.home),
    }
    try:
        return any(
            condition.covers(name, tool_input, **places)
            for name in context.agent.match_names(context.spec, tool_name)
            if name is not None
        )
    except Exception:  # noqa: BLE001 - a guard whose condition cannot be evaluated must run
        return True


def _limit_continuation(
    context: HookContext, handler: HandlerSpec, result: HandlerResult
) -> HandlerResult:
    """Drop a denial with which the agent does not continue."""
    rule = context.spec.continuation
    if rule is None or result.answer.outcome is not Outcome.DENY:
        return result
    payload = context.event.raw or {}
    limit = handler.options.get(rule.option, rule.limit)
    count = payload.get(rule.count)
    problem = ""
    for name, value in rule.required.items():
        if name in payload and payload[name] != value:
            problem = f"{name} is {payload[name]!r}, not {value!r}"
    if limit is not None and isinstance(count, int | float) and count >= limit:
        problem = f"it has done so {count} times, and {rule.option} is {limit}"
    if not problem:
        return result
    text = f"{context.spec.wire}: hook {handler.label!r} cannot continue the agent: {problem}"
    diagnostic = diagnose("ignored-output", text, handler.place, handler=handler.label)
    return replace(
        result,
        answer=result.answer.replace(outcome=Outcome.NONE, reason=None),
        diagnostics=(*result.diagnostics, diagnostic),
    )


def _is_denying_failure(context: HookContext, result: HandlerResult) -> bool:
    """Return whether a failure denies on the event, whatever the handler says."""
    if result.timed_out:
        return context.spec.blocks_at_timeout
    has_failed = result.status in (Status.FAILED, Status.WARNED) and result.exit_code is None
    return has_failed and result.handler.kind in context.spec.denying_failures


def _deny_on_failure(
    context: HookContext, handler: HandlerSpec, result: HandlerResult
) -> HandlerResult:
    """Turn a failure into a denial, where the handler or the event says so."""
    spec = context.spec
    denies_by_event = _is_denying_failure(context, result)
    denies_by_handler = handler.on_failure == "block" and result.failed and spec.can_fail_closed
    denies = denies_by_event or denies_by_handler
    if not denies or result.answer.outcome is Outcome.DENY:
        return result
    failure = "timed out" if result.timed_out else "failed"
    cause = f"as {spec.wire} does"
    if denies_by_handler:
        cause = f"because {context.agent.fail_closed_text}"
    reason = f"hook {handler.label!r} {failure}; blocking {cause}"
    text = f"{spec.wire}: {reason}"
    diagnostic = diagnose("failed-closed", text, handler.place, handler=handler.label)
    return replace(
        result,
        answer=result.answer.replace(outcome=Outcome.DENY, approve=False, reason=reason),
        diagnostics=(*result.diagnostics, diagnostic),
    )
