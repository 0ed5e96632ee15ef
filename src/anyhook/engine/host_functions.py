"""Functions that a host registers, as definitions of hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.authoring.functions import check_timeout
from anyhook.errors import UsageError
from anyhook.matching.matchers import compile_matcher
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.agents.spec import AgentSpec, EventSpec


def define_function(
    agent: AgentSpec,
    spec: EventSpec,
    function: Callable[..., Any],
    *,
    matcher: str | None,
    name: str | None,
    timeout: float | None,
    threaded: bool,
) -> HookDefinition:
    """Return a function as a definition with one handler; see `Engine.register`.

    Raises:
        UsageError: If the function cannot be called, the matcher is not a valid pattern, or the
            timeout is not a number of seconds.
    """
    if not callable(function):
        raise UsageError(
            f"a hook on {spec.wire} is a function that takes the event, not {function!r}"
        )
    check_host_matcher(spec, matcher)
    if timeout is not None:
        check_timeout(timeout)
    code = getattr(function, "__code__", None)
    # A function of C, or a callable object, has no place.
    place = Place("<runtime>")
    if code is not None:
        place = Place(code.co_filename, code.co_firstlineno)
    summary = (function.__doc__ or "").strip().partition("\n")[0]
    handler = HandlerSpec(
        kind="function",
        layer=Layer.RUNTIME,
        place=place,
        name=name or getattr(function, "__qualname__", None),
        function=function,
        threaded=threaded,
        description=summary or None,
        timeout=agent.command_timeout(spec) if timeout is None else timeout,
    )
    return HookDefinition(
        spec.canonical, Layer.RUNTIME, place, matcher, sequential=False, handlers=(handler,)
    )


def check_host_matcher(spec: EventSpec, matcher: object) -> None:
    """Check a matcher that the host gives: a guard that matches nothing would never run.

    Raises:
        UsageError: If it is not text or no valid pattern.
    """
    if matcher is None:
        return
    if not isinstance(matcher, str):
        raise UsageError(f'matcher is a text, like "write_file|edit", not {matcher!r}')
    problem = compile_matcher(matcher, spec.matcher_style).problem
    if problem:
        raise UsageError(f"the matcher {matcher!r} on {spec.wire} is not a pattern: {problem}")
