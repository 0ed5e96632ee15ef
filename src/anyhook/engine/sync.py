"""The engine for programs that have no event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import TYPE_CHECKING

from anyio.lowlevel import current_token

from anyhook.engine.engine import Engine
from anyhook.errors import EngineClosedError, UsageError

if TYPE_CHECKING:
    import os
    from typing import Self, Unpack

    from anyhook.engine.options import SyncEngineOptions
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event


class SyncEngine:
    """An `Engine` whose `dispatch` is a plain function. Use it in a `with` block.

    It has one event loop. Dispatches from several threads run one after the other.

    Args:
        engine: The engine, also for everything except dispatching.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._runner = asyncio.Runner()
        self._lock = threading.Lock()
        self._closed = False
        self._running = contextvars.ContextVar("anyhook-dispatch", default=False)

    @classmethod
    def load(
        cls,
        project_dir: str | os.PathLike[str] | None = None,
        **options: Unpack[SyncEngineOptions],
    ) -> Self:
        """Load an engine; takes the arguments of `Engine.load`."""
        return cls(Engine.load(project_dir, **options))

    def dispatch(self, event: Event) -> Decision:
        """Run the handlers that match an event, and combine their answers: see `Engine.dispatch`.

        Raises:
            EngineClosedError: If the engine was closed.
            UsageError: If an event loop runs in this thread, or a handler of this engine calls it;
                use `Engine.dispatch` there.
        """
        if self._running.get():
            raise UsageError("a handler of this engine cannot dispatch; await Engine.dispatch")
        try:
            current_token()
        except RuntimeError:
            with self._lock:
                if self._closed:
                    raise EngineClosedError("the engine is closed; load a new one") from None
                token = self._running.set(True)
                try:
                    return self._runner.run(
                        self.engine.dispatch(event), context=contextvars.copy_context()
                    )
                finally:
                    self._running.reset(token)
        raise UsageError("an event loop runs here; await Engine.dispatch instead")

    def close(self) -> None:
        """Close the engine and its event loop.

        Raises:
            UsageError: If a handler of this engine calls it; `Engine.close` works there.
        """
        if self._running.get():
            raise UsageError("a handler of this engine cannot close it; call engine.close()")
        self.engine.close()
        with self._lock:
            self._closed = True
            self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
