"""The middleware that lets hooks decide what an agent of LangChain does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelResponse,
    PrivateStateAttr,
    hook_config,
)
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic_core import to_jsonable_python

from anyhook.integrations.factory import MODEL_EVENTS, LoadedHooks, SessionFactory
from anyhook.integrations.framework import Framework
from anyhook.integrations.host_tools import result_text
from anyhook.integrations.langchain.calls import (
    ask_model,
    call_model,
    call_tool,
    raise_if_stopped,
)
from anyhook.integrations.langchain.messages import (
    append_texts,
    is_notice,
    last_answer,
    notice,
    turn_before_notice,
    unanswered_prompt,
)
from anyhook.integrations.langchain.sessions import Sessions
from anyhook.integrations.langchain.waiting import as_async, run_without_loop, wait_here
from anyhook.integrations.results import tag_context

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, Unpack

    from langchain.agents.middleware.types import ModelRequest, ToolCallRequest
    from langgraph.runtime import Runtime
    from langgraph.types import Command

    from anyhook.engine.engine import Engine
    from anyhook.integrations.langchain.calls import ModelHandler, ToolHandler
    from anyhook.integrations.langchain.waiting import Wait
    from anyhook.integrations.options import SessionOptions

LANGCHAIN = Framework(
    title="LangChain",
    missing={
        "before_compress": (
            "a SummarizationMiddleware shortens the conversation, and the hooks do not run"
        ),
        "before_tool.guarding_of_nested_agents": (
            "an agent that a tool runs is guarded only if it has this middleware, too"
        ),
    },
)


class AnyhookState(AgentState[Any]):
    """The agent's state, and the key of its session."""

    anyhook_session: NotRequired[Annotated[str, PrivateStateAttr]]


class AnyhookMiddleware(AgentMiddleware[AnyhookState, Any, Any], LoadedHooks):
    """Lets hooks decide, in `invoke`, `stream` and their asynchronous forms.

    Put it first in `middleware=[…]`: hooks then see what the user and the model really get.

    A run is a session: it ends after the last `after_agent`, and when the run fails, is cancelled
    or is left, wherever in the graph. In a `with` or `async with` block the sessions of
    threads (`thread_id` and a checkpointer) stay open from run to run until the block ends.

    What a hook denies is an answer of the agent with the reason, marked with
    `additional_kwargs={"anyhook": "notice"}`, which the model never gets; a denied prompt is
    removed from the conversation. A denied tool returns the reason as an error. A tool that fails
    fails the run, as always in LangChain, unless a hook adds or replaces something.

    While hooks are set on responses of the model, these arrive as a whole in every kind of stream.

    In programs without an event loop (`invoke`, `stream`) hooks run on the loop of one further
    thread, which lives as long as a session does; the model and the tools stay where they were.

    Args:
        engine: Decides the events.
        **options: See `SessionOptions`.

    Raises:
        StoppedError: From `invoke` and the other methods, when a hook ends the agent
            (`continue: false`).
    """

    state_schema = AnyhookState

    def __init__(self, engine: Engine, **options: Unpack[SessionOptions]) -> None:
        super().__init__()
        self.engine = engine
        self._factory = SessionFactory(engine, LANGCHAIN, options)
        self._sessions = Sessions(self._factory)

    def _close(self) -> None:
        """Close the engine when the outermost block has ended."""
        if not self._sessions.is_in_block:
            self._close_engine()

    async def __aenter__(self) -> Self:
        self._sessions.enter_block()
        return self

    async def __aexit__(self, error_type: type[BaseException] | None, *_rest: object) -> None:
        try:
            await self._sessions.leave_block(error_type, wait_here)
        finally:
            self._close()

    def __enter__(self) -> Self:
        self._sessions.enter_block()
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_rest: object) -> None:
        try:
            run_without_loop(self._sessions.leave_block(error_type, self._sessions.wait_in_thread))
        finally:
            self._close()

    @property
    def _is_idle(self) -> bool:
        return self._factory.is_idle and not self._sessions

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: AnyhookState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Report the session's start and the prompt."""
        return run_without_loop(self._before_agent(state, runtime, self._sessions.wait_in_thread))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(
        self, state: AnyhookState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Report the session's start and the prompt."""
        return await self._before_agent(state, runtime, wait_here)

    async def _before_agent(
        self, agent_state: AnyhookState, runtime: Runtime[Any], wait: Wait[Any]
    ) -> dict[str, Any] | None:
        if self._is_idle:
            return None
        state = await self._sessions.open(agent_state, runtime, wait)
        state.is_turn_denied = False
        session = state.session
        await wait(session.start())
        update: dict[str, Any] = {"anyhook_session": state.key}
        messages = unanswered_prompt(agent_state["messages"])
        if not messages:
            return update
        prompt = await wait(session.prompt("\n\n".join(message.text for message in messages)))
        if prompt.denied is not None:
            session.messages.send(prompt.denied)
            removed = [RemoveMessage(id=str(message.id)) for message in messages]
            update |= {"messages": [*removed, notice(prompt.denied)], "jump_to": "end"}
        elif prompt.context:
            context = map(tag_context, prompt.context)
            update["messages"] = [append_texts(messages[-1], context)]
        return update

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AnyhookState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Report that the agent considers the turn done, and the session's end."""
        del runtime
        return run_without_loop(self._after_agent(state, self._sessions.wait_in_thread))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(
        self, state: AnyhookState, runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Report that the agent considers the turn done, and the session's end."""
        del runtime
        return await self._after_agent(state, wait_here)

    async def _after_agent(
        self, agent_state: AnyhookState, wait: Wait[Any]
    ) -> dict[str, Any] | None:
        if self._is_idle:
            return None
        state = await self._sessions.find(agent_state, wait)
        raise_if_stopped(state.session)
        messages = agent_state["messages"]
        answer = last_answer(messages)
        structured = agent_state.get("structured_response")
        if not answer and structured is not None:  # a call of a tool that does not run
            answer = result_text(to_jsonable_python(structured, fallback=str))
        end = await wait(state.session.finish(answer))
        if end.next_prompt is None:
            if not state.is_kept:
                await self._sessions.close(state, "exit", wait)
            if not state.is_turn_denied:
                return None
            # A later request would hold it again, and be denied for it.
            denied = turn_before_notice(messages)
            return {"messages": [RemoveMessage(id=str(message.id)) for message in denied]}
        removed = [RemoveMessage(id=REMOVE_ALL_MESSAGES)] if end.clear_context else []
        prompt = HumanMessage(content=end.next_prompt)
        return {"messages": [*removed, prompt], "jump_to": "model"}

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any] | AIMessage:
        """Report a request to the model, the choice of tools, and the response."""
        wait = self._sessions.wait_in_thread
        return run_without_loop(self._wrap_model_call(request, as_async(handler), wait))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler
    ) -> ModelResponse[Any] | AIMessage:
        """Report a request to the model, the choice of tools, and the response."""
        return await self._wrap_model_call(request, handler, wait_here)

    async def _wrap_model_call(
        self, request: ModelRequest[Any], handler: ModelHandler, wait: Wait[Any]
    ) -> ModelResponse[Any] | AIMessage:
        for_model = [message for message in request.messages if not is_notice(message)]
        if len(for_model) < len(request.messages):
            request = request.override(messages=for_model)
        if self._is_idle:
            return await handler(request)
        state = await self._sessions.find(request.state, wait)
        raise_if_stopped(state.session)
        if self._factory.listens(*MODEL_EVENTS):
            return await call_model(state, request, handler, wait)
        return await ask_model(state.session, request, handler)

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Report a tool call and its result."""
        wait = self._sessions.wait_in_thread
        return run_without_loop(self._wrap_tool_call(request, as_async(handler), wait))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: ToolHandler
    ) -> ToolMessage | Command[Any]:
        """Report a tool call and its result."""
        return await self._wrap_tool_call(request, handler, wait_here)

    async def _wrap_tool_call(
        self, request: ToolCallRequest, handler: ToolHandler, wait: Wait[Any]
    ) -> ToolMessage | Command[Any]:
        result: ToolMessage | Command[Any]
        if self._is_idle:
            result = await handler(request)
            return result
        state = await self._sessions.find(request.state, wait)
        result = await call_tool(state.session, request, handler, wait)
        return result
