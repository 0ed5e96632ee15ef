"""Exporters are configured by variables, and never keep a host or a hook waiting."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading

import anyio
import pytest
from opentelemetry.trace import INVALID_SPAN

from anyhook import BeforeTool, deny
from anyhook.errors import UsageError
from anyhook.telemetry import Telemetry
from tests.waiting import until
from tests.world import World

pytestmark = pytest.mark.anyio
SHELL = BeforeTool(tool_name="Bash", tool_input={"command": "ls"}, session_id="s1")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


async def test_a_receiver_that_does_not_answer_keeps_no_event_waiting(world, receiver, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1000")
    receiver.gate.clear()
    telemetry = Telemetry.from_environment(every_event=True)
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: deny("no"))

    await engine.dispatch(SHELL)
    telemetry.flush(timeout=0)
    await anyio.to_thread.run_sync(receiver.waiting.wait)
    for _ in range(100):
        decision = await engine.dispatch(SHELL)
        assert decision.denied
    engine.close()
    telemetry.close(timeout=0)  # the receiver has answered nothing so far

    assert receiver.spans == []
    receiver.gate.set()
    for thread in threading.enumerate():
        if thread.name == "anyhook-telemetry":
            await anyio.to_thread.run_sync(thread.join)
    assert len(receiver.named("before_tool Bash")) == 101


@pytest.mark.slow
async def test_a_receiver_that_does_not_answer_to_metrics_costs_no_span(world, receiver):
    receiver.metrics_gate.clear()
    telemetry = Telemetry.from_environment(every_event=True)
    await world.load(observers=[telemetry]).dispatch(SHELL)

    telemetry.close(timeout=0)
    until(lambda: receiver.named("before_tool Bash"))

    assert not receiver.metrics()


@pytest.mark.slow
async def test_a_receiver_that_does_not_exist_costs_no_decision(world, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with Telemetry.from_environment(every_event=True) as telemetry:
        engine = world.load(observers=[telemetry])
        engine.register("before_tool", lambda event: deny("no"))

        decision = await engine.dispatch(SHELL)

    assert decision.denied
    assert decision.diagnostics == ()


@pytest.mark.parametrize("failing", ["invoke_agent", "before_tool"])
async def test_a_tracer_that_fails_costs_no_decision(world, failing):
    class Broken:
        def get_tracer(self, *arguments, **options):
            return self

        def start_span(self, name, *arguments, **options):
            if name.startswith(failing):
                raise OSError("no tracer")
            return INVALID_SPAN

    telemetry = Telemetry(Broken(), idle_timeout=0)
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: deny("no"))

    decision = await engine.dispatch(SHELL)

    # The failed event does not keep its session open.
    assert not any(telemetry._sessions.count().values())
    assert decision.denied
    assert [d.code for d in decision.diagnostics] == ["observer-failed"]


async def test_the_service_is_named_by_the_variables(world, receiver, monkeypatch):
    for name, value, service in (
        ("OTEL_SERVICE_NAME", "ci", "ci"),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=a,service.name=robot", "robot"),
    ):
        with monkeypatch.context() as variables:
            variables.setenv(name, value)
            with Telemetry.from_environment(every_event=True) as telemetry:
                await world.load(observers=[telemetry]).dispatch(SHELL)
        assert {span.service for span in receiver.spans} == {service}
        receiver.spans.clear()


async def test_an_exporter_can_be_switched_off(world, receiver, monkeypatch):
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    with Telemetry.from_environment(every_event=True) as telemetry:
        await world.load(observers=[telemetry]).dispatch(SHELL)

    assert receiver.spans
    assert not receiver.metrics()


async def test_everything_can_be_switched_off(world, receiver, monkeypatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with Telemetry.from_environment(every_event=True) as telemetry:
        await world.load(observers=[telemetry]).dispatch(SHELL)

    assert receiver.bodies == []


async def test_a_compressed_export_arrives(world, receiver, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    with Telemetry.from_environment(every_event=True) as telemetry:
        await world.load(observers=[telemetry]).dispatch(SHELL)

    assert receiver.one("before_tool Bash")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "names the exporter 'zipkin'; anyhook has otlp"),
        ("OTEL_METRICS_EXPORTER", "otlp,none", "names the exporter 'none'; anyhook has otlp"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"),
    ],
)
def test_a_variable_that_asks_for_what_there_is_not_is_reported(monkeypatch, name, value, problem):
    monkeypatch.setenv(name, value)

    with pytest.raises(UsageError, match=f"{name} .*{problem}"):
        Telemetry.from_environment(every_event=True)


def test_closing_twice_is_harmless(receiver):
    telemetry = Telemetry.from_environment(every_event=True)
    telemetry.close()
    telemetry.close()
    telemetry.flush()


@pytest.mark.slow
def test_only_telemetry_imports_opentelemetry():
    program = """
import sys
from anyhook import Engine
import anyhook.integrations, anyhook.server.responder, anyhook.cli.serve, anyhook.cli.fire
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
from anyhook.telemetry import Telemetry
assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")]
Telemetry()
assert not [name for name in sys.modules if name.startswith("opentelemetry.exporter")]
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "statement"),
    [
        ("opentelemetry", "import anyhook.telemetry"),
        (
            "opentelemetry.exporter",
            "from anyhook.telemetry import Telemetry; Telemetry.from_environment(every_event=True)",
        ),
    ],
)
def test_a_missing_package_is_named_with_its_extra(missing, statement):
    program = f"import sys; sys.modules[{missing!r}] = None; {statement}"

    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )

    assert "install" in done.stderr.rstrip().splitlines()[-1]
    assert "opentelemetry-sdk>=" in done.stderr.rstrip().splitlines()[-1]
