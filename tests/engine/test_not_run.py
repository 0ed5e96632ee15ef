"""Why a configured hook did not run."""

from __future__ import annotations

import pytest

from anyhook import BeforeTool
from anyhook.engine.not_run import hooks_that_did_not_run
from tests.world import World

TRUE = {"type": "command", "command": "true"}


async def reasons(world, rules="documented", tool="x"):
    """Dispatch the call of a tool; return label and reason of each hook that did not run."""
    engine = world.load(rules=rules)
    event = BeforeTool(tool_name=tool, tool_input={})
    decision = await engine.dispatch(event)
    skipped = hooks_that_did_not_run(engine, event, decision)
    return [(hook.handler.label, hook.reason) for hook in skipped]


@pytest.mark.anyio
@pytest.mark.parametrize("agent", ["gemini", "qwen"])
async def test_the_same_hook_for_the_agent_is_named_with_the_one_that_ran(tmp_path, agent):
    world = World(tmp_path, agent=agent)
    event = world.agent.event("before_tool").wire
    hooks = [{**TRUE, "name": "a", "env": {"X": value}} for value in "12"]
    path = world.settings("project", {"hooks": {event: [{"hooks": hooks}]}})

    ((label, reason),) = await reasons(world, "observed")

    assert label == "a"
    assert reason.startswith(f"it is the same hook as the one at {path}:")


@pytest.mark.anyio
async def test_a_hook_that_the_program_leaves_out_is_told(tmp_path):
    world = World(tmp_path)
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [{**TRUE, "name": "a"}]}]}})
    engine = world.load()
    engine.leave_out(lambda handler: handler.name == "a")
    event = BeforeTool(tool_name="x", tool_input={})

    (hook,) = hooks_that_did_not_run(engine, event, await engine.dispatch(event))

    assert hook.reason == "this program leaves it out"


@pytest.mark.anyio
async def test_a_matcher_of_the_handler_is_named(tmp_path):
    world = World(tmp_path, agent="cursor")
    hooks = {"preToolUse": [{"command": "true", "matcher": "Shell"}]}
    world.settings("project", {"version": 1, "hooks": hooks})

    ((_, reason),) = await reasons(world, tool="Read")

    assert reason == "its matcher 'Shell' does not match 'Read'"
