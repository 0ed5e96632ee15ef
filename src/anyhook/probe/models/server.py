"""A model that follows a script: an HTTP server on the loopback interface.

The subclasses know the APIs. What is common is here: the script, the record of all requests, and
which request belongs to which conversation.
"""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import socket

Body = dict[str, Any]

END_OF_SCRIPT = "The script of the model has no further turn."
QUIET = 5.0
"""Seconds without a request of a subagent after which it is taken for ended."""
AFTERMATH = 1.0
"""Seconds that a subagent in the background gets after its last turn, for its hooks."""
MODEL_ROLES = frozenset({"assistant", "model"})
POLL_INTERVAL = 0.01
"""Seconds in which the server notices that it is to end."""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One response of the model: a text, then calls of tools by the agent's own names."""

    text: str = ""
    tools: Sequence[tuple[str, Mapping[str, object] | str]] = ()
    """Names of tools with their arguments; a text for a tool without a schema."""


@dataclass(frozen=True, slots=True)
class ModelScript:
    """The responses of a model to one run of an agent."""

    turns: Sequence[ModelTurn]
    subagent_turns: Sequence[ModelTurn] = ()
    subagent_mark: str = ""
    """A text in the prompt of the subagent, by which its requests are recognized."""
    end: ModelTurn | None = None
    """The response to every request after the last turn; `None` to refuse such requests."""


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """An HTTP response."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200

    @classmethod
    def of(cls, value: object, status: int = 200) -> ScriptedReply:
        """Return a response in JSON."""
        return cls(json.dumps(value).encode(), status=status)


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A request: its path, without the query, and its body."""

    path: str
    body: Body = field(default_factory=dict)


class ScriptedModel(ABC):
    """A server that answers the requests of an agent with the turns of a script.

    Requests that belong to no conversation (titles, token counts, lists of models) get a harmless
    answer and use up no turn.

    Args:
        listener: A listening socket; it may live in another network namespace. It is taken over.
        script: The responses.

    Attributes:
        requests: The bodies of the agent's requests, in order.
        subagent_requests: The same for a subagent.
        times: When each of the agent's requests came, in seconds since the epoch.
        subagent_times: The same for a subagent.
        aside: The requests that belong to no conversation.
    """

    def __init__(self, listener: socket.socket, script: ModelScript) -> None:
        self.requests: list[Body] = []
        self.subagent_requests: list[Body] = []
        self.times: list[float] = []
        self.subagent_times: list[float] = []
        self.aside: list[ModelQuestion] = []
        self._script = script
        self._lock = threading.Condition()
        self._server = _Server(listener, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_INTERVAL,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, question: ModelQuestion) -> ScriptedReply:
        """Answer a request with the next turn of its conversation, or aside."""
        asked_at = time.time()
        with self._lock:
            if not self.converses(question):
                self.aside.append(question)
                return self.small_talk(question)
            requests, times, turns = self.requests, self.times, self._script.turns
            mark = self._script.subagent_mark
            in_subagent = bool(mark) and any(mark in text for text in self.opening(question.body))
            if in_subagent:
                requests, times = self.subagent_requests, self.subagent_times
                turns = self._script.subagent_turns
            elif requests:
                self._wait_for_subagent()
            turn = turns[len(requests)] if len(requests) < len(turns) else self._script.end
            requests.append(question.body)
            times.append(asked_at)
            self._lock.notify_all()
            if turn is None:
                return self.refusal(END_OF_SCRIPT)
            number = turn_number(len(requests), in_subagent=in_subagent)
            return self.say(turn, number, question.body)

    def _wait_for_subagent(self) -> None:
        """Wait for a subagent that works in the background: it would be ended with the agent."""
        total = len(self._script.subagent_turns)
        if len(self.subagent_requests) >= total:
            return
        while len(self.subagent_requests) < total:
            if not self._lock.wait(QUIET):
                return
        self._lock.release()
        try:
            time.sleep(AFTERMATH)
        finally:
            self._lock.acquire()

    @abstractmethod
    def converses(self, question: ModelQuestion) -> bool:
        """Return whether a request is part of a conversation, with the agent's tools."""

    @abstractmethod
    def say(self, turn: ModelTurn, number: str, request: Body) -> ScriptedReply:
        """Return a turn, with a number that no other turn has, as this API sends it."""

    @abstractmethod
    def small_talk(self, question: ModelQuestion) -> ScriptedReply:
        """Answer a request that is not part of a conversation."""

    @abstractmethod
    def refusal(self, message: str) -> ScriptedReply:
        """Return an error that the agent does not answer with another attempt."""

    @staticmethod
    @abstractmethod
    def messages(request: Body) -> list[Body]:
        """Return the messages of a conversation: no instructions, no schemas of tools."""

    @classmethod
    def opening(cls, request: Body) -> list[str]:
        """Return the texts of a conversation before the first response of the model."""
        texts: list[str] = []
        for message in cls.messages(request):
            is_message = message.get("type", "message") == "message"
            if not is_message or message.get("role") in MODEL_ROLES:
                break
            texts += strings(message.get("content", message.get("parts")))
        return texts

    @classmethod
    def heard(cls, request: Body) -> list[str]:
        """Return the texts of a conversation, in order."""
        return list(strings(cls.messages(request)))

    @staticmethod
    @abstractmethod
    def tool_results(request: Body) -> list[str]:
        """Return the results of the tools in a request, in order."""


def turn_number(number: int, *, in_subagent: bool) -> str:
    """Return a text that no other turn of a run has; the first turn of a conversation is 1."""
    conversation = "sub" if in_subagent else "main"
    return f"{conversation}_{number:04}"


def strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON value except the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from strings(member)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def event_stream(events: Sequence[Body], *, named: bool) -> bytes:
    """Return server-sent events, with the member `type` of an event as its name if `named`."""
    lines: list[str] = []
    for event in events:
        if named:
            lines.append(f"event: {event['type']}\n")
        lines.append(f"data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # an agent that keeps a connection open does not keep this process

    def __init__(self, listener: socket.socket, model: ScriptedModel) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            text = b""
            while size := int(self.rfile.readline().partition(b";")[0].strip() or b"0", 16):
                text += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body: object = None
        with suppress(ValueError):
            body = json.loads(text)
        if not isinstance(body, dict):
            body = {}
        self._reply(body)

    def do_GET(self) -> None:
        self._reply({})

    do_HEAD = do_GET  # noqa: N815

    def _reply(self, body: Body) -> None:
        question = ModelQuestion(self.path.partition("?")[0], body)
        reply = self.server.model.answer(question)
        try:
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.body)
        except ConnectionError:  # the agent was killed, or gave up
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Print nothing: requests are recorded."""
