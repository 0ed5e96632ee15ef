"""An HTTP endpoint that answers events: `http` hooks of Claude Code, and of an engine.

To post an event is to run hooks, so requests that a page in a browser could make are refused: a
page cannot omit `Origin`, and cannot name a host of this machine in `Host` after it has pointed a
name of its own at it. Claude Code, hooks reference, "HTTP hook fields": a status other than 2xx
decides nothing, so a denial is sent with 200.
"""

from __future__ import annotations

import hmac
import re
import secrets
import signal
from contextlib import asynccontextmanager
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
from anyhook.handlers.network import (
    LOCALHOST,
    PORTS,
    SERVERS_HEADER,
    is_loopback,
    normalize_host,
)
from anyhook.model.json import parse_event
from anyhook.processes.result import descriptor_budget
from anyhook.server.address import BACKLOG

if TYPE_CHECKING:
    import asyncio
    import socket
    from collections.abc import AsyncIterator, Callable, Collection

    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Receive, Scope, Send

    from anyhook.server.responder import Responder

MAX_PAYLOAD_SIZE = 16 * 1024 * 1024
"""Bytes of a payload that are read."""
DIGITS = 20
"""Digits of a declared length that are parsed: a longer number is too large in any case."""
GRACE = 5.0
"""Seconds that running hooks may take to answer when the server ends."""
MAX_CONNECTIONS = 256
"""Connections that are open at the same time, with or without a token."""
REQUEST_SECONDS = 30.0
"""Seconds in which a whole request has to arrive; hooks may take longer."""
JSON = "application/json"
STATUS: dict[type[AnyhookError], int] = {EventError: 422, EngineClosedError: 503}
"""Error to status code."""
DETAILS = {405: "post an event as JSON to any path; GET /health returns whether this runs"}
"""Status code to a remedy, where the library gives none."""


def make_app(
    responder: Responder, *, token: str | None = None, hosts: Collection[str] | None = ()
) -> Starlette:
    """Make an ASGI application that answers every POST with the decision of the hooks.

    `GET /health` returns whether it runs, and with the token, more about it.

    Args:
        responder: Decides; closed when the application ends.
        token: Requests must have the header `Authorization: Bearer TOKEN`; `None` for no token.
        hosts: Values of `Host` that are accepted besides this machine's loopback names, without a
            port; `None` for any.
    """
    server_name = secrets.token_hex(8)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        responder.close()

    async def health(request: Request) -> Response:
        if not _has_token(token, request.headers):
            return JSONResponse({"ok": True})
        return JSONResponse({"ok": True, "anyhook": __version__, "hooks": responder.hooks})

    async def fire(request: Request) -> Response:
        if not _has_token(token, request.headers):
            raise HTTPException(
                401,
                "the token is missing or wrong: send Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )
        content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != JSON:
            raise HTTPException(415, f"an event is JSON: send Content-Type: {JSON}")
        servers = tuple(_SERVER.findall(request.headers.get(SERVERS_HEADER, "")))
        if server_name in servers or len(servers) >= MAX_SERVERS:
            raise HTTPException(508, "a hook of this server leads to it; ask another URL")
        payload = await _read_payload(request)
        previous = SERVERS.set((*servers, server_name))
        try:
            return await _answer_while_connected(request, responder, payload)
        finally:
            SERVERS.reset(previous)

    return Starlette(
        routes=[
            Route("/health", health, methods=["GET"]),
            Route("/{path:path}", fire, methods=["POST"]),
        ],
        middleware=[Middleware(_Gate, hosts=hosts)],
        exception_handlers={HTTPException: _handle_http_error},
        lifespan=lifespan,
    )


def run(app: ASGIApp, listening: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve an application until SIGINT, SIGTERM or SIGHUP, and report when it is ready.

    Raises:
        KeyboardInterrupt: When SIGINT has ended it.
    """
    config = _Config(
        app,
        loop="asyncio",
        http=_Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",  # other messages could hold data of a client
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=int(GRACE),
    )
    server = _Server(config, on_ready)
    # uvicorn ends at SIGTERM; SIGHUP is the end of the terminal.
    hangup = getattr(signal, "SIGHUP", None)
    before = signal.signal(hangup, server.handle_exit) if hangup is not None else None
    try:
        server.run(sockets=[listening])
    finally:
        if hangup is not None:
            signal.signal(hangup, before)


class _Config(uvicorn.Config):
    """Settings of a server, and its connections without a whole request, oldest first."""

    def __init__(self, app: ASGIApp, **options: Any) -> None:
        # Hooks and their processes need the other three.
        self.connections = descriptor_budget(MAX_CONNECTIONS, each=4, spare=0)
        # asyncio accepts so many connections in each pass of its loop, and needs about four passes
        # until it has closed one that is too many: all of them together must have descriptors.
        super().__init__(app, backlog=max(1, self.connections // 4), **options)
        self.waiting: dict[_Connection, None] = {}


class _Connection(H11Protocol):
    """A connection that is closed if no whole request arrives in time, or if there are too many.

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
        """Close the connection at once."""
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()

    def _is_request_due(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _wait_for_request(self) -> None:
        self._timer = self.loop.call_later(REQUEST_SECONDS, self.drop)
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
        for listening in sockets or ():
            listening.listen(BACKLOG)  # asyncio has made the queue as short as one of its passes
        if self.started:
            self._on_ready()


# -- which requests are accepted

_SERVER = re.compile("[0-9a-f]{16}")
MAX_SERVERS = 8
"""Servers that an event may come through."""
_HOST = re.compile(
    r"(?:(?P<name>[a-z0-9_.-]+)|\[(?P<ipv6>[0-9a-f:.]*:[0-9a-f:.]*)\])(?::(?P<port>[1-9]\d{0,4}))?",
    re.ASCII | re.IGNORECASE,
)
"""A `Host` header. URL parsers accept more, such as a user name before it, or drop tabs."""


class _Gate:
    """Refuses requests that a page in a browser could have sent, before they are read."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self._app
        if scope["type"] == "http":
            request = Request(scope)
            if not self._names_this_server(request):
                answer = _error(403, "the Host header must name this server, as its URL does")
            elif "origin" in request.headers:
                answer = _error(403, "pages in a browser may not fire hooks; send no Origin header")
        await answer(scope, receive, send)

    def _names_this_server(self, request: Request) -> bool:
        if self._hosts is None:
            return True
        values = request.headers.getlist("host")
        match = _HOST.fullmatch(values[0]) if len(values) == 1 else None
        if match is None:
            return False
        host = normalize_host(match["name"] or match["ipv6"])
        port = int(match["port"] or PORTS.get(request.scope.get("scheme", ""), 0))
        server = request.scope.get("server")
        if server is not None and server[1] is not None and port != server[1]:
            return False
        return host == LOCALHOST or is_loopback(host) or host in self._hosts


def _has_token(token: str | None, headers: Headers) -> bool:
    if token is None:
        return True
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(credentials.strip().encode(), token.encode())
    return is_right and scheme.lower() == "bearer"


# -- one event


async def _read_payload(request: Request) -> dict[str, Any]:
    too_large = HTTPException(
        413, f"the event is larger than {MAX_PAYLOAD_SIZE:,} bytes; send less of it"
    )
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:DIGITS]) > MAX_PAYLOAD_SIZE:
        raise too_large
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_PAYLOAD_SIZE:
            raise too_large
    try:
        payload, _ = parse_event(body.decode("utf-8-sig", "replace"))
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON ({error}); send one event") from None
    if not isinstance(payload, dict):
        raise HTTPException(400, "the body is not a JSON object; send one event, {…}")
    return payload


async def _answer_while_connected(
    request: Request, responder: Responder, payload: dict[str, Any]
) -> Response:
    """Answer an event; its hooks are cancelled when the client disconnects."""
    answer = Response(status_code=400)  # for a client that has disconnected
    async with anyio.create_task_group() as tasks:

        async def cancel_at_disconnect() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(cancel_at_disconnect)
        try:
            answer = Response(await responder.reply(payload), media_type=JSON)
        except AnyhookError as error:
            answer = _error(STATUS.get(type(error), 500), str(error))
        except Exception as error:  # noqa: BLE001 - the last boundary; its text may hold the event
            answer = _error(500, f"this is a bug of anyhook: {type(error).__name__}")
        tasks.cancel_scope.cancel()
    return answer


async def _handle_http_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):  # pragma: no cover - it is registered for no other
        raise error
    return _error(
        error.status_code, DETAILS.get(error.status_code, error.detail), dict(error.headers or {})
    )


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": message}, status, headers)
