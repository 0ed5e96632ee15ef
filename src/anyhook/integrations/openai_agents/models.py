"""Models that hooks are told of: their requests, responses and streams."""

from __future__ import annotations

import dataclasses
import inspect
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agents import Model, ModelProvider, ModelResponse, RunErrorHandlerResult, Usage
from anyhook.integrations.openai_agents.items import (
    choice_to_own,
    refusal_item,
    request_from_input,
    request_to_input,
    response_from_output,
    response_of,
    response_to_output,
    settings_to_own,
)
from anyhook.integrations.openai_agents.life import living
from anyhook.integrations.openai_agents.streams import completed, events_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.items import TResponseStreamEvent

    from agents import RunConfig
    from anyhook.integrations.openai_agents.life import Life
    from anyhook.integrations.session import ModelCall
    from anyhook.model.llm import LLMRequest, ToolConfig

MODEL_EVENTS = ("before_model", "before_tool_selection", "after_model")
ARGUMENTS = (
    "system_instructions",
    "input",
    "model_settings",
    "tools",
    "output_schema",
    "handoffs",
    "tracing",
)
"""What a model is called with by position."""
PREFACE = ("response.created", "response.in_progress", "response.queued")
FAILURES = ("response.failed", "response.incomplete")


def configured(life: Life, config: RunConfig) -> RunConfig:
    """Return a configuration whose models are guarded."""
    if isinstance(config.model_provider, _Provider):
        return config
    provider = _Provider(config.model_provider, life)
    return dataclasses.replace(
        config, model=guarded_model(life, config.model), model_provider=provider
    )


def guarded_model(life: Life, model: Any, provider: ModelProvider | None = None) -> Any:
    """Return a guarded model; a name is for the provider."""
    if not isinstance(model, Model) or isinstance(model, _Model):
        return model
    return life.models.setdefault(id(model), _Model(model, provider))


class _Provider(ModelProvider):
    def __init__(self, inner: ModelProvider, life: Life) -> None:
        self.inner = inner
        self.life = life

    def get_model(self, model_name: str | None) -> Model:
        return cast("Model", guarded_model(self.life, self.inner.get_model(model_name), self.inner))

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass
class _Asked:
    """What became of a request to a model: its response, or what to send to which model."""

    request: LLMRequest
    given: dict[str, Any]
    model: Model
    response: ModelResponse | None = None


class _Model(Model):
    """A model that hooks are told of, in any life that it is used in."""

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
        given = {**dict(zip(ARGUMENTS, args, strict=False)), **options}
        life = living.get()
        if life is None or not life.hears(*MODEL_EVENTS):
            return await self.inner.get_response(**given)
        asked = await _ask(life, self, given)
        if asked.response is not None:
            return asked.response
        response = await asked.model.get_response(**asked.given)
        return await _answered(life, asked, response, response.usage)

    async def stream_response(
        self, *args: Any, **options: Any
    ) -> AsyncIterator[TResponseStreamEvent]:
        given = {**dict(zip(ARGUMENTS, args, strict=False)), **options}
        life = living.get()
        if life is None or not life.hears(*MODEL_EVENTS):
            async with _closing(self.inner.stream_response(**given)) as events:
                async for event in events:
                    yield event
            return
        asked = await _ask(life, self, given)
        if asked.response is not None:
            for event in events_of(asked.response.output, (), ()):
                yield event
            yield completed(asked.response)
            return
        async with _closing(_streamed(life, asked)) as events:
            async for event in events:
                yield event


# -- requests and responses


async def _ask(life: Life, model: _Model, given: dict[str, Any]) -> _Asked:
    """Tell of a request."""
    name = getattr(model.inner, "model", "")
    before = request_from_input(
        given["input"], given["model_settings"], name if isinstance(name, str) else ""
    )
    names = [life.told(tool) for tool in given["tools"]]
    names += [way.tool_name for way in given["handoffs"]]
    call = await life.session.before_model(before, tools=names)
    asked = _Asked(call.request, given, model.inner)
    goes_on = given.get("previous_response_id")
    if call.response is not None:
        asked.response = response_of(call.response, goes_on)
    elif call.denied is not None:
        asked.response = ModelResponse([_refuse(life, call.denied)], Usage(), goes_on)
    else:
        _lay(life, asked, before, call, model)
    return asked


async def _answered(
    life: Life, asked: _Asked, response: ModelResponse, usage: Any
) -> ModelResponse:
    """Tell of a response. Returns the same one if nothing changes."""
    shown = response_from_output(response.output, usage)
    reply = await life.session.after_model(asked.request, shown)
    if reply.response is None:
        refusal = _refuse(life, reply.denied or "")
        return dataclasses.replace(response, output=[refusal])
    if not reply.changed:
        return response
    output = response_to_output(response.output, reply.response)
    return dataclasses.replace(response, output=output)


def _refuse(life: Life, reason: str) -> Any:
    life.session.messages.send(reason)
    life.refused.add(reason)
    return refusal_item(reason)


def handling(life: Life, handlers: Any) -> Any:
    """Let a turn that hooks cut short end without an answer, unless the host knows better."""
    theirs = (handlers or {}).get("model_refusal")

    async def refused(data: Any) -> Any:
        result = theirs(data) if theirs is not None else None
        if inspect.isawaitable(result):
            result = await result
        plain = data.run_data.last_agent.output_type in (None, str)
        if result is None and plain and data.error.refusal in life.refused:
            return RunErrorHandlerResult(final_output="", include_in_history=False)
        return result

    return {**(handlers or {}), "model_refusal": refused}


def _lay(life: Life, asked: _Asked, before: LLMRequest, call: ModelCall, model: _Model) -> None:
    after = call.request
    choice = call.tools
    if after is not before:
        given = asked.given = dict(asked.given)
        given["input"], more = request_to_input(given["input"], before, after)
        said = [text for text in (given["system_instructions"], *more) if text]
        given["system_instructions"] = "\n\n".join(said) or None
        settings = given["model_settings"]
        given["model_settings"] = settings_to_own(settings, before, after)
        if "topK" in (after.get("config") or {}):
            life.session.messages.send("topK of a hook is left out: the OpenAI Agents SDK has none")
        wanted = after.get("model")
        if wanted and wanted != before.get("model"):
            asked.model = _named_model(life, wanted, model)
        if choice is None and after.get("toolConfig") != before.get("toolConfig"):
            choice = after.get("toolConfig")
    if choice is not None:
        asked.given = _chosen(life, asked.given, choice)


def _named_model(life: Life, name: str, model: _Model) -> Model:
    if model.provider is not None:
        return model.provider.get_model(name)
    life.session.messages.send(
        f"the model {name} of a hook is left out: the agent has a model object"
    )
    return model.inner


def _chosen(life: Life, given: dict[str, Any], config: ToolConfig) -> dict[str, Any]:
    names = config.get("allowedFunctionNames") or ()
    none = config.get("mode") == "NONE"

    def may(*known: str) -> bool:
        return not none and (not names or any(name in names for name in known))

    tools = [tool for tool in given["tools"] if may(tool.name, *life.names(tool))]
    handoffs = [way for way in given["handoffs"] if may(way.tool_name)]
    settings = choice_to_own(given["model_settings"], config, bool(tools or handoffs))
    return {**given, "tools": tools, "handoffs": handoffs, "model_settings": settings}


# -- streams


async def _streamed(life: Life, asked: _Asked) -> AsyncIterator[TResponseStreamEvent]:
    """Stream a response; while hooks might change it, nothing of it is told before its end."""
    holds = life.session.holds_back(asked.request)
    held: list[Any] = []
    done: list[Any] = []
    async with _closing(asked.model.stream_response(**asked.given)) as events:
        async for event in events:
            if event.type == "response.output_item.done":
                done.append(event.item)
            if event.type == "response.completed":
                async for last in _ended(life, asked, event, held, done):
                    yield last
            elif not holds:
                yield event
            elif event.type in FAILURES:
                yield _without_output(event)
            elif event.type == "error":
                yield event
            else:
                held.append(event)


async def _ended(
    life: Life, asked: _Asked, event: Any, held: list[Any], done: list[Any]
) -> AsyncIterator[TResponseStreamEvent]:
    location = event.response
    response = ModelResponse(location.output or done, Usage(), location.id)
    replied = await _answered(life, asked, response, location.usage)
    if replied is response:
        for one in (*held, event):
            yield one
        return
    for one in held:
        if one.type in PREFACE:
            yield _without_output(one)
    for one in events_of(replied.output, response.output, held):
        yield one
    yield completed(replied, location)


def _without_output(event: Any) -> Any:
    response = getattr(event, "response", None)
    if response is None or not response.output:
        return event
    return event.model_copy(update={"response": response.model_copy(update={"output": []})})


@asynccontextmanager
async def _closing(events: AsyncIterator[Any]) -> AsyncIterator[AsyncIterator[Any]]:
    try:
        yield events
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
