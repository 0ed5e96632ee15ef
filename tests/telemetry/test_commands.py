"""`--otel` of the commands, and observers in integrations."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from anyhook import BeforeTool
from anyhook.integrations import Session
from anyhook.integrations.factory import load_engine
from anyhook.testing import make_payload
from tests.world import World

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = {"TRACEPARENT": f"00-{TRACE}-{SPAN}-01"}
ANYHOOK = [sys.executable, "-m", "anyhook"]
PAYLOAD = make_payload("before_tool", agent="claude", tool="shell", input={"command": "ls"})


@pytest.fixture
def project(tmp_path):
    world = World(tmp_path, agent="claude")
    hook = {"type": "command", "command": "echo no >&2; exit 2", "name": "guard"}
    world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    return world.project


def check_spans(receiver):
    event, run = receiver.one("before_tool Bash"), receiver.one("hook guard")
    assert event.attributes["anyhook.outcome"] == "deny"
    assert run.parent == event.id
    assert receiver.metric("anyhook.decisions")
    return receiver.one("invoke_agent Claude Code")


@pytest.mark.slow
@pytest.mark.parametrize("switch", [["--otel"], {"ANYHOOK_OTEL": "1"}])
def test_fire_exports_what_it_fires(project, receiver, switch):
    words, variables = (switch, {}) if isinstance(switch, list) else ([], switch)
    event = project / "event.json"
    event.write_text(json.dumps(PAYLOAD))

    done = subprocess.run(
        [*ANYHOOK, "fire", "--event-file", str(event), "--trust-once", "--json", *words],
        cwd=project,
        env={**os.environ, **PARENT, **variables},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["decision"]["outcome"] == "deny"
    assert check_spans(receiver).parent == SPAN


@pytest.mark.slow
def test_the_console_gets_spans_beside_the_json_of_a_command(project):
    consoles = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "console"}

    done = subprocess.run(
        [*ANYHOOK, "fire", "PreToolUse", "--tool", "Bash", "--trust-once", "--json", "--otel"],
        cwd=project,
        env={**os.environ, **consoles},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(done.stdout)["decision"]["outcome"] == "deny"
    assert '"name": "hook guard"' in done.stderr
    assert "resource_metrics" in done.stderr


@pytest.mark.slow
def test_fire_exports_nothing_by_itself(project, receiver):
    subprocess.run(
        [*ANYHOOK, "fire", "PreToolUse", "--tool", "Bash", "--trust-once"],
        cwd=project,
        capture_output=True,
        check=True,
    )

    assert receiver.bodies == []


@pytest.mark.slow
def test_dispatch_exports_the_session_of_its_agent(project, receiver):
    done = subprocess.run(
        [*ANYHOOK, "dispatch", "--agent", "claude", "--trust-once", "--otel"],
        cwd=project,
        env={**os.environ, **PARENT},
        input=json.dumps(PAYLOAD) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )

    assert '"deny"' in done.stdout
    session = check_spans(receiver)
    assert (session.trace, session.parent) == (TRACE, SPAN)


@contextmanager
def serving(project):
    """Serve the hooks of a project; yields the URL."""
    with subprocess.Popen(
        [*ANYHOOK, "serve", "--port", "0", "--json", "--trust-once", "--otel"],
        cwd=project,
        env={**os.environ, **PARENT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        yield json.loads(server.stdout.readline())["url"]
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)


def post(url, **headers):
    headers["content-type"] = "application/json"
    request = urllib.request.Request(url, json.dumps(PAYLOAD).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


@pytest.mark.slow
def test_serve_exports_when_it_ends(project, receiver):
    with serving(project) as url:
        assert b"deny" in post(url)

    assert check_spans(receiver).parent == ""  # the server outlives the trace that started it


@pytest.mark.slow
def test_serve_continues_the_trace_of_a_request(project, receiver):
    other = TRACE[::-1]
    with serving(project) as url:
        post(url, traceparent=f"00-{other}-{SPAN}-01")
        post(url, traceparent="nonsense")

    first, second = receiver.named("before_tool Bash")
    session = receiver.one("invoke_agent Claude Code")
    assert (first.trace, first.parent, first.links) == (other, SPAN, [session.id])
    assert second.parent == session.id


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_hook_that_is_a_service_is_in_the_trace_of_its_event(
    project, tmp_path, receiver, telemetry
):
    world = World(tmp_path, "other", agent="claude")
    with serving(project) as url:
        hook = {"type": "http", "url": url, "name": "service"}
        world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
        engine = world.load(observers=[telemetry])
        event = BeforeTool(tool_name="Bash", tool_input={}, session_id="s1")
        decision = await engine.dispatch(event)
        engine.close()
    telemetry.close()

    assert decision.denied
    spans = {span.id: span for span in receiver.named("before_tool Bash")}
    (inner,) = [span for span in spans.values() if span.parent in spans]
    (outer,) = [span for span in spans.values() if span is not inner]
    assert (inner.trace, inner.parent) == (outer.trace, outer.id)


def test_a_variable_that_is_not_valid_is_a_usage_error(run, monkeypatch, project):
    monkeypatch.chdir(project)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")

    code, _, problem = run("fire", "PreToolUse", "--tool", "Bash", "--otel")

    assert code == 64
    assert "OTEL_EXPORTER_OTLP_PROTOCOL is grpc" in problem


@pytest.mark.anyio
async def test_integrations_take_observers(project, receiver, telemetry):
    engine, options = load_engine(
        project, {"agent": "claude", "trust_once": True, "observers": [telemetry]}
    )
    async with Session(engine, session_id="s1", **options) as session:
        run = await session.before_tool("Bash", {"command": "ls"})
    engine.close()
    telemetry.close()

    assert not run.allowed
    root = check_spans(receiver)
    events = {span.name for span in receiver.children(root)}
    assert events == {"session_start", "before_tool Bash", "session_end"}
    assert root.attributes["anyhook.session.end"] == "session_end"
