"""The spans of sessions: each ends once, whatever becomes of the session."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from anyhook import BeforeTool, SessionEnd, SyncEngine
from anyhook.errors import UsageError
from anyhook.telemetry import Telemetry
from tests.world import World

pytestmark = pytest.mark.anyio
SESSION = "invoke_agent Claude Code"


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


def shell(session):
    return BeforeTool(tool_name="Bash", tool_input={}, session_id=session)


def ends(receiver):
    """Return the identifiers of sessions and why their spans ended, in the order of arrival."""
    return [
        (span.attributes["gen_ai.conversation.id"], span.attributes["anyhook.session.end"])
        for span in receiver.named(SESSION)
    ]


async def test_closing_an_engine_ends_its_sessions(world, receiver, telemetry):
    async with world.load(observers=[telemetry]) as engine:
        await engine.dispatch(shell("s1"))
        await engine.dispatch(shell("s2"))
    telemetry.close()

    assert ends(receiver) == [("s1", "engine_closed"), ("s2", "engine_closed")]


async def test_closing_an_engine_keeps_the_sessions_of_other_agents(
    world, tmp_path, receiver, telemetry
):
    gemini = World(tmp_path / "other").load(observers=[telemetry])
    await gemini.dispatch(shell("s1"))
    engine = world.load(observers=[telemetry])
    await engine.dispatch(shell("s1"))

    engine.close()
    engine.close()
    telemetry.close()

    (other,) = receiver.named("invoke_agent Gemini CLI")
    assert ends(receiver) == [("s1", "engine_closed")]
    assert other.attributes["anyhook.session.end"] == "closed"


async def test_an_idle_session_ends_when_it_was_last_active(world, receiver):
    telemetry = Telemetry.from_environment(idle_timeout=0, every_event=True)
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell("s1"))
    await engine.dispatch(shell("s2"))
    telemetry.close()

    session, event = receiver.named(SESSION)[0], receiver.named("before_tool Bash")[0]
    assert ends(receiver) == [("s1", "idle"), ("s2", "closed")]
    assert session.end == event.end


async def test_a_session_whose_hook_is_running_is_not_idle(world, receiver):
    telemetry = Telemetry.from_environment(idle_timeout=0, every_event=True)
    engine = world.load(observers=[telemetry])
    started, go = anyio.Event(), anyio.Event()

    async def wait(event):
        if event.session_id == "s1":
            started.set()
            await go.wait()

    engine.register("before_tool", wait)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.dispatch, shell("s1"))
        await started.wait()
        await engine.dispatch(shell("s2"))
        telemetry.flush()
        assert ends(receiver) == [("s2", "idle")]
        go.set()
    telemetry.close()

    assert dict(ends(receiver)) == {"s2": "idle", "s1": "closed"}


async def test_idle_sessions_end_when_metrics_are_collected(world, receiver):
    telemetry = Telemetry.from_environment(idle_timeout=0, every_event=True)
    await world.load(observers=[telemetry]).dispatch(shell("s1"))

    telemetry._providers.meter_provider.force_flush()
    telemetry._providers.tracer_provider.force_flush()

    assert ends(receiver) == [("s1", "idle")]
    telemetry.close()


async def test_events_without_hooks_are_counted_and_have_no_spans(world, receiver):
    with Telemetry.from_environment() as telemetry:
        engine = world.load(observers=[telemetry])
        await engine.dispatch(shell("s1"))
        hook = engine.register("before_tool", lambda event: None)
        await engine.dispatch(shell("s1"))
        engine.unregister(hook)
        await engine.dispatch(shell("s1"))
        await engine.dispatch(SessionEnd(reason="other", session_id="s1"))
        await engine.dispatch(shell("s2"))

    assert len(receiver.named("before_tool Bash")) == 1
    assert ends(receiver) == [("s1", "session_end")]
    assert receiver.one(SESSION).attributes["anyhook.session.events"] == 3
    points = receiver.metric("anyhook.decisions").points
    counts = {point.attributes["anyhook.event"]: point.value for point in points}
    assert counts == {"before_tool": 4, "session_end": 1}


async def test_a_session_that_goes_on_links_to_its_former_span(world, receiver):
    telemetry = Telemetry.from_environment(idle_timeout=0, every_event=True)
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell("s1"))
    await engine.dispatch(shell("s1"))
    telemetry.close()

    first, second = receiver.named(SESSION)
    assert first.links == []
    assert second.links == [first.id]


async def test_the_number_of_open_sessions_is_bounded(world, receiver):
    telemetry = Telemetry.from_environment(max_sessions=2, every_event=True)
    engine = world.load(observers=[telemetry])

    for session in ("s1", "s2", "s1", "s3"):
        await engine.dispatch(shell(session))
    telemetry.close()

    assert ends(receiver) == [("s2", "replaced"), ("s1", "closed"), ("s3", "closed")]


async def test_of_sessions_that_ended_little_is_kept(world):
    telemetry = Telemetry(max_sessions=3, every_event=True)
    engine = world.load(observers=[telemetry])

    for number in range(100):
        await engine.dispatch(shell(f"s{number}"))
        await engine.dispatch(SessionEnd(reason="other", session_id=f"s{number}"))

    sessions = telemetry._sessions
    assert not any(sessions.count().values())
    assert len(sessions._previous) == 3


def test_an_observer_may_be_shared_by_threads(world, receiver, telemetry):
    def work(number):
        with SyncEngine(world.load(observers=[telemetry])) as engine:
            for _ in range(20):
                engine.dispatch(shell(f"s{number}"))
            engine.dispatch(SessionEnd(reason="other", session_id=f"s{number}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    telemetry.close()

    counts = [span.attributes["anyhook.session.events"] for span in receiver.named(SESSION)]
    assert sum(counts) == 4 * 21
    assert len(receiver.named("before_tool Bash")) == 4 * 20
    assert not any(telemetry._sessions.count().values())


async def test_an_event_that_is_decided_after_the_end_of_its_session_has_its_span(
    world, receiver, telemetry
):
    engine = world.load(observers=[telemetry])
    started, go = anyio.Event(), anyio.Event()

    async def wait(event):
        started.set()
        await go.wait()

    engine.register("before_tool", wait)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.dispatch, shell("s1"))
        await started.wait()
        engine.close()
        go.set()
    telemetry.close()

    assert receiver.one("before_tool Bash").parent == receiver.one(SESSION).id
    assert ends(receiver) == [("s1", "engine_closed")]


@pytest.mark.slow
async def test_an_observer_that_is_dropped_ends_its_sessions(world, receiver):
    telemetry = Telemetry.from_environment(every_event=True)
    providers = telemetry._providers
    engine = world.load(observers=[telemetry])
    await engine.dispatch(shell("s1"))

    del engine, telemetry
    gc.collect()
    providers.shutdown(5)

    assert ends(receiver) == [("s1", "closed")]


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["own", "global"])
def test_a_process_that_exits_exports_its_sessions(world, receiver, provider):
    make = {
        "own": "telemetry = Telemetry.from_environment(every_event=True)",
        "global": """
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            telemetry = Telemetry(every_event=True)
            trace.set_tracer_provider(TracerProvider())
            trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        """,
    }[provider]
    program = f"""
from anyhook import BeforeTool, SyncEngine
from anyhook.telemetry import Telemetry
{textwrap.dedent(make)}
engine = SyncEngine.load(".", agent="claude", observers=[telemetry])
engine.dispatch(BeforeTool(tool_name="Bash", tool_input={{}}, session_id="s1"))
"""
    subprocess.run([sys.executable, "-c", program], cwd=world.project, check=True)

    assert ends(receiver) == [("s1", "closed")]
    assert receiver.one("before_tool Bash").parent == receiver.one(SESSION).id


def test_at_least_one_session_may_be_open():
    with pytest.raises(UsageError, match="max_sessions is at least 1, not 0"):
        Telemetry(max_sessions=0)
