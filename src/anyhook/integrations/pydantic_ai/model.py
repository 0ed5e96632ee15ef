"""The model of an agent, with hooks before each request and after each response."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic_ai.models import CompletedStreamedResponse, infer_model
from pydantic_ai.models.wrapper import WrapperModel

from anyhook.integrations.pydantic_ai.messages import (
    Request,
    changed_response,
    new_response,
    shown_response,
)
from anyhook.integrations.results import left_out_run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic_ai import RunContext
    from pydantic_ai import messages as m
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from anyhook.integrations.pydantic_ai.state import RunState
    from anyhook.integrations.results import ModelCall
    from anyhook.model.llm import LLMRequest


class HookedModel(WrapperModel):
    """A model whose requests and responses hooks decide."""

    def __init__(self, wrapped: Model, run: RunState) -> None:
        super().__init__(wrapped)
        self._run = run

    async def request(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> m.ModelResponse:
        """Request a response; hooks may change the request and the response."""
        original = Request(messages, model_settings, model_request_parameters, self.model_name)
        call = await self._before_model(original)
        if call.response is not None:
            return new_response(call.response, self.model_name)
        request = original.changed(call.request, call.tools)
        model = self._model_named(request.model)
        response = await model.request(request.messages, request.settings, request.parameters)
        self._note_left_out_calls(original, request, response)
        return await self._after_model(call.request, response)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Request a stream; it is complete before the caller gets it if hooks may change it."""
        original = Request(messages, model_settings, model_request_parameters, self.model_name)
        call = await self._before_model(original)
        if call.response is not None:
            yield _replay(new_response(call.response, self.model_name), original)
            return
        request = original.changed(call.request, call.tools)
        model = self._model_named(request.model)
        async with model.request_stream(
            request.messages, request.settings, request.parameters, run_context
        ) as stream:
            if not self._run.session.must_buffer(call.request):
                yield stream
                self._note_left_out_calls(original, request, stream.get())
                await self._after_model(call.request, stream.get())
                return
            events = [event async for event in stream]
            streamed = stream.get()
            self._note_left_out_calls(original, request, streamed)
            response = await self._after_model(call.request, streamed)
            yield _replay(response, original, events if response is streamed else True)

    async def _before_model(self, original: Request) -> ModelCall:
        names = [tool.name for tool in original.parameters.function_tools]
        call = await self._run.session.before_model(original.shown.stable, tools=names)
        if call.response is None and call.denied is not None:
            self._run.end_turn(call.denied)
        return call

    def _note_left_out_calls(
        self, original: Request, request: Request, response: m.ModelResponse
    ) -> None:
        """Deny calls of tools that the model was not offered: the framework would run them."""
        offered = {tool.name for tool in request.parameters.function_tools}
        names = {tool.name for tool in original.parameters.function_tools} - offered
        for call in response.tool_calls:
            if call.tool_name in names:
                run = left_out_run(call.tool_name, call.args_as_dict())
                self._run.pending[call.tool_call_id, call.tool_name] = run

    async def _after_model(self, request: LLMRequest, response: m.ModelResponse) -> m.ModelResponse:
        hook_response = shown_response(response)
        reply = await self._run.session.after_model(request, hook_response.stable)
        if reply.response is None:
            self._run.end_turn(reply.denied or "a hook discarded the response")
        if not reply.changed:
            return response
        return changed_response(response, hook_response.changes(reply.response))

    def _model_named(self, name: str) -> Model:
        """Return the model of a name; a name without a provider is one of the same provider."""
        if name == self.model_name:
            return self.wrapped
        return infer_model(name if ":" in name else f"{self.system}:{name}")


def _replay(
    response: m.ModelResponse, original: Request, events: Any = True
) -> CompletedStreamedResponse:
    return CompletedStreamedResponse(
        response, model_request_parameters=original.parameters, replay_events=events
    )
