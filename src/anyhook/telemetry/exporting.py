"""Exporters that are configured by the `OTEL_…` variables of the OpenTelemetry specification."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import TYPE_CHECKING

from anyhook.errors import MissingLibraryError, UsageError

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import (
        ConsoleMetricExporter,
        MetricExporter,
        PeriodicExportingMetricReader,
    )
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
except ModuleNotFoundError as error:
    raise MissingLibraryError("telemetry", str(error.name), "otel") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

# On standard output are the answers of commands and of `serve`, some as JSON for programs.
SPAN_EXPORTERS: dict[str, Callable[[], SpanExporter]] = {
    "otlp": OTLPSpanExporter,
    "console": lambda: ConsoleSpanExporter(out=sys.stderr),
}
METRIC_EXPORTERS: dict[str, Callable[[], MetricExporter]] = {
    "otlp": OTLPMetricExporter,
    "console": lambda: ConsoleMetricExporter(out=sys.stderr),
}
PROTOCOL = "http/protobuf"
SERVICE_NAME = "anyhook"
EXIT_TIMEOUT = 5.0
"""Seconds that the exit of the process may wait for the last export."""


class Providers:
    """A provider of spans and one of metrics, with their exporters."""

    def __init__(self, tracer_provider: TracerProvider, meter_provider: MeterProvider) -> None:
        self.tracer_provider = tracer_provider
        self.meter_provider = meter_provider
        self._is_shut_down = False
        atexit.register(self.shutdown)

    def flush(self, timeout: float) -> None:
        """Export what has ended; what takes longer than the timeout goes on in the background."""
        _run_at_most(timeout, self._flush)

    def shutdown(self, timeout: float = EXIT_TIMEOUT) -> None:
        """Export the rest and end the exporters.

        What takes longer than the timeout is lost when the process exits.
        """
        atexit.unregister(self.shutdown)
        _run_at_most(timeout, self._shut_down)

    def _flush(self) -> None:
        # Spans come first: a backend of traces alone may not answer to metrics in time.
        self.tracer_provider.force_flush()
        self.meter_provider.force_flush()

    def _shut_down(self) -> None:
        if not self._is_shut_down:
            self._is_shut_down = True
            self.tracer_provider.shutdown()
            self.meter_provider.shutdown()


def providers_from_environment() -> Providers:
    """Make providers as the variables of this process say.

    Raises:
        UsageError: If a variable names an exporter or a protocol that there is not.
    """
    for name in (
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
    ):
        protocol = os.environ.get(name) or PROTOCOL
        if protocol != PROTOCOL:
            raise UsageError(
                f"{name} is {protocol}; anyhook exports with {PROTOCOL}: set {name}={PROTOCOL} and "
                "the endpoint of your collector for HTTP, like "
                "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
            )
    resource = Resource.create()
    # The name of OpenTelemetry for a program that the environment does not name.
    if str(resource.attributes.get("service.name")).startswith("unknown_service"):
        resource = resource.merge(Resource({"service.name": SERVICE_NAME}))
    tracer_provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for name in _exporter_names("OTEL_TRACES_EXPORTER", SPAN_EXPORTERS):
        tracer_provider.add_span_processor(BatchSpanProcessor(SPAN_EXPORTERS[name]()))
    readers = [
        PeriodicExportingMetricReader(METRIC_EXPORTERS[name]())
        for name in _exporter_names("OTEL_METRICS_EXPORTER", METRIC_EXPORTERS)
    ]
    meter_provider = MeterProvider(readers, resource, shutdown_on_exit=False)
    return Providers(tracer_provider, meter_provider)


def _exporter_names(variable: str, exporters: Collection[str]) -> list[str]:
    """Return the exporters that a variable names; `otlp` if it is not set."""
    value = os.environ.get(variable) or "otlp"
    names = [name.strip() for name in value.split(",")]
    if names == ["none"]:
        return []
    for name in names:
        if name not in exporters:
            choices = ", ".join([*exporters, "none"])
            raise UsageError(f"{variable} names the exporter {name!r}; anyhook has {choices}")
    return names


def _run_at_most(timeout: float, function: Callable[[], None]) -> None:
    """Run a function in a thread, and wait for it no longer than a time.

    The exporter tries again for 10 seconds while no collector answers, and shutting it down waits
    for that.
    """
    thread = threading.Thread(target=function, name="anyhook-telemetry", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # Python 3.12.0 and 3.12.1 start no thread while the process exits
        function()
    else:
        thread.join(timeout)
