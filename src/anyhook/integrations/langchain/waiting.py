"""Run the coroutines of a session from synchronous and asynchronous agents with the same code.

All logic is written as coroutines. In an agent with an event loop they are awaited. In an agent
without one (`invoke`, `stream`) the coroutines of sessions run on the event loop of one further
thread, while the model and the tools stay in the caller's thread: there the outer coroutine never
suspends, so that `run_without_loop` can drive it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortalProvider

T = TypeVar("T")
Wait = Callable[[Coroutine[Any, Any, T]], Awaitable[T]]
"""Runs a coroutine of a session."""


async def wait_here(work: Awaitable[T]) -> T:
    """Await on the current event loop."""
    return await work


def wait_in_thread(portals: BlockingPortalProvider) -> Wait[Any]:
    """Return a function that runs coroutines on the loop of a portal's thread and blocks."""

    async def wait(work: Coroutine[Any, Any, T]) -> T:
        with portals as portal:
            return portal.call(wait_here, work)

    return wait


def as_async(handler: Callable[[Any], T]) -> Callable[[Any], Awaitable[T]]:
    """Return an async function that calls a plain one and never suspends."""

    async def handle(request: Any) -> T:
        return handler(request)

    return handle


def run_without_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("a coroutine that must not suspend did")  # pragma: no cover
