"""A scripted model behind OpenAI's chat completions, streamed or not."""

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
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIDE_TOOLS = frozenset({"respond_in_schema"})
"""The only tool of requests that Qwen Code 0.24.4 makes aside."""
INSTRUCTION_ROLES = frozenset({"system", "developer"})
STREAM = "text/event-stream"
MODELS = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}


class ChatModel(ScriptedModel):
    """Chat completions."""

    def converses(self, question: ModelQuestion) -> bool:
        """Return whether a request has tools, as those of agents do."""
        if not question.path.endswith("/chat/completions"):
            return False
        names = {tool["function"]["name"] for tool in question.body.get("tools") or ()}
        return bool(names - SIDE_TOOLS)

    def say(self, turn: ModelTurn, number: str, request: Body) -> ScriptedReply:
        """Return a turn as this API sends it."""
        if request.get("stream"):
            base = _base(number, "chat.completion.chunk")
            events = [{**base, "choices": choices} for choices in _chunks(turn, number)]
            events.append({**base, "choices": [], "usage": _USAGE})
            return ScriptedReply(event_stream(events, named=False) + b"data: [DONE]\n\n", STREAM)
        return _whole(turn, number)

    def small_talk(self, question: ModelQuestion) -> ScriptedReply:
        """Answer a request aside."""
        if question.path.endswith("/models"):
            return ScriptedReply.of(MODELS)
        if question.path.endswith("/chat/completions"):
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

    @staticmethod
    def opening(request: Body) -> list[str]:
        """Return the texts before the first response of the model."""
        texts: list[str] = []
        for message in _messages(request):
            if message["role"] == "assistant":
                break
            texts += strings(message.get("content"))
        return texts

    @staticmethod
    def heard(request: Body) -> list[str]:
        """Return all texts of a conversation."""
        return list(strings(_messages(request)))

    @staticmethod
    def tool_results(request: Body) -> list[str]:
        """Return the results of the tools, in order."""
        results = [message for message in _messages(request) if message["role"] == "tool"]
        return ["\n".join(strings(message.get("content"))) for message in results]


_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _messages(request: Body) -> list[Body]:
    """Return the messages of a conversation without the instructions of the agent."""
    messages = request.get("messages", ())
    return [message for message in messages if message["role"] not in INSTRUCTION_ROLES]


def _calls(turn: ModelTurn, number: str) -> list[Body]:
    calls: list[Body] = []
    for index, (name, arguments) in enumerate(turn.tools):
        function = {"name": name, "arguments": json.dumps(arguments)}
        identifier = f"call_{number}_{index}"
        calls.append({"index": index, "id": identifier, "type": "function", "function": function})
    return calls


def _finish_reason(calls: Sequence[Body]) -> str:
    return "tool_calls" if calls else "stop"


def _whole(turn: ModelTurn, number: str) -> ScriptedReply:
    """Return a turn as one completion."""
    calls = _calls(turn, number)
    message: Body = {"role": "assistant", "content": turn.text or None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _finish_reason(calls)}
    base = _base(number, "chat.completion")
    return ScriptedReply.of({**base, "choices": [choice], "usage": _USAGE})


def _chunks(turn: ModelTurn, number: str) -> Iterator[list[Body]]:
    """Yield the `choices` of each chunk."""
    calls = _calls(turn, number)
    yield _choices({"role": "assistant", "content": ""})
    if turn.text:
        yield _choices({"content": turn.text})
    for call in calls:
        yield _choices({"tool_calls": [call]})
    yield _choices({}, _finish_reason(calls))


def _choices(delta: Body, reason: str | None = None) -> list[Body]:
    return [{"index": 0, "delta": delta, "finish_reason": reason}]


def _base(number: str, kind: str) -> Body:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": "scripted"}
