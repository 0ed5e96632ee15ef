"""Models that say what a test wrote down: two HTTP servers, and what agents asked them."""

from __future__ import annotations

import json
import re
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Body = dict[str, Any]

END_OF_SCRIPT = "The script of this test has no further turn."


@dataclass(frozen=True)
class Turn:
    """What the model says once: a text, then calls of tools by the agent's own names."""

    text: str = ""
    tools: Sequence[tuple[str, Mapping[str, object]]] = ()


@dataclass(frozen=True)
class Reply:
    """An HTTP response."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200

    @classmethod
    def of(cls, value: object, status: int = 200) -> Reply:
        """A response in JSON."""
        return cls(json.dumps(value).encode(), status=status)


@dataclass(frozen=True)
class Question:
    """A request: what was asked for, of which server, with what body."""

    path: str
    body: Body = field(default_factory=dict)


class ScriptedModel(ABC):
    """A server which answers the requests of one conversation with turns, one each.

    Requests that belong to no conversation (titles, token counts) get a harmless answer and use up
    no turn. A request after the last turn is an error to the agent, which it does not repeat.

    Args:
        listener: A listening socket; it may live in another network namespace. Taken over.
        turns: What to say.
    """

    def __init__(self, listener: socket.socket, turns: Sequence[Turn]) -> None:
        self.requests: list[Body] = []
        self.aside: list[Question] = []
        self._turns = iter(turns)
        self._lock = threading.Lock()
        self._server = _Server(listener, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, question: Question) -> Reply:
        """Answer a request with the next turn, or aside."""
        with self._lock:
            if not self.converses(question):
                self.aside.append(question)
                return self.small_talk(question)
            self.requests.append(question.body)
            turn = next(self._turns, None)
            if turn is None:
                return self.refusal(END_OF_SCRIPT)
            return self.say(turn, f"{len(self.requests):04}")

    @abstractmethod
    def converses(self, question: Question) -> bool:
        """Whether a request is the agent's own, with its tools."""

    @abstractmethod
    def say(self, turn: Turn, number: str) -> Reply:
        """Write a turn as the server of this model streams it."""

    @abstractmethod
    def small_talk(self, question: Question) -> Reply:
        """Answer a request that is not part of the conversation."""

    @abstractmethod
    def refusal(self, message: str) -> Reply:
        """Write an error which agents take as final."""

    @staticmethod
    @abstractmethod
    def heard(request: Body) -> list[str]:
        """List the texts of the conversation, in order: no instructions, no tool schemas."""

    @staticmethod
    @abstractmethod
    def tool_results(request: Body) -> list[str]:
        """List what the tools are said to have returned, in order."""


class AnthropicModel(ScriptedModel):
    """The Messages API, streamed or not."""

    def converses(self, question: Question) -> bool:
        return question.path.endswith("/v1/messages") and bool(question.body.get("tools"))

    def say(self, turn: Turn, number: str) -> Reply:
        events = _anthropic_events(_anthropic_blocks(turn, number), number)
        stream = "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        return Reply(stream.encode(), "text/event-stream; charset=utf-8")

    def small_talk(self, question: Question) -> Reply:
        if question.path.endswith("/count_tokens"):
            return Reply.of({"input_tokens": 1})
        if not question.path.endswith("/v1/messages"):
            return Reply.of(_anthropic_error("not_found_error", "not here"), 404)
        if question.body.get("stream"):
            return self.say(Turn("ok"), "aside")
        blocks = _anthropic_blocks(Turn("ok"), "aside")
        message = _anthropic_message("aside", content=blocks, stop_reason="end_turn")
        return Reply.of(message)

    def refusal(self, message: str) -> Reply:
        # A refusal of the caller. After a 400, Claude Code 2.1.330 sends the request again without
        # some of its optional parts: six requests in which the script has no part.
        return Reply.of(_anthropic_error("permission_error", message), 403)

    @staticmethod
    def heard(request: Body) -> list[str]:
        return list(_strings(request["messages"]))

    @staticmethod
    def tool_results(request: Body) -> list[str]:
        blocks = (
            block
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        )
        return ["\n".join(_texts(b["content"])) for b in blocks if b["type"] == "tool_result"]


class GeminiModel(ScriptedModel):
    """The Gemini API: `streamGenerateContent` for the conversation, `generateContent` aside."""

    # What the CLI asks aside has to fit a schema: who speaks next, which model is good enough.
    ASIDE: Mapping[str, object] = {"next_speaker": "user", "reasoning": "", "model_choice": "flash"}

    def converses(self, question: Question) -> bool:
        return ":streamGenerateContent" in question.path and bool(question.body.get("tools"))

    def say(self, turn: Turn, number: str) -> Reply:
        stream = f"data: {json.dumps(_gemini_response(turn, number))}\r\n\r\n"
        return Reply(stream.encode(), "text/event-stream")

    def small_talk(self, question: Question) -> Reply:
        turn = Turn(json.dumps(self.ASIDE))
        if ":streamGenerateContent" in question.path:
            return self.say(turn, "aside")
        if ":generateContent" in question.path:
            return Reply.of(_gemini_response(turn, "aside"))
        if ":countTokens" in question.path:
            return Reply.of({"totalTokens": 1})
        return Reply.of(_gemini_error(404, "NOT_FOUND", "not here"), 404)

    def refusal(self, message: str) -> Reply:
        return Reply.of(_gemini_error(400, "INVALID_ARGUMENT", message), 400)

    @staticmethod
    def heard(request: Body) -> list[str]:
        return list(_strings(request["contents"]))

    @staticmethod
    def tool_results(request: Body) -> list[str]:
        parts = (part for content in request["contents"] for part in content["parts"])
        responses = (part["functionResponse"] for part in parts if "functionResponse" in part)
        return ["\n".join(_strings(response["response"])) for response in responses]


def _anthropic_blocks(turn: Turn, number: str) -> list[Body]:
    blocks: list[Body] = [{"type": "text", "text": turn.text}] if turn.text else []
    for index, (name, arguments) in enumerate(turn.tools):
        identity = f"toolu_{number}_{index}"
        blocks.append({"type": "tool_use", "id": identity, "name": name, "input": arguments})
    return blocks


def _anthropic_message(number: str, **more: object) -> Body:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        **more,
    }


def _anthropic_events(blocks: Sequence[Body], number: str) -> Iterator[Body]:
    start = _anthropic_message(number, content=[], stop_reason=None)
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
    calls = any(block["type"] == "tool_use" for block in blocks)
    delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": start["usage"]}
    yield {"type": "message_stop"}


def _anthropic_error(kind: str, message: str) -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _gemini_response(turn: Turn, number: str) -> Body:
    parts: list[Body] = [{"text": turn.text}] if turn.text else []
    for index, (name, arguments) in enumerate(turn.tools):
        call = {"id": f"call_{number}_{index}", "name": name, "args": arguments}
        parts.append({"functionCall": call})
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }


def _gemini_error(code: int, status: str, message: str) -> Body:
    return {"error": {"code": code, "status": status, "message": message}}


def _strings(value: object) -> Iterator[str]:
    """Walk through a JSON value and yield every string in it, but no name of a member."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _strings(member)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _texts(content: str | list[Body]) -> list[str]:
    """List the texts of a message's content, which may be a text itself."""
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # an agent which keeps a connection open does not keep us

    def __init__(self, listener: socket.socket, model: ScriptedModel) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length) or b"{}"
        self._reply(self.server.model.answer(Question(self._path(), json.loads(text))))

    def do_GET(self) -> None:
        self._reply(self.server.model.answer(Question(self._path())))

    do_HEAD = do_GET  # noqa: N815

    def _path(self) -> str:
        return re.sub(r"\?.*", "", self.path)

    def _reply(self, reply: Reply) -> None:
        try:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)
        except ConnectionError:
            self.close_connection = True  # the agent was killed, or gave up

    def log_message(self, *_: object) -> None:
        """Say nothing: the tests look at what was recorded."""
