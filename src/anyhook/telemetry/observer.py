"""The observer of engines that makes spans and metrics."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, Self

from opentelemetry import metrics, trace

from anyhook import __version__
from anyhook.errors import UsageError
from anyhook.telemetry import names
from anyhook.telemetry.event_span import EventSpan, Instruments
from anyhook.telemetry.metrics import Metrics
from anyhook.telemetry.propagation import parent_of
from anyhook.telemetry.sessions import TracedSessions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.events import Event
    from anyhook.telemetry.exporting import Providers

IDLE_TIMEOUT = 1800.0
"""Seconds without events after which the span of a session ends."""
MAX_SESSIONS = 1000
"""Sessions whose spans are open at once."""
CLOSE_TIMEOUT = 5.0
"""Seconds that `close` waits for the last export."""
SCOPE = "anyhook"
"""Name of the instrumentation scope."""


class Telemetry:
    """An observer that makes spans of sessions, events and hooks, and metrics of them.

    ```python
    async with Engine.load(".", observers=[Telemetry()]) as engine:
        ...
    ```

    An event on which no hook runs is counted, and has no span unless `every_event` is set.

    One observer may be shared by any number of engines, event loops and threads. The span of an
    event is a child of the span in which the host dispatches it, if there is one, and else of the
    span of its session, which belongs to the trace in the variable `TRACEPARENT`, if it is set.
    Commands get the span of their event in `TRACEPARENT`; for functions in this process it is the
    current span.

    The span of a session ends with the session, when the engine or the observer is closed, when the
    process exits, after `idle_timeout`, or when `max_sessions` others are open.

    Args:
        tracer_provider: Makes the spans; by default the global one.
        meter_provider: Makes the metrics; by default the global one.
        contents: Export the arguments and results of tools, prompts, reasons and the output of
            hooks, with known forms of secrets replaced, 8,192 characters of each. By default none
            of them is exported.
        every_event: Make spans of events on which no hook runs, too: 50 µs for each of them.
        environ: The variables that name the trace of the process; by default this process's.
        idle_timeout: Seconds without events after which the span of a session ends.
        max_sessions: Sessions whose spans are open at once.

    Raises:
        UsageError: If an argument has a wrong type or value.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        *,
        contents: bool = False,
        every_event: bool = False,
        environ: Mapping[str, str] | None = None,
        idle_timeout: float = IDLE_TIMEOUT,
        max_sessions: int = MAX_SESSIONS,
    ) -> None:
        if not isinstance(contents, bool):
            raise UsageError(f"contents is True or False, not {contents!r}")
        if max_sessions < 1:
            raise UsageError(f"max_sessions is at least 1, not {max_sessions!r}")
        tracer = trace.get_tracer(SCOPE, __version__, tracer_provider, names.SCHEMA_URL)
        meter = metrics.get_meter(SCOPE, __version__, meter_provider, names.SCHEMA_URL)
        parent = parent_of(os.environ if environ is None else environ)
        self._sessions = TracedSessions(
            tracer, parent, idle_timeout=idle_timeout, max_sessions=max_sessions
        )
        self._metrics = Metrics(meter, self._sessions)
        self._instruments = Instruments(tracer, self._metrics, self._sessions, parent, contents)
        self._every_event = every_event
        self._providers: Providers | None = None
        # The sessions end, too, if the host drops the observer without closing it.
        weakref.finalize(self, self._sessions.shutdown).atexit = False

    @classmethod
    def from_environment(
        cls, *, contents: bool = False, environ: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """Make an observer that exports with OTLP over HTTP, configured by `OTEL_…` variables.

        They are those of the OpenTelemetry specification: `OTEL_EXPORTER_OTLP_ENDPOINT` (by default
        `http://localhost:4318`), `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME` (by default
        `anyhook`), `OTEL_TRACES_EXPORTER` and `OTEL_METRICS_EXPORTER` (`otlp`; `console`,
        which is standard error; or `none`), `OTEL_SDK_DISABLED` and so on. Threads export in the
        background. `close`, or the exit of the process, exports the rest.

        Args:
            contents: See `Telemetry`.
            environ: See `Telemetry`. The exporters read the variables of this process.
            **options: Further arguments of `Telemetry`.

        Raises:
            UsageError: If the SDK is not installed, or a variable names an exporter or a protocol
                that it does not have.
        """
        from anyhook.telemetry.exporting import providers_from_environment

        providers = providers_from_environment()
        telemetry = cls(
            providers.tracer_provider,
            providers.meter_provider,
            contents=contents,
            environ=environ,
            **options,
        )
        telemetry._providers = providers
        return telemetry

    def observe_unmatched(self, agent: AgentSpec, event: Event) -> bool:
        """Count an event on which no hook runs; see `anyhook.engine.observers.Observer`."""
        if self._every_event:
            return True
        self._metrics.count_unmatched(agent, event)
        self._sessions.count_unmatched(agent, event)
        return False

    def observe(self, agent: AgentSpec, event: Event) -> EventSpan:
        """Start the span of an event; see `anyhook.engine.observers.Observer`."""
        return EventSpan(self._instruments, agent, event)

    def close_sessions(self, agent: AgentSpec) -> None:
        """End the spans of the open sessions of an agent, whose engine was closed."""
        self._sessions.close("engine_closed", agent.name)

    def flush(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Export what has ended, if the exporters are those of `from_environment`. It blocks.

        Args:
            timeout: Seconds to wait at most.
        """
        self._sessions.end_idle()
        if self._providers is not None:
            self._providers.flush(timeout)

    def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """End all spans, and export the rest if the exporters are those of `from_environment`.

        It blocks: in a program with an event loop, call it behind the loop or in a thread.

        Args:
            timeout: Seconds to wait for the export at most.
        """
        self._sessions.shutdown()
        if self._providers is not None:
            self._providers.shutdown(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
