"""Handlers that are Python functions in the host's own process."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents.output import decode_reply
from anyhook.agents.values import check_answer
from anyhook.authoring.degrade import fit_result
from anyhook.authoring.process_exit import StderrRecord, answer_of_exit
from anyhook.authoring.register import HookFailedError, is_interrupt
from anyhook.handlers.results import (
    failed_result,
    is_cancelled_from_outside,
    note,
    timed_out_result,
)
from anyhook.handlers.threads import call_in_thread
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose
from anyhook.model.json import repair

if TYPE_CHECKING:
    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event


async def run_function(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Call a function with a copy of the event, and check the answer that it returns.

    A coroutine function runs on the host's loop and is cancelled at its deadline. A plain function
    runs in a thread, which is left behind at the deadline and does not keep the program from
    ending; one that is registered with `threaded=False` runs on the loop, where no deadline can
    end it.
    """
    started = time.perf_counter()
    seconds = handler.timeout
    if context.deadline is not None:
        seconds = max(0.0, context.deadline - started)
    try:
        event = context.event
        event_notes: tuple[Diagnostic, ...] = ()
        try:
            event = event.copy()
        except RecursionError:
            # Values that are nested too deep to copy are cut.
            repaired: dict[str, Any] = {}
            for name, value in event.__dict__.items():
                if isinstance(value, dict | list):
                    repaired[name] = repair(value)
            event = event.replace(**repaired)
            message = f"{context.spec.wire}: the event is nested too deep; functions see it cut"
            event_notes = (diagnose("payload-repaired", message),)
        with anyio.move_on_after(seconds) as scope, StderrRecord() as stderr:
            returned = await _call(handler, event, stderr)
        if scope.cancelled_caught:
            return timed_out_result(context, handler, started=started)
        answer, answer_notes = _read_answer(context, handler, returned)
        # A function that went on after it was cancelled ran out of time, but a denial is not lost.
        if scope.cancel_called and answer.outcome is not Outcome.DENY and not answer.stop:
            return timed_out_result(context, handler, started=started)
    except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - the failure of one handler must not end the others
        return _raised_result(context, handler, error, started)
    except BaseException as error:
        # A cancellation, alone or in a group, or the panic of a module in Rust.
        if is_interrupt(error) or is_cancelled_from_outside():
            raise
        return _raised_result(context, handler, error, started)
    return HandlerResult(
        handler,
        Status.RAN,
        answer,
        started=started - context.epoch,
        duration=time.perf_counter() - started,
        diagnostics=(*event_notes, *answer_notes),
    )


def _raised_result(
    context: HookContext, handler: HandlerSpec, error: BaseException, started: float
) -> HandlerResult:
    subject = type(error).__name__
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]  # of a task group, which says only how many failed
    text = str(error)
    if not isinstance(error, HookFailedError):
        name = type(error).__name__
        text = f"{name}: {text}" if text else name
    return failed_result(context, handler, f"raised {text}", started=started, subject=subject)


async def _call(handler: HandlerSpec, event: Event, stderr: StderrRecord) -> Any:
    """Call the function of a handler; `sys.exit` in it means what it means for a command.

    Raises:
        SystemExit: If it exits with another code than 0 (no opinion) and 2 (a denial).
    """
    function = handler.function
    if function is None:
        raise TypeError("there is no function to call")
    try:
        if handler.threaded and not is_async(function):
            returned = await call_in_thread(function, event)
        else:
            returned = function(event)
        return await returned if inspect.isawaitable(returned) else returned
    except SystemExit as end:
        return answer_of_exit(end, handler.label, stderr.text)


def is_async(function: Any) -> bool:
    """Return whether calling a function gives a coroutine."""
    if inspect.iscoroutinefunction(function):
        return True
    call = getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    return inspect.iscoroutinefunction(call)


def _read_answer(
    context: HookContext, handler: HandlerSpec, returned: object
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    if returned is None:
        return NO_OPINION, ()
    if isinstance(returned, Answer):
        # Fields of a wrong type are left out, and the others kept: a verdict must not be lost.
        answer, problems = check_answer(returned, context.agent.decision_words)
        notes = [note("output-field", context, handler, f"{text}; left out") for text in problems]
        # In an answer of a function, changed arguments are laid over the call's in every agent:
        # the others are added where the agent would drop them.
        arguments = getattr(context.event, "tool_input", None)
        if answer.tool_input is not None and isinstance(arguments, dict):
            policy = context.spec.field_policies.get("tool_input", "merge")
            if policy != "merge":
                answer = answer.replace(tool_input={**arguments, **answer.tool_input})
        if isinstance(answer.tool_output, str):
            answer, problem = fit_result(context.agent, context.event, answer)
            if problem:
                notes.append(note("output-field", context, handler, problem))
        return answer, tuple(notes)
    if isinstance(returned, dict):
        return decode_reply(context.agent, context.rules, context.spec, handler, returned)
    raise TypeError(
        f"returned {type(returned).__name__}; return None, an Answer, or a reply of "
        f"{context.agent.title} as a dict"
    )
