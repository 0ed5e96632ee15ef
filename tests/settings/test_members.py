"""Members of settings whose names and values differ between agents."""

from __future__ import annotations

import pytest

from anyhook import BeforeTool
from anyhook.agents import AGENTS
from tests.settings.sample_agent import ENTRY
from tests.world import World

WRITE = BeforeTool(tool_name="Write", tool_input={})


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setitem(AGENTS, "sample", ENTRY)
    return World(tmp_path, agent="sample")


def hooks(**members):
    handler = {"type": "command", "command": "exit 7", **members}
    return {"hooks": {"PreToolUse": [{"hooks": [handler]}]}}


def handler_of(world):
    engine = world.load()
    (definition,) = engine.definitions
    (handler,) = definition.handlers
    return handler, [diagnostic.code for diagnostic in engine.diagnostics]


@pytest.mark.parametrize(("value", "denies"), [(True, True), (False, False), (None, False)])
@pytest.mark.anyio
async def test_a_boolean_makes_a_failure_deny(world, value, denies):
    world.settings("user", hooks(failClosed=value))

    decision = await world.load().dispatch(WRITE)

    assert decision.denied is denies
    if denies:
        assert decision.reason.endswith("failed; blocking because failClosed is true")


@pytest.mark.parametrize("value", ["block", 1, [True]])
def test_another_value_than_a_boolean_is_reported(world, value):
    world.settings("user", hooks(failClosed=value))

    handler, codes = handler_of(world)

    assert handler.on_failure == "continue"
    assert codes == ["wrong-type"]


@pytest.mark.parametrize(("value", "limit"), [(3, 3), (0, 0), (2.5, 2.5), (None, None)])
def test_a_number_may_be_null(world, value, limit):
    world.settings("user", hooks(limit=value))

    handler, codes = handler_of(world)

    assert handler.options["limit"] == limit
    assert codes == []


@pytest.mark.parametrize("value", [True, "3", [], {}])
def test_another_value_than_a_number_is_left_out(world, value):
    world.settings("user", hooks(limit=value))

    handler, codes = handler_of(world)

    assert "limit" not in handler.options
    assert codes == ["wrong-type"]


def test_a_number_that_is_missing_is_not_null(world):
    world.settings("user", hooks())

    handler, _ = handler_of(world)

    assert "limit" not in handler.options
