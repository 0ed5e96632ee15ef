"""Hooks that nobody waits for; and what other readings make of the same results."""

from __future__ import annotations

import json
import threading
import time
from functools import partial

import anyio
import pytest

from anyhook import BeforePrompt, SyncEngine
from anyhook.engine.compare import differences
from anyhook.handlers.background import MAX_RESULTS, MAX_RUNNING, Background, Job
from anyhook.handlers.results import failed_result
from anyhook.model.decisions import Status
from anyhook.testing import make_event
from tests.leftovers import MARK, marked
from tests.waiting import until
from tests.world import World

CODE_3 = "echo no; exit 3"
TOOL = {"tool": "shell", "input": {"command": "ls"}}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


def hooks(*handlers, event="PreToolUse", **more):
    return {"hooks": {event: [{"hooks": [{"type": "command", **h} for h in handlers], **more}]}}


def fire(world, backend="asyncio", rules="documented", before=lambda engine: None):
    engine = world.load(rules=rules)
    before(engine)
    event = make_event("before_tool", agent=world.agent.name, **TOOL)
    decision = anyio.run(engine.dispatch, event.replace(cwd=""), backend=backend)
    return engine, event, decision


# -- in the background


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_background_hook_decides_nothing_and_is_heard_later(world, backend):
    reply = json.dumps(
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "additionalContext": "late",
            }
        }
    )
    world.settings("user", hooks({"command": f"cat >/dev/null; echo '{reply}'", "async": True}))
    engine, _, decision = fire(world, backend)

    assert not decision.denied
    assert [r.status for r in decision.results] == [Status.STARTED]
    assert engine.background.wait(20)
    [late] = engine.background.collect()
    assert late.status is Status.RAN
    assert late.answer.context == "late"
    assert engine.background.collect() == []
    engine.close()


def test_one_that_wakes_the_agent_says_why(world):
    world.settings("user", hooks({"command": "echo look >&2; exit 2", "asyncRewake": True}))
    engine, _, decision = fire(world)

    assert not decision.denied
    assert engine.background.wait(20)
    [late] = engine.background.collect()
    assert (str(late.answer.outcome), late.answer.reason) == ("deny", "look")


def test_closing_the_engine_ends_what_runs_in_the_background(world, tmp_path):
    mark = str(tmp_path)
    world.environ[MARK] = mark
    world.settings("user", hooks({"command": "sleep 600; true", "async": True}))
    engine, _, _ = fire(world)
    until(lambda: marked(mark), "it does not run")
    assert not engine.background.wait(0.01)

    engine.close()

    assert not marked(mark)
    assert engine.background.collect() == []
    engine.close()


def test_a_background_hook_that_cannot_be_started_is_a_result(world):
    world.settings(
        "user", hooks({"command": "/nothing/here", "args": [], "async": True, "timeout": 5})
    )
    engine, _, _ = fire(world)

    assert engine.background.wait(20)
    [late] = engine.background.collect()
    assert late.status is Status.FAILED


def test_a_bug_in_the_background_is_a_result(world):
    world.settings("user", hooks({"command": "true", "async": True}))

    async def broken():
        raise RuntimeError("a bug")

    engine, _, decision = fire(world)
    engine.background.wait(20)
    engine.background.collect()
    engine.background.start(make_job(engine, decision, broken))
    assert engine.background.wait(20)
    [late] = engine.background.collect()
    assert late.error == "RuntimeError: a bug"


def make_job(engine, decision, run):
    """Return a job for the first handler of a decision."""
    event = make_event("before_tool", agent="claude", **TOOL)
    context = engine._make_context(
        engine.rules.by_canonical["before_tool"], event, engine.plan(event), {}
    )
    handler = decision.results[0].handler
    return Job(handler.label, run=run, fail=partial(failed_result, context, handler))


@pytest.fixture
def job(world):
    """Make a job for the background from what it runs."""
    world.settings("user", hooks({"command": "true"}))
    engine, _, decision = fire(world)
    yield partial(make_job, engine, decision)
    engine.close()


def test_a_thread_that_cannot_be_started_is_a_result(job, monkeypatch):
    background = Background()

    def refuse(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    background.start(job(None))
    monkeypatch.undo()

    [late] = background.collect()
    assert late.status is Status.FAILED
    assert "can't start new thread" in late.error
    assert background.wait(0)
    background.close()


def test_nothing_starts_after_the_end(job):
    background, ran = Background(), []

    async def run():
        ran.append(1)

    background.close()
    background.start(job(run))

    [late] = background.collect()
    assert (late.status, late.error, ran) == (Status.FAILED, "the engine is closed", [])
    assert background.wait(0)


def test_only_some_run_at_once_and_the_rest_follow(job):
    background, lock, gate = Background(), threading.Lock(), threading.Event()
    running, most, ran = [], [], []
    finished = job(None)

    async def run():
        with lock:
            running.append(1)
            most.append(len(running))
        await anyio.to_thread.run_sync(gate.wait)
        with lock:
            running.pop()
            ran.append(1)
        return finished.fail("done")

    for _ in range(MAX_RUNNING + 5):
        background.start(job(run))
    until(lambda: len(running) == MAX_RUNNING, "they do not run")
    assert not background.wait(0)
    gate.set()

    assert background.wait(30)
    assert (len(ran), max(most)) == (MAX_RUNNING + 5, MAX_RUNNING)
    assert len(background.collect()) == MAX_RUNNING + 5


def test_the_end_drops_what_waits(job):
    background, ran = Background(), []

    async def run():
        ran.append(1)
        await anyio.sleep_forever()

    for _ in range(MAX_RUNNING + 5):
        background.start(job(run))
    until(lambda: len(ran) == MAX_RUNNING, "they do not run")
    background.close()

    assert len(ran) == MAX_RUNNING
    assert background.wait(0)
    assert background.collect() == []


def test_results_that_nobody_asks_for_are_bounded(job):
    background = Background()
    background.close()
    for _ in range(MAX_RESULTS + 5):
        background.start(job(None))

    assert len(background.collect()) == MAX_RESULTS


def test_many_background_hooks_are_all_heard(world):
    handlers = [{"command": f"echo '{{}}' # {i}", "async": True} for i in range(12)]
    world.settings("user", hooks(*handlers))
    engine, _, decision = fire(world)
    deadline = time.monotonic() + 30

    assert len(decision.results) == 12
    while not engine.background.wait(1) and time.monotonic() < deadline:
        pass
    assert len(engine.background.collect()) == 12


# -- other readings


def test_another_reading_is_compared_without_running_anything_again(world, tmp_path):
    count = tmp_path / "count"
    world.settings(
        "user",
        hooks({"command": f'echo x >> {count}; echo \'{{"decision": "deny"}}\''}),
    )
    engine, event, decision = fire(world)
    [difference] = differences(engine, event, decision)

    assert decision.denied
    assert count.read_text() == "x\n"
    assert difference.rules == "observed"
    assert {name: tuple(map(str, v)) for name, v in difference.fields.items()} == {
        "outcome": ("deny", "none")
    }
    assert "outcome is none instead of deny" in str(difference)


def test_readings_that_agree_make_no_line(world):
    world.settings("user", hooks({"command": "echo no >&2; exit 2"}))
    engine, event, decision = fire(world)

    assert decision.denied
    assert differences(engine, event, decision) == []


def test_a_handler_that_only_one_reading_runs_is_named(tmp_path):
    world = World(tmp_path)
    world.settings(
        "user",
        {
            "hooks": {
                "SessionStart": [
                    {"matcher": "startup|resume", "hooks": [{"type": "command", "command": "true"}]}
                ],
                "BeforeTool": [
                    {
                        "matcher": "shell",
                        "hooks": [{"type": "command", "command": "echo no; exit 3"}],
                    }
                ],
            }
        },
    )
    engine = world.load()
    start = make_event("session_start", agent="gemini", source="startup")
    tool = make_event("before_tool", agent="gemini", **TOOL)
    decided = [anyio.run(engine.dispatch, event.replace(cwd="")) for event in (start, tool)]

    [exact] = differences(engine, start, decided[0])
    [unanchored] = differences(engine, tool, decided[1])
    assert exact.only_here == ("true",)
    assert "does not run" in str(exact)
    assert unanchored.only_there == ("echo",)
    assert "runs too" in str(unanchored)


def test_functions_say_the_same_under_every_reading(world):
    def register(engine):
        engine.register("before_tool", lambda _event: {"decision": "block", "reason": "no"})

    engine, event, decision = fire(world, before=register)

    assert decision.denied
    assert differences(engine, event, decision) == []


@pytest.mark.slow
def test_closing_never_waits_for_a_loop_that_is_about_to_end(tmp_path):
    world = World(tmp_path, agent="claude")
    handler = {"type": "command", "command": "true", "async": True}
    world.settings("project", {"hooks": {"UserPromptSubmit": [{"hooks": [handler]}]}})
    for length in range(80):
        with SyncEngine(world.load()) as engine:
            engine.dispatch(BeforePrompt(prompt="hello"))
            time.sleep((length % 40) / 4000)  # one of them meets the moment, which is short

        assert engine.engine.background.wait(0)
