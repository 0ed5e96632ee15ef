"""An HTTP endpoint that answers events: `http` hooks of Claude Code, and of an engine.

Whoever can post an event can run hooks, so a request has to be one that no page in a browser can
make: pages cannot leave `Origin` out, and cannot name a host of this machine in `Host` after they
have pointed a name of their own at it. Claude Code, hooks reference, "HTTP hook fields": a status
other than 2xx decides nothing, so a denial is an answer like any other.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import signal
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from anyhook import __version__
from anyhook.errors import AnyhookError, EngineClosedError, EventError
from anyhook.handlers.context import SERVERS
from anyhook.handlers.network import LOCALHOST, PORTS, THROUGH, is_loopback, plain_host
from anyhook.model.json import parse_event

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import AsyncIterator, Callable, Collection, Iterator

    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Receive, Scope, Send

    from anyhook.server.responder import Responder

LIMIT = 16 * 1024 * 1024
"""Bytes of a payload that are read."""
DIGITS = 20
"""Of a declared length, those that are read: what has more is too large whatever they are."""
GRACE = 5.0
"""Seconds that hooks which run may take to answer when the server ends."""
JSON = "application/json"
STATUS: dict[type[AnyhookError], int] = {EventError: 422, EngineClosedError: 503}
"""What is wrong with an event to the status that tells it."""
DETAILS = {405: "post an event as JSON to any path; GET /health tells whether this runs"}
"""Status to what to do, where the library does not say it."""


def make_app(
    responder: Responder, *, token: str | None = None, hosts: Collection[str] | None = ()
) -> Starlette:
    """Make an ASGI application that answers every POST with what the hooks decide.

    Args:
        responder: Decides; closed when the application ends.
        token: What requests have to bring as `Authorization: Bearer TOKEN`; `None` for nothing.
        hosts: What requests may name as their host, beside this machine's loopback names, without
            a port; `None` for anything.

    Returns:
        The application. `GET /health` tells whether it runs, and with the token, what.
    """

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        responder.close()

    async def health(request: Request) -> Response:
        if not _brings(token, request.headers):
            return JSONResponse({"ok": True})
        return JSONResponse({"ok": True, "anyhook": __version__, "hooks": responder.hooks})

    name = secrets.token_hex(8)

    async def fire(request: Request) -> Response:
        _check(token, request.headers)
        servers = _servers(request.headers)
        if name in servers or len(servers) >= MOST_SERVERS:
            raise HTTPException(508, "a hook of this server leads to it; ask another URL")
        payload = _parsed(await _body(request))
        previous = SERVERS.set((*servers, name))
        try:
            return await _while_connected(request, responder, payload)
        finally:
            SERVERS.reset(previous)

    return Starlette(
        routes=[
            Route("/health", health, methods=["GET"]),
            Route("/{path:path}", fire, methods=["POST"]),
        ],
        middleware=[Middleware(_Gate, hosts=hosts)],
        exception_handlers={HTTPException: _refused},
        lifespan=life,
    )


def connection_budget(wanted: int) -> int:
    """Return how many connections may be open, as the limit of open files allows.

    Args:
        wanted: The number to stay below.
    """
    if os.name != "posix":
        return wanted
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, soft // 4))  # hooks and their processes need the others


@dataclass(frozen=True, slots=True)
class Limits:
    """What clients may take of a server, with or without a token.

    Attributes:
        connections: Connections that are open at the same time.
        request_seconds: Seconds in which a whole request has to arrive; hooks may take longer.
    """

    connections: int = 256
    request_seconds: float = 30.0


def run(
    app: ASGIApp,
    listening: socket.socket,
    on_ready: Callable[[], None],
    limits: Limits | None = None,
) -> None:
    """Serve an application until the process is told to end.

    Args:
        app: The application.
        listening: Where to.
        on_ready: Called when requests are answered.
        limits: What clients may take.

    Raises:
        KeyboardInterrupt: When SIGINT has ended it.
    """
    config = _Config(
        limits or Limits(),
        app,
        loop="asyncio",
        http=_Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",  # what it logs could hold what a client sent
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(GRACE),
    )
    server = _Server(config, on_ready)
    with _hung_up(server):
        server.run(sockets=[listening])


@contextmanager
def _hung_up(server: uvicorn.Server) -> Iterator[None]:
    """Let the end of a terminal end it as SIGTERM does, which uvicorn sees to itself."""
    number = getattr(signal, "SIGHUP", None)
    if number is None:
        yield
        return
    before = signal.signal(number, server.handle_exit)
    try:
        yield
    finally:
        signal.signal(number, before)


class _Config(uvicorn.Config):
    """Settings of a server, and the connections whose request has not arrived, oldest first."""

    def __init__(self, limits: Limits, app: ASGIApp, **options: Any) -> None:
        self.connections = connection_budget(limits.connections)
        # so many are accepted before the first of them is looked at
        super().__init__(app, backlog=self.connections, **options)
        self.request_seconds = limits.request_seconds
        self.waiting: dict[_Connection, None] = {}


class _Connection(H11Protocol):
    """A connection that is closed if no whole request arrives in time, or others need its place.

    uvicorn has no such limits: `limit_concurrency` refuses requests and keeps the connections.
    """

    config: _Config

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > self.config.connections:
            oldest = next(iter(self.config.waiting))
            oldest.drop()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_request_due():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._stop_waiting()
        super().on_response_complete()
        if self._is_request_due() and not self.transport.is_closing():
            self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def drop(self) -> None:
        """Close the connection, whatever was sent over it."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _is_request_due(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _wait_for_request(self) -> None:
        self._timer = self.loop.call_later(self.config.request_seconds, self.drop)
        self.config.waiting[self] = None

    def _stop_waiting(self) -> None:
        self.config.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_ready()


# -- who may come in

_SERVER = re.compile("[0-9a-f]{16}")
MOST_SERVERS = 8
"""Servers that an event may come through."""
_HOST = re.compile(
    r"(?:(?P<name>[a-z0-9_.-]+)|\[(?P<ipv6>[0-9a-f:.]*:[0-9a-f:.]*)\])(?::(?P<port>[1-9]\d{0,4}))?",
    re.ASCII | re.IGNORECASE,
)
"""A `Host` header. Parsers of URLs take more, such as a user in front of it, or drop tabs."""


class _Gate:
    """Refuses what a page in a browser could have sent, before anything of it is looked at."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self._app
        if scope["type"] == "http":
            request = Request(scope)
            if not self._is_ours(request):
                answer = _error(403, "the Host header must name this server, as its URL does")
            elif "origin" in request.headers:
                answer = _error(403, "pages in a browser may not fire hooks; send no Origin header")
        await answer(scope, receive, send)

    def _is_ours(self, request: Request) -> bool:
        if self._hosts is None:
            return True
        named = [_HOST.fullmatch(value) for value in request.headers.getlist("host")]
        if len(named) != 1 or named[0] is None:
            return False
        host = plain_host(named[0]["name"] or named[0]["ipv6"])
        port = int(named[0]["port"] or PORTS.get(request.scope.get("scheme", ""), 0))
        server = request.scope.get("server")
        if server is not None and server[1] is not None and port != server[1]:
            return False
        return host == LOCALHOST or is_loopback(host) or host in self._hosts


def _brings(token: str | None, headers: Headers) -> bool:
    if token is None:
        return True
    scheme, _, given = headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(given.strip().encode(), token.encode())
    return is_right and scheme.lower() == "bearer"


def _check(token: str | None, headers: Headers) -> None:
    if not _brings(token, headers):
        raise HTTPException(
            401,
            "the token is missing or wrong: send Authorization: Bearer TOKEN",
            {"WWW-Authenticate": "Bearer"},
        )
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise HTTPException(415, f"an event is JSON: send Content-Type: {JSON}")


def _servers(headers: Headers) -> tuple[str, ...]:
    """Return the names of the servers that an event came through."""
    return tuple(_SERVER.findall(headers.get(THROUGH, "")))


# -- one event


async def _body(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    chunks, size = [], int(declared[:DIGITS]) if declared.isdecimal() else 0
    if size <= LIMIT:
        size = 0
        async for chunk in request.stream():
            chunks.append(chunk)
            size += len(chunk)
            if size > LIMIT:
                break
    if size > LIMIT:
        raise HTTPException(413, f"the event is larger than {LIMIT:,} bytes; send less of it")
    return b"".join(chunks)


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        payload, _ = parse_event(body.decode("utf-8-sig", "replace"))
    except ValueError as error:
        raise HTTPException(400, f"the body is no JSON ({error}); send one event") from None
    if not isinstance(payload, dict):
        raise HTTPException(400, "the body is no JSON object; send one event, {…}")
    return payload


async def _while_connected(
    request: Request, responder: Responder, payload: dict[str, Any]
) -> Response:
    """Answer an event, unless whoever asked goes away: then nobody needs its hooks to run on."""
    answer: Response = Response(status_code=400)  # nobody reads it
    async with anyio.create_task_group() as tasks:

        async def wait_for_end() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(wait_for_end)
        answer = await _answer(responder, payload)
        tasks.cancel_scope.cancel()
    return answer


async def _answer(responder: Responder, payload: dict[str, Any]) -> Response:
    try:
        return Response(await responder.reply(payload), media_type=JSON)
    except AnyhookError as error:
        return _error(STATUS.get(type(error), 500), str(error))
    except Exception as error:  # noqa: BLE001 - the last boundary; its text may hold the event
        return _error(500, f"this is a bug of anyhook: {type(error).__name__}")


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):  # pragma: no cover - it is registered for no other
        raise error
    return _error(
        error.status_code, DETAILS.get(error.status_code, error.detail), dict(error.headers or {})
    )


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)
