"""The trace that a process belongs to, in the variables `TRACEPARENT` and `TRACESTATE`.

Source: W3C Trace Context, and the OpenTelemetry specification, "Environment Variables as Context
Propagation Carriers". Claude Code sets `TRACEPARENT` for its subprocesses while it exports traces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import Span, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send


NAMES = {"traceparent": "TRACEPARENT", "tracestate": "TRACESTATE"}
"""Header to variable."""
_PROPAGATOR = TraceContextTextMapPropagator()


def parent_of(environ: Mapping[str, str]) -> Context:
    """Return the context that the variables of a process name; an empty one if they are invalid."""
    return context_of_headers(
        {header: environ[name] for header, name in NAMES.items() if name in environ}
    )


def context_of_headers(headers: Mapping[str, str]) -> Context:
    """Return the context that headers (in lower case) name; an empty one if they are invalid."""
    return _PROPAGATOR.extract(headers, Context())


def variables_of(span: Span) -> dict[str, str]:
    """Return the variables that make the spans of a process children of a span."""
    headers: dict[str, str] = {}
    _PROPAGATOR.inject(headers, set_span_in_context(span, Context()))
    return {NAMES[header]: value for header, value in headers.items()}


class TraceContext:
    """An ASGI application that answers each request in the trace that its headers name."""

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
