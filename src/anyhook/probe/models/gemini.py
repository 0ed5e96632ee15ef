"""A scripted model behind the Gemini API, streamed or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from anyhook.probe.models.server import (
    Body,
    ModelQuestion,
    ModelTurn,
    ScriptedModel,
    ScriptedReply,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

ASIDE: Mapping[str, object] = {"next_speaker": "user", "reasoning": "", "model_choice": "flash"}
"""What the CLI asks aside has to fit a schema: who speaks next, which model is good enough."""


class GeminiModel(ScriptedModel):
    """`streamGenerateContent` for conversations, `generateContent` aside."""

    def converses(self, question: ModelQuestion) -> bool:
        """Return whether a request has tools, as those of agents do."""
        return ":streamGenerateContent" in question.path and bool(question.body.get("tools"))

    def say(self, turn: ModelTurn, number: str, request: Body) -> ScriptedReply:  # noqa: ARG002
        """Return a turn as this API sends it."""
        stream = f"data: {json.dumps(_response(turn, number))}\r\n\r\n"
        return ScriptedReply(stream.encode(), "text/event-stream")

    def small_talk(self, question: ModelQuestion) -> ScriptedReply:
        """Answer a request aside."""
        turn = ModelTurn(json.dumps(ASIDE))
        if ":streamGenerateContent" in question.path:
            return self.say(turn, "aside", question.body)
        if ":generateContent" in question.path:
            return ScriptedReply.of(_response(turn, "aside"))
        if ":countTokens" in question.path:
            return ScriptedReply.of({"totalTokens": 1})
        return ScriptedReply.of(_error(404, "NOT_FOUND", "not here"), 404)

    def refusal(self, message: str) -> ScriptedReply:
        """Return an error that is final."""
        return ScriptedReply.of(_error(400, "INVALID_ARGUMENT", message), 400)

    @staticmethod
    def messages(request: Body) -> list[Body]:
        """Return the messages of a conversation."""
        contents: list[Body] = request["contents"]
        return contents

    @staticmethod
    def tool_results(request: Body) -> list[str]:
        """Return the results of the tools, in order."""
        results: list[str] = []
        for content in request["contents"]:
            parts = [part for part in content["parts"] if "functionResponse" in part]
            results += ["\n".join(strings(part["functionResponse"]["response"])) for part in parts]
        return results


def _response(turn: ModelTurn, number: str) -> Body:
    parts: list[Body] = [{"text": turn.text}] if turn.text else []
    for index, (name, arguments) in enumerate(turn.tools):
        call = {"id": f"call_{number}_{index}", "name": name, "args": arguments}
        parts.append({"functionCall": call})
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }


def _error(code: int, status: str, message: str) -> Body:
    return {"error": {"code": code, "status": status, "message": message}}
