"""One call of LangChain's model or of one of its tools, as hooks leave it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain.agents.structured_output import (
    AutoStrategy,
    ProviderStrategy,
    ProviderStrategyBinding,
)
from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.constants import TAG_NOSTREAM
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from anyhook.integrations import langchain_messages as words
from anyhook.integrations.session import in_tags

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator

    from langchain.agents.middleware.types import ModelRequest, ModelResponse, ToolCallRequest
    from langchain_core.language_models import BaseChatModel

    from anyhook.integrations.session import ModelCall, Session, ToolReturn

    Way = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]
    ModelHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ToolHandler = Callable[[ToolCallRequest], Awaitable[Any]]

TAILS = 8
"""Calls that may take each other's place before the last result is the one."""


# -- the model


async def ask_model(
    session: Session, request: ModelRequest[Any], handler: ModelHandler, way: Way
) -> ModelResponse[Any] | AIMessage:
    """Call the model, unless hooks answer in its place, and return what they leave of it."""
    api = words.api_request(request)
    names = [words.tool_name(tool) for tool in request.tools]
    call = await way(session.before_model(words.shown_request(api), tools=names))
    if call.response is not None:
        return words.made_response(call.response)
    if call.denied is not None:
        session.messages.send(call.denied)
        return words.notice(call.denied)
    request = _sent(session, request, api, call)
    if session.holds_back(call.request):
        with _unseen(request.model) as model:
            held = request if model is request.model else request.override(model=model)
            response = await handler(held)
    else:
        response = await handler(request)
    return await _answered(session, request, call, response, way)


async def _answered(
    session: Session,
    request: ModelRequest[Any],
    call: ModelCall,
    response: ModelResponse[Any],
    way: Way,
) -> ModelResponse[Any] | AIMessage:
    said = next((m for m in response.result if isinstance(m, AIMessage)), None)
    if said is None:
        return response
    api = words.api_response(said)
    reply = await way(session.after_model(call.request, words.shown_response(api)))
    if reply.response is None:
        session.messages.send(str(reply.denied))
        return words.notice(str(reply.denied))
    if not reply.changed:
        return response
    new = words.changed_response(said, api, reply.response)
    result = [new if message is said else message for message in response.result]
    return replace(response, result=result, structured_response=_parsed(request, response, new))


def _sent(
    session: Session, request: ModelRequest[Any], api: words.Api, call: ModelCall
) -> ModelRequest[Any]:
    """Return the request as hooks want it; the same one if they want nothing."""
    asked = call.request
    if asked.get("model", api["model"]) != api["model"]:
        model = words.renamed(request.model, asked["model"])
        if model is None:
            kind = type(request.model).__name__
            session.messages.send(f"{kind} cannot be told to use another model ({asked['model']})")
        else:
            request = request.override(model=model)
    config = call.tools
    wanted = asked.get("toolConfig")
    if config is None and wanted is not None:
        known = [words.tool_name(tool) for tool in request.tools]
        names = [session.tools.host_name(n, known) for n in wanted.get("allowedFunctionNames", ())]
        config = {**wanted, "allowedFunctionNames": names}
    return words.offered(words.changed_request(request, api, asked), config)


@contextmanager
def _unseen(model: BaseChatModel) -> Iterator[BaseChatModel]:
    """Keep what the model says from everything that streams until the block ends.

    LangGraph and LangChain stream through callback handlers of the run. The ones that stream can
    tap an output; they are taken out of the model's run, and the tag keeps others away. A model
    that was made to stream by itself is told not to.

    Yields:
        The model to call.
    """
    config = dict(var_child_runnable_config.get() or {})
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        for handler in (*callbacks.handlers, *callbacks.inheritable_handlers):
            if hasattr(handler, "tap_output_aiter"):
                callbacks.remove_handler(handler)
    tags: Any = config.get("tags") or []
    config |= {"callbacks": callbacks, "tags": [*tags, TAG_NOSTREAM]}
    token = var_child_runnable_config.set(config)  # type: ignore[arg-type]
    try:
        streams = getattr(model, "streaming", False)
        yield model.model_copy(update={"disable_streaming": True}) if streams else model
    finally:
        var_child_runnable_config.reset(token)


def _parsed(request: ModelRequest[Any], response: ModelResponse[Any], message: AIMessage) -> Any:
    """Read structured output again if a text that hooks changed is what it is read from."""
    form: Any = request.response_format
    if response.structured_response is None or message.tool_calls or form is None:
        return response.structured_response
    schema = form.schema if isinstance(form, AutoStrategy | ProviderStrategy) else form
    spec = ProviderStrategy(schema=schema).schema_spec
    return ProviderStrategyBinding.from_schema_spec(spec).parse(message)


# -- tools


async def use_tool(
    session: Session, request: ToolCallRequest, handler: ToolHandler, way: Way
) -> Any:
    """Run a tool, and what hooks run in its place, and return what they leave of the result."""
    asked = request.tool_call["name"]
    requested = None
    for _ in range(TAILS):
        call = request.tool_call
        name, told = call["name"], {"call_id": call["id"], "requested": requested}
        run = await way(session.before_tool(name, call["args"], **told))
        if not run.runs:
            return words.added(_failed(request, asked, run.reason), map(in_tags, run.context))
        if run.arguments != call["args"]:
            request = request.override(tool_call={**call, "args": run.arguments})
        result, error = await _tried(handler, request)
        message = _message_of(result, call["id"])
        output = str(error) if error is not None else message.content if message else ""
        wrong = output if error or (message and message.status == "error") else None
        back = await way(
            session.after_tool(
                name,
                run.arguments,
                output,
                error=None if wrong is None else str(wrong),
                **told,
            )
        )
        if back.tail is None:
            break
        requested = asked
        request = _tail_of(request, *back.tail)
    if error is not None and not (back.replaced or back.context or run.context):
        raise error
    if error is not None:
        result = message = _failed(request, asked, str(error))
    return _returned(result, message, asked, back, (*run.context, *back.context))


async def _tried(handler: ToolHandler, request: ToolCallRequest) -> tuple[Any, Exception | None]:
    try:
        return await handler(request), None
    except GraphBubbleUp:
        raise
    except Exception as error:  # noqa: BLE001 - hooks hear of it before the agent does
        return None, error


def _failed(request: ToolCallRequest, asked: str, reason: str) -> ToolMessage:
    call_id = request.tool_call["id"]
    return ToolMessage(content=reason, name=asked, tool_call_id=call_id, status="error")


def _tail_of(request: ToolCallRequest, name: str, arguments: dict[str, Any]) -> ToolCallRequest:
    tool = next((t for t in request.runtime.tools if t.name == name), None)
    call: Any = {**request.tool_call, "name": name, "args": arguments}
    return request.override(tool_call=call, tool=tool)  # type: ignore[arg-type] # none: it says so


def _updates(result: Any) -> list[Any]:
    """Return the messages in what a tool returned: a message, a command, or several of these."""
    if isinstance(result, list):
        return [message for one in result for message in _updates(one)]
    if isinstance(result, Command):
        update = result.update if isinstance(result.update, dict) else {}
        messages = update.get("messages") or []
        return list(messages) if isinstance(messages, list) else [messages]
    return [result]


def _message_of(result: Any, call_id: str | None) -> ToolMessage | None:
    return next(
        (
            message
            for message in _updates(result)
            if isinstance(message, ToolMessage) and message.tool_call_id == call_id
        ),
        None,
    )


def _returned(
    result: Any, message: ToolMessage | None, asked: str, back: ToolReturn, context: Any
) -> Any:
    """Return a result as hooks left it; the same one if they left it alone."""
    if message is None:
        return result
    new = message
    if back.replaced:
        new = message.model_copy(update={"content": str(back.output), "artifact": None})
    if new.name not in (None, asked):  # the model knows only of the tool that it called
        new = new.model_copy(update={"name": asked})
    new = words.added(new, map(in_tags, context))
    return result if new is message else _swapped(result, message, new)


def _swapped(result: Any, old: ToolMessage, new: ToolMessage) -> Any:
    if isinstance(result, list):
        return [_swapped(one, old, new) for one in result]
    if isinstance(result, Command):
        if not any(message is old for message in _updates(result)):
            return result
        messages = [new if message is old else message for message in _updates(result)]
        update: Any = {**result.update, "messages": messages}  # type: ignore[dict-item]
        return replace(result, update=update)
    return new if result is old else result
