"""The trace of a request, for a server of hooks: `anyhook serve --otel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context as otel_context

from anyhook.telemetry.propagation import context_of_headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class TraceContext:
    """An ASGI application that answers each request in the trace that its headers name.

    Args:
        app: Answers the requests.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        token = otel_context.attach(context_of_headers(headers))
        try:
            await self._app(scope, receive, send)
        finally:
            otel_context.detach(token)
