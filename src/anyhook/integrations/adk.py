"""Hooks in agents of Google ADK: `App(…, plugins=[AnyhookPlugin.load(project_dir)])`.

What a hook denies or stops, a program sees as ADK tells of its models' errors: the run ends,
without an exception, with an event that has an `error_code` (`HOOK_DENIED` or `HOOK_STOPPED`) and
the reason as its `error_message`. A denied tool call is answered with `{"error": reason}`, and the
agent goes on. After a stop, every further run of that session ends at once, for the same reason.

A session of hooks is a session of ADK. It starts with the first run of it that the plugin sees
(`resume` if it has events by then) and ends when the runner is closed (`async with Runner(…)`, or
`await runner.close()`), or with `AnyhookPlugin.end`; a session whose last run failed or was
cancelled ends for the reason `other`. An agent that is used as a tool (`AgentTool`) belongs to the
session of the agent that uses it: its models and tools are guarded, its task is no user's prompt.
"""

from __future__ import annotations

import uuid
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from anyhook.engine.engine import Engine
from anyhook.errors import StoppedError
from anyhook.integrations.adk_messages import (
    ShownRequest,
    ShownResponse,
    choose_tools,
    error_in,
    failed,
    is_last,
    last_words,
    new_response,
    plain,
    text_of,
    with_context,
    with_parts,
    without_calls,
)
from anyhook.integrations.frameworks import Framework
from anyhook.integrations.session import ROUNDS, Session, TurnEnd, in_tags

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from pathlib import Path
    from typing import Self

    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.context import Context
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.adk.workflow import BaseNode

    from anyhook.integrations.host_tools import HostTool
    from anyhook.integrations.session import Question
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event as HookEvent
    from anyhook.model.llm import LLMRequest

ADK = Framework(title="Google ADK", package="adk")
"""What ADK cannot do: nothing."""

DENIED = "HOOK_DENIED"
STOPPED = "HOOK_STOPPED"
AGAIN = "anyhook_again"
"""The call that keeps an agent going round; no model, user or history ever sees it."""
PLACEHOLDER = "[a hook kept this prompt from the agent]"
"""ADK remembers every message of its user, so a denied one leaves this in its place."""
TAILS = 8
"""How many tools in a row may run in the place of one."""
MODEL_EVENTS = frozenset({"before_model", "before_tool_selection", "after_model"})
LIVE_MISSES = MODEL_EVENTS | {"before_prompt", "after_agent"}

_USER: ContextVar[_Life | None] = ContextVar("anyhook-adk-user", default=None)
"""The session whose tool runs; an agent that runs inside that tool belongs to it."""


@dataclass(slots=True)
class _Call:
    """A call of the model: what was asked, and whether its pieces are held back."""

    request: LLMRequest | None = None
    holds: bool = False


@dataclass(slots=True)
class _Turn:
    """What is known of a run while it runs."""

    agent: BaseNode | None = None
    refused: tuple[str, str] | None = None
    finished: bool = False
    text: str | None = None
    calls: dict[tuple[str, str, str | None], _Call] = field(default_factory=dict)
    again: dict[str, TurnEnd] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Life:
    """A session of ADK, from its first run to its end."""

    session: Session
    turn: _Turn = field(default_factory=_Turn)
    runs: set[str] = field(default_factory=set)
    running: bool = False
    starting: anyio.Lock = field(default_factory=anyio.Lock)

    async def start(self) -> None:
        """Start once; a second run at the same time waits for it."""
        async with self.starting:
            await self.session.start()


class AnyhookPlugin(BasePlugin):
    """Lets the hooks of an engine decide in every agent of a runner.

    Args:
        engine: Whose hooks decide; closing it is the caller's business.
        tools: The agents' tools in canonical words: see `HostTools`.
        ask: Asks the user; without it the answer is no, and that is told.
        on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.
        rounds: How often hooks may send the agent round in one turn; 0 for no limit.
        transcript: File that the sessions are written to, one JSON object a line.
        name: ADK's name of the plugin, one of a kind in a runner.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[HookEvent, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
        name: str = "anyhook",
    ) -> None:
        super().__init__(name=name)
        self.engine = engine
        self._options: dict[str, Any] = {
            "tools": tools,
            "ask": ask,
            "on_message": on_message,
            "on_decision": on_decision,
            "rounds": rounds,
            "transcript": transcript,
            "framework": ADK,
        }
        self._owns_engine = False
        self._lives: dict[tuple[str, str, str], _Life] = {}
        self._context: WeakKeyDictionary[Context, tuple[str, ...]] = WeakKeyDictionary()
        self._answered: WeakKeyDictionary[Context, bool] = WeakKeyDictionary()

    @classmethod
    def load(
        cls,
        project_dir: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[HookEvent, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
        require: bool | Collection[str] = False,
        **engine_options: Any,
    ) -> Self:
        """Read the hooks of a project; closing the plugin closes their engine.

        Args:
            project_dir: Directory of the project; by default the one that the current
                directory belongs to.
            agent: `gemini`, `claude`, `terminai` or `generic`; by default the agent that has
                hooks in the project.
            tools: As above.
            ask: As above.
            on_message: As above.
            on_decision: As above.
            rounds: As above.
            transcript: As above.
            require: Raise if configured hooks do not run: see `Engine.load`.
            engine_options: The other options of `Engine.load`.

        Raises:
            UnknownNameError: If there is no such agent or rule set.
            UsageError: If several agents have hooks here and none is named.
            RequiredHooksError: If hooks that are required do not run.
        """
        plugin = cls(
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
        plugin._owns_engine = True
        return plugin

    # -- the life of a session

    async def end(self, session_id: str, reason: str = "exit") -> None:
        """End a session before the runner is closed; the next run of it starts it anew.

        Args:
            session_id: ADK's identifier of it.
            reason: `exit`, `clear`, `logout`, `prompt_input_exit` or `other`.
        """
        for key in [key for key in self._lives if key[2] == session_id]:
            await self._lives.pop(key).session.end(reason)

    async def close(self) -> None:
        """End every session, all at once; a runner allows `plugin_close_timeout` seconds."""
        lives, self._lives = list(self._lives.values()), {}
        try:
            async with anyio.create_task_group() as group:
                for life in lives:
                    group.start_soon(life.session.end, "other" if life.running else "exit")
        finally:
            if self._owns_engine:
                self.engine.close()

    def _life(self, context: InvocationContext | Context) -> tuple[_Life, bool]:
        """Return the life that something belongs to, and whether it is a tool's inside of it."""
        session = context.session
        key = (session.app_name, session.user_id, session.id)
        life = self._lives.get(key)
        if life is not None:
            return life, False
        user = _USER.get()
        if user is not None and user in self._lives.values():
            return user, True
        source = "resume" if session.events else "startup"
        made = Session(self.engine, session_id=session.id, source=source, **self._options)
        self._lives[key] = life = _Life(made)
        return life, False

    def _looks_at(self, events: Collection[str]) -> bool:
        """Tell whether anybody wants to know of events whose telling costs something."""
        watched = self._options["on_decision"] is not None
        return watched or any(hook.event in events for hook in self.engine.definitions)

    # -- runs

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Tell of a prompt; the answer to an agent's question is none."""
        life, inner = self._life(invocation_context)
        if inner:
            return None
        life.turn = turn = _Turn()
        if any(part.function_response for part in user_message.parts or ()):
            return None
        try:
            await life.start()
            prompt = await life.session.prompt(text_of(user_message))
        except StoppedError as error:
            turn.refused = (STOPPED, error.reason)
        else:
            if prompt.denied is None:
                texts = [types.Part(text=in_tags(text)) for text in prompt.context]
                return with_parts(user_message, *texts) if texts else None
            life.session.messages.send(prompt.denied)
            turn.refused = (DENIED, prompt.denied)
        return types.Content(role="user", parts=[types.Part(text=PLACEHOLDER)])

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Begin a run, unless its prompt was denied or its session was stopped."""
        life, inner = self._life(invocation_context)
        if inner:
            return None
        life.running = True
        life.turn.agent = invocation_context.agent
        try:
            await life.start()
        except StoppedError as error:
            life.turn.refused = (STOPPED, error.reason)
        if life.turn.refused is not None:
            return types.Content(role="model", parts=[types.Part(text=life.turn.refused[1])])
        if invocation_context.live_request_queue is not None and self._looks_at(LIVE_MISSES):
            life.session.messages.send(
                "hooks see the tools of a live conversation, and not what is said"
            )
        self._watch_compaction(invocation_context)
        return None

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        """Show and remember events without what only keeps the agent going."""
        life, inner = self._life(invocation_context)
        if inner:
            return None
        turn = life.turn
        if turn.refused is not None and event.author == "model":
            code, reason = turn.refused
            update = {"content": None, "error_code": code, "error_message": reason}
            return event.model_copy(update=update)
        if event.content and any(call.id in turn.again for call in event.get_function_calls()):
            content = without_calls(event.content, turn.again)
            return event.model_copy(update={"content": content})
        for response in event.get_function_responses():
            end = turn.again.pop(response.id or "", None)
            if end is not None:
                return await _next_prompt(invocation_context, event, end)
        if not event.partial:
            turn.text = last_words(event)
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """End a turn that did not end with a model's words."""
        life, inner = self._life(invocation_context)
        if inner:
            return
        turn, life.turn, life.running = life.turn, _Turn(), False
        done = turn.finished or turn.refused is not None or turn.text is None
        if done or life.session.stopped is not None:
            return
        try:
            end = await life.session.finish(turn.text or "")
        except StoppedError as error:
            life.session.messages.send(error.reason)
            return
        if end.again is not None:
            life.session.messages.send(
                f"the agent that spoke last cannot go round again: {end.again}"
            )

    def _watch_compaction(self, context: InvocationContext) -> None:
        """Have the summarizer ask hooks; where none is set, ADK would make the same one."""
        config = context.events_compaction_config
        if config is None:
            return
        self._life(context)[0].runs.add(context.invocation_id)
        if isinstance(config.summarizer, _Summarizer):
            return
        if not self._looks_at({"before_compress"}):
            return
        inner = config.summarizer or _summarizer(context.agent)
        if inner is not None:
            config.summarizer = _Summarizer(inner, self)

    async def may_compress(self, events: list[Event]) -> bool:
        """Return whether hooks let events be summarized."""
        ids = {event.invocation_id for event in events}
        life = next((life for life in self._lives.values() if life.runs & ids), None)
        if life is None:
            return True
        try:
            return await life.session.compress("auto") is None
        except StoppedError as error:
            life.session.messages.send(error.reason)
            return False

    # -- the model

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Tell of a request, and send what hooks make of it."""
        life, _ = self._life(callback_context)
        if life.session.stopped is not None:
            return failed(STOPPED, life.session.stopped)
        life.turn.calls[_key(callback_context)] = call = _Call()
        if not self._looks_at(MODEL_EVENTS):
            return None
        shown = ShownRequest(llm_request)
        try:
            made = await life.session.before_model(shown.stable, tools=llm_request.tools_dict)
        except StoppedError as error:
            return failed(STOPPED, error.reason)
        if made.response is not None:
            return await self._round(callback_context, new_response(made.response))
        if made.denied is not None:
            life.session.messages.send(made.denied)
            return failed(DENIED, made.denied)
        shown.change(made.request)
        if made.tools is not None:
            choose_tools(llm_request, made.tools)
        call.request, call.holds = made.request, life.session.holds_back(made.request)
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Tell of a whole response; of one that hooks may change, no piece is shown before."""
        life, _ = self._life(callback_context)
        call = life.turn.calls.get(_key(callback_context), _Call())
        if llm_response.partial:
            return LlmResponse(partial=True) if call.holds else None
        response = llm_response
        if call.request is not None and llm_response.content is not None:
            response = await self._reply(life, call.request, llm_response)
        if response.error_code is None:
            response = await self._round(callback_context, response)
        return None if response is llm_response else response

    async def _reply(self, life: _Life, request: LLMRequest, response: LlmResponse) -> LlmResponse:
        shown = ShownResponse(response)
        try:
            reply = await life.session.after_model(request, shown.stable)
        except StoppedError as error:
            return failed(STOPPED, error.reason)
        if reply.response is None:
            reason = reply.denied or ""
            life.session.messages.send(reason)
            return failed(DENIED, reason)
        return shown.changed(reply.response) if reply.changed else response

    async def _round(self, context: CallbackContext, response: LlmResponse) -> LlmResponse:
        """End the turn with a response that is its last, or have the agent go round again.

        ADK goes on as long as its model calls functions. So a call is added that this plugin
        answers; `on_event_callback` takes it out of what is shown and remembered, and puts the
        next prompt where its answer would stand.
        """
        life, inner = self._life(context)
        turn = life.turn
        agent = context.get_invocation_context().agent
        if inner or not _ends_turn(agent, turn.agent) or not is_last(response, agent):
            return response
        turn.finished = True
        try:
            end = await life.session.finish(text_of(response.content))
        except StoppedError as error:
            return response.model_copy(
                update={"error_code": STOPPED, "error_message": error.reason}
            )
        if end.again is None:
            return response
        turn.finished = False
        call = types.FunctionCall(id=f"{AGAIN}-{uuid.uuid4()}", name=AGAIN, args={})
        turn.again[str(call.id)] = end
        content = with_parts(response.content, types.Part(function_call=call))
        return response.model_copy(update={"content": content})

    # -- tools

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Tell of a tool call; its arguments become those that hooks want."""
        life, _ = self._life(tool_context)
        if tool_context.function_call_id in life.turn.again:
            return self._answer(tool_context, {})
        call_id = tool_context.function_call_id
        try:
            run = await life.session.before_tool(tool.name, tool_args, call_id=call_id)
        except StoppedError as error:
            return self._answer(tool_context, {"error": error.reason})
        if not run.runs:
            return self._answer(tool_context, with_context({"error": run.reason}, run.context))
        if run.arguments != tool_args:
            tool_args.clear()
            tool_args.update(run.arguments)
        if run.approved and tool_context.tool_confirmation is None:
            tool_context.tool_confirmation = ToolConfirmation(confirmed=True)
        self._context[tool_context] = run.context
        _USER.set(life)
        return None

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: Any,
    ) -> dict[str, Any] | None:
        """Tell what a tool returned; a call that waits for its user has not returned yet."""
        _USER.set(None)
        if self._answered.pop(tool_context, False) or _waits(tool, tool_context, result):
            return None
        return await self._returned(tool, tool_args, tool_context, result, error_in(result))

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> dict[str, Any] | None:
        """Tell of a failure; it reaches the model if hooks add to it, and is raised if not."""
        _USER.set(None)
        if not isinstance(error, Exception):  # cancelled: there is nobody to answer
            return None
        text = str(error) or type(error).__name__
        given = await self._returned(tool, tool_args, tool_context, {"error": text}, text)
        return None if given is None else self._answer(tool_context, given)

    def _answer(self, context: ToolContext, answer: dict[str, Any]) -> dict[str, Any]:
        """Answer a call in the tool's place; ADK's `after_tool` follows, and is not the tool's."""
        self._answered[context] = True
        return answer

    async def _returned(
        self,
        tool: BaseTool,
        arguments: dict[str, Any],
        context: ToolContext,
        result: Any,
        error: str | None,
    ) -> dict[str, Any] | None:
        """Return what the model gets for a result; `None` for the result as it is."""
        session = self._life(context)[0].session
        texts: list[str] = []
        name, requested, changed = tool.name, None, False
        try:
            for _ in range(TAILS):
                texts += self._context.pop(context, ())
                back = await session.after_tool(
                    name,
                    arguments,
                    error if error is not None else plain(result),
                    error=error,
                    call_id=context.function_call_id,
                    requested=requested,
                )
                texts += back.context
                if back.replaced:
                    result, changed = {"result": back.output}, True
                if back.tail is None:
                    break
                requested, changed = requested or name, True
                name, arguments = back.tail
                ran, result, error = await self._tail(name, arguments, context, requested)
                if not ran:
                    break
        except StoppedError as stop:
            return {"error": stop.reason}
        return with_context(result, texts) if changed or texts else None

    async def _tail(
        self, name: str, arguments: dict[str, Any], context: ToolContext, requested: str
    ) -> tuple[bool, Any, str | None]:
        """Run a tool in another's place. Returns whether it ran, its result and its error."""
        session = self._life(context)[0].session
        run = await session.before_tool(
            name, arguments, call_id=context.function_call_id, requested=requested
        )
        if not run.runs:
            return False, with_context({"error": run.reason}, run.context), run.reason
        tool = await _tool_of(context, name)
        if tool is None:
            return False, {"error": f"this agent has no tool {name!r}"}, None
        arguments.clear()
        arguments.update(run.arguments)
        if not run.approved and await tool.check_require_confirmation(arguments, context):
            return False, {"error": f"{name} waits for its user's confirmation: not run"}, None
        self._context[context] = run.context
        try:
            result = await tool.run_async(args=arguments, tool_context=context)
        except Exception as error:  # noqa: BLE001 - whatever it is, the model is told
            return True, {"error": str(error)}, str(error)
        return True, result, error_in(result)


class _Summarizer(BaseEventsSummarizer):
    """Asks hooks before events are summarized."""

    def __init__(self, inner: BaseEventsSummarizer, plugin: AnyhookPlugin) -> None:
        self._inner = inner
        self._plugin = plugin

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        if not await self._plugin.may_compress(events):
            return None
        return await self._inner.maybe_summarize_events(events=events)


def _summarizer(agent: BaseNode | None) -> BaseEventsSummarizer | None:
    from google.adk.apps.llm_event_summarizer import LlmEventSummarizer

    return LlmEventSummarizer(llm=agent.canonical_model) if isinstance(agent, LlmAgent) else None


async def _next_prompt(context: InvocationContext, event: Event, end: TurnEnd) -> Event:
    """Return the event that sends the agent round; before it, forget what is to be forgotten."""
    service, session = context.session_service, context.session
    first = next((e.invocation_id for e in session.events if e.invocation_id), None)
    if end.clear and first is not None:
        actions = EventActions(rewind_before_invocation_id=first)
        forget = Event(invocation_id=context.invocation_id, author="user", actions=actions)
        await service.append_event(session=session, event=forget)
    content = types.Content(role="user", parts=[types.Part(text=end.again)])
    return event.model_copy(update={"author": "user", "content": content})


def _key(context: Context) -> tuple[str, str, str | None]:
    return context.invocation_id, context.agent_name, context.branch


def _ends_turn(agent: BaseNode | None, first: BaseNode | None) -> bool:
    """Tell whether nobody speaks after an agent: it is the only one, the last, or took over."""
    if agent is None or not isinstance(first, BaseAgent):
        return False
    node = first.root_agent.find_agent(agent.name)
    while node is not None and node.parent_agent is not None:
        parent = node.parent_agent
        last = isinstance(parent, SequentialAgent) and parent.sub_agents[-1].name == node.name
        took_over = isinstance(parent, LlmAgent) and getattr(node, "mode", None) in (None, "chat")
        if not last and not took_over:
            return False
        node = parent
    return isinstance(node, LlmAgent | SequentialAgent)


def _waits(tool: BaseTool, context: ToolContext, result: Any) -> bool:
    asked = {
        **context.actions.requested_tool_confirmations,
        **context.actions.requested_auth_configs,
    }
    return context.function_call_id in asked or (tool.is_long_running and not result)


async def _tool_of(context: Context, name: str) -> BaseTool | None:
    agent = context.get_invocation_context().agent
    tools = await agent.canonical_tools(context) if isinstance(agent, LlmAgent) else []
    return next((tool for tool in tools if tool.name == name), None)
