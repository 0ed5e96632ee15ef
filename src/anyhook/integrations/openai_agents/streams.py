"""Streams of the OpenAI Agents SDK that tell what a response holds, as if it had come so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types import responses as api

from anyhook.integrations.openai_agents.items import OWN_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agents.items import TResponseOutputItem, TResponseStreamEvent

    from agents import ModelResponse


def events_of(
    output: Sequence[TResponseOutputItem],
    original: Sequence[TResponseOutputItem],
    held: Sequence[TResponseStreamEvent],
) -> Iterator[TResponseStreamEvent]:
    """Tell of a response as if it had been streamed so.

    Args:
        output: Its items.
        original: The items of the response that was streamed.
        held: The events of that stream; those of items that stayed are told again.
    """
    for index, item in enumerate(output):
        was = next((i for i, one in enumerate(original) if one is item), None)
        again = [e for e in held if was is not None and getattr(e, "output_index", None) == was]
        if again:
            yield from (event.model_copy(update={"output_index": index}) for event in again)
        else:
            yield from _told(index, item)


def _told(index: int, item: Any) -> Iterator[TResponseStreamEvent]:
    place: dict[str, Any] = {"output_index": index, "sequence_number": 0}
    begun = item.model_copy(update={"content": []}) if item.type == "message" else item
    yield api.ResponseOutputItemAddedEvent(type="response.output_item.added", item=begun, **place)
    for number, part in enumerate(item.content if item.type == "message" else ()):
        yield from _part_told({**place, "item_id": item.id, "content_index": number}, part)
    yield api.ResponseOutputItemDoneEvent(type="response.output_item.done", item=item, **place)


def _part_told(place: dict[str, Any], part: Any) -> Iterator[TResponseStreamEvent]:
    empty = part.model_copy(update={OWN_TEXT[part.type]: ""}) if part.type in OWN_TEXT else part
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


def completed(
    response: ModelResponse, template: api.Response | None = None
) -> api.ResponseCompletedEvent:
    """Make the last event of a stream.

    Args:
        response: What the stream told.
        template: The response of the API that it takes the place of.
    """
    if template is not None:
        whole = template.model_copy(update={"output": response.output})
    else:
        whole = api.Response(
            id=response.response_id or FAKE_RESPONSES_ID,
            created_at=0,
            model="",
            object="response",
            output=response.output,
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
    return api.ResponseCompletedEvent(type="response.completed", response=whole, sequence_number=0)
