"""Keeps from the streams of a run what hooks have not decided yet.

LangGraph and LangChain stream through callback handlers of the run: those that can tap an output.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self
    from uuid import UUID

    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig


def _is_stream(handler: Any) -> bool:
    return hasattr(handler, "tap_output_aiter")


@contextmanager
def without_streaming(model: BaseChatModel) -> Iterator[BaseChatModel]:
    """Yield the model to call, whose output is hidden from all streams until the block ends.

    The handlers that stream are removed from the model's run, and the tag excludes others. A model
    that was configured to stream is copied with streaming disabled.
    """
    config = dict(var_child_runnable_config.get() or {})
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        for handler in (*callbacks.handlers, *callbacks.inheritable_handlers):
            if _is_stream(handler):
                callbacks.remove_handler(handler)
    tags: Any = config.get("tags") or []
    config |= {"callbacks": callbacks, "tags": [*tags, TAG_NOSTREAM]}
    token = var_child_runnable_config.set(config)  # type: ignore[arg-type]
    try:
        streams = getattr(model, "streaming", False)
        yield model.model_copy(update={"disable_streaming": True}) if streams else model
    finally:
        var_child_runnable_config.reset(token)


class HeldToolEvents:
    """Holds back what the streams of a run show of a tool's output, until hooks have decided.

    In a block, copies of the handlers that stream take the place of the handlers in the
    configuration that a call of a tool runs with. A copy shares the state of its original, and
    keeps the end of the tool's own run and the pieces of its output that LangGraph streams; runs
    inside the tool pass.

    Args:
        config: The configuration of one call.
    """

    def __init__(self, config: RunnableConfig) -> None:
        self._config = config
        self._callbacks = config.get("callbacks")
        self._run = getattr(self._callbacks, "parent_run_id", None)
        self._pieces: list[Callable[[], Any]] = []
        self._ends: list[tuple[Any, UUID, Callable[[], Any]]] = []

    def __enter__(self) -> Self:
        callbacks = self._callbacks
        if not isinstance(callbacks, BaseCallbackManager):
            return self
        held = callbacks.copy()
        for handler in dict.fromkeys((*callbacks.handlers, *callbacks.inheritable_handlers)):
            if _is_stream(handler):
                is_inherited = handler in callbacks.inheritable_handlers
                held.remove_handler(handler)
                held.add_handler(self._holding(handler), inherit=is_inherited)
        self._config["callbacks"] = held
        return self

    def __exit__(self, *_error: object) -> None:
        self._config["callbacks"] = self._callbacks

    def _holding(self, handler: Any) -> Any:
        """Return the copy of a handler that holds back."""
        # Handlers of LangChain define copying as returning themselves.
        holding = object.__new__(type(handler))
        vars(holding).update(vars(handler))
        for name in ("on_tool_end", "on_tool_error"):
            original = getattr(handler, name)
            # The callback manager awaits what is declared as a coroutine function.
            is_async = inspect.iscoroutinefunction(original)
            hold = partial(self._hold_async if is_async else self._hold, handler, original)
            setattr(holding, name, hold)
        if hasattr(handler, "stream"):
            holding.stream = partial(self._hold_piece, handler.stream)
        return holding

    def _hold(
        self,
        handler: Any,
        original: Callable[..., Any],
        output: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **options: Any,
    ) -> Any:
        call = partial(original, output, run_id=run_id, parent_run_id=parent_run_id, **options)
        if parent_run_id != self._run:
            return call()
        self._ends.append((handler, run_id, call))
        return None

    async def _hold_async(self, *args: Any, **options: Any) -> None:
        result = self._hold(*args, **options)
        if result is not None:
            await result

    def _hold_piece(self, stream: Callable[[Any], None], chunk: Any) -> None:
        payload = chunk[-1]
        if isinstance(payload, dict) and payload.get("event") == "tool-output-delta":
            self._pieces.append(partial(stream, chunk))
        else:
            stream(chunk)

    async def release(self) -> None:
        """Stream what the tool returned, because hooks left it alone."""
        for stream in self._pieces:
            stream()
        for _handler, _run_id, call in self._ends:
            await _finish(call())

    async def replace(self, value: Any) -> None:
        """Stream a value in place of what the tool returned."""
        for handler, run_id, _call in self._ends:
            end = handler.on_tool_end(value, run_id=run_id, parent_run_id=self._run)
            await _finish(end)


async def _finish(result: Any) -> None:
    if inspect.isawaitable(result):
        await result
