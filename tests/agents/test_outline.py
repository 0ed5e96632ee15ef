"""The outline of a payload is what the decoded event says, also of damaged payloads."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from anyhook.agents import AGENTS, get_agent
from anyhook.agents.outline import outline_of
from anyhook.agents.payloads import decode_event
from anyhook.model.events import ToolEvent, event_class
from anyhook.testing import make_payload
from tests.agents.test_recorded import SPEAKS, payloads
from tests.tables import each


def check(agent: str, payload: Mapping[str, object]) -> None:
    tables = get_agent(agent)
    event, _ = decode_event(tables.form_of(payload), payload)
    tool = event.tool if isinstance(event, ToolEvent) else None

    assert outline_of(tables, payload) == (event.session_id, event.cwd, tool)


@each("agent, payload", payloads(*SPEAKS))
def test_the_outline_of_what_real_agents_sent(agent, payload):
    check(agent, payload)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_outline_of_every_event_of_every_agent(agent):
    for wire, spec in get_agent(agent).by_wire.items():
        is_of_tool = issubclass(event_class(spec.canonical), ToolEvent)
        tool = {"tool": "shell"} if is_of_tool else {}
        payload = make_payload(wire, agent=agent, session_id="s1", cwd="/p", **tool)
        check(agent, payload)
        assert (outline_of(get_agent(agent), payload).tool is not None) == is_of_tool
        for member in payload:
            check(agent, {name: value for name, value in payload.items() if name != member})
            check(agent, {**payload, member: None})
            check(agent, {**payload, member: 7})
            check(agent, {**payload, member: {"server_name": "a", "tool_name": "b"}})


def test_the_outline_names_the_tool_of_an_mcp_server():
    payload = {
        "hook_event_name": "BeforeTool",
        "session_id": "s1",
        "cwd": "/p",
        "tool_name": "mcp_git_hub_get_issue",
        "mcp_context": {"server_name": "git_hub", "tool_name": "get_issue"},
    }

    assert outline_of(get_agent("gemini"), payload) == ("s1", "/p", "mcp__git_hub__get_issue")
