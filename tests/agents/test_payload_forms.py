"""Payloads whose members have other names and forms than the fields of events."""

from __future__ import annotations

import pytest

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.spec import EventSpec, RuleSet
from anyhook.model.events import AfterAgent, AfterTool, BeforeTool
from tests.tables import each

EVENTS = (
    EventSpec(
        "before_tool",
        "before",
        payload_keys={"cwd": "roots"},
        payload_forms={"tool_input": "json_text", "cwd": "list"},
    ),
    EventSpec("after_tool", "after", payload_forms={"tool_response": "json_text"}),
    EventSpec(
        "after_agent",
        "stop",
        payload_keys={"stop_hook_active": "count", "prompt": None, "prompt_response": None},
        payload_forms={"stop_hook_active": "count"},
        optional_fields=frozenset({"prompt", "prompt_response"}),
    ),
)
AGENT = get_agent("claude").replace(
    payload_keys={"session_id": "conversation", "timestamp": None},
    documented=RuleSet(
        name="documented",
        release="",
        events=tuple([spec.replace(payload_members={"version": "1.0"}) for spec in EVENTS]),
        exit_rules={},
    ),
)


def payload(name, **members):
    return {"conversation": "c1", "transcript_path": "", "hook_event_name": name, **members}


@each(
    "given, field, value",
    [
        (payload("before", tool_input='{"a": 1}'), "tool_input", {"a": 1}),
        (payload("before", tool_input={"a": 1}), "tool_input", {"a": 1}),
        (payload("before", tool_input="no json"), "tool_input", {}),
        (payload("before", roots=["/p", "/q"]), "cwd", "/p"),
        (payload("before", roots=[]), "cwd", ""),
        (payload("before", roots="/p"), "cwd", ""),
        (payload("before"), "session_id", "c1"),
        (payload("after", tool_response="[1]"), "tool_response", [1]),
        (payload("after", tool_response="text"), "tool_response", "text"),
        (payload("stop", count=0), "stop_hook_active", False),
        (payload("stop", count=2), "stop_hook_active", True),
        (payload("stop", count=True), "stop_hook_active", True),
        (payload("stop", count="2"), "stop_hook_active", False),
    ],
)
def test_a_member_of_another_form_is_read_and_written_back(given, field, value):
    event, _ = decode_event(AGENT, given)

    assert getattr(event, field) == value
    assert encode_event(AGENT, event) == given


def test_a_changed_field_is_written_in_the_form_of_the_member():
    event, _ = decode_event(AGENT, payload("before", tool_input='{"a": 1}', roots=["/p"]))

    written = encode_event(AGENT, event.replace(tool_input={"a": 2}, cwd="/q"))

    assert written == payload("before", tool_input='{"a": 2}', roots=["/q"])


@pytest.mark.parametrize(
    ("event", "members"),
    [
        (
            BeforeTool(session_id="c1", cwd="/p", tool_name="t", tool_input={"a": 1}),
            {"roots": ["/p"], "tool_name": "t", "tool_input": '{"a": 1}'},
        ),
        (
            AfterTool(session_id="c1", tool_name="t", tool_input={}, tool_response=[1]),
            {"cwd": "", "tool_name": "t", "tool_input": {}, "tool_response": "[1]"},
        ),
        (
            AfterAgent(session_id="c1", prompt="", prompt_response="", stop_hook_active=True),
            {"cwd": "", "count": 1},
        ),
    ],
)
def test_an_event_that_was_built_in_python_gets_the_names_and_members_of_the_agent(event, members):
    written = encode_event(AGENT, event)

    assert written == payload(AGENT.by_canonical[event.name].wire, **members, version="1.0")
