"""Events that a program builds without a session get one of the engine."""

from __future__ import annotations

import json

import pytest

from anyhook import BeforeTool


@pytest.mark.anyio
async def test_events_without_a_session_share_one_of_the_engine(world):
    sessions = []
    for _ in range(2):
        engine = world.load()
        engine.register("before_tool", lambda event: sessions.append(event.session_id), name="see")
        for own in ("", "", "own"):
            await engine.dispatch(BeforeTool(session_id=own, tool_name="x", tool_input={}))

    assert all(sessions)
    assert [sessions[0], "own"] == [sessions[1], sessions[2]]
    assert sessions[3] != sessions[0]


@pytest.mark.anyio
async def test_a_command_finds_that_session_in_its_variables(world):
    hook = {
        "type": "command",
        "command": 'cat > payload; printf %s "$GEMINI_SESSION_ID" > variable',
    }
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})

    await world.load().dispatch(BeforeTool(tool_name="x", tool_input={}))

    payload = json.loads((world.project / "payload").read_text())
    assert payload["session_id"] == (world.project / "variable").read_text() != ""
