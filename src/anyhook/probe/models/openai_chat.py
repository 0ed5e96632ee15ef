"""A scripted model behind OpenAI's chat completions, streamed or not."""

from __future__ import annotations

import json
from typing import ClassVar

from anyhook.probe.models.server import (
    Body,
    ModelQuestion,
    ModelTurn,
    ScriptedModel,
    ScriptedReply,
    event_stream,
    strings,
)

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
