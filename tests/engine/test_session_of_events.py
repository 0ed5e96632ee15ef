"""Events that a program builds without a session get one of the engine."""

from __future__ import annotations

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
