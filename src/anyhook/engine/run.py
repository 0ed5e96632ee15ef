"""Runs a plan: groups in parallel, the handlers of a group in order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents.entry import load_object
from anyhook.engine.forms import answer_from_form
from anyhook.engine.guard import report_unjudged
from anyhook.handlers.kinds import get_kind
from anyhook.handlers.results import failed_result
from anyhook.model.answers import NO_OPINION, Outcome
from anyhook.model.decisions import HandlerResult
from anyhook.model.diagnostics import diagnose
from anyhook.model.record import replace
from anyhook.model.sequence import (
    CHANGES,
    SEQUENCE,
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
    if len(group) == 1:
        result = await _run_handler(context, group[0])
        return (without_effect(result) if group[0].shadow else result,)
    results: list[HandlerResult] = []
    has_ended = False
    file_run: _FileRun | None = None
    for handler in group:
        if not handler.hook_file:
            file_run = None
        elif file_run is None or file_run.path != handler.hook_file:
            file_run = _FileRun(handler, context, has_ended=has_ended)
        is_skipped = has_ended if file_run is None else file_run.has_ended
        if is_skipped:
            results.append(HandlerResult(handler, Status.SKIPPED))
            continue
        if file_run is None:
            result = await _run_handler(context, handler)
        else:
            result = await _run_handler(file_run.context, handler)
            file_run.advance(result)
        if handler.shadow:
            result = without_effect(result)
        results.append(result)
        if context.spec.ending_outcomes is not None:
            has_ended |= result.answer.outcome in context.spec.ending_outcomes
        else:
            has_ended |= ends_sequence(result.answer)
        has_succeeded = result.signal is None and result.exit_code in (None, 0)
        # The next handler sees what this one changed.
        if not has_ended and (has_succeeded or context.rules.chains_failures):
            context = _advance(context, result)
    return tuple(results)


class _FileRun:
    """The functions of one hook file on an event, as far as they have run.

    They decide as the file does when an agent runs it as a command (`HookFunctions.decide`): each
    sees the changes of those before it, a denial or a stop skips the rest, and all have one
    timeout.

    Attributes:
        path: The file.
        context: What the next function sees.
        has_ended: Whether the rest is skipped.
    """

    def __init__(self, first: HandlerSpec, context: HookContext, *, has_ended: bool) -> None:
        self.path = first.hook_file
        self.context = replace(context, deadline=time.perf_counter() + first.timeout)
        self.has_ended = has_ended

    def advance(self, result: HandlerResult) -> None:
        """Apply the answer of a function."""
        event = self.context.event
        self.has_ended = ends_sequence(result.answer) or result.timed_out
        changed = advance(SEQUENCE.get(event.name, {}), event, result.answer)
        self.context = self.context.with_event(changed)


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
    form_context = context.in_form(handler.form) if handler.form else context
    result = form_context.withhold(handler)
    condition = handler.condition
    if result is None and condition is not None:
        from anyhook.matching.conditions import covers_call

        tool_name = getattr(form_context.event, "tool_name", "")
        is_covered = covers_call(
            condition,
            form_context.agent.match_names(form_context.spec, tool_name),
            getattr(form_context.event, "tool_input", {}),
            cwd=form_context.cwd,
            project=str(form_context.project_dir),
            home=str(form_context.home),
        )
        if not is_covered:
            error = f"its condition {condition!r} does not cover the call"
            result = HandlerResult(handler, Status.SKIPPED, error=error)
    if result is None:
        try:
            result = await get_kind(handler.kind)(form_context, handler)
        except Exception as error:  # noqa: BLE001 - a bug in one handler must not cost the others
            kind = type(error).__name__
            text = f"{kind}: {error}"
            result = failed_result(form_context, handler, text, subject=kind)
        if result.failed or result.status is not Status.RAN:
            result = _deny_on_failure(form_context, handler, result)
    if handler.form:
        answer = answer_from_form(context.agent, handler.form, context.event, result.answer)
        result = replace(result, answer=answer)
    if result.answer.outcome is Outcome.DENY:
        return _limit_continuation(context, handler, result)
    return result


def withhold_safely(
    withhold: Callable[[HandlerSpec, str], HandlerResult | None], cwd: str, handler: HandlerSpec
) -> HandlerResult | None:
    """Ask a guard whether a handler may run; one that the guard cannot judge does not run."""
    try:
        return withhold(handler, cwd)
    except Exception as error:  # noqa: BLE001 - a handler that cannot be judged does not run
        problem = f"{type(error).__name__}: {error}"
        diagnostic = report_unjudged(handler, problem)
        return HandlerResult(handler, Status.WITHHELD, error=problem, diagnostics=(diagnostic,))


def _limit_continuation(
    context: HookContext, handler: HandlerSpec, result: HandlerResult
) -> HandlerResult:
    """Drop a denial with which the agent does not continue."""
    if not context.spec.limit_continuation:
        return result
    problem = load_object(context.spec.limit_continuation)(context.event.raw or {}, handler.options)
    if not problem:
        return result
    text = f"{context.spec.wire}: hook {handler.label!r} cannot continue the agent: {problem}"
    diagnostic = diagnose(
        "ignored-output",
        text,
        handler.place,
        handler=handler.label,
        subject=f"{context.spec.wire}: cannot continue the agent",
    )
    return replace(
        result,
        answer=result.answer.replace(outcome=Outcome.NONE, reason=None),
        diagnostics=(*result.diagnostics, diagnostic),
    )


def _deny_on_failure(
    context: HookContext, handler: HandlerSpec, result: HandlerResult
) -> HandlerResult:
    """Turn a failure into a denial, where the handler or the event says so."""
    spec = context.spec
    # A failure may deny on the event, whatever the handler says.
    has_failed = result.status in (Status.FAILED, Status.WARNED) and result.exit_code is None
    denies_by_event = has_failed and handler.kind in spec.denying_failures
    if result.timed_out:
        denies_by_event = "timeout" in spec.denying_failures
    denies_by_handler = handler.on_failure == "block" and result.failed and spec.can_fail_closed
    denies = denies_by_event or denies_by_handler
    if not denies or result.answer.outcome is Outcome.DENY:
        return result
    failure = "timed out" if result.timed_out else "failed"
    cause = f"as {spec.wire} does"
    if denies_by_handler and handler.kind == "function":
        cause = 'because on_crash is "deny"'
    elif denies_by_handler:
        cause = f"because {context.agent.settings.fail_closed_text}"
    reason = f"hook {handler.label!r} {failure}; blocking {cause}"
    text = f"{spec.wire}: {reason}"
    diagnostic = diagnose("failed-closed", text, handler.place, handler=handler.label)
    return replace(
        result,
        answer=result.answer.replace(outcome=Outcome.DENY, approve=False, reason=reason),
        diagnostics=(*result.diagnostics, diagnostic),
    )
