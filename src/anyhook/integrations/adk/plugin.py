"""The plugin that lets hooks decide in every agent of a runner of Google ADK."""

from __future__ import annotations

import uuid
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import anyio
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from anyhook.errors import StoppedError
from anyhook.integrations.adk.compaction import HookedSummarizer, default_summarizer
from anyhook.integrations.adk.messages import (
    argument_names,
    change_llm_request,
    changed_response,
    content_text,
    error_response,
    final_text,
    is_final,
    new_response,
    select_tools,
    shown_request,
    shown_response,
    with_parts,
    without_calls,
)
from anyhook.integrations.adk.state import (
    DENIED,
    STOPPED,
    ModelCallState,
    RunError,
    SessionState,
    TurnState,
    is_last_agent,
    model_key,
    next_prompt,
    rewind,
    session_key,
    tool_session,
)
from anyhook.integrations.adk.tools import ToolCalls, is_waiting, tool_error
from anyhook.integrations.factory import MODEL_EVENTS, LoadedHooks, SessionFactory
from anyhook.integrations.framework import Framework
from anyhook.integrations.results import tag_context

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Unpack

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.context import Context
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.events.event import Event
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from anyhook.engine.engine import Engine
    from anyhook.integrations.options import SessionOptions
    from anyhook.integrations.session import Session
    from anyhook.model.llm import LLMRequest

ADK = Framework(
    title="Google ADK",
    own_tools=frozenset({"transfer_to_agent", "set_model_response"}),
)

CONTINUE_CALL = "anyhook_continue"
"""Function call that keeps an agent running; no model, user or history ever sees it."""
PLACEHOLDER = "[a hook kept this prompt from the agent]"
"""What ADK remembers in place of a denied prompt: it stores every message of its user."""
EVENTS_WITHOUT_LIVE = (*MODEL_EVENTS, "before_prompt", "after_agent")
"""Events that do not fire in a live (audio or video) conversation."""
EVENTS_WITHOUT_CODE = ("before_tool", "after_tool")
"""Events that do not fire for code of the model, which ADK runs without calling a tool."""


P = ParamSpec("P")
T = TypeVar("T")


def _unless_idle(
    callback: Callable[Concatenate[AnyhookPlugin, P], Coroutine[Any, Any, T | None]],
) -> Callable[Concatenate[AnyhookPlugin, P], Coroutine[Any, Any, T | None]]:
    """Skip a callback while no hook can have an effect, at the cost of the look."""

    @wraps(callback)
    async def call(self: AnyhookPlugin, /, *args: P.args, **options: P.kwargs) -> T | None:
        return None if self.is_idle else await callback(self, *args, **options)

    return call


class AnyhookPlugin(BasePlugin, LoadedHooks):
    """Lets the hooks of an engine decide in every agent of a runner.

    Args:
        engine: Decides the events; the caller closes it.
        name: ADK's name of the plugin, unique in a runner.
        **options: See `SessionOptions`.
    """

    def __init__(
        self, engine: Engine, *, name: str = "anyhook", **options: Unpack[SessionOptions]
    ) -> None:
        super().__init__(name=name)
        self.engine = engine
        self._factory = SessionFactory(engine, ADK, options)
        self._states: dict[tuple[str, str, str], SessionState] = {}
        self._tool_calls = ToolCalls()
        self._reported_coders: set[str] = set()
        self._summarizers: dict[int, HookedSummarizer] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no hook can have an effect, and no session is open."""
        return not self._states and self._factory.is_idle

    async def end(self, session_id: str, reason: str = "exit") -> None:
        """End a session before the runner is closed; its next run starts it again.

        Args:
            session_id: ADK's identifier of it.
            reason: `exit`, `clear`, `logout`, `prompt_input_exit` or `other`.
        """
        for key in [key for key in self._states if key[2] == session_id]:
            await self._states.pop(key).session.end(reason)

    async def close(self) -> None:
        """End every session, all at once; a runner allows `plugin_close_timeout` seconds."""
        states, self._states = list(self._states.values()), {}
        try:
            async with anyio.create_task_group() as group:
                for state in states:
                    reason = "other" if state.is_running else "exit"
                    group.start_soon(state.session.end, reason)
        finally:
            for summarizer in self._summarizers.values():
                summarizer.remove()
            self._summarizers.clear()
            self._close_engine()

    def _state_of(self, context: InvocationContext | Context) -> SessionState:
        """Return the session that a context belongs to; a new one if it is the first."""
        key = session_key(context)
        if key in self._states:
            return self._states[key]
        outer = tool_session.get()
        if outer is not None and outer in self._states.values():
            return outer
        source = "resume" if context.session.events else "startup"
        session = self._factory.new_session(context.session.id, source)
        self._states[key] = SessionState(key, session)
        return self._states[key]

    @_unless_idle
    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Report a prompt."""
        state = self._state_of(invocation_context)
        if state.is_nested(invocation_context):
            return None
        state.turn = TurnState()
        # The user answers a question of the agent: that is not a prompt.
        if any(part.function_response for part in user_message.parts or ()):
            return None
        try:
            await state.session.start()
            prompt = await state.session.prompt(content_text(user_message))
        except StoppedError as error:
            state.turn.error = RunError(STOPPED, error.reason)
        else:
            if prompt.denied is None:
                texts = [types.Part(text=tag_context(text)) for text in prompt.context]
                return with_parts(user_message, *texts) if texts else None
            state.session.messages.send(prompt.denied)
            state.turn.error = RunError(DENIED, prompt.denied)
        return types.Content(role="user", parts=[types.Part(text=PLACEHOLDER)])

    @_unless_idle
    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Begin a run, unless its prompt was denied or its session was stopped."""
        state = self._state_of(invocation_context)
        if state.is_nested(invocation_context):
            return None
        state.is_running = True
        state.turn.agent = invocation_context.agent
        try:
            await state.session.start()
        except StoppedError as error:
            state.turn.error = RunError(STOPPED, error.reason)
        if state.turn.error is not None:
            return types.Content(role="model", parts=[types.Part(text=state.turn.error.reason)])
        is_live = invocation_context.live_request_queue is not None
        if is_live and self._factory.listens(*EVENTS_WITHOUT_LIVE):
            state.session.messages.send(
                "in a live conversation hooks run only for tools, not for prompts and responses"
            )
        config = invocation_context.events_compaction_config
        if config is None:
            return None
        state.invocation_ids.add(invocation_context.invocation_id)
        if id(config) in self._summarizers or not self._factory.listens("before_compress"):
            return None
        inner = config.summarizer or default_summarizer(invocation_context.agent)
        if inner is not None:
            self._summarizers[id(config)] = HookedSummarizer(inner, self.may_compress, config)
        return None

    @_unless_idle
    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Change the events that are shown and remembered: errors, and calls that continue."""
        state = self._state_of(invocation_context)
        if state.is_nested(invocation_context):
            return None
        turn = state.turn
        if turn.error is not None and event.author == "model":
            update = {
                "content": None,
                "error_code": turn.error.code,
                "error_message": turn.error.reason,
            }
            return event.model_copy(update=update)
        calls = event.get_function_calls()
        if event.content and any(call.id in turn.continuations for call in calls):
            content = without_calls(event.content, turn.continuations)
            return event.model_copy(update={"content": content})
        for response in event.get_function_responses():
            end = turn.continuations.pop(response.id or "", None)
            if end is not None:
                return await next_prompt(invocation_context, event, end)
        if not event.partial:
            turn.last_text = final_text(event)
        return None

    @_unless_idle
    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """End a turn that did not end with a response of a model."""
        state = self._state_of(invocation_context)
        if state.is_nested(invocation_context):
            return
        turn, state.turn, state.is_running = state.turn, TurnState(), False
        if turn.is_denied:
            # Each later request would hold this turn, and be denied for it.
            await rewind(invocation_context, invocation_context.invocation_id)
        is_over = turn.is_finished or turn.error is not None or turn.last_text is None
        if is_over or state.session.stopped is not None:
            return
        try:
            end = await state.session.finish(turn.last_text or "")
        except StoppedError as error:
            state.session.messages.send(error.reason)
            return
        if end.next_prompt is not None:
            state.session.messages.send(
                f"the agent that answered last cannot continue: {end.next_prompt}"
            )

    async def may_compress(self, events: list[Event]) -> bool:
        """Return whether hooks let events be summarized."""
        invocation_ids = {event.invocation_id for event in events}
        for state in self._states.values():
            if state.invocation_ids & invocation_ids:
                try:
                    return await state.session.compress("auto") is None
                except StoppedError as error:
                    state.session.messages.send(error.reason)
                    return False
        return True

    @_unless_idle
    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Report a request, and send what hooks make of it."""
        state = self._state_of(callback_context)
        session = state.session
        if session.stopped is not None:
            return error_response(STOPPED, session.stopped)
        session.tool_checks.offer(llm_request.tools_dict, partial(argument_names, llm_request))
        self._report_code(callback_context)
        model_call = ModelCallState()
        state.turn.model_calls[model_key(callback_context)] = model_call
        if not self._factory.listens(*MODEL_EVENTS):
            return None
        hook_request = shown_request(llm_request)
        try:
            call = await session.before_model(hook_request.stable, tools=llm_request.tools_dict)
        except StoppedError as error:
            return error_response(STOPPED, error.reason)
        if call.response is not None:
            return await self._end_turn(callback_context, new_response(call.response))
        if call.denied is not None:
            session.messages.send(call.denied)
            state.turn.is_denied = not state.is_nested(callback_context)
            return error_response(DENIED, call.denied)
        changes = hook_request.changes(call.request)
        if changes is not None:
            change_llm_request(llm_request, changes)
        if call.tools is not None:
            select_tools(llm_request, call.tools)
        model_call.request = call.request
        model_call.must_buffer = session.must_buffer(call.request)
        return None

    @_unless_idle
    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Report a complete response; pieces of one that hooks may change are not shown."""
        state = self._state_of(callback_context)
        model_call = state.turn.model_calls.get(model_key(callback_context), ModelCallState())
        if llm_response.partial:
            return LlmResponse(partial=True) if model_call.must_buffer else None
        response = llm_response
        if model_call.request is not None and llm_response.content is not None:
            response = await self._decide_response(state, model_call.request, llm_response)
        if response.error_code is None:
            response = await self._end_turn(callback_context, response)
        return None if response is llm_response else response

    def _report_code(self, context: CallbackContext) -> None:
        """Report, once, that hooks on tools do not see the code that an agent runs."""
        agent: Any = context.get_invocation_context().agent
        if agent.name in self._reported_coders or getattr(agent, "code_executor", None) is None:
            return
        self._reported_coders.add(agent.name)
        if any(definition.event in EVENTS_WITHOUT_CODE for definition in self.engine.definitions):
            text = f"the code_executor of {agent.name!r} runs code of the model"
            self._state_of(context).session.messages.send(f"{text} without a hook on tools")

    async def _decide_response(
        self, state: SessionState, request: LLMRequest, response: LlmResponse
    ) -> LlmResponse:
        hook_response = shown_response(response)
        try:
            reply = await state.session.after_model(request, hook_response.stable)
        except StoppedError as error:
            return error_response(STOPPED, error.reason)
        if reply.response is None:
            reason = reply.denied or ""
            state.session.messages.send(reason)
            return error_response(DENIED, reason)
        if not reply.changed:
            return response
        return changed_response(response, hook_response.changes(reply.response))

    async def _end_turn(self, context: CallbackContext, response: LlmResponse) -> LlmResponse:
        """End the turn if a response is its last, or let the agent continue.

        ADK continues as long as its model calls functions. So a call is added that this plugin
        answers; `on_event_callback` removes it from what is shown and remembered, and puts the
        next prompt in the place of its answer.
        """
        state = self._state_of(context)
        turn = state.turn
        agent = context.get_invocation_context().agent
        if state.is_nested(context) or not is_last_agent(agent, turn.agent):
            return response
        if not is_final(response, agent):
            return response
        turn.is_finished = True
        try:
            end = await state.session.finish(content_text(response.content))
        except StoppedError as error:
            update: dict[str, Any] = {"error_code": STOPPED, "error_message": error.reason}
            return response.model_copy(update=update)
        if end.next_prompt is None:
            return response
        turn.is_finished = False
        call_id = f"{CONTINUE_CALL}-{uuid.uuid4()}"
        turn.continuations[call_id] = end
        call = types.FunctionCall(id=call_id, name=CONTINUE_CALL, args={})
        content = with_parts(response.content, types.Part(function_call=call))
        return response.model_copy(update={"content": content})

    @_unless_idle
    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Report a tool call; its arguments become those that hooks want."""
        state = self._state_of(tool_context)
        if tool_context.function_call_id in state.turn.continuations:
            return self._tool_calls.answer(tool_context, {})
        answer = await self._tool_calls.before(state.session, tool, tool_args, tool_context)
        if answer is None:
            tool_session.set(state)
        return answer

    def _session_after_tool(self, context: ToolContext) -> Session:
        """Return the session of a call that ended, and note that its tool has ended."""
        state = self._state_of(context)
        # A call of an agent that is a tool itself ends inside that tool.
        if not state.is_nested(context):
            tool_session.set(None)
        return state.session

    @_unless_idle
    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        """Report what a tool returned; a call that waits for its user has not returned yet."""
        session = self._session_after_tool(tool_context)
        if self._tool_calls.take_answered(tool_context) or is_waiting(tool, tool_context, result):
            return None
        error = tool_error(result)
        return await self._tool_calls.after(session, tool, tool_args, tool_context, result, error)

    @_unless_idle
    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> dict[str, Any] | None:
        """Report a failure; the model gets it if hooks change it, otherwise ADK raises it."""
        session = self._session_after_tool(tool_context)
        if not isinstance(error, Exception):  # cancelled
            return None
        text = str(error) or type(error).__name__
        answer = await self._tool_calls.after(
            session, tool, tool_args, tool_context, {"error": text}, text
        )
        return None if answer is None else self._tool_calls.answer(tool_context, answer)
