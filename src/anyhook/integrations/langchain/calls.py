"""One call of LangChain's model or of one of its tools, with the decisions of hooks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import ToolCallRequest
from langchain.agents.structured_output import (
    AutoStrategy,
    ProviderStrategy,
    ProviderStrategyBinding,
)
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from anyhook.errors import StoppedError
from anyhook.integrations.factory import ToolChain
from anyhook.integrations.langchain.messages import (
    append_texts,
    changed_request,
    changed_response,
    new_response,
    notice,
    select_tools,
    shown_request,
    shown_response,
    tool_name,
    with_model_name,
)
from anyhook.integrations.langchain.streams import HeldToolEvents, without_streaming
from anyhook.integrations.langchain.waiting import run_without_loop
from anyhook.integrations.results import tag_context

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from langchain.agents.middleware.types import ModelRequest, ModelResponse

    from anyhook.integrations.langchain.sessions import SessionState
    from anyhook.integrations.langchain.waiting import Wait
    from anyhook.integrations.results import ModelCall, ToolReturn, ToolRun
    from anyhook.integrations.session import Session

    ModelHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ToolHandler = Callable[[ToolCallRequest], Awaitable[Any]]


async def call_model(
    state: SessionState, request: ModelRequest[Any], handler: ModelHandler, wait: Wait[Any]
) -> ModelResponse[Any] | AIMessage:
    """Call the model, unless hooks answer in its place, and apply what hooks decide."""
    session = state.session
    _offer_tools(session, request)
    hook_request = shown_request(request)
    names = [tool_name(tool) for tool in request.tools]
    call = await wait(session.before_model(hook_request.stable, tools=names))
    if call.response is not None:
        return new_response(call.response)
    if call.denied is not None:
        state.is_turn_denied = True
        session.messages.send(call.denied)
        return notice(call.denied)
    changes = hook_request.changes(call.request)
    if changes is not None:
        request = changed_request(request, changes)
    request = select_tools(request, call.tools)
    if changes is not None and changes.model is not None:
        named_model = with_model_name(request.model, changes.model)
        if named_model is not None:
            request = request.override(model=named_model)
        else:
            kind = type(request.model).__name__
            session.messages.send(f"{kind} has no setting for another model ({changes.model})")
    if session.must_buffer(call.request):
        with without_streaming(request.model) as model:
            is_same = model is request.model
            response = await handler(request if is_same else request.override(model=model))
    else:
        response = await handler(request)
    return await _decide_response(session, request, call, response, wait)


async def ask_model(
    session: Session, request: ModelRequest[Any], handler: ModelHandler
) -> ModelResponse[Any]:
    """Call the model where no hook decides on its requests and responses."""
    _offer_tools(session, request)
    return await handler(request)


def raise_if_stopped(session: Session) -> None:
    """Raise `StoppedError` if a hook ended the agent, in a tool for example."""
    if session.stopped is not None:
        raise StoppedError(session.stopped)


def _offer_tools(session: Session, request: ModelRequest[Any]) -> None:
    """Let the session check the tools; those of a provider, which are dictionaries, run there."""
    tools = {tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)}

    def arguments_of(name: str) -> list[str]:
        return list(tools[name].args)

    session.tool_checks.offer(tools, arguments_of)


async def _decide_response(
    session: Session,
    request: ModelRequest[Any],
    call: ModelCall,
    response: ModelResponse[Any],
    wait: Wait[Any],
) -> ModelResponse[Any] | AIMessage:
    messages = [message for message in response.result if isinstance(message, AIMessage)]
    if not messages:
        return response
    hook_response = shown_response(messages[0])
    reply = await wait(session.after_model(call.request, hook_response.stable))
    if reply.response is None:
        session.messages.send(str(reply.denied))
        return notice(str(reply.denied))
    if not reply.changed:
        return response
    changed = changed_response(messages[0], hook_response.changes(reply.response))
    result = _replace_message(response.result, messages[0], changed)
    structured = response.structured_response
    form: Any = request.response_format
    if structured is not None and form is not None and not changed.tool_calls:
        # It was parsed from a text that hooks changed.
        schema = form.schema if isinstance(form, AutoStrategy | ProviderStrategy) else form
        spec = ProviderStrategy(schema=schema).schema_spec
        structured = ProviderStrategyBinding.from_schema_spec(spec).parse(changed)
    return replace(response, result=result, structured_response=structured)


@dataclass(frozen=True, slots=True)
class _ToolResult:
    """What a tool returned or raised."""

    value: Any
    """A message, a command, or a list of these."""
    message: ToolMessage | None
    """The message in it that answers the call."""
    exception: Exception | None = None
    """What the tool raised."""

    @property
    def output(self) -> Any:
        """The output that hooks see."""
        if self.exception is not None:
            return str(self.exception)
        if self.message is None:
            return ""
        return self.message.content

    @property
    def error(self) -> str | None:
        """What went wrong; `None` if nothing did."""
        is_error_message = self.message is not None and self.message.status == "error"
        if self.exception is None and not is_error_message:
            return None
        return str(self.output)


async def call_tool(
    session: Session, request: ToolCallRequest, handler: ToolHandler, wait: Wait[Any]
) -> Any:
    """Call a tool, and the tail calls of hooks, and apply what hooks decide.

    A call during which hooks stop the agent is answered all the same: the thread may go on later,
    and providers refuse a conversation with an unanswered call. The next node ends the run.
    """
    if not session.listens_to_results:
        return await _answer_call(session, request, handler, wait)
    results: list[Any] = []

    async def run(decided: ToolCallRequest) -> Any:
        results.append(await handler(decided))
        return results[-1]

    with HeldToolEvents(request.runtime.config) as held:
        try:
            value = await _answer_call(session, request, run, wait)
        except Exception:
            if not results:  # what the tool itself raised
                await held.release()
            raise
        if len(results) == 1 and results[0] is value:
            await held.release()
        else:
            await held.replace(value)
        return value


async def _answer_call(
    session: Session, request: ToolCallRequest, handler: ToolHandler, wait: Wait[Any]
) -> Any:
    try:
        return await _call_tool(session, request, handler, wait)
    except StoppedError as stop:
        return _error_message(request, request.tool_call["name"], stop.reason)


async def _call_tool(
    session: Session, request: ToolCallRequest, handler: ToolHandler, wait: Wait[Any]
) -> Any:
    asked = request.tool_call["name"]
    call: Any
    chain = ToolChain(session, asked, request.tool_call["args"], request.tool_call["id"])
    while True:
        run = await wait(chain.before())
        if not run.allowed:
            message = _error_message(request, asked, run.reason)
            return append_texts(message, map(tag_context, run.context))
        if run.arguments != chain.arguments:
            call = {**request.tool_call, "args": run.arguments}
            request = request.override(tool_call=call)
        decided = DecidedRequest(
            request.tool_call, request.tool, request.state, request.runtime, session, wait, None
        )
        result = await _run_tool(handler, decided)
        returned = await wait(chain.after(run.arguments, result.output, result.error))
        if not chain.go_on(returned):
            break
        # Without such a tool the handler answers with LangChain's own error message.
        tool: Any = next((t for t in request.runtime.tools if t.name == chain.name), None)
        call = {**request.tool_call, "name": chain.name, "args": chain.arguments}
        request = request.override(tool_call=call, tool=tool)
    context = (*run.context, *returned.context)
    if result.exception is not None:
        if not (returned.replaced or context):
            raise result.exception
        message = _error_message(request, asked, str(result.exception))
        result = _ToolResult(message, message)
    return _changed_result(result, asked, returned, context)


async def _run_tool(handler: ToolHandler, request: ToolCallRequest) -> _ToolResult:
    try:
        value = await handler(request)
    except GraphBubbleUp:  # an interrupt of the graph, not a failure
        raise
    except Exception as error:  # noqa: BLE001 - raised again when hooks have seen it
        return _ToolResult(None, None, error)
    call_id = request.tool_call["id"]
    for message in _messages_in(value):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            return _ToolResult(value, message)
    return _ToolResult(value, None)


def _error_message(request: ToolCallRequest, name: str, reason: str) -> ToolMessage:
    call_id = request.tool_call["id"]
    return ToolMessage(content=reason, name=name, tool_call_id=call_id, status="error")


def _messages_in(value: Any) -> list[Any]:
    """Return the messages in what a tool returned: a message, a command, or a list of these."""
    if isinstance(value, list):
        messages = []
        for item in value:
            messages += _messages_in(item)
        return messages
    if not isinstance(value, Command):
        return [value]
    if not isinstance(value.update, dict):
        return []
    messages = value.update.get("messages") or []
    # The state's reducer takes a single message, too.
    return list(messages) if isinstance(messages, list) else [messages]


def _changed_result(
    result: _ToolResult, asked: str, returned: ToolReturn, context: tuple[str, ...]
) -> Any:
    """Return a result with what hooks decide; the same one if they change nothing."""
    message = result.message
    if message is None:
        return result.value
    changed = message
    if returned.replaced:
        changed = message.model_copy(update={"content": str(returned.output), "artifact": None})
    # The model knows only the tool that it called, not the one that ran in its place.
    if changed.name not in (None, asked):
        changed = changed.model_copy(update={"name": asked})
    changed = append_texts(changed, map(tag_context, context))
    if changed is message:
        return result.value
    return _replace(result.value, message, changed)


def _replace(value: Any, old: ToolMessage, new: ToolMessage) -> Any:
    """Return what a tool returned with one message replaced."""
    if isinstance(value, list):
        return [_replace(item, old, new) for item in value]
    if isinstance(value, Command):
        messages = _messages_in(value)
        if not any(message is old for message in messages):
            return value
        replaced = _replace_message(messages, old, new)
        update: Any = {**value.update, "messages": replaced}  # type: ignore[dict-item]
        return replace(value, update=update)
    return new if value is old else value


def _replace_message(messages: Sequence[Any], old: Any, new: Any) -> list[Any]:
    return [new if message is old else message for message in messages]


@dataclass
class DecidedRequest(ToolCallRequest):
    """A call that hooks have decided. Of another call in its place they decide when it runs.

    LangChain runs the wrappers of a call from the outside to the inside, so that those behind this
    one may run another call: what a reviewer of `HumanInTheLoopMiddleware` wrote, for example.
    """

    session: Session
    wait: Wait[Any]
    own_tool: BaseTool | None
    """The tool itself, where `tool` is a copy that asks hooks first."""

    def override(self, **overrides: Any) -> DecidedRequest:
        """Return the request with other fields; see `ToolCallRequest.override`."""
        changed = replace(self, **overrides)
        call, decided = changed.tool_call, self.tool_call
        is_same = (call["name"], call["args"]) == (decided["name"], decided["args"])
        tool = overrides.get("tool") or self.own_tool or self.tool
        if is_same or tool is None:
            return changed
        return replace(changed, tool=_asking_first(tool, changed), own_tool=tool)


def _asking_first(tool: BaseTool, request: DecidedRequest) -> BaseTool:
    """Return a copy of a tool that runs the call of a request only if hooks allow it."""
    name, call_id = request.tool_call["name"], request.tool_call["id"]
    arguments = request.tool_call["args"]

    async def decide() -> ToolRun:
        decided = request.session.before_tool(name, arguments, call_id=call_id)
        run: ToolRun = await request.wait(decided)
        return run

    def denied(run: ToolRun) -> ToolMessage:
        message = ToolMessage(run.reason, name=name, tool_call_id=call_id, status="error")
        return append_texts(message, map(tag_context, run.context))

    def allowed(call: dict[str, Any], run: ToolRun) -> dict[str, Any]:
        # LangGraph has added what it injects.
        injected = {key: value for key, value in call["args"].items() if key not in arguments}
        return {**call, "args": {**injected, **run.arguments}}

    def invoke(call: dict[str, Any], *args: Any, **options: Any) -> Any:
        run = run_without_loop(decide())
        return tool.invoke(allowed(call, run), *args, **options) if run.allowed else denied(run)

    async def ainvoke(call: dict[str, Any], *args: Any, **options: Any) -> Any:
        run = await decide()
        if not run.allowed:
            return denied(run)
        return await tool.ainvoke(allowed(call, run), *args, **options)

    copy = tool.model_copy()
    object.__setattr__(copy, "invoke", invoke)
    object.__setattr__(copy, "ainvoke", ainvoke)
    return copy
