"""Metrics of decisions, durations and failures, as a receiver of OTLP gets them."""

from __future__ import annotations

import anyio
import pytest
from tools.telemetry_page import METRICS

from anyhook import Answer, BeforeTool, SessionEnd, deny
from anyhook.telemetry import names
from tests.world import World

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


def shell(**fields):
    return BeforeTool(tool_name="Bash", tool_input={"command": "ls"}, session_id="s", **fields)


def settings(world, *hooks):
    entries = [{"type": "command", **hook} for hook in hooks]
    world.settings("project", {"hooks": {"PreToolUse": [{"hooks": entries}]}})


def points(receiver, metric, *keys):
    """Return the values of some attributes to the value of each point."""
    found = receiver.metric(metric.name).points
    return {tuple(point.attributes.get(key) for key in keys): point for point in found}


async def test_decisions_are_counted_by_agent_event_and_outcome(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])
    guard = engine.register("before_tool", lambda event: deny("no"))
    for _ in range(3):
        await engine.dispatch(shell())
    engine.unregister(guard)
    await engine.dispatch(shell())
    stop = engine.register("before_tool", lambda event: Answer(stop=True))
    await engine.dispatch(shell())
    engine.unregister(stop)
    await engine.dispatch(SessionEnd(reason="other", session_id="s"))
    telemetry.close()

    metric = receiver.metric("anyhook.decisions")
    counts = points(receiver, names.DECISIONS, *METRICS[names.DECISIONS])
    assert metric.unit == "{decision}"
    assert {key: point.value for key, point in counts.items()} == {
        ("Claude Code", "before_tool", "deny", None): 3,
        ("Claude Code", "before_tool", "none", None): 1,
        ("Claude Code", "before_tool", "none", True): 1,
        ("Claude Code", "session_end", "none", None): 1,
    }


async def test_durations_are_measured_in_seconds(world, receiver, telemetry):
    settings(world, {"command": "sleep 0.05", "name": "slow"})
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell())
    telemetry.close()

    event, hook = receiver.one("before_tool Bash"), receiver.one("hook slow")
    (of_event,) = receiver.metric("anyhook.event.duration").points
    (of_hook,) = receiver.metric("anyhook.hook.duration").points
    assert receiver.metric("anyhook.event.duration").unit == "s"
    assert of_event.value == pytest.approx((event.end - event.start) / 1e9)
    assert of_hook.value == pytest.approx((hook.end - hook.start) / 1e9)
    assert of_hook.value >= 0.05
    assert of_event.bounds == of_hook.bounds == names.DURATION_BUCKETS
    assert of_hook.attributes == {
        "gen_ai.agent.name": "Claude Code",
        "anyhook.event": "before_tool",
        "anyhook.hook.name": "slow",
        "anyhook.hook.place": f"{world.files['project']}:6",
        "anyhook.hook.status": "ran",
    }


async def test_failures_and_timeouts_are_counted_by_hook(world, receiver, telemetry):
    settings(
        world,
        {"command": "exit 1", "name": "warns"},
        {"command": "sleep 60", "name": "hangs", "timeout": 0.2},
        {"command": "exit 0", "name": "works"},
    )
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: 1 / 0, name="raises")

    await engine.dispatch(shell())
    telemetry.close()

    failures = points(receiver, names.HOOK_FAILURES, names.HOOK_NAME, names.ERROR_TYPE)
    timeouts = points(receiver, names.HOOK_TIMEOUTS, names.HOOK_NAME)
    assert {key: point.value for key, point in failures.items()} == {
        ("warns", "warned"): 1,
        ("raises", "failed"): 1,
    }
    assert {key: point.value for key, point in timeouts.items()} == {("hangs",): 1}


async def test_hooks_of_one_name_differ_in_their_place(world, receiver, telemetry):
    script = world.write(world.project / "run", "")
    world.settings(
        "project",
        {
            "hooks": {
                "PreToolUse": [
                    {"hooks": [hook]}
                    for hook in (
                        {"type": "command", "command": f"sh {script} a"},
                        {"type": "command", "command": f"sh {script} b"},
                    )
                ]
            }
        },
    )
    engine = world.load(observers=[telemetry])

    await engine.dispatch(shell())
    telemetry.close()

    assert len(points(receiver, names.HOOK_DURATION, names.HOOK_NAME)) == 1
    assert len(points(receiver, names.HOOK_DURATION, names.HOOK_NAME, names.HOOK_PLACE)) == 2


async def test_hooks_that_do_not_run_have_no_duration(world, receiver, telemetry):
    settings(world, {"command": "exit 0"})
    engine = world.load(observers=[telemetry], trust_once=False)

    await engine.dispatch(shell())
    telemetry.close()

    assert "anyhook.hook.duration" not in receiver.metrics()


async def test_an_event_that_is_canceled_has_a_duration_and_no_decision(world, receiver, telemetry):
    settings(world, {"command": "sleep 60"})
    engine = world.load(observers=[telemetry])

    with anyio.move_on_after(0.1):
        await engine.dispatch(shell())
    telemetry.close()

    durations = points(receiver, names.EVENT_DURATION, names.ERROR_TYPE)
    assert [*durations] == [("canceled",)]
    assert "anyhook.decisions" not in receiver.metrics()


async def test_open_sessions_are_counted(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])
    for session in ("s1", "s2", "s3"):
        await engine.dispatch(shell().replace(session_id=session))
    await engine.dispatch(SessionEnd(reason="other", session_id="s2"))

    telemetry.flush()

    (point,) = receiver.metric("anyhook.active_sessions").points
    assert (point.attributes, point.value) == ({"gen_ai.agent.name": "Claude Code"}, 2)
    for session in ("s1", "s3"):
        await engine.dispatch(SessionEnd(reason="other", session_id=session))
    telemetry.flush()
    assert receiver.metric("anyhook.active_sessions").points[-1].value == 0


async def test_every_metric_is_as_the_table_says(world, receiver, telemetry):
    settings(world, {"command": "exit 1"}, {"command": "sleep 60", "timeout": 0.1})
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: Answer(stop=True))
    with anyio.move_on_after(0.02):
        await engine.dispatch(shell())
    await engine.dispatch(shell())
    telemetry.flush()

    assert receiver.metrics() == {metric.name for metric in METRICS}
    for metric, attributes in METRICS.items():
        sent = receiver.metric(metric.name)
        keys = {key for point in sent.points for key in point.attributes}
        assert (sent.unit, keys) == (metric.unit, set(attributes))
        assert sent.kind == ("histogram" if metric.kind == "histogram" else "sum")
