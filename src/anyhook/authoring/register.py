"""The functions of a hook file as handlers of an engine."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from inspect import iscoroutinefunction
from pathlib import PurePath
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Protocol

from anyio import get_cancelled_exc_class

from anyhook.authoring.functions import subject_names, to_answer
from anyhook.authoring.process_exit import StderrRecord, answer_of_exit
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.functions import HookFunction, HookFunctions
    from anyhook.model.answers import Answer

    Around = Callable[[], AbstractContextManager[None]]


class HookFailedError(Exception):
    """A function of a hook file raised."""


class Host(Protocol):
    """An object to which definitions can be added: an `Engine`."""

    agent: AgentSpec

    def define(self, definition: HookDefinition) -> None:
        """Add a definition."""
        ...


def register(
    hooks: HookFunctions, host: Host, around: Around = nullcontext
) -> tuple[HandlerSpec, ...]:
    """Add the functions of a hook file to an engine; return a handler for each that was added.

    Those of one event run in order; those for events that its agent does not have are left out.
    `around` makes a context in which each function is called.
    """
    registered: list[HandlerSpec] = []
    for event in dict.fromkeys(function.event for function in hooks.functions):
        spec = host.agent.by_canonical.get(event)
        functions = [function for function in hooks.functions if function.event == event]
        if spec is None:
            continue
        seconds = hooks.timeout or host.agent.command_timeout(spec)
        handlers: list[HandlerSpec] = []
        for function in functions:
            handler = HandlerSpec(
                kind="function",
                layer=Layer.RUNTIME,
                place=Place(function.file, function.line),
                name=function.name,
                function=_checked_call(function, host.agent, around),
                description=function.about or None,
                timeout=seconds,
                origin=hooks.name,
                options={"subjects": function.subjects} if function.subjects else {},
                on_failure="block" if hooks.on_crash == "deny" else "continue",
                shadow=hooks.shadow,
                # Another function may stand in an imported module.
                hook_file=hooks.functions[0].file,
            )
            handlers.append(handler)
        place = Place(functions[0].file, functions[0].line)
        host.define(HookDefinition(event, Layer.RUNTIME, place, None, True, tuple(handlers)))
        registered += handlers
    return tuple(registered)


def _checked_call(function: HookFunction, agent: AgentSpec, around: Around) -> Callable[[Any], Any]:
    """Return a function that answers the events that a hook function is for, and checks it."""
    if iscoroutinefunction(function.function):

        async def call_async(event: Any) -> Any:
            if not _covers(function, event, agent):
                return None
            with around():
                return await _await_answer(function, function.function(event))

        return call_async

    def call(event: Any) -> Any:
        if not _covers(function, event, agent):
            return None
        with around(), StderrRecord() as stderr:
            try:
                answer: Any = function.function(event)
            except SystemExit as end:
                return answer_of_exit(end, function.name, stderr.text)
            # Modules in Rust raise their panics past `Exception`.
            except BaseException as error:
                if is_interrupt(error):
                    raise
                raise _without_text(function, error) from None
        if hasattr(answer, "__await__"):
            return _await_answer(function, answer)  # the engine awaits what a function returns
        return to_answer(function, answer)

    return call


async def _await_answer(function: HookFunction, awaitable: Any) -> Answer | None:
    with StderrRecord() as stderr:
        try:
            answer = await awaitable
        except SystemExit as end:
            return answer_of_exit(end, function.name, stderr.text)
        except (GeneratorExit, get_cancelled_exc_class()):
            raise
        except BaseException as error:
            if is_interrupt(error):
                raise
            raise _without_text(function, error) from None
    return to_answer(function, answer)


def is_interrupt(error: BaseException) -> bool:
    """Return whether an error is that of Ctrl-C, alone or in a group."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    return isinstance(error, KeyboardInterrupt)


def _without_text(function: HookFunction, error: BaseException) -> HookFailedError:
    """Return an error with the kind and the line of another one; its text may hold secrets."""
    log = logging.getLogger("anyhook.authoring")
    log.debug("a function of a hook file failed", exc_info=error)
    frames = extract_tb(error.__traceback__)
    frame = next((f for f in reversed(frames) if f.filename == function.file), frames[-1])
    place = f"{PurePath(frame.filename).name}:{frame.lineno}"
    return HookFailedError(
        f"{type(error).__name__} at {place} (the logger {log.name} has its text at DEBUG)"
    )


def _covers(function: HookFunction, event: Any, agent: AgentSpec) -> bool:
    return function.covers(subject_names(event, agent))
