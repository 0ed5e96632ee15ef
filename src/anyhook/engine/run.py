"""Runs a plan: groups side by side, the handlers of a group in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from anyhook.handlers.base import failed, get_kind
from anyhook.model.answers import Outcome
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose
from anyhook.model.sequence import advance

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.engine.plan import Plan
    from anyhook.handlers.base import HookContext
    from anyhook.model.answers import Answer
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.events import Event

Results = tuple[tuple[HandlerResult, ...], ...]
"""Results in the shape of the plan's groups."""


async def run_plan(plan: Plan, context: HookContext) -> Results:
    """Run every handler of a plan.

    Args:
        plan: What to run.
        context: The event and what handlers need.

    Returns:
        The results in plan order, whatever order they finished in.
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
    decided = False
    for handler in group:
        if decided:
            results.append(HandlerResult(handler, Status.SKIPPED))
            continue
        result = context.withhold(handler) or _uncovered(context, handler)
        if result is None:
            result = _closed(context, handler, await _run_one(context, handler))
        results.append(result)
        decides = result.answer.stop or result.answer.outcome is Outcome.DENY
        decided = decides and context.rules.ends_sequence
        if len(group) > 1 and not decided and _goes_on(context, result):
            context = context.with_event(_advanced(context, result.answer))
    return tuple(results)


def _goes_on(context: HookContext, result: HandlerResult) -> bool:
    """Tell whether what a handler said goes on to the next one: whatever will be applied does."""
    succeeded = result.signal is None and result.exit_code in (None, 0)
    return succeeded or context.rules.chains_failures


def _advanced(context: HookContext, answer: Answer) -> Event:
    coercions = context.rules.loaded_coercions
    changes = coercions.chain if coercions is not None else None
    event = advance(context.spec.chained_fields, context.event, answer, changes)
    replaces = context.spec.field_policies.get("tool_input") == "replace"
    if replaces and answer.tool_input is not None and "tool_input" in context.spec.chained_fields:
        event = event.replace(tool_input=answer.tool_input)
    return event


def withhold_safely(
    withhold: Callable[[HandlerSpec, str], HandlerResult | None], cwd: str, handler: HandlerSpec
) -> HandlerResult | None:
    """Ask a guard; what it cannot judge does not run.

    Args:
        withhold: Returns the result of a handler that must not run, or `None` if it may.
        cwd: Where it would run.
        handler: The handler.
    """
    try:
        return withhold(handler, cwd)
    except Exception as error:  # noqa: BLE001 - what cannot be judged does not run
        return HandlerResult(handler, Status.WITHHELD, error=f"{type(error).__name__}: {error}")


def _uncovered(context: HookContext, handler: HandlerSpec) -> HandlerResult | None:
    """Return the result of a handler whose condition does not cover the call."""
    if handler.condition is None:
        return None
    from anyhook.matching.conditions import compile_condition

    event, condition = context.event, compile_condition(handler.condition)
    tool_name = getattr(event, "tool_name", "")
    try:
        covers = any(
            condition.covers(
                name,
                getattr(event, "tool_input", {}),
                cwd=context.cwd,
                project=str(context.project_dir),
                home=str(context.home),
            )
            for name in context.agent.match_names(context.spec, tool_name)
            if name is not None
        )
    except Exception:  # noqa: BLE001 - a guard must not be lost because its condition cannot be told
        return None
    why = f"its condition {handler.condition!r} does not cover the call"
    return None if covers else HandlerResult(handler, Status.SKIPPED, error=why)


def _closed(context: HookContext, handler: HandlerSpec, result: HandlerResult) -> HandlerResult:
    """Make a denial of a failure, where the handler or the event wants that."""
    spec = context.spec
    late = result.status is Status.TIMED_OUT
    by_event = late and spec.blocks_at_timeout
    by_handler = handler.on_failure == "block" and result.failed and spec.can_fail_closed
    if not (by_event or by_handler) or result.answer.outcome is Outcome.DENY:
        return result
    what = "timed out" if late else "failed"
    why = 'because onFailure is "block"' if by_handler else f"as {spec.wire} does"
    reason = f"hook {handler.label!r} {what}; blocking {why}"
    told = diagnose("failed-closed", f"{spec.wire}: {reason}", handler.place, handler=handler.label)
    return replace(
        result,
        answer=result.answer.replace(outcome=Outcome.DENY, approve=False, reason=reason),
        diagnostics=(*result.diagnostics, told),
    )


async def _run_one(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    try:
        return await get_kind(handler.kind)(context, handler)
    except Exception as error:  # noqa: BLE001 - a bug in one handler must not cost the others
        return failed(context, handler, f"{type(error).__name__}: {error}")
