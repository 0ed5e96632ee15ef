"""An HTTP endpoint that answers events: `http` hooks of Claude Code, and of an engine.

Whoever can post an event can run hooks, so a request has to be one that no page in a browser can
make: pages cannot leave `Origin` out, and cannot name a host of this machine in `Host` after they
have pointed a name of their own at it. Claude Code, hooks reference, "HTTP hook fields": a status
other than 2xx decides nothing, so a denial is an answer like any other.
"""

from __future__ import annotations

import hmac
import signal
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from anyhook import __version__
from anyhook.errors import AnyhookError, EngineClosedError, EventError
from anyhook.handlers.network import LOCALHOST, PORTS, is_loopback, plain_host
from anyhook.model.json import parse_event

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Callable, Collection, Iterator

    from starlette.datastructures import Headers
    from starlette.types import ASGIApp, Receive, Scope, Send

    from anyhook.service.responder import Responder

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

    async def fire(request: Request) -> Response:
        _check(token, request.headers)
        payload = _parsed(await _body(request))
        return await _while_connected(request, responder, payload)

    return Starlette(
        routes=[
            Route("/health", health, methods=["GET"]),
            Route("/{path:path}", fire, methods=["POST"]),
        ],
        middleware=[Middleware(_Gate, hosts=hosts)],
        exception_handlers={HTTPException: _refused},
        lifespan=life,
    )


def run(app: ASGIApp, listening: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve an application until the process is told to end.

    Args:
        app: The application.
        listening: Where to.
        on_ready: Called when requests are answered.

    Raises:
        KeyboardInterrupt: When SIGINT has ended it.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
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


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._on_ready()


# -- who may come in


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
        try:
            parts = urlsplit(f"//{request.headers.get('host', '')}")
            host, port = plain_host(parts.hostname or ""), parts.port
        except ValueError:
            return False
        server = request.scope.get("server")
        usual = PORTS.get(request.scope.get("scheme", ""))
        if server is not None and server[1] is not None and (port or usual) != server[1]:
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
