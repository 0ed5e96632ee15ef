"""The runner that a program uses in place of `agents.Runner`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from agents.run import AgentRunner

from anyhook.integrations.factory import KeptSession, LoadedHooks, SessionFactory, session_of_run
from anyhook.integrations.openai_agents.copies import restore_agents, restore_event
from anyhook.integrations.openai_agents.state import WITHOUT_HOSTED_TOOLS, SessionState
from anyhook.integrations.openai_agents.turn import Turn, has_history, turn_block

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from typing import Self, Unpack

    from agents.run_config import RunOptions
    from agents.stream_events import StreamEvent

    from agents import Agent, RunResult, RunResultStreaming, RunState, TResponseInputItem
    from anyhook.engine.engine import Engine
    from anyhook.integrations.options import SessionOptions
    from anyhook.integrations.session import Session


class AnyhookRunner(LoadedHooks):
    """Runs agents as `agents.Runner` does, and lets hooks decide.

    Every run is a session of its own. Inside an `async with` block runs are turns of one session,
    or of one for each SDK session (`session=`) that they get. Runs at once never share one.

    A denied prompt raises `PromptDeniedError`, which is an `InputGuardrailTripwireTriggered`. A
    denied request, or a response that was discarded, ends the turn with an empty `final_output`;
    where the agent has an `output_type`, or inside an agent that runs as a tool, it is the SDK's
    `ModelRefusalError`, which `error_handlers` may answer. A hook that ends the agent raises
    `StoppedError`.

    Agents run as copies, which the SDK's run hooks and guardrails get, too; results hold the
    program's agents.

    Args:
        engine: Decides the events; the caller closes it.
        session_id: See `anyhook.integrations.Session`; by default that of the SDK's session
            (`session=`) that the first run gets.
        cwd: See `Session`.
        source: How sessions begin: `startup`, `resume` or `clear`; by default `resume` if the
            first run continues a conversation.
        **options: See `SessionOptions`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        session_id: str | None = None,
        cwd: str | Path | None = None,
        source: str | None = None,
        **options: Unpack[SessionOptions],
    ) -> None:
        self.engine = engine
        self._factory = SessionFactory(engine, WITHOUT_HOSTED_TOOLS, options)
        self._named_tools = frozenset(options.get("tools") or ())
        self._session_id = session_id
        self._cwd = cwd
        self._source = source
        self._is_in_block = False
        self._kept: dict[str | None, KeptSession] = {}

    async def __aenter__(self) -> Self:
        self._is_in_block = True
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, *_rest: object) -> None:
        kept, self._kept, self._is_in_block = self._kept, {}, False
        reason = "exit" if error_type is None else "other"
        try:
            for each in kept.values():
                await each.session.end(reason)
        finally:
            self._close_engine()

    async def run(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        **options: Unpack[RunOptions[Any]],
    ) -> RunResult:
        """Run an agent until hooks, too, agree that it is done.

        Args:
            starting_agent: The agent.
            input: The prompt, a conversation that ends with it, or a state to continue.
            options: Those of `agents.Runner.run`.

        Returns:
            The result of the last run of the SDK. Its `to_input_list()` is the whole conversation.

        Raises:
            PromptDeniedError: If a hook denied the prompt.
            StoppedError: If a hook ended the agent.
            AgentsException: What `agents.Runner.run` raises.
        """
        async with self._turn(starting_agent, input, dict(options)) as turn:
            while True:
                result = await turn.run()
                if not await turn.continues(result):
                    return result

    def run_sync(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        **options: Unpack[RunOptions[Any]],
    ) -> RunResult:
        """Run an agent where no event loop runs; see `run`."""
        # The SDK's own runner manages the thread's event loop; it calls our `run` on it.
        runner = AgentRunner()
        runner.run = self.run  # type: ignore[method-assign]
        return runner.run_sync(starting_agent, input, **options)

    def run_streamed(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        **options: Unpack[RunOptions[Any]],
    ) -> HookedStream:
        """Run an agent and stream what happens; it begins when its events are requested.

        Args:
            starting_agent: The agent.
            input: See `run`.
            options: Those of `agents.Runner.run_streamed`.
        """
        return HookedStream(self._turn(starting_agent, input, dict(options)))

    @asynccontextmanager
    async def _turn(
        self, agent: Agent[Any], run_input: Any, options: dict[str, Any]
    ) -> AsyncIterator[Turn]:
        """Yield a turn of a started session: the block's for this memory, or that of one run."""
        memory_id = getattr(options.get("session"), "session_id", None)
        memory_id = memory_id if isinstance(memory_id, str) else None
        source = self._source or "startup"
        if self._source is None and not self._factory.is_idle:
            source = "resume" if await has_history(run_input, options) else "startup"

        def new_session(session_id: str | None = None) -> Session:
            return self._factory.new_session(session_id, source, cwd=self._cwd)

        session_id = self._session_id or memory_id
        kept = self._kept.get(memory_id)
        if kept is None and self._is_in_block:
            # Two sessions with one identifier could not be told apart.
            is_first = not self._kept
            kept = KeptSession(new_session(session_id if is_first else memory_id))
            self._kept[memory_id] = kept
        single = partial(new_session, session_id if kept is None else None)
        async with session_of_run(kept, single) as session:
            state = SessionState(session, self._factory, self._named_tools)
            turn = Turn(state, agent, run_input, options)
            with turn_block(session, is_idle=state.is_idle):
                await turn.begin()
                try:
                    yield turn
                finally:
                    await turn.close()


class HookedStream:
    """A run that streams."""

    def __init__(self, turn: AbstractAsyncContextManager[Turn]) -> None:
        self._turn = turn
        self._result: RunResultStreaming | None = None
        self._is_cancelled = False

    @property
    def result(self) -> RunResultStreaming:
        """The SDK's result of the current run: of the last one, when the stream has ended.

        Raises:
            AttributeError: If no run has begun yet.
        """
        if self._result is None:
            raise AttributeError("there is a result when the run has begun: read stream_events()")
        return self._result

    @property
    def final_output(self) -> Any:
        """The output of the last agent; see `result`."""
        return self.result.final_output

    @property
    def last_agent(self) -> Agent[Any]:
        """The agent that ran last; see `result`."""
        return self.result.last_agent

    def to_input_list(self) -> list[TResponseInputItem]:
        """Return the whole conversation, as the input of a next run; see `result`."""
        return self.result.to_input_list()

    def cancel(self, mode: Literal["immediate", "after_turn"] = "immediate") -> None:
        """Cancel the run, as the SDK does it; one that has not begun does not begin."""
        self._is_cancelled = True
        if self._result is not None:
            self._result.cancel(mode)

    async def stream_events(self) -> AsyncIterator[StreamEvent]:
        """Run the agent, once, and yield the events of every run; raises what `run` does."""
        if self._is_cancelled:
            return
        async with self._turn as turn:
            while True:
                result = self._result = turn.run_streamed()
                try:
                    async for event in result.stream_events():
                        restore_event(event)
                        yield event
                finally:
                    if not result.is_complete:
                        result.cancel()
                    restore_agents(result)
                if result.run_loop_exception is not None:
                    raise result.run_loop_exception
                if not await turn.continues(result):
                    return
