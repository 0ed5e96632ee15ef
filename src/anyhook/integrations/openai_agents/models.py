"""Models whose requests, responses and streams hooks decide."""

from __future__ import annotations

import dataclasses
import inspect
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types import responses as api

from agents import Model, ModelProvider, ModelResponse, RunErrorHandlerResult, Usage
from anyhook.integrations.factory import MODEL_EVENTS
from anyhook.integrations.model_api import is_tool_allowed
from anyhook.integrations.openai_agents.handoffs import hook_input_filter
from anyhook.integrations.openai_agents.items import (
    TEXT_MEMBERS,
    changed_output,
    new_response,
    refusal_item,
    shown_request,
    shown_response,
    with_tool_mode,
)
from anyhook.integrations.openai_agents.state import current_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from agents.items import TResponseOutputItem, TResponseStreamEvent

    from agents import RunConfig
    from anyhook.integrations.model_api import ShownRequest
    from anyhook.integrations.openai_agents.state import SessionState
    from anyhook.integrations.results import ModelCall
    from anyhook.model.llm import LLMRequest


POSITIONAL_ARGUMENTS = (
    "system_instructions",
    "input",
    "model_settings",
    "tools",
    "output_schema",
    "handoffs",
    "tracing",
)
"""The arguments of `Model.get_response` that may be positional, in order."""
FIRST_EVENTS = ("response.created", "response.in_progress", "response.queued")
FAILURE_EVENTS = ("response.failed", "response.incomplete")


def hook_config(state: SessionState, config: RunConfig) -> RunConfig:
    """Return a configuration of a run whose models let hooks decide."""
    if isinstance(config.model_provider, _HookedProvider):
        return config
    return dataclasses.replace(
        config,
        model=hook_model(state, config.model),
        model_provider=_HookedProvider(config.model_provider, state),
        handoff_input_filter=hook_input_filter(config.handoff_input_filter),
    )


def hook_model(state: SessionState, model: Any, provider: ModelProvider | None = None) -> Any:
    """Return a model that lets hooks decide; a name is resolved by the provider."""
    if not isinstance(model, Model) or isinstance(model, _HookedModel):
        return model
    return state.models.setdefault(id(model), _HookedModel(model, provider))


class _HookedProvider(ModelProvider):
    def __init__(self, inner: ModelProvider, state: SessionState) -> None:
        self._inner = inner
        self._state = state

    def get_model(self, model_name: str | None) -> Model:
        model = self._inner.get_model(model_name)
        return cast("Model", hook_model(self._state, model, self._inner))

    async def aclose(self) -> None:
        await self._inner.aclose()


CALLS_WITH_NAMES = frozenset({"function_call", "custom_tool_call"})
BUILT_IN_CALLS = {
    "shell_call": "shell",
    "local_shell_call": "local_shell",
    "apply_patch_call": "apply_patch",
}
"""Type of the item of a call to the name of the SDK's own tool."""


@dataclass
class _HookedRequest:
    """A request after the decision of hooks: its stable form, the model and the arguments."""

    stable: LLMRequest
    arguments: dict[str, Any]
    model: Model
    response: ModelResponse | None = None
    """The response to use in place of the model's."""
    left_out: frozenset[str] = frozenset()
    """Names of the program's tools that the model was not offered."""
    left_out_handoffs: frozenset[str] = frozenset()
    """The same of handoffs."""


class _HookedModel(Model):
    """A model that lets the hooks of the current session decide."""

    def __init__(self, inner: Model, provider: ModelProvider | None = None) -> None:
        self.inner = inner
        self.provider = provider

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self.inner._cleanup_on_run_end(owner)  # noqa: SLF001

    async def close(self) -> None:
        await self.inner.close()

    def get_retry_advice(self, request: Any) -> Any:
        return self.inner.get_retry_advice(request)

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        arguments = {**dict(zip(POSITIONAL_ARGUMENTS, args, strict=False)), **options}
        state = current_session.get()
        if state is None or not state.listens(*MODEL_EVENTS):
            return await self.inner.get_response(**arguments)
        request = await _before_model(state, self, arguments)
        if request.response is not None:
            return request.response
        response = await request.model.get_response(**request.arguments)
        return await _after_model(state, request, response, response.usage)

    async def stream_response(
        self, *args: Any, **options: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        arguments = {**dict(zip(POSITIONAL_ARGUMENTS, args, strict=False)), **options}
        state = current_session.get()
        if state is None or not state.listens(*MODEL_EVENTS):
            async with _closing(self.inner.stream_response(**arguments)) as events:
                async for event in events:
                    yield event
            return
        request = await _before_model(state, self, arguments)
        if request.response is not None:
            for event in replay_events(request.response.output, (), ()):
                yield event
            yield completed_event(request.response)
            return
        async with _closing(_stream(state, request)) as events:
            async for event in events:
                yield event


async def _before_model(
    state: SessionState, model: _HookedModel, arguments: dict[str, Any]
) -> _HookedRequest:
    name = getattr(model.inner, "model", "")
    hook_request = shown_request(
        arguments["input"], arguments["model_settings"], name if isinstance(name, str) else ""
    )
    tools = [state.host_name(tool) for tool in arguments["tools"]]
    handoffs = [handoff.tool_name for handoff in arguments["handoffs"]]
    call = await state.session.before_model(hook_request.stable, tools=[*tools, *handoffs])
    request = _HookedRequest(call.request, arguments, model.inner)
    # Where the server keeps the conversation, the next request continues from the former response.
    response_id = arguments.get("previous_response_id")
    if call.response is not None:
        request.response = new_response(call.response, response_id)
    elif call.denied is not None:
        state.denied_requests.add(call.denied)
        refusal = _refuse(state, call.denied)
        request.response = ModelResponse([refusal], Usage(), response_id)
    else:
        _change_request(state, request, hook_request, call, model)
    return request


async def _after_model(
    state: SessionState, request: _HookedRequest, response: ModelResponse, usage: Any
) -> ModelResponse:
    """Return the response that hooks leave; the same one if they change nothing."""
    # The SDK would run calls of tools that the model was not offered.
    state.left_out_handoffs.clear()
    items: Sequence[Any] = response.output
    for item in items:
        name = BUILT_IN_CALLS.get(item.type)
        if item.type in CALLS_WITH_NAMES:
            name = item.name
        if name in request.left_out:
            state.left_out_calls.add(item.call_id)
        if name in request.left_out_handoffs:
            state.left_out_handoffs.add(name)
    hook_response = shown_response(response.output, usage)
    reply = await state.session.after_model(request.stable, hook_response.stable)
    if reply.response is None:
        refusal = _refuse(state, reply.denied or "")
        return dataclasses.replace(response, output=[refusal])
    if not reply.changed:
        return response
    output = changed_output(response.output, hook_response.changes(reply.response))
    return dataclasses.replace(response, output=output)


def _refuse(state: SessionState, reason: str) -> Any:
    """Return the item of a response that ends the turn without an answer."""
    state.session.messages.send(reason)
    state.refusals.add(reason)
    return refusal_item(reason)


def with_refusal_handler(state: SessionState, handlers: Any) -> Any:
    """Return error handlers that let a turn that hooks ended end without an answer.

    The program's own handler has precedence.
    """
    program_handler = (handlers or {}).get("model_refusal")

    async def handle_refusal(data: Any) -> Any:
        result = program_handler(data) if program_handler is not None else None
        if inspect.isawaitable(result):
            result = await result
        state.is_turn_denied = data.error.refusal in state.denied_requests
        is_text_agent = data.run_data.last_agent.output_type in (None, str)
        if result is None and is_text_agent and data.error.refusal in state.refusals:
            return RunErrorHandlerResult(final_output="", include_in_history=False)
        return result

    return {**(handlers or {}), "model_refusal": handle_refusal}


def _change_request(
    state: SessionState,
    request: _HookedRequest,
    hook_request: ShownRequest,
    call: ModelCall,
    model: _HookedModel,
) -> None:
    arguments = request.arguments
    changes = hook_request.changes(call.request)
    if changes is not None:
        arguments = dict(arguments)
        if changes.messages is not None:
            arguments["input"] = changes.messages
        texts = [text for text in (arguments["system_instructions"], *changes.instructions) if text]
        arguments["system_instructions"] = "\n\n".join(texts) or None
        sampling = changes.sampling
        if "top_k" in sampling:
            del sampling["top_k"]
            state.session.messages.send("the OpenAI Agents SDK has no topK; a hook's was ignored")
        settings = arguments["model_settings"]
        arguments["model_settings"] = dataclasses.replace(settings, **sampling)
        if changes.model is not None and model.provider is not None:
            request.model = model.provider.get_model(changes.model)
        elif changes.model is not None:
            state.session.messages.send(
                f"the agent has a model object; the model {changes.model} of a hook was ignored"
            )
    if call.tools is not None:
        # The tools and handoffs that hooks allow.
        tools = [
            tool
            for tool in arguments["tools"]
            if is_tool_allowed(call.tools, *state.known_names(tool))
        ]
        handoffs = [
            handoff
            for handoff in arguments["handoffs"]
            if is_tool_allowed(call.tools, handoff.tool_name)
        ]
        settings = with_tool_mode(
            arguments["model_settings"], call.tools, has_tools=bool(tools or handoffs)
        )
        offered = [*map(id, tools)]
        request.left_out = frozenset(
            tool.name for tool in arguments["tools"] if id(tool) not in offered
        )
        request.left_out_handoffs = frozenset(
            handoff.tool_name for handoff in arguments["handoffs"] if handoff not in handoffs
        )
        offer = {"tools": tools, "handoffs": handoffs, "model_settings": settings}
        arguments = {**arguments, **offer}
    request.arguments = arguments


async def _stream(
    state: SessionState, request: _HookedRequest
) -> AsyncIterator[TResponseStreamEvent]:
    """Stream a response; one that hooks may change is not shown before its end."""
    must_buffer = state.session.must_buffer(request.stable)
    buffer: list[Any] = []
    items: list[Any] = []
    async with _closing(request.model.stream_response(**request.arguments)) as events:
        async for event in events:
            if event.type == "response.output_item.done":
                items.append(event.item)
            if event.type == "response.completed":
                async for last in _end_stream(state, request, event, buffer, items):
                    yield last
            elif not must_buffer or event.type == "error":
                yield event
            elif event.type in FAILURE_EVENTS:
                yield _without_output(event)
            else:
                buffer.append(event)


async def _end_stream(
    state: SessionState, request: _HookedRequest, event: Any, buffer: list[Any], items: list[Any]
) -> AsyncIterator[TResponseStreamEvent]:
    """Yield the events of a complete response after the decision of hooks."""
    template = event.response
    original = ModelResponse(template.output or items, Usage(), template.id)
    response = await _after_model(state, request, original, template.usage)
    if response is original:
        for buffered in (*buffer, event):
            yield buffered
        return
    for buffered in buffer:
        if buffered.type in FIRST_EVENTS:
            yield _without_output(buffered)
    for replayed in replay_events(response.output, original.output, buffer):
        yield replayed
    yield completed_event(response, template)


def _without_output(event: Any) -> Any:
    response = getattr(event, "response", None)
    if response is None or not response.output:
        return event
    return event.model_copy(update={"response": response.model_copy(update={"output": []})})


@asynccontextmanager
async def _closing(events: AsyncIterator[Any]) -> AsyncIterator[AsyncIterator[Any]]:
    """Close an iterator if it is a generator; the SDK allows both."""
    try:
        yield events
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


# -- the events of a stream for a response that hooks changed or wrote


def replay_events(
    output: Sequence[TResponseOutputItem],
    original: Sequence[TResponseOutputItem],
    buffer: Sequence[TResponseStreamEvent],
) -> Iterator[TResponseStreamEvent]:
    """Yield the events of a response as if it had been streamed with this output.

    The buffered events of original items that did not change are repeated.
    """
    original_indices = {id(item): index for index, item in enumerate(original)}
    for index, item in enumerate(output):
        old_index = original_indices.get(id(item))
        events: list[Any] = []
        if old_index is not None:
            events = [e for e in buffer if getattr(e, "output_index", None) == old_index]
        if events:
            for event in events:
                yield event.model_copy(update={"output_index": index})
            continue
        place: dict[str, Any] = {"output_index": index, "sequence_number": 0}
        content = item.content if item.type == "message" else []
        added = item.model_copy(update={"content": []}) if item.type == "message" else item
        yield api.ResponseOutputItemAddedEvent(
            type="response.output_item.added", item=added, **place
        )
        for number, part in enumerate(content):
            yield from _part_events({**place, "item_id": item.id, "content_index": number}, part)
        yield api.ResponseOutputItemDoneEvent(type="response.output_item.done", item=item, **place)


def _part_events(place: dict[str, Any], part: Any) -> Iterator[TResponseStreamEvent]:
    member = TEXT_MEMBERS.get(part.type)
    empty = part if member is None else part.model_copy(update={member: ""})
    yield api.ResponseContentPartAddedEvent(type="response.content_part.added", part=empty, **place)
    if part.type == "output_text":
        yield api.ResponseTextDeltaEvent(
            type="response.output_text.delta", delta=part.text, logprobs=[], **place
        )
        yield api.ResponseTextDoneEvent(
            type="response.output_text.done", text=part.text, logprobs=[], **place
        )
    elif part.type == "refusal":
        yield api.ResponseRefusalDeltaEvent(
            type="response.refusal.delta", delta=part.refusal, **place
        )
        yield api.ResponseRefusalDoneEvent(
            type="response.refusal.done", refusal=part.refusal, **place
        )
    yield api.ResponseContentPartDoneEvent(type="response.content_part.done", part=part, **place)


def completed_event(
    response: ModelResponse, template: api.Response | None = None
) -> api.ResponseCompletedEvent:
    """Return the last event of a stream, made from the API's response that it replaces, if any."""
    if template is not None:
        complete = template.model_copy(update={"output": response.output})
    else:
        complete = api.Response(
            id=response.response_id or FAKE_RESPONSES_ID,
            created_at=0,
            model="",
            object="response",
            output=response.output,
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
    return api.ResponseCompletedEvent(
        type="response.completed", response=complete, sequence_number=0
    )
