"""The functions of a hook file as handlers of an engine."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol

from anyhook.authoring.hooks import checked, names_of, sound
from anyhook.authoring.process_exit import StderrRecord, answer_of_exit
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.hooks import HookFunction, Hooks
    from anyhook.model.answers import Answer


class Host(Protocol):
    """What takes definitions: an `Engine`."""

    agent: AgentSpec

    def define(self, definition: HookDefinition) -> None:
        """Add a definition."""
        ...


def register(hooks: Hooks, host: Host) -> None:
    """Let a host run the functions of a hook file; those of an event in order.

    Args:
        hooks: The functions.
        host: The engine. Functions for events that its agent does not have are left out.
    """
    for event in dict.fromkeys(function.event for function in hooks.functions):
        spec = host.agent.by_canonical.get(event)
        functions = [function for function in hooks.functions if function.event == event]
        if spec is None:
            continue
        seconds = hooks.timeout or spec.default_timeouts.get("command", host.agent.default_timeout)
        handlers = tuple(_handler(hooks, f, host.agent, seconds) for f in functions)
        place = Place(functions[0].file, functions[0].line)
        host.define(HookDefinition(event, Layer.RUNTIME, place, None, True, handlers))


def _handler(hooks: Hooks, function: HookFunction, agent: AgentSpec, seconds: float) -> HandlerSpec:
    return HandlerSpec(
        kind="function",
        layer=Layer.RUNTIME,
        place=Place(function.file, function.line),
        name=function.name,
        function=_covering(function, agent),
        description=function.about or None,
        timeout=seconds,
        origin=hooks.name,
        on_failure="block" if hooks.on_crash == "deny" else "continue",
    )


def _covering(function: HookFunction, agent: AgentSpec) -> Callable[[Any], Any]:
    """Call a function for what it is for, and check what it says."""
    if iscoroutinefunction(function.function):

        async def call_async(event: Any) -> Any:
            if not _covers(function, event, agent):
                return None
            said: Any = function.function(event)
            return await _finished(function, said)

        return call_async

    def call(event: Any) -> Any:
        if not _covers(function, event, agent):
            return None
        with StderrRecord() as stderr:
            try:
                said: Any = function.function(event)
            except SystemExit as end:
                return answer_of_exit(end, function.name, stderr.text)
            except Exception as error:  # noqa: BLE001 - told by its kind alone
                raise _named(error) from None
        if hasattr(said, "__await__"):
            return _finished(function, said)  # the engine awaits what a function gives it to await
        return sound(checked(function, said))[0]

    return call


async def _finished(function: HookFunction, said: Any) -> Answer | None:
    """Await what a function said; an exit means what it means for a command."""
    with StderrRecord() as stderr:
        try:
            answer = await said
        except SystemExit as end:
            return answer_of_exit(end, function.name, stderr.text)
        except Exception as error:  # noqa: BLE001 - told by its kind alone
            raise _named(error) from None
    return sound(checked(function, answer))[0]


def _named(error: Exception) -> RuntimeError:
    """Name the kind of an error alone: its text may hold secrets."""
    return RuntimeError(f"it failed ({type(error).__name__})")


def _covers(function: HookFunction, event: Any, agent: AgentSpec) -> bool:
    return function.covers(names_of(event, agent))
