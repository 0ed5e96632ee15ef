"""Hooks in agents that are built with LangChain.

agent = create_agent(model, tools, middleware=[AnyhookMiddleware.load("."), ...])
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from anyio.from_thread import BlockingPortalProvider
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelResponse,
    PrivateStateAttr,
    hook_config,
)
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from anyhook.engine.engine import Engine
from anyhook.integrations import langchain_messages as words
from anyhook.integrations.frameworks import Framework
from anyhook.integrations.langchain_calls import ask_model, use_tool
from anyhook.integrations.reports import has_problems_to_report
from anyhook.integrations.session import ROUNDS, Session, in_tags

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
    from types import TracebackType
    from typing import Self, TypeVar

    from langchain.agents.middleware.types import ModelRequest, ToolCallRequest
    from langgraph.runtime import Runtime
    from langgraph.types import Command

    from anyhook.integrations.host_tools import HostTool
    from anyhook.integrations.langchain_calls import ModelHandler, ToolHandler, Way
    from anyhook.integrations.session import Question
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event

    T = TypeVar("T")
    Ask = Callable[[Question], Awaitable[bool]]

LANGCHAIN = Framework(
    title="LangChain",
    package="langchain",
    missing={
        "before_compress": (
            "a SummarizationMiddleware shortens the conversation, and the hooks do not run"
        ),
    },
)
MODEL_EVENTS = frozenset(("before_model", "before_tool_selection", "after_model"))


class AnyhookState(AgentState[Any]):
    """The agent's state, and which session it belongs to."""

    anyhook_session: NotRequired[Annotated[str, PrivateStateAttr]]


@dataclass(slots=True)
class _Life:
    """A session in its place.

    Attributes:
        key: Its place: the thread, or one run.
        session: The session.
        kept: Whether it goes on until the `with` block ends.
        leased: Whether it holds the event loop of programs that have none.
        running: One item for each piece of work that is under way, in any thread.
        failed: Whether one of them failed, so that the run is over.
    """

    key: str
    session: Session
    kept: bool
    leased: bool = False
    running: list[None] = field(default_factory=list)
    failed: bool = False


class AnyhookMiddleware(AgentMiddleware[AnyhookState, Any, Any]):
    """Lets hooks decide what an agent of LangChain does, in `invoke`, `stream` and their twins.

    Put it first in `middleware=[…]`: hooks then see what the user and the model really get.

    A run is a session: its end is told after the last `after_agent`, and when the model, a tool or
    a hook ends the run with an error or it is cancelled. In a `with` or `async with` block the
    sessions of threads (`thread_id` and a checkpointer) go on from run to run until the block ends.

    What a hook denies is an answer of the agent with the reason, marked with
    `additional_kwargs={"anyhook": "notice"}`, which the model never gets; a denied prompt is taken
    out of the conversation. A tool that is denied returns the reason as an error. A tool that
    fails fails the run, as always in LangChain, unless a hook has something to say about it.

    While hooks are set on responses of the model, these arrive whole in every kind of stream.

    In programs without an event loop (`invoke`, `stream`) hooks run on the loop of one further
    thread, which lives as long as a session does; the model and the tools stay where they were.

    Args:
        engine: Whose hooks decide.
        tools: The agent's tools in canonical words: see `anyhook.integrations.HostTools`.
        ask: Asks the user; without it the answer is no, and that is told.
        on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.
        rounds: How often hooks may send the agent round in one turn; 0 for no limit.
        transcript: File that the sessions are written to; `None` for none.

    Raises:
        StoppedError: Out of `invoke` and its twins, when a hook ends the agent
            (`continue: false`).
    """

    state_schema = AnyhookState

    def __init__(
        self,
        engine: Engine,
        *,
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Ask | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        self.engine = engine
        self._must_report = has_problems_to_report(engine, on_message)
        self._options: dict[str, Any] = {
            "tools": tools,
            "ask": ask,
            "on_message": on_message,
            "on_decision": on_decision,
            "rounds": rounds,
            "transcript": transcript,
        }
        self._lives: dict[str, _Life] = {}
        self._blocks = 0
        self._portals = BlockingPortalProvider()

    @classmethod
    def load(
        cls,
        project_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Ask | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | os.PathLike[str] | None = None,
        require: bool | Collection[str] = False,
        **engine_options: Any,
    ) -> Self:
        """Load the hooks of a project.

        Args:
            project_dir: Directory of the project; by default the one that the current
                directory belongs to.
            agent: `gemini`, `claude`, `terminai` or `generic`; by default the agent that has
                hooks in the project.
            tools: As for the class, as are the options up to `transcript`.
            ask: Asks the user.
            on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
            on_decision: Gets every event with its decision.
            rounds: How often hooks may send the agent round in one turn.
            transcript: File that the sessions are written to.
            require: Raise if configured hooks do not run: see `Engine.load`.
            **engine_options: Further options of `Engine.load`.

        Raises:
            UnknownNameError: If there is no such agent.
            UsageError: If several agents have hooks here and none is named.
            RequiredHooksError: If hooks that are required do not run.
        """
        return cls(
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

    # -- life

    async def __aenter__(self) -> Self:
        self._blocks += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        await self._leave(kind, _directly)

    def __enter__(self) -> Self:
        self._blocks += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        _at_once(self._leave(kind, self._elsewhere))

    async def _leave(self, kind: type[BaseException] | None, way: Way) -> None:
        self._blocks -= 1
        if not self._blocks:
            for life in list(self._lives.values()):
                await self._over(life, "exit" if kind is None else "other", way)

    async def _elsewhere(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work on the event loop of the further thread, and wait for it."""
        with self._portals as portal:
            return portal.call(_directly, work)

    async def _born(self, state: Mapping[str, Any], runtime: Runtime[Any], way: Way) -> _Life:
        """Return the session of a run that begins."""
        info = runtime.execution_info
        thread = info.thread_id if info is not None else None
        place = info.checkpoint_ns.rpartition("|")[0] if info is not None else ""
        key = f"{thread}|{place}" if thread else str(uuid.uuid4())
        life = self._lives.get(key)
        if life is not None and not life.kept:  # a run that nobody saw the end of
            await self._over(life, "other", way)
            life = None
        messages = state["messages"]
        resumes = len(messages) > len(words.prompt_of(messages))
        return life or self._made(key, None if place else thread, way, resumes=resumes)

    def _made(self, key: str, thread: str | None, way: Way, *, resumes: bool) -> _Life:
        session = Session(
            self.engine,
            session_id=thread,
            source="resume" if resumes else "startup",
            framework=LANGCHAIN,
            **self._options,
        )
        life = _Life(key, session, kept=self._blocks > 0 and thread is not None)
        if way is not _directly:
            self._portals.__enter__()
            life.leased = True
        self._lives[key] = life
        return life

    async def _found(self, state: Any, way: Way) -> _Life:
        """Return the session of a run that goes on, also in another process than it began in."""
        key = (state.get("anyhook_session") if isinstance(state, dict) else None) or "|"
        thread, bar, place = key.partition("|")
        own = thread if thread and bar and not place else None
        life = self._lives.get(key)
        if life is not None:
            return life
        life = self._made(key, own, way, resumes=True)
        await self._within(life, way, way(life.session.start()))
        return life

    async def _over(self, life: _Life, reason: str, way: Way) -> None:
        known = self._lives.get(life.key) is life
        if not known or self._lives.pop(life.key, None) is not life:
            return  # another thread ends it
        try:
            await way(life.session.end(reason))
        finally:
            if life.leased:
                self._portals.__exit__(None, None, None)

    async def _within(self, life: _Life, way: Way, work: Awaitable[T]) -> T:
        """Do work in a session; what fails there ends it, unless it is kept."""
        life.running.append(None)
        try:
            return await work
        except GraphBubbleUp:  # an interrupt: the run goes on later
            raise
        except BaseException:
            life.failed = True
            raise
        finally:
            life.running.pop()
            if life.failed and not life.running and not life.kept:
                await self._over(life, "other", way)

    # -- prompts

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: AnyhookState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Tell of the session's start and of the prompt."""
        return _at_once(self._before_agent(state, runtime, self._elsewhere))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(
        self, state: AnyhookState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Tell of the session's start and of the prompt."""
        return await self._before_agent(state, runtime, _directly)

    async def _before_agent(
        self, state: AnyhookState, runtime: Runtime[Any], way: Way
    ) -> dict[str, Any] | None:
        if self._idle and not self.engine.hooks.is_stale():
            return None
        life = await self._born(state, runtime, way)
        life.failed = False
        update = await self._within(life, way, self._prompted(life.session, state, way))
        return {"anyhook_session": life.key, **update}

    async def _prompted(self, session: Session, state: AnyhookState, way: Way) -> dict[str, Any]:
        await way(session.start())
        asked = words.prompt_of(state["messages"])
        if not asked:
            return {}
        prompt = await way(session.prompt("\n\n".join(message.text for message in asked)))
        if prompt.denied is not None:
            session.messages.send(prompt.denied)
            gone = [RemoveMessage(id=str(message.id)) for message in asked]
            return {"messages": [*gone, words.notice(prompt.denied)], "jump_to": "end"}
        if prompt.context:
            return {"messages": [words.added(asked[-1], map(in_tags, prompt.context))]}
        return {}

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AnyhookState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Tell that the agent believes it is done, and of the session's end."""
        del runtime
        return _at_once(self._after_agent(state, self._elsewhere))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(
        self, state: AnyhookState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Tell that the agent believes it is done, and of the session's end."""
        del runtime
        return await self._after_agent(state, _directly)

    async def _after_agent(self, state: AnyhookState, way: Way) -> dict[str, Any] | None:
        if self._idle:
            return None
        life = await self._found(state, way)
        answer = words.answer_of(state["messages"])
        end = await self._within(life, way, way(life.session.finish(answer)))
        if end.again is None:
            if not life.kept:
                await self._over(life, "exit", way)
            return None
        gone = [RemoveMessage(id=REMOVE_ALL_MESSAGES)] if end.clear else []
        return {"messages": [*gone, HumanMessage(content=end.again)], "jump_to": "model"}

    # -- the model

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | AIMessage:
        """Tell of a request to the model, of the choice of tools, and of the response."""
        return _at_once(self._around_model(request, _later(handler), self._elsewhere))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any] | AIMessage:
        """Tell of a request to the model, of the choice of tools, and of the response."""
        return await self._around_model(request, handler, _directly)

    async def _around_model(
        self, request: ModelRequest[Any], handler: ModelHandler, way: Way
    ) -> ModelResponse[Any] | AIMessage:
        for_model = [message for message in request.messages if not words.is_notice(message)]
        if len(for_model) < len(request.messages):
            request = request.override(messages=for_model)
        if self._idle:
            return await handler(request)
        life = await self._found(request.state, way)
        if self._hears(MODEL_EVENTS):
            work = ask_model(life.session, request, handler, way)
        else:
            work = _directly(handler(request))
        return await self._within(life, way, work)

    @property
    def _idle(self) -> bool:
        """Whether there is nothing to tell, and nobody to tell it to."""
        given = self._options
        seen = given["on_decision"] is not None or given["transcript"] is not None
        return not (seen or self._must_report or self._lives or self.engine.definitions)

    def _hears(self, events: frozenset[str]) -> bool:
        """Tell whether anybody wants to know; else nothing is translated."""
        if self._options["on_decision"] is not None:
            return True
        return any(definition.event in events for definition in self.engine.definitions)

    # -- tools

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Tell of a tool call and of its result."""
        return _at_once(self._around_tool(request, _later(handler), self._elsewhere))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: ToolHandler
    ) -> ToolMessage | Command[Any]:
        """Tell of a tool call and of its result."""
        return await self._around_tool(request, handler, _directly)

    async def _around_tool(
        self, request: ToolCallRequest, handler: ToolHandler, way: Way
    ) -> ToolMessage | Command[Any]:
        if self._idle:
            work = handler(request)
        else:
            life = await self._found(request.state, way)
            work = self._within(life, way, use_tool(life.session, request, handler, way))
        result: ToolMessage | Command[Any] = await work
        return result


# -- ways to wait


async def _directly(work: Awaitable[T]) -> T:
    return await work


def _later(handler: Callable[[Any], T]) -> Callable[[Any], Awaitable[T]]:
    """Give a plain function the face of an async one, which never suspends."""

    async def handle(request: Any) -> T:
        return handler(request)

    return handle


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, for want of an event loop."""
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    raise AssertionError("a coroutine that must not suspend did")  # pragma: no cover
