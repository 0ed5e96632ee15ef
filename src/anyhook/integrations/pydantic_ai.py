"""Hooks in Pydantic AI: `Agent(model, capabilities=[AnyhookHooks.load()])`.

Hooks act where the run meets the world: around the model that serves a request, and around the
tools, so that nothing between passes them by. A run is a turn. It is a session of its own, too,
named like its conversation and begun as `resume` if there is a history; runs inside
`async with hooks.session()` share one.

What the program gets:

- `DeniedError` for a turn that hooks end without an answer (the prompt or the request to the model
  is denied, the response is discarded). It is one of `AgentRunError`. The history that was passed
  to the run stands.
- `StoppedError` if a hook ends the agent (`continue: false`).
- A denied tool is a failed tool to the model, with the reason as its result.
"""

from __future__ import annotations

import inspect
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic_ai import (
    ApprovalRequired,
    CallDeferred,
    CallToolsNode,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRequestNode,
    ModelRetry,
    ToolApproved,
    ToolDenied,
    ToolFailed,
    ToolReturn,
    UserPromptNode,
)
from pydantic_ai import messages as m
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import AgentRunError, SkipToolExecution
from pydantic_ai.models import CompletedStreamedResponse, infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.toolsets import WrapperToolset
from pydantic_core import ValidationError
from pydantic_graph import End

from anyhook.engine.engine import Engine
from anyhook.integrations.frameworks import Framework
from anyhook.integrations.host_tools import text_of
from anyhook.integrations.pydantic_messages import (
    Request,
    plain,
    response_from_stable,
    response_to_stable,
)
from anyhook.integrations.reports import has_problems_to_report
from anyhook.integrations.session import ROUNDS, Session, in_tags

if TYPE_CHECKING:
    import os
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Collection,
        Mapping,
    )
    from pathlib import Path
    from typing import Self

    from pydantic_ai import RunContext
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

    from anyhook.integrations.host_tools import HostTool
    from anyhook.integrations.session import ModelCall, Question, ToolRun
    from anyhook.integrations.session import ToolReturn as Returned
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event
    from anyhook.model.llm import LLMRequest

PYDANTIC_AI = Framework(
    title="Pydantic AI",
    package="pydantic-ai",
    missing={
        "before_compress": "the program's own code shortens the history, and the hooks do not run",
    },
)
MODEL_EVENTS = ("before_model", "before_tool_selection", "after_model")
TOOL_EVENTS = ("before_tool", "after_tool", "permission_request", "notification")
TAILS = 8
"""Calls that hooks may put in place of one result."""
CONTROL = (ApprovalRequired, CallDeferred, SkipToolExecution)
"""Raised by tools that have not run yet, rather than failed."""


class DeniedError(AgentRunError):
    """Hooks ended a turn without an answer.

    Attributes:
        reason: Why, for the user, who was told already.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass
class _Shared:
    """A session that several runs share, one at a time."""

    hooks: AnyhookHooks
    session: Session
    busy: bool = False


_SHARED: ContextVar[tuple[_Shared, ...]] = ContextVar("anyhook-sessions", default=())


class AnyhookHooks(AbstractCapability[Any]):
    """The hooks of a project, as a capability of an agent.

    Args:
        engine: Whose hooks decide. The caller closes it.
        tools: The agent's tools in canonical words: see `HostTools`.
        ask: Asks the user; without it the answer is no, and that is told.
        on_message: Gets what the user should read and every problem of the hooks, as text; by
            default the function of the engine does, else the logger `anyhook` at WARNING.
        on_decision: Gets every event with its decision.
        rounds: How often hooks may send the agent round in one turn; 0 for no limit.
        transcript: File that sessions are written to, one JSON object a line; `None` for none.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        tools: Mapping[str, str | HostTool] | None = None,
        ask: Callable[[Question], Awaitable[bool]] | None = None,
        on_message: Callable[[str], object] | None = None,
        on_decision: Callable[[Event, Decision], object] | None = None,
        rounds: int = ROUNDS,
        transcript: str | Path | None = None,
    ) -> None:
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

    @classmethod
    def load(
        cls,
        project_dir: str | os.PathLike[str] | None = None,
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
        """Read the settings of a project; see `Engine.load` and the class.

        Args:
            project_dir: Directory of the project; by default the one that the current
                directory belongs to.
            agent: `gemini`, `claude`, `terminai` or `generic`; by default the agent that has
                hooks in the project.
            tools: See the class.
            ask: See the class.
            on_message: See the class.
            on_decision: See the class.
            rounds: See the class.
            transcript: See the class.
            require: Raise if configured hooks do not run: see `Engine.load`.
            **engine_options: Further options of `Engine.load`.

        Raises:
            UnknownNameError: If there is no such agent or rule set.
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

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Say that hooks are no part of a written agent."""
        return None

    @asynccontextmanager
    async def session(
        self, *, session_id: str | None = None, source: str = "startup"
    ) -> AsyncIterator[Session]:
        """Keep one session over several runs.

        A run that begins while another one has the session (an agent that is another's tool) gets
        one of its own.

        Args:
            session_id: Identifier; by default a new one.
            source: How it begins: `startup`, `resume` or `clear`.
        """
        async with self.new_session(session_id, source) as session:
            token = _SHARED.set((*_SHARED.get(), _Shared(self, session)))
            try:
                yield session
            finally:
                _SHARED.reset(token)

    def new_session(self, session_id: str | None, source: str) -> Session:
        """Make a session that has not begun; see `session`."""
        return Session(
            self.engine,
            session_id=session_id,
            source=source,
            framework=PYDANTIC_AI,
            **self._options,
        )

    def listens(self, events: tuple[str, ...] = ()) -> bool:
        """Tell whether anybody wants to know of events; without any, of whatever happens."""
        if self._options["on_decision"] is not None or self._options["transcript"] is not None:
            return True
        return any(not events or d.event in events for d in self.engine.definitions)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:  # noqa: ARG002
        """Make a run's own capability; without hooks there is nothing to do."""
        return _Run(self) if self._must_report or self.listens() else self


class _Run(AbstractCapability[Any]):
    """The hooks of one run."""

    session: Session

    def __init__(self, hooks: AnyhookHooks) -> None:
        self.hooks = hooks
        self.spoken: dict[tuple[str | None, str], ToolRun] = {}
        """What hooks have said of calls that wait for an approval."""

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: Callable[[], Awaitable[AgentRunResult[Any]]]
    ) -> AgentRunResult[Any]:
        shared = next((s for s in reversed(_SHARED.get()) if s.hooks is self.hooks), None)
        if shared is None or shared.busy:
            source = "resume" if ctx.messages else "startup"
            session_id = ctx.conversation_id if shared is None else None
            async with self.hooks.new_session(session_id, source) as self.session:
                return await handler()
        shared.busy = True
        self.session = shared.session
        try:
            return await handler()
        finally:
            shared.busy = False

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        if not isinstance(node, UserPromptNode) or node.deferred_tool_results is not None:
            return node
        if node.user_prompt is not None:
            added = await self._prompt(node.user_prompt)
            return node if added is node.user_prompt else replace(node, user_prompt=added)
        await self._resumed_prompt(ctx.messages)
        return node

    async def _prompt(self, content: Any) -> Any:
        given = await self.session.prompt(_said(content))
        if given.denied is not None:
            self.deny(given.denied)
        if not given.context:
            return content
        if isinstance(content, str):
            return given.whole
        return [*content, *map(in_tags, given.context)]

    async def _resumed_prompt(self, messages: list[m.ModelMessage]) -> None:
        """Judge a prompt that came as the last message of a history."""
        last = messages[-1] if messages else None
        if not isinstance(last, m.ModelRequest):
            return
        prompts = [part for part in last.parts if isinstance(part, m.UserPromptPart)]
        if prompts:
            said = prompts[-1]
            content = await self._prompt(said.content)
            if content is not said.content:
                new = replace(said, content=content)
                parts = [new if part is said else part for part in last.parts]
                messages[-1] = replace(last, parts=parts)

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        if not isinstance(result, End) or isinstance(result.data.output, DeferredToolRequests):
            return result
        end = await self.session.finish(text_of(plain(result.data.output)))
        if end.again is None:
            return result
        if not isinstance(node, CallToolsNode):  # the end of `run_stream`, which is all shown
            self.session.messages.send(f"hooks cannot send a streamed answer back: {end.again}")
            return result
        kept = _standing(ctx.messages) if end.clear else []
        if end.clear:
            ctx.messages.clear()
        return ModelRequestNode(m.ModelRequest(parts=[*kept, m.UserPromptPart(end.again)]))

    def get_wrapper_model(self, model: Model) -> Model | None:
        return _Model(model, self) if self.hooks.listens(MODEL_EVENTS) else None

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        return _Tools(toolset, self) if self.listens_to_tools() else None

    def listens_to_tools(self) -> bool:
        """Tell whether anybody wants to know of tool calls."""
        failed = self.hooks.engine.agent.tool_failure_event
        return self.hooks.listens((*TOOL_EVENTS, failed) if failed else TOOL_EVENTS)

    async def handle_deferred_tool_calls(
        self,
        ctx: RunContext[Any],  # noqa: ARG002
        *,
        requests: DeferredToolRequests,
    ) -> DeferredToolResults | None:
        """Let hooks speak before the program asks its own user about a tool."""
        if not self.listens_to_tools():
            return None
        settled: dict[str, Any] = {}
        for call in requests.approvals:
            name, call_id = call.tool_name, call.tool_call_id
            run = self.spoken.pop((call_id, name), None)
            if run is None:
                arguments = call.args_as_dict()
                run = await self.session.before_tool(name, arguments, call_id=call_id)
            if not run.runs:
                settled[call_id] = ToolDenied(run.reason)
            elif run.approved:
                self.spoken[call_id, name] = run
                settled[call_id] = ToolApproved(override_args=run.arguments)
        return DeferredToolResults(approvals=settled) if settled else None

    def deny(self, reason: str) -> NoReturn:
        self.session.messages.send(reason)
        raise DeniedError(reason)


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [item.content if isinstance(item, m.TextContent) else item for item in content]
    return "\n".join(text for text in texts if isinstance(text, str))


def _standing(messages: list[m.ModelMessage]) -> list[m.ModelRequestPart]:
    """Return the system prompts of a conversation, which are no part of what is forgotten."""
    return [p for msg in messages for p in msg.parts if isinstance(p, m.SystemPromptPart)]


class _Model(WrapperModel):
    """The model that serves a request, with hooks before and after."""

    def __init__(self, wrapped: Model, run: _Run) -> None:
        super().__init__(wrapped)
        self._run = run

    async def request(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> m.ModelResponse:
        asked = Request(messages, model_settings, model_request_parameters, self.model_name)
        call = await self._before(asked)
        if call.response is not None:
            return self._synthetic(call)
        sent = asked.changed(call.request, self._tools(call))
        model = self._serving(sent.model)
        response = await model.request(sent.messages, sent.settings, sent.parameters)
        return await self._after(call.request, response)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        asked = Request(messages, model_settings, model_request_parameters, self.model_name)
        call = await self._before(asked)
        if call.response is not None:
            yield self._replay(self._synthetic(call), asked)
            return
        sent = asked.changed(call.request, self._tools(call))
        model = self._serving(sent.model)
        async with model.request_stream(
            sent.messages, sent.settings, sent.parameters, run_context
        ) as stream:
            if self._run.session.holds_back(call.request):
                events = [event async for event in stream]
                given = stream.get()
                response = await self._after(call.request, given)
                yield self._replay(response, asked, events if response is given else True)
                return
            yield stream
            await self._after(call.request, stream.get())

    async def _before(self, asked: Request) -> ModelCall:
        names = [tool.name for tool in asked.parameters.function_tools]
        call = await self._run.session.before_model(asked.stable(), tools=names)
        if call.response is None and call.denied is not None:
            self._run.deny(call.denied)
        return call

    async def _after(self, request: LLMRequest, response: m.ModelResponse) -> m.ModelResponse:
        reply = await self._run.session.after_model(request, response_to_stable(response))
        if reply.response is None:
            self._run.deny(reply.denied or "a hook discarded the response")
        return response_from_stable(reply.response, response) if reply.changed else response

    def _tools(self, call: ModelCall) -> Any:
        return call.tools or call.request.get("toolConfig")

    def _synthetic(self, call: ModelCall) -> m.ModelResponse:
        made = m.ModelResponse(parts=[], model_name=self.model_name)
        return response_from_stable(call.response or {}, made)

    def _serving(self, name: str) -> Model:
        """Return the model of a name; one without a provider is of the same provider."""
        if name == self.model_name:
            return self.wrapped
        return infer_model(name if ":" in name else f"{self.system}:{name}")

    def _replay(
        self, response: m.ModelResponse, asked: Request, events: Any = True
    ) -> CompletedStreamedResponse:
        return CompletedStreamedResponse(
            response, model_request_parameters=asked.parameters, replay_events=events
        )


@dataclass
class _Tools(WrapperToolset[Any]):
    """An agent's tools, with hooks before and after each call."""

    run: _Run

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        return await _Call(self, ctx).make(name, tool_args, tool)


class _Call:
    """One call of a tool, with those that hooks put in place of its result."""

    def __init__(self, tools: _Tools, ctx: RunContext[Any]) -> None:
        self.session = tools.run.session
        self.spoken = tools.run.spoken
        self.toolset = tools.wrapped
        self.ctx = ctx
        self.context: tuple[str, ...] = ()

    async def make(self, name: str, arguments: dict[str, Any], tool: ToolsetTool[Any]) -> Any:
        requested: str | None = None
        for left in reversed(range(TAILS)):
            known = {"call_id": self.ctx.tool_call_id, "requested": requested}
            shown = plain(arguments)
            run = self.spoken.pop((self.ctx.tool_call_id, name), None)
            if run is None:
                run = await self.session.before_tool(name, shown, **known)
            self.context += run.context
            if not run.runs:
                raise ToolFailed(self._text(run.reason))
            if run.arguments != shown:
                arguments = await self._valid(name, _merged(arguments, shown, run), tool)
            try:
                result, failure = await self._attempt(name, arguments, tool)
            except CONTROL:
                self.spoken[self.ctx.tool_call_id, name] = run
                raise
            error = None if failure is None else str(failure)
            told = plain(_value(result)) if error is None else error
            back = await self.session.after_tool(name, run.arguments, told, error=error, **known)
            self.context += back.context
            if back.tail is None or not left:
                break
            requested = requested or name
            name, wanted = back.tail
            tool = await self._tool(name)
            arguments = await self._valid(name, wanted, tool)
        if failure is not None:
            raise self._failed(failure, back)
        return self._enriched(result, back)

    async def _attempt(
        self, name: str, arguments: dict[str, Any], tool: ToolsetTool[Any]
    ) -> tuple[Any, Exception | None]:
        try:
            return await self.toolset.call_tool(name, arguments, self.ctx, tool), None
        except CONTROL:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again, when hooks know of it
            return None, error

    async def _tool(self, name: str) -> ToolsetTool[Any]:
        tool = (await self.toolset.get_tools(self.ctx)).get(name)
        if tool is None:
            raise ToolFailed(self._text(f"a hook called {name!r}, which is no tool of this agent"))
        return tool

    async def _valid(
        self, name: str, arguments: dict[str, Any], tool: ToolsetTool[Any]
    ) -> dict[str, Any]:
        """Validate the arguments that hooks want like those that the model gave."""
        context = self.ctx.validation_context
        try:
            valid: dict[str, Any] = tool.args_validator.validate_python(arguments, context=context)
        except ValidationError as error:
            raise ToolFailed(
                self._text(f"arguments that a hook gave {name} do not fit: {error}")
            ) from error
        if tool.args_validator_func is not None:
            checked = tool.args_validator_func(self.ctx, **valid)
            if inspect.isawaitable(checked):
                await checked
        return valid

    def _text(self, text: str) -> str:
        return "\n\n".join((text, *map(in_tags, self.context)))

    def _failed(self, failure: Exception, back: Returned) -> Exception:
        """Return the failure, with what hooks say, if it is one that the model gets to know."""
        if not isinstance(failure, ModelRetry | ToolFailed) or not (back.replaced or self.context):
            return failure
        return type(failure)(self._text(text_of(back.output)))

    def _enriched(self, result: Any, back: Returned) -> Any:
        if back.replaced:
            kept = isinstance(result, ToolReturn)
            text = back.output
            result = replace(result, return_value=text, content=None) if kept else text
        if not self.context:
            return result
        if isinstance(result, str):
            return self._text(result)
        whole = result if isinstance(result, ToolReturn) else ToolReturn(result)
        content = whole.content or ()
        own = (content,) if isinstance(content, str) else content
        return replace(whole, content=[*own, *map(in_tags, self.context)])


def _merged(arguments: dict[str, Any], shown: dict[str, Any], run: ToolRun) -> dict[str, Any]:
    """Lay what hooks changed over the arguments; the others stay the program's own values."""
    new = {k: v for k, v in run.arguments.items() if k not in shown or shown[k] != v}
    return {**{k: v for k, v in arguments.items() if k in run.arguments}, **new}


def _value(result: Any) -> Any:
    """Return what hooks see of a result: a text that stands beside it is part of it."""
    if not isinstance(result, ToolReturn) or not result.content:
        return result.return_value if isinstance(result, ToolReturn) else result
    return {"return_value": result.return_value, "content": result.content}
