"""A receiver of OTLP, and no variables of the developer's own telemetry."""

from __future__ import annotations

import os

import pytest

from anyhook.telemetry import Telemetry
from tests.telemetry.receiver import receive


@pytest.fixture(autouse=True)
def clean_telemetry(monkeypatch):
    for name in list(os.environ):
        if name.startswith("OTEL_") or name in ("TRACEPARENT", "TRACESTATE", "ANYHOOK_OTEL"):
            monkeypatch.delenv(name)


@pytest.fixture
def receiver(monkeypatch):
    """A receiver, to which `Telemetry.from_environment` exports."""
    with receive() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        yield receiver


@pytest.fixture
def telemetry(receiver):
    with Telemetry.from_environment(every_event=True) as telemetry:
        yield telemetry
