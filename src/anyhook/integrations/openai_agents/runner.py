"""The runner that a program uses in place of `agents.Runner`."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.run import AgentRunner

from agents import Runner
from anyhook.engine.engine import Engine
from anyhook.integrations.openai_agents.life import SEEN, Life
from anyhook.integrations.openai_agents.turn import Turn, stops
from anyhook.integrations.session import ROUNDS, Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from agents.stream_events import StreamEvent

    from agents import Agent, RunResult, RunResultStreaming, RunState, TResponseInputItem
    from anyhook.integrations.host_tools import HostTool
    from anyhook.integrations.session import Question
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event


class AnyhookRunner:
    """Runs agents as `agents.Runner` does, and lets hooks decide.

    Every run is a session of its own; inside an `async with` block all runs are turns of one.

    What hooks decide, and what the caller gets: a denied prompt raises `PromptDeniedError`, which
    is an `InputGuardrailTripwireTriggered`. A denied request, or a response that was discarded,
    ends the turn with an empty `final_output`; where the agent has an `output_type`, or inside an
    agent that runs as a tool, it is the SDK's `ModelRefusalError`, which `error_handlers` may
    answer. A hook that ends the agent raises `StoppedError`.

    Args:
        engine: Whose hooks decide; the caller closes it.
        session_id: See `anyhook.integrations.Session`; by default that of the SDK's session
            (`session=`) that the first run gets.
        cwd: See `Session`, as the further ones.
        source: How the session begins.
        tools: The agents' tools in canonical words.
        ask: Asks the user.
        on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.
        rounds: How often hooks may send the agent round in one turn.
        transcript: File that the session is written to.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        session_id: str | None = None,
        cwd: str | Path | None = None,
        source: str = "startup",
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
    ) -> None:
        self.engine = engine
        self._mapped = dict(tools or {})
        self._seen = on_decision is not None or transcript is not None
        self._session_id = session_id
        self._new = partial(
            Session,
            engine,
            cwd=cwd,
            source=source,
            tools=self._mapped,
            ask=ask,
            on_message=on_message,
            on_decision=on_decision,
            rounds=rounds,
            transcript=transcript,
            framework=SEEN,
        )
        self._open: Session | None = None
        self._inside = False
        self._owns = False

    @classmethod
    def load(
        cls,
        project_dir: str | Path | None = None,
        *,
        agent: str | None = None,
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
        require: bool | Collection[str] = False,
        **engine_options: Any,
    ) -> Self:
        """Read a project's hooks.

        Args:
            project_dir: Directory of the project; by default the one that the current
                directory belongs to.
            agent: `gemini`, `claude`, `terminai` or `generic`; by default the agent that has
                hooks in the project.
            tools: The agents' tools in canonical words, `{"bash": "shell"}`.
            ask: Asks the user; without it the answer is no.
            on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
            on_decision: Gets every event with its decision.
            rounds: How often hooks may send the agent round in one turn.
            transcript: File that sessions are written to.
            require: Raise if configured hooks do not run: see `Engine.load`.
            engine_options: See `Engine.load`.

        Raises:
            UnknownNameError: If there is no such agent or rule set.
            UsageError: If several agents have hooks here and none is named.
            RequiredHooksError: If hooks that are required do not run.
        """
        runner = cls(
            Engine.load(
                project_dir,
                agent=agent,
                require=require,
                on_message=on_message,
                **engine_options,
            ),
            tools=tools,
            ask=ask,
            on_message=on_message,
            on_decision=on_decision,
            rounds=rounds,
            transcript=transcript,
        )
        runner._owns = True
        return runner

    async def __aenter__(self) -> Self:
        self._inside = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        session, self._open, self._inside = self._open, None, False
        try:
            if session is not None:
                await session.__aexit__(kind, error, traceback)
        finally:
            if self._owns:
                self.engine.close()

    async def run(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        **options: Any,
    ) -> RunResult:
        """Run an agent until hooks, too, agree that it is done.

        Args:
            starting_agent: The agent.
            input: The prompt, a conversation that ends with it, or a state to go on from.
            options: Those of `Runner.run`.

        Returns:
            The result of the last round. Its `to_input_list()` is the whole conversation.

        Raises:
            PromptDeniedError: If a hook denied the prompt.
            StoppedError: If a hook ended the agent.
            AgentsException: What `Runner.run` raises.
        """
        async with self._turn(starting_agent, input, options) as turn:
            while True:
                with turn.begun() as (agent, given, chosen):
                    result = await Runner.run(agent, given, **chosen)
                if not await turn.goes_on(result):
                    return result

    def run_sync(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        **options: Any,
    ) -> RunResult:
        """Run an agent where no event loop runs; see `run`."""
        runner = AgentRunner()  # its care for the thread's event loop, around our run
        runner.run = self.run  # type: ignore[method-assign]
        return runner.run_sync(starting_agent, input, **options)

    def run_streamed(
        self,
        starting_agent: Agent[Any],
        input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002
        context: Any = None,
        **options: Any,
    ) -> HookedStream:
        """Run an agent and stream what happens; it begins when its events are asked for.

        Args:
            starting_agent: The agent.
            input: See `run`.
            context: See `Runner.run_streamed`.
            options: Those of `Runner.run_streamed`.
        """
        turn = self._turn(starting_agent, input, {"context": context, **options})
        return HookedStream(turn)

    @asynccontextmanager
    async def _session(self, memory: Any) -> AsyncIterator[Session]:
        known = getattr(memory, "session_id", None)
        session_id = self._session_id or (known if isinstance(known, str) else None)
        if not self._inside:
            async with self._new(session_id=session_id) as session:
                yield session
            return
        if self._open is None:
            self._open = self._new(session_id=session_id)
            await self._open.start()
        yield self._open

    @asynccontextmanager
    async def _turn(
        self, agent: Agent[Any], given: Any, options: dict[str, Any]
    ) -> AsyncIterator[Turn]:
        async with self._session(options.get("session")) as session:
            turn = Turn(Life(session, self._mapped, self._seen), agent, given, options)
            with stops(session):
                await turn.begin()
                try:
                    yield turn
                finally:
                    await turn.close()


class HookedStream:
    """A run that streams; its further attributes are those of the SDK's result of this round."""

    def __init__(self, turn: Any) -> None:
        self._turn = turn
        self._result: RunResultStreaming | None = None

    def __getattr__(self, name: str) -> Any:
        result = self.__dict__.get("_result")
        if result is None:
            raise AttributeError(f"{name} is there when the run has begun: read stream_events()")
        return getattr(result, name)

    async def stream_events(self) -> AsyncIterator[StreamEvent]:
        """Run the agent, once, and yield the events of every round; raises what `run` does."""
        async with self._turn as turn:
            while True:
                with turn.begun() as (agent, given, chosen):
                    result = self._result = Runner.run_streamed(agent, given, **chosen)
                try:
                    async for event in result.stream_events():
                        yield event
                finally:
                    if not result.is_complete:
                        result.cancel()
                if result.run_loop_exception is not None:
                    raise result.run_loop_exception
                if not await turn.goes_on(result):
                    return
