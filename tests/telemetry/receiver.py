"""A receiver of OTLP over HTTP that decodes what is sent to it."""

from __future__ import annotations

import gzip
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

ERROR = 2
"""Status code of a span that is an error."""


@dataclass
class Span:
    """A span that arrived."""

    name: str
    trace: str
    id: str
    parent: str
    start: int
    end: int
    attributes: dict
    status: int
    links: list
    service: str
    schema: str
    state: str


@dataclass
class Point:
    """A data point of a metric that arrived; `value` is a count or a sum."""

    attributes: dict
    value: float
    count: int = 0
    bounds: tuple = ()


@dataclass
class Metric:
    """A metric that arrived."""

    name: str
    unit: str
    kind: str
    points: list


@dataclass
class Receiver:
    """What arrived, in the order of arrival.

    Attributes:
        url: The endpoint.
        spans: All spans.
        bodies: All requests, decoded by nothing.
        gate: Requests for spans are answered while it is set.
        metrics_gate: Requests for metrics are answered while it is set.
        waiting: Set when a request has arrived.
    """

    url: str = ""
    spans: list = field(default_factory=list)
    bodies: list = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    metrics_gate: threading.Event = field(default_factory=threading.Event)
    waiting: threading.Event = field(default_factory=threading.Event)
    _metrics: dict = field(default_factory=dict)

    def receive(self, path, body):
        self.bodies.append(body)
        if path == "/v1/traces":
            self.spans += read_spans(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            request = ExportMetricsServiceRequest.FromString(body)
            self._metrics |= {metric.name: metric for metric in read_metrics(request)}
        else:
            raise ValueError(path)

    def named(self, name):
        """Return the spans of a name."""
        return [span for span in self.spans if span.name == name]

    def one(self, name):
        (span,) = self.named(name)
        return span

    def children(self, span):
        return [other for other in self.spans if other.parent == span.id]

    def metric(self, name):
        """Return a metric as it arrived last; sums are cumulative."""
        return self._metrics[name]

    def metrics(self):
        return set(self._metrics)

    def holds(self, text):
        """Return whether a text was sent, in whichever member."""
        return any(text.encode() in body for body in self.bodies)


@contextmanager
def receive():
    """Run a receiver."""
    receiver = Receiver()
    receiver.gate.set()
    receiver.metrics_gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            receiver.waiting.set()
            gate = receiver.metrics_gate if self.path == "/v1/metrics" else receiver.gate
            gate.wait()
            receiver.receive(self.path, body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield receiver
        finally:
            receiver.gate.set()
            receiver.metrics_gate.set()
            server.shutdown()
            thread.join()


def read_spans(request):
    for resource in request.resource_spans:
        service = read_attributes(resource.resource.attributes).get("service.name")
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    read_attributes(span.attributes),
                    span.status.code,
                    [link.span_id.hex() for link in span.links],
                    service,
                    scope.schema_url,
                    span.trace_state,
                )


def read_metrics(request):
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                points = [read_point(kind, point) for point in getattr(metric, kind).data_points]
                yield Metric(metric.name, metric.unit, kind, points)


def read_point(kind, point):
    attributes = read_attributes(point.attributes)
    if kind == "histogram":
        return Point(attributes, point.sum, point.count, tuple(point.explicit_bounds))
    return Point(attributes, point.as_int or point.as_double)


def read_attributes(pairs):
    return {pair.key: read_value(pair.value) for pair in pairs}


def read_value(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [read_value(item) for item in value.array_value.values]
    return getattr(value, kind)
