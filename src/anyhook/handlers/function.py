"""Handlers that are Python functions in the host's own process."""

from __future__ import annotations

import inspect
import math
import sys
import time
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.agents.output import decode_reply
from anyhook.agents.values import check_answer
from anyhook.authoring.process_exit import StderrRecord, answer_of_exit
from anyhook.handlers.base import failed
from anyhook.handlers.threads import call_in_thread
from anyhook.model.answers import NO_OPINION, Answer
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose
from anyhook.model.json import repair

if TYPE_CHECKING:
    from anyhook.handlers.base import HookContext
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event


async def run_function(context: HookContext, handler: HandlerSpec) -> HandlerResult:
    """Call a function with an event of its own, and read what it returns.

    A coroutine function runs on the host's loop and is cancelled at its deadline. A plain function
    runs in a thread, which is left behind at the deadline and does not keep the program from
    ending; one that is registered with `threaded=False` runs on the loop, where no deadline can
    end it.
    """
    started = time.perf_counter()
    try:
        event, repaired = _own_copy(context)
        with anyio.move_on_after(handler.timeout) as scope, StderrRecord() as stderr:
            said = await _call(handler, event, stderr)
        if scope.cancelled_caught:
            return failed(
                context,
                handler,
                f"ran into its timeout of {handler.timeout:g} s",
                status=Status.TIMED_OUT,
                started=started,
            )
        answer, notes = _read(context, handler, said)
    except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - one handler's failure stays its own
        return failed(context, handler, f"raised {_named(error)}", started=started)
    except anyio.get_cancelled_exc_class() as error:
        if is_cancelled_from_outside():
            raise
        return failed(context, handler, f"raised {_named(error)}", started=started)
    duration = time.perf_counter() - started
    return HandlerResult(
        handler,
        Status.RAN,
        answer,
        started=started - context.epoch,
        duration=duration,
        diagnostics=(*repaired, *notes),
    )


def _own_copy(context: HookContext) -> tuple[Event, tuple[Diagnostic, ...]]:
    """Copy the event for one function; what is nested too deep to copy is cut, and told."""
    event = context.event
    try:
        return event.copy(), ()
    except RecursionError:
        values = {f: repair(v) for f, v in event.__dict__.items() if isinstance(v, dict | list)}
        told = diagnose(
            "payload-repaired",
            f"{context.spec.wire}: the event is nested too deep; functions see it cut",
        )
        return event.replace(**values), (told,)


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_cancelled_from_outside() -> bool:
    """Tell a cancellation of the dispatch from one that a handler raised by itself."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio else None
    except RuntimeError:  # another event loop than asyncio's
        return False
    return task is not None and task.cancelling() > 0


async def _call(handler: HandlerSpec, event: Event, stderr: StderrRecord) -> Any:
    """Call the function of a handler; `sys.exit` in it means what it means for a command.

    Raises:
        SystemExit: If it exits with another code than 0 (no opinion) and 2 (a denial).
    """
    function = handler.function
    if function is None:
        raise TypeError("there is no function to call")
    try:
        if is_async(function):
            return await function(event)
        said = await call_in_thread(function, event) if handler.threaded else function(event)
        return await said if inspect.isawaitable(said) else said
    except SystemExit as end:
        return answer_of_exit(end, handler.label, stderr.text)


def is_async(function: Any) -> bool:
    """Tell whether calling a function gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


def _read(
    context: HookContext, handler: HandlerSpec, said: object
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    if said is None:
        return NO_OPINION, ()
    if isinstance(said, Answer):
        answer, notes = _check(context, handler, said)
        return _whole_input(context, answer), notes
    if isinstance(said, dict):
        return decode_reply(context.agent, context.rules, context.spec, handler, said)
    raise TypeError(
        f"returned {type(said).__name__}; return None, an Answer, or a reply of "
        f"{context.agent.title} as a dict"
    )


def _whole_input(context: HookContext, answer: Answer) -> Answer:
    """Lay changed arguments over the call's: an answer means that in every agent."""
    own = getattr(context.event, "tool_input", None)
    if answer.tool_input is None or not isinstance(own, dict):
        return answer
    if context.spec.field_policies.get("tool_input", "merge") == "merge":
        return answer
    return answer.replace(tool_input={**own, **answer.tool_input})


def _check(
    context: HookContext, handler: HandlerSpec, answer: Answer
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    """Drop the fields of a wrong type, and keep the others: above all a verdict."""
    usable, problems = check_answer(answer, context.agent.decision_words)
    diagnostics = [
        diagnose(
            "output-field",
            f"{handler.label!r} on {context.spec.wire}: {problem}; left out",
            handler.place,
            handler=handler.label,
        )
        for problem in problems
    ]
    return usable, tuple(diagnostics)
