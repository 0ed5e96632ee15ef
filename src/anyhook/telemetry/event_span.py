"""The span of one event, and the spans of its hooks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, StatusCode, Tracer
from opentelemetry.trace import Status as SpanStatus

from anyhook.telemetry import names
from anyhook.telemetry.attributes import (
    clean,
    decision_attributes,
    decision_contents,
    error_of,
    event_attributes,
    event_contents,
    event_name,
    hook_attributes,
    hook_contents,
    session_of,
)
from anyhook.telemetry.propagation import variables_of

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Decision
    from anyhook.model.events import Event
    from anyhook.telemetry.attributes import Attributes
    from anyhook.telemetry.metrics import Metrics
    from anyhook.telemetry.sessions import OpenSession, TracedSessions


@dataclass(frozen=True, slots=True)
class Instruments:
    """What makes the spans and metrics of an observer.

    Attributes:
        tracer: Makes spans.
        metrics: Counts and measures.
        sessions: The open sessions.
        parent: The context of an event that belongs to no session and to no span of the host.
        has_contents: Whether contents are exported.
    """

    tracer: Tracer
    metrics: Metrics
    sessions: TracedSessions
    parent: Context
    has_contents: bool


class EventSpan:
    """The span of one event, from its dispatch to its decision.

    Attributes:
        variables: `TRACEPARENT` and `TRACESTATE` for the commands of its hooks.
    """

    def __init__(self, instruments: Instruments, agent: AgentSpec, event: Event) -> None:
        self._instruments = instruments
        self._agent = agent
        self._event = event
        attributes = event_attributes(agent, event)
        self._started = time.perf_counter()
        self._start_time = time.time_ns()
        session_id = clean(session_of(event))
        self._session: OpenSession | None = None
        if session_id:
            self._session = instruments.sessions.enter(agent, session_id, self._start_time)
        try:
            self._span = self._start_span(attributes)
        except Exception:
            self._leave_session(None, self._start_time)
            raise
        self.variables = variables_of(self._span)
        # The spans of functions in this process become its children.
        self._token: Token[Context] = otel_context.attach(trace.set_span_in_context(self._span))

    def _start_span(self, attributes: Attributes) -> Span:
        session = self._session
        links: list[trace.Link] = []
        if trace.get_current_span().get_span_context().is_valid:
            # The host dispatches the event inside a span of its own, that of a tool call perhaps.
            parent = otel_context.get_current()
            if session is not None:
                links.append(trace.Link(session.span.get_span_context()))
        elif session is not None:
            parent = session.context
        else:
            parent = self._instruments.parent
        return self._instruments.tracer.start_span(
            event_name(self._event),
            parent,
            attributes=attributes,
            links=links,
            start_time=self._start_time,
        )

    def finish(self, decision: Decision | None) -> None:
        """End the span, after those of its hooks; `None` if the dispatch was canceled or raised."""
        otel_context.detach(self._token)
        duration = time.perf_counter() - self._started
        end_time = self._start_time + _nanoseconds(duration)
        try:
            if self._span.is_recording():
                self._describe(decision, end_time)
        finally:
            self._span.end(end_time)
            self._leave_session(decision, end_time)
        self._instruments.metrics.record_event(self._agent, self._event, decision, duration)

    def _describe(self, decision: Decision | None, end_time: int) -> None:
        if self._instruments.has_contents:
            self._span.set_attributes(event_contents(self._event))
        if decision is None:
            self._span.set_attribute(names.ERROR_TYPE, names.CANCELED)
            self._span.set_status(SpanStatus(StatusCode.ERROR, "there is no decision"))
            return
        self._span.set_attributes(decision_attributes(decision))
        if self._instruments.has_contents:
            self._span.set_attributes(decision_contents(decision))
        context = trace.set_span_in_context(self._span)
        for result in decision.results:
            # The span of a hook is made after the fact: its result has the times.
            attributes = hook_attributes(self._agent, self._event, decision, result)
            if self._instruments.has_contents:
                attributes.update(hook_contents(result))
            # The clock of results starts a little later than that of the span.
            start = min(self._start_time + _nanoseconds(result.started), end_time)
            name = f"hook {attributes[names.HOOK_NAME]}"
            span = self._instruments.tracer.start_span(
                name, context, attributes=attributes, start_time=start
            )
            error = error_of(result)
            if error:
                span.set_status(SpanStatus(StatusCode.ERROR, error))
            span.end(min(start + _nanoseconds(result.duration), end_time))

    def _leave_session(self, decision: Decision | None, end_time: int) -> None:
        if self._session is None:
            return
        self._instruments.sessions.leave(
            self._session,
            end_time,
            is_denied=decision is not None and decision.denied,
            has_ended=self._event.name == "session_end",
        )


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)
