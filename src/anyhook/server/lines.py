"""Answers events that arrive as lines of standard input: hooks behind a plugin of an agent.

A plugin starts one process for each session of the agent and keeps its pipes. So an event costs no
start of a process, and hooks of hook files run on their workers.

A line is `{"id": …, "event": {…}}` with the payload of the agent. Its answers are
`{"id": …, "seconds": N}` as soon as hooks run, the time in which the reply follows, and
`{"id": …, "reply": {…}}` or `{"id": …, "error": "…"}`. `{"message": "…"}` is for the user. A line
that is a payload itself gets the reply alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio
import anyio.to_thread

from anyhook.errors import AnyhookError, EventError
from anyhook.model.json import dump_json, parse_event, repair

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from anyhook.engine.engine import Engine

IDLE_TIMEOUT = 900.0
"""Seconds without events after which the process ends; a plugin starts another one."""
REPLY_MARGIN = 10.0
"""Seconds that a client waits longer than the hooks may run."""


class LineServer:
    """Answers lines with the decisions of an engine. Events are answered at the same time."""

    def __init__(self, engine: Engine, descriptor: int) -> None:
        self._engine = engine
        self._descriptor = descriptor
        self._running = 0

    async def serve(self, lines: BinaryIO, idle_timeout: float = IDLE_TIMEOUT) -> None:
        """Answer lines until there are no more, or none has arrived for some seconds."""
        async with anyio.create_task_group() as tasks:
            while True:
                line = b""
                with anyio.move_on_after(idle_timeout) as waiting:
                    line = await anyio.to_thread.run_sync(lines.readline, abandon_on_cancel=True)
                if waiting.cancelled_caught:
                    if self._running:
                        continue
                    return
                if not line:
                    return
                if line.strip():
                    tasks.start_soon(self._answer_line, line)

    def send_message(self, text: str) -> None:
        """Send a message for the user."""
        self._write({"message": text})

    async def _answer_line(self, line: bytes) -> None:
        self._running += 1
        request = LineRequest()
        try:
            request = LineRequest.read(line)
            self._write(request.wrap("reply", await self._decide(request)))
        except AnyhookError as error:
            self._write({**request.identity, "error": str(error)})
        except Exception as error:  # noqa: BLE001 - the last boundary; its text may hold the event
            problem = f"this is a bug of anyhook: {type(error).__name__}"
            self._write({**request.identity, "error": problem})
        finally:
            self._running -= 1

    async def _decide(self, request: LineRequest) -> dict[str, Any]:
        engine = self._engine
        event, problems = engine.decode(request.payload)
        if event.name not in engine.agent.by_canonical:
            raise EventError(problems[0].message)
        engine.messages.report(problems)
        if not engine.listens(event.name):
            return {}
        plan = engine.plan(event)
        if plan.groups and request.has_envelope:
            # Groups run in parallel, the handlers of each in sequence.
            seconds = max(sum(handler.timeout for handler in group) for group in plan.groups)
            self._write({**request.identity, "seconds": seconds + REPLY_MARGIN})
        decision = await engine.dispatch(event)
        return engine.reply(event, decision)

    def _write(self, answer: Mapping[str, Any]) -> None:
        try:
            line = dump_json(dict(answer))
        except (TypeError, ValueError, RecursionError):
            line = dump_json(repair(dict(answer)))
        view = memoryview(line + b"\n")
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:  # the client has gone; standard input ends next
            return


class LineRequest:
    """A line that was read."""

    def __init__(self) -> None:
        self.identity: dict[str, Any] = {}
        """The member that answers repeat; empty for a bare payload."""
        self.payload: dict[str, Any] = {}
        self.has_envelope = False
        """Whether the payload was in an envelope with an identity."""

    @classmethod
    def read(cls, line: bytes) -> Self:
        """Read a line.

        Raises:
            EventError: If it holds no event.
        """
        request = cls()
        try:
            value, _ = parse_event(line.decode("utf-8", "replace"))
        except ValueError as error:
            raise EventError(f"the line is not JSON ({error}); send one event a line") from None
        if not isinstance(value, dict):
            raise EventError("the line is not a JSON object; send one event, {…}")
        request.payload = value
        payload = value.get("event")
        if "id" in value and isinstance(payload, dict):
            request.identity = {"id": value["id"]}
            request.payload = payload
            request.has_envelope = True
        return request

    def wrap(self, member: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Return an answer with the identity; for a bare payload the answer alone."""
        return {**self.identity, member: answer} if self.has_envelope else answer
