"""The spans of sessions, which are open from one event to the next.

An exporter sends a span when it ends, so each of them ends: with the session, when it has been
idle, when there are too many, when its engine is closed, and when the process exits. A session that
goes on afterwards has one more span, which links to the one before.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry import trace

from anyhook.telemetry import names
from anyhook.telemetry.attributes import clean, session_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext, Tracer

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.events import Event

Key = tuple[str, str]
"""Name of the agent and identifier of the session."""


@dataclass(slots=True)
class OpenSession:
    """A session whose span is open.

    Attributes:
        key: Agent and identifier.
        title: The agent, for people.
        span: Its span.
        context: The context in which the spans of its events are started.
        events: Number of its events.
        denials: Number of those that were denied or stopped.
        running: Number of those without a decision yet.
        last_active: When its last event began or was decided, on the monotonic clock.
        last_time: The same in nanoseconds since the epoch.
    """

    key: Key
    title: str
    span: Span
    context: Context
    events: int = 0
    denials: int = 0
    running: int = 0
    last_active: float = 0.0
    last_time: int = 0


class TracedSessions:
    """The open sessions. Its methods may be called from any thread.

    A session counts as ended after `idle_timeout` seconds without an event. For one more than
    `max_sessions`, the one that was active last the longest time ago is ended.
    """

    def __init__(
        self, tracer: Tracer, parent: Context, *, idle_timeout: float, max_sessions: int
    ) -> None:
        self._tracer = tracer
        self._parent = parent
        self._idle_timeout = idle_timeout
        self._max_sessions = max_sessions
        self._lock = threading.Lock()
        # The session that was entered last is the last one.
        self._open: OrderedDict[Key, OpenSession] = OrderedDict()
        self._previous: OrderedDict[Key, SpanContext] = OrderedDict()
        self._at_exit = _exit_handler(weakref.ref(self))
        self._is_registered = False
        self._titles: set[str] = set()

    def enter(self, agent: AgentSpec, session_id: str, now: int) -> OpenSession:
        """Return the session of an event that begins; `leave` must follow.

        `now` is in nanoseconds since the epoch.
        """
        key = (agent.name, session_id)
        with self._lock:
            self._end_idle()
            session = self._open.get(key)
            if session is None:
                session = self._start(key, agent, now)
                self._titles.add(session.title)
            else:
                self._open.move_to_end(key)
            session.events += 1
            session.running += 1
            session.last_active, session.last_time = time.monotonic(), now
            return session

    def leave(self, session: OpenSession, now: int, *, is_denied: bool, has_ended: bool) -> None:
        """Note that an event was decided: perhaps denied or stopped, or the end of the session."""
        with self._lock:
            session.running -= 1
            session.denials += is_denied
            session.last_active, session.last_time = time.monotonic(), now
            if has_ended and self._open.get(session.key) is session:
                self._end(session, "session_end")

    def count_unmatched(self, agent: AgentSpec, event: Event) -> None:
        """Count an event on which no hook runs, if the span of its session is open."""
        key = (agent.name, clean(session_of(event)))
        with self._lock:
            session = self._open.get(key)
            if session is None:
                return
            session.events += 1
            session.last_active, session.last_time = time.monotonic(), time.time_ns()
            self._open.move_to_end(key)
            if event.name == "session_end":
                self._end(session, "session_end")

    def count(self) -> dict[str, int]:
        """Return the number of open sessions of each agent that had some.

        Those that are idle are ended first.
        """
        with self._lock:
            self._end_idle()
            counts = dict.fromkeys(self._titles, 0)
            for session in self._open.values():
                counts[session.title] += 1
        return counts

    def end_idle(self) -> None:
        """End the sessions that have been idle."""
        with self._lock:
            self._end_idle()

    def close(self, reason: str, agent: str | None = None) -> None:
        """End the open sessions of an agent, or all of them, for a reason."""
        with self._lock:
            for session in list(self._open.values()):
                if agent in (None, session.key[0]):
                    self._end(session, reason)

    def shutdown(self) -> None:
        """End all sessions, and do not wait for the exit of the process."""
        self.close("closed")
        atexit.unregister(self._at_exit)

    def _start(self, key: Key, agent: AgentSpec, now: int) -> OpenSession:
        if not self._is_registered:
            # After the provider has registered its own: exit handlers run in reverse order.
            self._is_registered = True
            atexit.register(self._at_exit)
        if len(self._open) >= self._max_sessions:
            self._end(next(iter(self._open.values())), "replaced")
        previous = self._previous.pop(key, None)
        span = self._tracer.start_span(
            f"{names.INVOKE_AGENT} {agent.title}",
            self._parent,
            attributes={
                names.OPERATION: names.INVOKE_AGENT,
                names.CONVERSATION_ID: key[1],
                names.AGENT_NAME: agent.title,
                names.AGENT: agent.name,
            },
            links=[trace.Link(previous)] if previous is not None else [],
            start_time=now,
        )
        context = trace.set_span_in_context(span, self._parent)
        session = self._open[key] = OpenSession(key, agent.title, span, context)
        return session

    def _end_idle(self) -> None:
        """End the sessions that have been idle. The oldest ones come first."""
        limit = time.monotonic() - self._idle_timeout
        idle: list[OpenSession] = []
        for session in self._open.values():
            if session.last_active > limit:
                break
            if not session.running:
                idle.append(session)
        for session in idle:
            self._end(session, "idle")

    def _end(self, session: OpenSession, reason: str) -> None:
        del self._open[session.key]
        if len(self._previous) >= self._max_sessions:
            self._previous.popitem(last=False)
        self._previous[session.key] = session.span.get_span_context()
        session.span.set_attribute(names.SESSION_END, reason)
        session.span.set_attribute(names.SESSION_EVENTS, session.events)
        session.span.set_attribute(names.SESSION_DENIALS, session.denials)
        session.span.end(session.last_time)


def _exit_handler(reference: weakref.ref[TracedSessions]) -> Callable[[], None]:
    """Return a function that ends the sessions, and does not keep them in memory."""

    def end_sessions() -> None:
        sessions = reference()
        if sessions is not None:
            sessions.close("closed")

    return end_sessions
