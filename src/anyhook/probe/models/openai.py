"""Scripted models behind the APIs of OpenAI: chat completions, and responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from anyhook.probe.models.server import (
    Body,
    ModelQuestion,
    ModelTurn,
    ScriptedModel,
    ScriptedReply,
    event_stream,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


SIDE_TOOLS = frozenset({"respond_in_schema"})
"""The only tool of requests that Qwen Code 0.24.4 makes aside."""
INSTRUCTION_ROLES = frozenset({"system", "developer"})
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
STREAM = "text/event-stream"


class OpenAIModel(ScriptedModel):
    """What the APIs of OpenAI have in common.

    Attributes:
        path: The end of the path of conversations.
        models: The list of models.
    """

    path = ""
    models: ClassVar[Body] = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}

    def small_talk(self, question: ModelQuestion) -> ScriptedReply:
        """Answer a request aside."""
        if question.path.endswith("/models"):
            return ScriptedReply.of(self.models)
        if question.path.endswith(self.path):
            return self.say(ModelTurn("ok"), "aside", question.body)
        return self._error("not here", 404)

    def refusal(self, message: str) -> ScriptedReply:
        """Return an error that is final."""
        return self._error(message, 400)

    @staticmethod
    def _error(message: str, status: int) -> ScriptedReply:
        return ScriptedReply.of(
            {"error": {"message": message, "type": "invalid_request_error"}}, status
        )


class ChatModel(OpenAIModel):
    """Chat completions."""

    path = "/chat/completions"

    def converses(self, question: ModelQuestion) -> bool:
        """Return whether a request has tools, as those of agents do."""
        if not question.path.endswith(self.path):
            return False
        names = {tool["function"]["name"] for tool in question.body.get("tools") or ()}
        return bool(names - SIDE_TOOLS)

    def say(self, turn: ModelTurn, number: str, request: Body) -> ScriptedReply:
        """Return a turn as this API sends it."""
        calls: list[Body] = []
        for index, (name, arguments) in enumerate(turn.tools):
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": index, "id": f"call_{number}_{index}", "type": "function"}
            calls.append({**call, "function": function})
        reason = "tool_calls" if calls else "stop"
        base: Body = {"id": f"chatcmpl-{number}", "created": 0, "model": "scripted"}
        if not request.get("stream"):
            message: Body = {"role": "assistant", "content": turn.text or None}
            if calls:
                message["tool_calls"] = calls
            choice = {"index": 0, "message": message, "finish_reason": reason}
            base["object"] = "chat.completion"
            return ScriptedReply.of({**base, "choices": [choice], "usage": USAGE})
        base["object"] = "chat.completion.chunk"
        deltas: list[Body] = [{"role": "assistant", "content": ""}]
        if turn.text:
            deltas.append({"content": turn.text})
        deltas += [{"tool_calls": [call]} for call in calls]
        choices: list[Body] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": reason})
        events = [{**base, "choices": [choice]} for choice in choices]
        events.append({**base, "choices": [], "usage": USAGE})
        return ScriptedReply(event_stream(events, named=False) + b"data: [DONE]\n\n", STREAM)

    @staticmethod
    def messages(request: Body) -> list[Body]:
        """Return the messages of a conversation."""
        messages = request.get("messages", ())
        return [message for message in messages if message["role"] not in INSTRUCTION_ROLES]

    @staticmethod
    def tool_results(request: Body) -> list[str]:
        """Return the results of the tools, in order."""
        results = [message for message in ChatModel.messages(request) if message["role"] == "tool"]
        return ["\n".join(strings(message.get("content"))) for message in results]


# -- responses

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
    finished = {**response, "status": "completed", "output": list(items), "usage": usage}
    yield {"type": "response.completed", "response": finished}
