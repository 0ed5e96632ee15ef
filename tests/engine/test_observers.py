"""Observers of an engine: what they see, and that they cost the host nothing but time."""

from __future__ import annotations

import anyio
import pytest

from anyhook import BeforeTool, deny
from anyhook.model.decisions import NO_DECISION
from tests.world import World

SHELL = BeforeTool(tool_name="run_shell_command", tool_input={"command": "ls"}, session_id="s")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


class Watcher:
    """Keeps what it is shown, and gives commands a variable."""

    def __init__(self, variables=()):
        self.seen = []
        self.variables = dict(variables)

    def observe_unmatched(self, agent, event):
        return True

    def observe(self, agent, event):
        self.seen.append((agent.name, event))
        return self

    def finish(self, decision):
        self.seen.append(decision)


class Broken(Watcher):
    def finish(self, decision):
        raise OSError("no space left")


@pytest.mark.anyio
async def test_an_observer_sees_the_completed_event_and_its_decision(world):
    engine = world.load()
    engine.register("before_tool", lambda event: deny("no"))
    watcher = Watcher()
    engine.add_observer(watcher)

    decision = await engine.dispatch(SHELL)

    (agent, event), seen = watcher.seen
    assert (agent, event.name, event.cwd) == ("gemini", "before_tool", str(engine.project_dir))
    assert seen is decision


@pytest.mark.anyio
async def test_an_observer_sees_events_without_hooks(world):
    engine = world.load()
    watcher = Watcher()
    engine.add_observer(watcher)

    await engine.dispatch(SHELL)

    assert len(watcher.seen) == 2


@pytest.mark.anyio
async def test_an_observer_that_only_counts_events_without_hooks_observes_the_others(world):
    class Counter(Watcher):
        def observe_unmatched(self, agent, event):
            self.seen.append(event.name)
            return False

    engine = world.load()
    counter = Counter()
    engine.add_observer(counter)

    assert await engine.dispatch(SHELL) is NO_DECISION
    assert counter.seen == ["before_tool"]
    engine.register("before_tool", lambda event: deny("no"))
    decision = await engine.dispatch(SHELL)
    assert counter.seen[-1] is decision


@pytest.mark.anyio
async def test_an_observer_that_fails_on_an_event_without_hooks_is_reported(world):
    class Failing(Watcher):
        def observe_unmatched(self, agent, event):
            raise OSError("no space left")

    engine = world.load()
    engine.add_observer(Failing())

    decision = await engine.dispatch(SHELL)

    assert [d.code for d in decision.diagnostics] == ["observer-failed"]
    assert "no space left" in decision.diagnostics[0].message


@pytest.mark.anyio
async def test_an_observer_gives_variables_to_commands(world):
    hook = {"type": "command", "command": 'echo "$TRACEPARENT" >&2; exit 2'}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    engine = world.load()
    engine.add_observer(Watcher({"TRACEPARENT": "00-1-2-01"}))

    decision = await engine.dispatch(SHELL)

    assert decision.reason == "00-1-2-01"


@pytest.mark.anyio
async def test_an_observer_that_fails_is_reported_and_the_decision_counts(world):
    engine = world.load()
    engine.register("before_tool", lambda event: deny("no"))
    engine.add_observer(Broken())

    decision = await engine.dispatch(SHELL)

    assert decision.denied
    assert [d.code for d in decision.diagnostics] == ["observer-failed"]
    assert "no space left" in decision.diagnostics[0].message


@pytest.mark.anyio
async def test_a_dispatch_that_is_canceled_ends_its_observations(world):
    engine = world.load()

    async def hang(event):
        await anyio.sleep_forever()

    engine.register("before_tool", hang)
    watcher = Watcher()
    engine.add_observer(watcher)

    with anyio.move_on_after(0.01):
        await engine.dispatch(SHELL)

    assert watcher.seen[1] is None


@pytest.mark.anyio
async def test_a_removed_observer_sees_nothing(world):
    engine = world.load()
    watcher = Watcher()
    engine.add_observer(watcher)
    engine.remove_observer(watcher)

    await engine.dispatch(SHELL)

    assert watcher.seen == []
