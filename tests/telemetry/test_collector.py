"""Through a real collector: it accepts what is exported, and hands it on unchanged."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from anyhook import BeforeTool, SyncEngine, deny
from anyhook.telemetry import Telemetry
from tests.waiting import until
from tests.world import World

SHELL = BeforeTool(tool_name="Bash", tool_input={"command": "ls"}, session_id="s1")


def find_collector():
    """Return the program of the collector Rotel; `None` if it is not installed."""
    spec = importlib.util.find_spec("rotel")
    beside_package = Path(spec.origin).with_name("rotel-agent") if spec and spec.origin else None
    return os.environ.get("ANYHOOK_ROTEL") or beside_package or shutil.which("rotel")


COLLECTOR = find_collector()
pytestmark = pytest.mark.skipif(
    COLLECTOR is None, reason="needs a collector: pip install rotel, or its path in ANYHOOK_ROTEL"
)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def collecting(target, directory):
    """Run a collector that hands everything on to a receiver; yields its endpoint."""
    port = free_port()
    options = {
        "otlp-http-endpoint": f"127.0.0.1:{port}",
        "otlp-grpc-endpoint": f"127.0.0.1:{free_port()}",
        "exporter": "otlp",
        "otlp-exporter-endpoint": target,
        "otlp-exporter-protocol": "http",
        "pid-file": directory / "pid",
        "log-file": directory / "log",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    with subprocess.Popen([COLLECTOR, "start", *words], stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: accepts(port), "the collector does not listen")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_a_collector_hands_spans_and_metrics_on(tmp_path, receiver, monkeypatch):
    world = World(tmp_path, agent="claude")
    hook = {"type": "command", "command": "exit 0", "name": "works"}
    world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    with collecting(receiver.url, tmp_path) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        telemetry = Telemetry.from_environment(every_event=True)
        with telemetry, SyncEngine(world.load(observers=[telemetry])) as sync:
            sync.engine.register("before_tool", lambda event: deny("no"), name="guard")
            sync.dispatch(SHELL)
        until(lambda: len(receiver.spans) == 4 and receiver.metrics(), "nothing arrived")

    session, event = receiver.one("invoke_agent Claude Code"), receiver.one("before_tool Bash")
    assert event.parent == session.id
    assert {span.name for span in receiver.children(event)} == {"hook guard", "hook works"}
    assert event.attributes["anyhook.blame"] == ["outcome: guard", "reason: guard"]
    (decisions,) = receiver.metric("anyhook.decisions").points
    assert decisions.value == 1
