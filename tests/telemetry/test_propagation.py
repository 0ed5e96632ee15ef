"""The trace of an agent, its hooks and what they start is one trace."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider

from anyhook import BeforeTool
from anyhook.telemetry import Telemetry
from tests.warm import Warm
from tests.worker.test_warm_engine import decide_warm
from tests.worker.test_warm_engine import load as load_warm
from tests.world import World, command

pytestmark = pytest.mark.anyio

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"
SHELL = BeforeTool(tool_name="Bash", tool_input={"command": "ls"}, session_id="s1")
PRINT = 'echo "$TRACEPARENT" $TRACESTATE >&2; exit 2'


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


def settings(world, line):
    hook = {"type": "command", "command": line}
    world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})


def span_of(traceparent):
    """Return the trace and the span in a value of `TRACEPARENT`, without its flags."""
    _, trace, span, _ = traceparent.split("-")
    return trace, span


async def test_a_command_gets_the_span_of_its_event(world, receiver, telemetry):
    settings(world, PRINT)
    engine = world.load(observers=[telemetry])

    decision = await engine.dispatch(SHELL)
    telemetry.close()

    event = receiver.one("before_tool Bash")
    assert span_of(decision.reason) == (event.trace, event.id)


async def test_the_variables_of_the_agent_name_the_parent_of_its_sessions(
    world, receiver, monkeypatch
):
    monkeypatch.setenv("TRACEPARENT", TRACEPARENT)
    monkeypatch.setenv("TRACESTATE", "vendor=1")
    settings(world, PRINT)
    telemetry = Telemetry.from_environment(every_event=True)
    engine = world.load(observers=[telemetry])

    decision = await engine.dispatch(SHELL)
    telemetry.close()

    session, event = receiver.one("invoke_agent Claude Code"), receiver.one("before_tool Bash")
    assert (session.trace, session.parent) == (TRACE, SPAN)
    assert session.state == "vendor=1"
    assert decision.reason == f"00-{TRACE}-{event.id}-01 vendor=1"


async def test_an_event_without_a_session_is_a_child_of_the_agent(world, receiver):
    telemetry = Telemetry.from_environment(every_event=True, environ={"TRACEPARENT": TRACEPARENT})
    engine = world.load(observers=[telemetry])

    await engine.dispatch(SHELL.replace(session_id=""))
    telemetry.close()

    assert receiver.one("before_tool Bash").parent == SPAN


@pytest.mark.parametrize("value", ["", "nonsense", f"00-{'0' * 32}-{SPAN}-01", "00-1-2-01"])
async def test_an_invalid_parent_is_ignored(world, receiver, value):
    telemetry = Telemetry.from_environment(every_event=True, environ={"TRACEPARENT": value})
    engine = world.load(observers=[telemetry])

    await engine.dispatch(SHELL)
    telemetry.close()

    assert receiver.one("invoke_agent Claude Code").parent == ""


async def test_a_trace_that_is_not_sampled_stays_so(world, receiver):
    settings(world, PRINT)
    telemetry = Telemetry.from_environment(environ={"TRACEPARENT": TRACEPARENT[:-1] + "0"})
    engine = world.load(observers=[telemetry])

    decision = await engine.dispatch(SHELL)
    telemetry.close()

    assert receiver.spans == []
    assert decision.reason.startswith(f"00-{TRACE}-")
    assert decision.reason.endswith("-00")
    assert receiver.metric("anyhook.decisions").points


async def test_without_an_sdk_the_variables_of_the_agent_stay(world, monkeypatch):
    world.environ["TRACEPARENT"] = TRACEPARENT
    settings(world, PRINT)
    engine = world.load(observers=[Telemetry()])

    decision = await engine.dispatch(SHELL)

    assert decision.reason == TRACEPARENT


async def test_the_span_of_the_host_is_the_parent_of_its_events(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])
    tracer = TracerProvider().get_tracer("host")

    with tracer.start_as_current_span("execute_tool Bash") as span:
        await engine.dispatch(SHELL)
    telemetry.close()

    event, session = receiver.one("before_tool Bash"), receiver.one("invoke_agent Claude Code")
    assert event.parent == f"{span.get_span_context().span_id:016x}"
    assert event.links == [session.id]


@pytest.mark.parametrize("is_async", [True, False])
async def test_spans_of_a_function_are_children_of_its_event(world, receiver, telemetry, is_async):
    engine = world.load(observers=[telemetry])
    tracer = telemetry._providers.tracer_provider.get_tracer("hook")

    def guard(event):
        with tracer.start_as_current_span("look up"):
            return

    async def guard_async(event):
        return guard(event)

    engine.register("before_tool", guard_async if is_async else guard)
    await engine.dispatch(SHELL)
    await engine.dispatch(SHELL)
    telemetry.close()

    events = receiver.named("before_tool Bash")
    assert {span.parent for span in receiver.named("look up")} == {span.id for span in events}
    session = receiver.one("invoke_agent Claude Code")
    assert {span.parent for span in events} == {session.id}  # each detached its span


OWN_SPANS = """
import os
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
parent = TraceContextTextMapPropagator().extract({"traceparent": os.environ["TRACEPARENT"]})
with provider.get_tracer("hook").start_as_current_span("own span", parent):
    pass
"""


@pytest.mark.slow
async def test_the_own_spans_of_a_command_are_children_of_its_event(world, receiver, telemetry):
    script = world.write(world.project / "hook.py", OWN_SPANS)
    endpoint = f"OTEL_EXPORTER_OTLP_ENDPOINT={receiver.url}"  # Claude Code hands none on
    settings(world, f"{endpoint} {shlex.quote(sys.executable)} {shlex.quote(str(script))}")
    engine = world.load(observers=[telemetry])

    decision = await engine.dispatch(SHELL)
    telemetry.close()

    assert [str(result.status) for result in decision.results] == ["ran"]
    assert receiver.one("own span").parent == receiver.one("before_tool Bash").id


SAY_PARENT = """
@hooks.before_tool
def guard(event):
    import os
    return deny(os.environ.get("TRACEPARENT", "no parent"))
"""


@pytest.fixture
def warm(tmp_path):
    world = Warm(tmp_path)
    yield world
    world.close()


@pytest.mark.slow
def test_a_hook_file_that_an_agent_starts_inherits_its_parent_cold_and_warm(warm):
    path = warm.hook(SAY_PARENT)
    other = f"00-{TRACE}-{SPAN[::-1]}-01"

    for run, parent in ((warm.cold, TRACEPARENT), (warm.warm, TRACEPARENT), (warm.warm, other)):
        _, out, _ = run(path, env={"TRACEPARENT": parent})
        assert json.loads(out)["reason"] == parent


async def test_a_warm_hook_gets_the_span_of_each_event(warm, receiver, telemetry):
    path = warm.hook(SAY_PARENT)
    async with load_warm(warm, path, observers=[telemetry]) as engine:
        decisions = [await decide_warm(engine, warm, path) for _ in range(2)]
    telemetry.close()

    spans = {(span.trace, span.id) for span in receiver.named("before_tool write_file")}
    assert spans == {span_of(decision.reason) for decision in decisions}
    assert len(spans) == 2


async def test_events_of_one_session_of_many_processes_are_one_trace(world, receiver):
    settings(world, command({"exit": 0}))
    for _ in range(2):
        telemetry = Telemetry.from_environment(environ={"TRACEPARENT": TRACEPARENT})
        engine = world.load(observers=[telemetry])
        await engine.dispatch(SHELL)
        engine.close()
        telemetry.close()

    assert {span.trace for span in receiver.spans} == {TRACE}
