"""Handlers that are Python functions in the host's own process."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from anyhook.dialects.output import decode_reply
from anyhook.handlers.base import failed
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.llm import check_request, check_response, check_tool_config

if TYPE_CHECKING:
    from anyhook.handlers.base import Firing
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event

_TYPES: dict[str, type] = {
    "outcome": Outcome,
    "approve": bool,
    "reason": str,
    "stop": bool,
    "stop_reason": str,
    "system_message": str,
    "suppress_output": bool,
    "context": str,
    "tool_input": dict,
    "llm_request": dict,
    "llm_response": dict,
    "tool_config": dict,
    "clear_context": bool,
    "tail_tool_call": dict,
}
_CHECKS: dict[str, Any] = {
    "llm_request": check_request,
    "llm_response": check_response,
    "tool_config": check_tool_config,
}


async def run_function(firing: Firing, handler: HandlerSpec) -> HandlerResult:
    """Call a function with an event of its own, and read what it returns.

    A coroutine function runs on the host's loop and is cancelled at its deadline. A plain function
    runs in a worker thread, which is abandoned at the deadline; one that is registered with
    `threaded=False` runs on the loop, where no deadline can end it.
    """
    started = time.perf_counter()
    event = firing.event.copy()
    try:
        with anyio.move_on_after(handler.timeout) as scope:
            said = await _call(handler, event)
        if scope.cancelled_caught:
            return failed(
                firing,
                handler,
                f"ran into its timeout of {handler.timeout:g} s",
                status=Status.TIMED_OUT,
                started=started,
            )
        answer, notes = _read(firing, handler, said)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - one handler's failure stays its own
        text = f"raised {type(error).__name__}: {error}"
        return failed(firing, handler, text, started=started)
    duration = time.perf_counter() - started
    return HandlerResult(
        handler,
        Status.RAN,
        answer,
        started=started - firing.epoch,
        duration=duration,
        diagnostics=notes,
    )


async def _call(handler: HandlerSpec, event: Event) -> Any:
    function = handler.function
    if function is None:
        raise TypeError("there is no function to call")
    if is_async(function):
        return await function(event)
    if handler.threaded:
        said = await anyio.to_thread.run_sync(function, event, abandon_on_cancel=True)
    else:
        said = function(event)
    return await said if inspect.isawaitable(said) else said


def is_async(function: Any) -> bool:
    """Tell whether calling a function gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


def _read(
    firing: Firing, handler: HandlerSpec, said: object
) -> tuple[Answer, tuple[Diagnostic, ...]]:
    if said is None:
        return NO_OPINION, ()
    if isinstance(said, Answer):
        for name, value in said.__dict__.items():
            _check(name, value)
        return said, ()
    if isinstance(said, dict):
        return decode_reply(firing.dialect, firing.spec, handler, said)
    raise TypeError(
        f"returned {type(said).__name__}; return None, an Answer, or a reply of "
        f"{firing.dialect.title} as a dict"
    )


def _check(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, _TYPES[name]):
        wanted = _TYPES[name].__name__
        raise TypeError(f"returned an Answer whose {name} is {type(value).__name__}, not {wanted}")
    if name in _CHECKS:
        _, problems = _CHECKS[name](value)
        if problems:
            raise ValueError(f"returned an Answer whose {name} is wrong: {problems[0]}")
