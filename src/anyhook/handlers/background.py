"""Commands that nobody waits for: they run on after the dispatch, and end with the engine.

Each has a thread and an event loop of its own, so that it goes on whatever becomes of the host's
loop. What they say comes later: the host asks for it at its next turn.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

import anyio

from anyhook.handlers.base import failed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from anyhook.handlers.base import Firing
    from anyhook.model.decisions import HandlerResult
    from anyhook.model.definitions import HandlerSpec

    Run = Callable[[Firing, HandlerSpec], Coroutine[Any, Any, HandlerResult]]


class Background:
    """What was started and not waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[threading.Thread, _Job] = {}
        self._done: deque[HandlerResult] = deque()

    def start(self, firing: Firing, handler: HandlerSpec, run: Run) -> None:
        """Run a handler in a thread of its own."""
        job = _Job(firing, handler, run)

        def work() -> None:
            try:
                result = job.run()
            finally:
                with self._lock:
                    self._running.pop(threading.current_thread(), None)
            if result is not None:
                self._done.append(result)

        thread = threading.Thread(target=work, name=f"anyhook {handler.label}", daemon=True)
        with self._lock:
            self._running[thread] = job
        thread.start()

    def collect(self) -> list[HandlerResult]:
        """Return what has ended since the last time; each result once."""
        found = []
        while self._done:
            found.append(self._done.popleft())
        return found

    def wait(self, timeout: float) -> bool:
        """Wait until everything has ended.

        Args:
            timeout: Seconds to wait at most.

        Returns:
            Whether everything has.
        """
        for thread in self._threads():
            thread.join(timeout)
        return not self._threads()

    def close(self) -> None:
        """End what still runs; its processes are gone when this returns."""
        with self._lock:
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

    def __init__(self, firing: Firing, handler: HandlerSpec, run: Run) -> None:
        self._firing, self._handler, self._run = firing, handler, run
        self._scope: anyio.CancelScope | None = None
        self._token: Any = None
        self._ready = threading.Event()

    def run(self) -> HandlerResult | None:
        """Run it to its end; `None` if it was cancelled."""
        try:
            return anyio.run(self._main)
        except Exception as error:  # noqa: BLE001 - nobody above could do anything about it
            return failed(self._firing, self._handler, f"{type(error).__name__}: {error}")
        finally:
            self._ready.set()

    async def _main(self) -> HandlerResult | None:
        from anyio.lowlevel import current_token

        with anyio.CancelScope() as scope:
            self._scope, self._token = scope, current_token()
            self._ready.set()
            return await self._run(self._firing, self._handler)
        return None

    def cancel(self) -> None:
        """End it from another thread."""
        from anyio.from_thread import run_sync

        self._ready.wait()
        scope = self._scope
        if scope is None:
            return
        try:
            run_sync(scope.cancel, token=self._token)
        except (RuntimeError, anyio.RunFinishedError):  # it has ended by itself
            return
