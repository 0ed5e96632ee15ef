"""A scripted model behind the Messages API of Anthropic, streamed or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anyhook.probe.models.server import (
    Body,
    ModelQuestion,
    ModelTurn,
    ScriptedModel,
    ScriptedReply,
    event_stream,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class AnthropicModel(ScriptedModel):
    """The Messages API."""

    def converses(self, question: ModelQuestion) -> bool:
        """Return whether a request has tools, as those of agents do."""
        return question.path.endswith("/v1/messages") and bool(question.body.get("tools"))

    def say(self, turn: ModelTurn, number: str, request: Body) -> ScriptedReply:
        """Return a turn as this API sends it."""
        blocks: list[Body] = []
        if turn.text:
            blocks.append({"type": "text", "text": turn.text})
        for index, (name, arguments) in enumerate(turn.tools):
            identifier = f"toolu_{number}_{index}"
            blocks.append({"type": "tool_use", "id": identifier, "name": name, "input": arguments})
        reason = "tool_use" if turn.tools else "end_turn"
        if request.get("stream"):
            stream = event_stream(list(_events(blocks, number, reason)), named=True)
            return ScriptedReply(stream, "text/event-stream; charset=utf-8")
        return ScriptedReply.of(_message(number, content=blocks, stop_reason=reason))

    def small_talk(self, question: ModelQuestion) -> ScriptedReply:
        """Answer a request aside."""
        if question.path.endswith("/count_tokens"):
            return ScriptedReply.of({"input_tokens": 1})
        if not question.path.endswith("/v1/messages"):
            return ScriptedReply.of(_error("not_found_error", "not here"), 404)
        return self.say(ModelTurn("ok"), "aside", question.body)

    def refusal(self, message: str) -> ScriptedReply:
        """Return an error that is final."""
        # After a 400, Claude Code 2.1.330 sends the request again without some optional parts: six
        # requests. It takes a 403 as final.
        return ScriptedReply.of(_error("permission_error", message), 403)

    @staticmethod
    def messages(request: Body) -> list[Body]:
        """Return the messages of a conversation."""
        messages: list[Body] = request["messages"]
        return messages

    @staticmethod
    def tool_results(request: Body) -> list[str]:
        """Return the results of the tools, in order."""
        results: list[str] = []
        for message in request["messages"]:
            content = message["content"]
            if isinstance(content, str):
                continue
            for block in content:
                if block["type"] != "tool_result":
                    continue
                result = block.get("content", "")
                if not isinstance(result, str):
                    result = "\n".join(part["text"] for part in result if part["type"] == "text")
                results.append(result)
        return results


def _message(number: str, **members: object) -> Body:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        **members,
    }


def _events(blocks: Sequence[Body], number: str, stop_reason: str) -> Iterator[Body]:
    start = _message(number, content=[], stop_reason=None)
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            opening = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            opening = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": start["usage"]}
    yield {"type": "message_stop"}


def _error(kind: str, message: str) -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}}
