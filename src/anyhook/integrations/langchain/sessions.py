"""The sessions of the runs and threads of LangChain's agents."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyio.from_thread import BlockingPortalProvider
from langgraph.errors import GraphBubbleUp

from anyhook.integrations.langchain.messages import unanswered_prompt
from anyhook.integrations.langchain.waiting import wait_here, wait_in_thread

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from langgraph.runtime import Runtime

    from anyhook.integrations.factory import SessionFactory
    from anyhook.integrations.langchain.waiting import T, Wait
    from anyhook.integrations.session import Session


@dataclass(slots=True)
class SessionState:
    """A session of a thread, or of one run.

    Attributes:
        key: `THREAD|NAMESPACE`, or a unique text for a run without a thread.
        session: The session.
        is_kept: Whether it stays open until the `with` block ends.
        holds_portal: Whether it keeps the event loop of synchronous agents alive.
        running: One item for each piece of work under way, in any thread. Lists are thread-safe.
        has_failed: Whether one of them failed, so that the run is over.
    """

    key: str
    session: Session
    is_kept: bool
    holds_portal: bool
    running: list[None] = field(default_factory=list)
    has_failed: bool = False


class Sessions:
    """Opens, finds and closes the sessions of one middleware.

    Args:
        factory: Makes the sessions.
    """

    def __init__(self, factory: SessionFactory) -> None:
        self._factory = factory
        self._states: dict[str, SessionState] = {}
        self._blocks = 0
        self._portals = BlockingPortalProvider()
        self.wait_in_thread: Wait[Any] = wait_in_thread(self._portals)

    def __bool__(self) -> bool:
        return bool(self._states)

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
        if state is not None and state.is_kept:
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
            return state
        thread, separator, namespace = key.partition("|")
        session_id = thread if thread and separator and not namespace else None
        state = self._add(key, session_id, wait, has_history=True)
        await self.work_in(state, wait, wait(state.session.start()))
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
        return state

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

    async def work_in(self, state: SessionState, wait: Wait[Any], work: Awaitable[T]) -> T:
        """Await work in a session; a failure closes the session, unless it is kept."""
        state.running.append(None)
        try:
            return await work
        except GraphBubbleUp:  # an interrupt: the run continues later
            raise
        except BaseException:
            state.has_failed = True
            raise
        finally:
            state.running.pop()
            if state.has_failed and not state.running and not state.is_kept:
                await self.close(state, "other", wait)
