"""The sessions of the runs and threads of LangChain's agents."""

from __future__ import annotations

import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyio.from_thread import BlockingPortalProvider
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config

from anyhook.integrations.langchain.messages import unanswered_prompt
from anyhook.integrations.langchain.waiting import wait_here, wait_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from uuid import UUID

    from langgraph.runtime import Runtime

    from anyhook.integrations.factory import SessionFactory
    from anyhook.integrations.langchain.waiting import Wait
    from anyhook.integrations.session import Session

    OnFailure = Callable[[], Awaitable[None]]


class RunWatcher(BaseCallbackHandler):
    """Calls what was set for a run when that run fails, before its caller gets the error.

    A middleware sees only its own nodes. The recursion limit, an error of another middleware or a
    `break` out of a stream ends a run between them; LangChain then reports an error of the run to
    its callback handlers. This one, which does nothing in runs without a session of hooks, is added
    to every run by `register_configure_hook`, as the cost callbacks of LangChain are.
    """

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


@dataclass(slots=True)
class SessionState:
    """A session of a thread, or of one run."""

    key: str
    """`THREAD|NAMESPACE`, or a unique text for a run without a thread."""
    session: Session
    is_kept: bool
    """Whether it stays open until the `with` block ends."""
    holds_portal: bool
    """Whether it keeps the event loop of synchronous agents alive."""
    runs: set[UUID] = field(default_factory=set)
    """The runs of the graph that use it; some may have ended."""
    is_turn_denied: bool = False
    """Whether hooks kept the turn's request from the model."""


class Sessions:
    """Opens, finds and closes the sessions of one middleware."""

    def __init__(self, factory: SessionFactory) -> None:
        self._factory = factory
        self._states: dict[str, SessionState] = {}
        self._blocks = 0
        self._portals = BlockingPortalProvider()
        self.wait_in_thread: Wait[Any] = wait_in_thread(self._portals)

    def __bool__(self) -> bool:
        return bool(self._states)

    @property
    def is_in_block(self) -> bool:
        """Whether sessions of threads are kept open."""
        return self._blocks > 0

    def enter_block(self) -> None:
        """Keep the sessions of threads open until the block ends."""
        self._blocks += 1

    async def leave_block(self, error_type: type[BaseException] | None, wait: Wait[Any]) -> None:
        """Close all sessions when the outermost block ends."""
        self._blocks -= 1
        if not self._blocks:
            for state in list(self._states.values()):
                await self.close(state, "exit" if error_type is None else "other", wait)

    async def open(
        self, agent_state: Mapping[str, Any], runtime: Runtime[Any], wait: Wait[Any]
    ) -> SessionState:
        """Return the session of a run that begins."""
        info = runtime.execution_info
        thread = info.thread_id if info is not None else None
        namespace = info.checkpoint_ns.rpartition("|")[0] if info is not None else ""
        key = f"{thread}|{namespace}" if thread else str(uuid.uuid4())
        state = self._states.get(key)
        if state is not None and any(map(watcher.is_running, state.runs)):
            # Another run of this thread is under way: they do not share a session.
            thread, key, state = None, str(uuid.uuid4()), None
        if state is not None and state.is_kept:
            self._watch(state, wait)
            return state
        # The end of the last run of this thread was not seen: it was interrupted.
        if state is not None:
            await self.close(state, "other", wait)
        messages = agent_state["messages"]
        has_history = len(messages) > len(unanswered_prompt(messages))
        # A graph inside another one has the thread of the outer one, and is a session of its own.
        session_id = None if namespace else thread
        return self._add(key, session_id, wait, has_history=has_history)

    async def find(self, agent_state: Any, wait: Wait[Any]) -> SessionState:
        """Return the session of a run that continues, also in another process."""
        key = None
        if isinstance(agent_state, dict):
            key = agent_state.get("anyhook_session")
        key = key or "|"
        state = self._states.get(key)
        if state is not None:
            self._watch(state, wait)
            return state
        thread, separator, namespace = key.partition("|")
        session_id = thread if thread and separator and not namespace else None
        state = self._add(key, session_id, wait, has_history=True)
        await wait(state.session.start())
        return state

    def _add(
        self, key: str, session_id: str | None, wait: Wait[Any], *, has_history: bool
    ) -> SessionState:
        is_kept = self._blocks > 0 and session_id is not None
        source = "resume" if has_history else "startup"
        session = self._factory.new_session(session_id, source)
        state = SessionState(key, session, is_kept, holds_portal=wait is not wait_here)
        if state.holds_portal:
            self._portals.__enter__()
        self._states[key] = state
        self._watch(state, wait)
        return state

    def _watch(self, state: SessionState, wait: Wait[Any]) -> None:
        """Close a session when the current run fails, unless it is kept."""
        run = watcher.current_run()
        if run is None or run in state.runs:
            return

        async def on_failure() -> None:
            if not state.is_kept:
                await self.close(state, "other", wait)

        state.runs = {run, *filter(watcher.is_running, state.runs)}
        watcher.watch(run, on_failure)

    async def close(self, state: SessionState, reason: str, wait: Wait[Any]) -> None:
        """End a session, unless another thread does."""
        if self._states.get(state.key) is not state:
            return
        if self._states.pop(state.key, None) is not state:
            return
        try:
            await wait(state.session.end(reason))
        finally:
            if state.holds_portal:
                self._portals.__exit__(None, None, None)
