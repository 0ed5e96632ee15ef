"""The events of a stream for a response that hooks changed or wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types import responses as api

from anyhook.integrations.openai_agents.items import TEXT_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agents.items import TResponseOutputItem, TResponseStreamEvent

    from agents import ModelResponse


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
