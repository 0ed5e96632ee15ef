"""Handlers that run in the background: they go on after the dispatch and end with the engine.

Each runs on an event loop of its own, in another thread, so that the end of the host's loop does
not end it. The host collects their results later.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from anyhook.model.decisions import HandlerResult

MAX_RUNNING = 16
"""How many run at the same time; the rest wait, so that guards find descriptors and processes."""
MAX_RESULTS = 1000
"""Results that are kept for a host that does not collect them; older ones are dropped."""


@dataclass(eq=False)
class Job:
    """A handler to run in the background."""

    name: str
    run: Callable[[], Awaitable[HandlerResult]]
    fail: Callable[[str], HandlerResult]
    """Makes its result from an error."""
    _scope: anyio.CancelScope | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _started: threading.Event = field(default_factory=threading.Event)

    def run_to_end(self) -> HandlerResult | None:
        """Run it on a new event loop; `None` if it was cancelled."""
        import asyncio  # commands that run no hooks do not need it

        async def main() -> HandlerResult | None:
            with anyio.CancelScope() as scope:
                self._scope, self._loop = scope, asyncio.get_running_loop()
                self._started.set()
                return await self.run()
            return None

        try:
            return anyio.run(main, backend="asyncio")
        except BaseException as error:  # noqa: BLE001 - the thread is the last boundary
            return self.fail(f"{type(error).__name__}: {error}")
        finally:
            self._started.set()

    def cancel(self) -> None:
        """Cancel it from another thread, without waiting for its end."""
        self._started.wait()
        if self._scope is None or self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(self._scope.cancel)
        except RuntimeError:  # the loop is closed: it has ended by itself
            return


class Background:
    """The handlers of an engine that run in the background."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[threading.Thread, Job] = {}
        self._waiting: deque[Job] = deque()
        self._done: deque[HandlerResult] = deque(maxlen=MAX_RESULTS)
        self._closed = False

    def start(self, job: Job) -> None:
        """Run a handler in another thread, now or when one of those that run has ended.

        What cannot be started, because there are no threads or after `close`, is a failed result.
        """
        thread = threading.Thread(target=self._work, name=f"anyhook {job.name}", daemon=True)
        with self._lock:
            if self._closed:
                self._done.append(job.fail("the engine is closed"))
                return
            if len(self._running) >= MAX_RUNNING:
                self._waiting.append(job)
                return
            self._running[thread] = job
            try:
                thread.start()
            except (RuntimeError, MemoryError, OSError) as error:
                del self._running[thread]
                self._done.append(job.fail(f"it cannot be started: {error}"))

    def _work(self) -> None:
        """Run the job of this thread, then waiting ones."""
        thread = threading.current_thread()
        with self._lock:
            job: Job | None = self._running[thread]
        while job is not None:
            result = job.run_to_end()
            with self._lock:
                # In one step: who sees that a job has ended must find its result.
                if result is not None:
                    self._done.append(result)
                job = self._waiting.popleft() if self._waiting else None
                if job is None:
                    del self._running[thread]
                else:
                    self._running[thread] = job

    def collect(self) -> list[HandlerResult]:
        """Return the results since the last call; each result once."""
        with self._lock:
            results = list(self._done)
            self._done.clear()
        return results

    def wait(self, timeout: float) -> bool:
        """Wait until everything has ended.

        Wait at most `timeout` seconds, and return whether everything has.
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
            running = list(self._running.items())
        for _, job in running:
            job.cancel()
        for thread, _ in running:
            thread.join()

    def _threads(self) -> list[threading.Thread]:
        with self._lock:
            return list(self._running)
