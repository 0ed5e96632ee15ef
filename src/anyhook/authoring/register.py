"""The functions of a hook file as handlers of an engine."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Protocol

from anyhook.authoring.hooks import checked, names_of
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.authoring.hooks import HookFunction, Hooks
    from anyhook.dialects.base import Dialect


class Host(Protocol):
    """What takes definitions: an `Engine`."""

    dialect: Dialect

    def define(self, definition: HookDefinition) -> None:
        """Add a definition."""
        ...


def register(hooks: Hooks, host: Host) -> None:
    """Let a host run the functions of a hook file; those of an event in order.

    Args:
        hooks: The functions.
        host: The engine. Functions for events that its dialect does not have are left out.
    """
    for event in dict.fromkeys(function.event for function in hooks.functions):
        spec = host.dialect.by_canonical.get(event)
        functions = [function for function in hooks.functions if function.event == event]
        if spec is None:
            continue
        seconds = hooks.timeout or spec.timeouts.get("command", host.dialect.default_timeout)
        handlers = tuple(_handler(hooks, f, host.dialect, seconds) for f in functions)
        place = Place(functions[0].file, functions[0].line)
        host.define(HookDefinition(event, Layer.RUNTIME, place, None, True, handlers))


def _handler(hooks: Hooks, function: HookFunction, dialect: Dialect, seconds: float) -> HandlerSpec:
    return HandlerSpec(
        kind="function",
        layer=Layer.RUNTIME,
        place=Place(function.file, function.line),
        name=function.name,
        function=_covering(function, dialect),
        description=function.about or None,
        timeout=seconds,
        origin=hooks.name,
        on_failure="block" if hooks.on_crash == "deny" else "continue",
    )


def _covering(function: HookFunction, dialect: Dialect) -> Callable[[Any], Any]:
    """Call a function for what it is for, and check what it says."""
    if iscoroutinefunction(function.function):

        async def call_async(event: Any) -> Any:
            said: Any = function.function(event) if _covers(function, event, dialect) else None
            return checked(function, await said if said is not None else None)

        return call_async

    def call(event: Any) -> Any:
        return (
            checked(function, function.function(event))
            if _covers(function, event, dialect)
            else None
        )

    return call


def _covers(function: HookFunction, event: Any, dialect: Dialect) -> bool:
    return function.covers(names_of(event, dialect))
