"""Commands that nobody waits for: they run on after the dispatch, and end with the engine.

Each has an event loop of its own, in another thread, so that it goes on whatever becomes of the
host's loop. What they say comes later: the host asks for it at its next turn.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

import anyio

from anyhook.handlers.results import failed_result

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Any

    from anyhook.handlers.context import HookContext
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.definitions import HandlerSpec

    Run = Callable[[HookContext, HandlerSpec], Coroutine[Any, Any, HandlerResult]]

AT_ONCE = 16
"""How many run at the same time; the rest wait, so that guards find descriptors and processes."""
KEPT = 1000
"""Results that are kept for a host that does not ask for them; older ones are forgotten."""


class Background:
    """What was started and not waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[threading.Thread, _Job] = {}
        self._waiting: deque[_Job] = deque()
        self._done: deque[HandlerResult] = deque(maxlen=KEPT)
        self._closed = False

    def start(self, context: HookContext, handler: HandlerSpec, run: Run) -> None:
        """Run a handler in another thread, now or when one of those that run has ended.

        What cannot be started, because there are no threads or after `close`, is a failed result.
        """
        job = _Job(context, handler, run)
        thread = threading.Thread(target=self._work, name=f"anyhook {handler.label}", daemon=True)
        with self._lock:
            if self._closed:
                self._done.append(failed(context, handler, "the engine is closed"))
            elif len(self._running) >= AT_ONCE:
                self._waiting.append(job)
            else:
                self._running[thread] = job
                try:
                    thread.start()
                except (RuntimeError, MemoryError, OSError) as error:
                    del self._running[thread]
                    self._done.append(failed(context, handler, f"it cannot be started: {error}"))

    def _work(self) -> None:
        thread = threading.current_thread()
        with self._lock:
            job: _Job | None = self._running[thread]
        while job is not None:
            result = job.run()
            with self._lock:
                # Whoever sees that it has ended must find what it said.
                if result is not None:
                    self._done.append(result)
                job = self._waiting.popleft() if self._waiting else None
                if job is None:
                    del self._running[thread]
                else:
                    self._running[thread] = job

    def collect(self) -> list[HandlerResult]:
        """Return what has ended since the last time; each result once."""
        with self._lock:
            found = list(self._done)
            self._done.clear()
        return found

    def wait(self, timeout: float) -> bool:
        """Wait until everything has ended.

        Args:
            timeout: Seconds to wait at most.

        Returns:
            Whether everything has.
        """
        deadline = time.monotonic() + timeout
        for thread in self._threads():
            thread.join(max(0.0, deadline - time.monotonic()))
        return not self._threads()

    def close(self) -> None:
        """End what still runs, and drop what waits; the processes are gone when this returns."""
        with self._lock:
            self._closed = True
            self._waiting.clear()
            jobs = list(self._running.items())
        for _, job in jobs:
            job.cancel()
        for thread, _ in jobs:
            thread.join()

    def _threads(self) -> list[threading.Thread]:
        with self._lock:
            return list(self._running)


class _Job:
    """One handler on an event loop of its own."""

    def __init__(self, context: HookContext, handler: HandlerSpec, run: Run) -> None:
        self._firing, self._handler, self._run = context, handler, run
        self._scope: anyio.CancelScope | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()

    def run(self) -> HandlerResult | None:
        """Run it to its end; `None` if it was cancelled."""
        try:
            return anyio.run(self._main, backend="asyncio")
        except BaseException as error:  # noqa: BLE001 - nobody above could do anything about it
            return failed(self._firing, self._handler, f"{type(error).__name__}: {error}")
        finally:
            self._ready.set()

    async def _main(self) -> HandlerResult | None:
        import asyncio  # commands that run no hooks do not need it

        with anyio.CancelScope() as scope:
            self._scope, self._loop = scope, asyncio.get_running_loop()
            self._ready.set()
            return await self._run(self._firing, self._handler)
        return None

    def cancel(self) -> None:
        """End it from another thread."""
        self._ready.wait()
        if self._scope is None or self._loop is None:
            return
        try:  # nothing waits for it here: a loop that is about to end never gets to it
            self._loop.call_soon_threadsafe(self._scope.cancel)
        except RuntimeError:  # it has ended by itself
            return
