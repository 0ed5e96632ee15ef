"""A scripted model behind OpenAI's Responses API, streamed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from anyhook.probe.models.openai_chat import OpenAIModel
from anyhook.probe.models.server import (
    Body,
    ModelQuestion,
    ModelTurn,
    ScriptedReply,
    event_stream,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


class ResponsesModel(OpenAIModel):
    """The Responses API. Arguments that are a text belong to a tool without a schema.

    A name with a dot is that of a tool in a namespace.
    """

    path = "/responses"
    models: ClassVar[Body] = {**OpenAIModel.models, "models": []}

    def converses(self, question: ModelQuestion) -> bool:
        """Return whether a request has tools, as those of agents do."""
        return question.path.endswith(self.path) and bool(question.body.get("tools"))

    def say(self, turn: ModelTurn, number: str, request: Body) -> ScriptedReply:  # noqa: ARG002
        """Return a turn as this API sends it."""
        items: list[Body] = []
        if turn.text:
            content = {"type": "output_text", "text": turn.text, "annotations": []}
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
            items.append({**item, "status": "completed", "content": [content]})
        for index, (name, arguments) in enumerate(turn.tools):
            namespace, _, own_name = name.rpartition(".")
            call: Body = {
                "call_id": f"call_{number}_{index}",
                "name": own_name,
                "status": "completed",
            }
            if namespace:
                call["namespace"] = namespace
            if isinstance(arguments, str):
                items.append({**call, "type": "custom_tool_call", "input": arguments})
            else:
                items.append({**call, "type": "function_call", "arguments": json.dumps(arguments)})
        for index, item in enumerate(items):
            item.setdefault("id", f"item_{number}_{index}")
        stream = event_stream([*_events(items, number)], named=True)
        return ScriptedReply(stream, "text/event-stream")

    @staticmethod
    def messages(request: Body) -> list[Body]:
        """Return the messages of a conversation."""
        items = request.get("input") or []
        return [{"role": "user", "content": items}] if isinstance(items, str) else items

    @staticmethod
    def tool_results(request: Body) -> list[str]:
        """Return the results of the tools, in order."""
        results = [item for item in ResponsesModel.messages(request) if item.get("type") in RESULTS]
        return ["\n".join(strings(item.get("output"))) for item in results]


def _events(items: Sequence[Body], number: str) -> Iterator[Body]:
    response: Body = {"id": f"resp_{number}", "object": "response"}
    started = {**response, "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": started}
    for index, item in enumerate(items):
        position = {"output_index": index}
        if item["type"] == "message":
            empty = {**item, "content": []}
            yield {"type": "response.output_item.added", **position, "item": empty}
            yield {
                "type": "response.output_text.delta",
                **position,
                "item_id": item["id"],
                "content_index": 0,
                "delta": item["content"][0]["text"],
            }
        else:
            yield {"type": "response.output_item.added", **position, "item": item}
        yield {"type": "response.output_item.done", **position, "item": item}
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    done = {**response, "status": "completed", "output": list(items), "usage": usage}
    yield {"type": "response.completed", "response": done}
