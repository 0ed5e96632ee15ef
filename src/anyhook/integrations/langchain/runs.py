"""Notices when a run of LangGraph fails or is left, wherever in the graph.

A middleware sees only its own nodes. The recursion limit, an error of another middleware or a
`break` out of a stream ends a run between them; LangChain then reports an error of the run to its
callback handlers. One handler, which does nothing in runs without a session of hooks, is added to
every run by `register_configure_hook`, as the cost callbacks of LangChain are.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    OnFailure = Callable[[], Awaitable[None]]


class RunWatcher(BaseCallbackHandler):
    """Calls what was set for a run when that run fails, before its caller gets the error."""

    run_inline = True
    ignore_llm = ignore_chat_model = ignore_retriever = ignore_agent = True
    ignore_custom_event = ignore_retry = True

    def __init__(self) -> None:
        self._parents: dict[UUID, UUID] = {}
        self._on_failure: dict[UUID, OnFailure] = {}

    def current_run(self) -> UUID | None:
        """Return the run of the graph whose node is executed; `None` outside of graphs."""
        callbacks = get_config().get("callbacks")
        node = callbacks.parent_run_id if isinstance(callbacks, BaseCallbackManager) else None
        return None if node is None else self._parents.get(node, node)

    def is_running(self, run: UUID) -> bool:
        """Return whether a watched run has not ended."""
        return run in self._on_failure

    def watch(self, run: UUID, on_failure: OnFailure) -> None:
        """Set what is called if a run fails."""
        self._on_failure[run] = on_failure

    def on_chain_start(
        self,
        serialized: Any,  # noqa: ARG002
        inputs: Any,  # noqa: ARG002
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_options: Any,
    ) -> None:
        """Remember which run a node belongs to."""
        if parent_run_id is not None:
            self._parents[run_id] = parent_run_id

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_options: Any) -> None:  # noqa: ARG002
        """Forget a run."""
        self._parents.pop(run_id, None)
        self._on_failure.pop(run_id, None)

    async def on_chain_error(
        self,
        error: BaseException,  # noqa: ARG002
        *,
        run_id: UUID,
        **_options: Any,
    ) -> None:
        """Call what was set for a run."""
        self._parents.pop(run_id, None)
        on_failure = self._on_failure.pop(run_id, None)
        if on_failure is not None:
            await on_failure()


watcher = RunWatcher()
register_configure_hook(ContextVar("anyhook_langchain_runs", default=watcher), inheritable=True)
