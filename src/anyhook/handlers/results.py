"""Results of handlers that failed, and the diagnostics that go with a result."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, TypeVar

import anyio

from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.diagnostics import diagnose

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic

T = TypeVar("T")


def failed_result(
    context: HookContext,
    handler: HandlerSpec,
    error: str,
    *,
    code: str | None = None,
    status: Status = Status.FAILED,
    started: float | None = None,
    notes: tuple[Diagnostic, ...] = (),
    subject: str | None = None,
) -> HandlerResult:
    """Make the result of a handler that failed.

    The code is that of its diagnostic; by default that of a failure or a timeout. The status is
    `FAILED`, `WARNED` or `TIMED_OUT`. `started` is when it began, on the clock of
    `time.perf_counter`; by default now. Notes are further diagnostics. `subject` is what the
    error has in common with others of its kind, if it holds what differs between two of them.
    """
    if code is None:
        code = "handler-timeout" if status is Status.TIMED_OUT else "handler-failed"
    now = time.perf_counter()
    if started is None:
        started = now
    return HandlerResult(
        handler,
        status,
        started=started - context.epoch,
        duration=now - started,
        error=error,
        diagnostics=(note(code, context, handler, error, subject=subject), *notes),
        failed=True,
    )


def timed_out_result(
    context: HookContext, handler: HandlerSpec, *, started: float | None
) -> HandlerResult:
    """Make the result of a handler that was stopped at its deadline."""
    error = timeout_message(handler)
    return failed_result(context, handler, error, status=Status.TIMED_OUT, started=started)


def timeout_message(handler: HandlerSpec) -> str:
    """Say that a handler ran into its timeout."""
    return f"ran into its timeout of {handler.timeout:g} s"


def note(
    code: str,
    context: HookContext,
    handler: HandlerSpec,
    message: str,
    *,
    subject: str | None = None,
) -> Diagnostic:
    """Make a diagnostic about a handler on an event."""
    text = f"{handler.label!r} on {context.spec.wire}: {message}"
    if subject is not None:
        subject = f"{context.spec.wire}: {subject}"
    return diagnose(code, text, handler.place, handler=handler.label, subject=subject)


def payload_notes(context: HookContext, handler: HandlerSpec) -> tuple[Diagnostic, ...]:
    """Report an event that had to be repaired to be written as JSON."""
    if context.payload_problem is None:
        return ()
    problem = f"the event is not plain JSON ({context.payload_problem})"
    message = f"{problem}; what JSON does not have was left out"
    return (note("payload-repaired", context, handler, message),)


def truncation_notes(
    context: HookContext, handler: HandlerSpec, is_truncated: bool
) -> tuple[Diagnostic, ...]:
    """Report an answer that was too long."""
    if not is_truncated:
        return ()
    return (note("output-truncated", context, handler, "the answer was too long"),)


async def call_service(
    context: HookContext,
    handler: HandlerSpec,
    service: str,
    call: Callable[[], Awaitable[T]],
    result_type: type[T],
) -> T | HandlerResult:
    """Call a service of the host within the timeout of a handler.

    Return its result, which must have `result_type`, or the result of a handler whose service
    failed or was too slow. `service` is what is called, for messages.
    """
    started = time.perf_counter()
    problem = f"did not answer within the timeout of {handler.timeout:g} s"
    subject = None
    status = Status.TIMED_OUT
    try:
        with anyio.move_on_after(handler.timeout):
            result = await call()
            if isinstance(result, result_type):
                return result
            status = Status.FAILED
            problem = f"returned {type(result).__name__}, not {result_type.__name__}"
    except Exception as error:  # noqa: BLE001 - the failure of one handler must not end the others
        status = Status.FAILED
        problem = f"failed: {type(error).__name__}: {error}"
        subject = f"{service} failed: {type(error).__name__}"
    except anyio.get_cancelled_exc_class():
        if is_cancelled_from_outside():
            raise
        status, problem = Status.FAILED, "cancelled itself"
    return failed_result(
        context,
        handler,
        f"{service} {problem}",
        status=status,
        started=started,
        notes=payload_notes(context, handler),
        subject=subject,
    )


def is_cancelled_from_outside() -> bool:
    """Return whether the dispatch was cancelled, not just one handler by its own error."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    asyncio = sys.modules.get("asyncio")
    try:
        task = asyncio.current_task() if asyncio else None
    except RuntimeError:  # the event loop is not asyncio's
        return False
    return task is not None and task.cancelling() > 0
