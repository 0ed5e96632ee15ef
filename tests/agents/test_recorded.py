"""Payloads that real agents sent: they are translated without loss, and recognized."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyhook.agents import AGENTS, get_agent, recognize
from anyhook.agents.payloads import NOT_IN_PAYLOAD, decode_event, encode_event, payload_key
from anyhook.agents.translate import translate_event, translate_payload
from anyhook.model.events import ToolEvent, UnknownEvent
from tests.tables import each

DATA = Path(__file__).parents[1] / "data"
SPEAKS = {
    "claude": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "qwen": "qwen",
    "qwen-0.15": "qwen",
}
"""Agent to the agent that its payloads are written in."""
PROGRAMS = ("claude", "gemini", "qwen", "qwen-0.15", "codex")
"""Directories with payloads of agents that are recognized from them."""


def payloads(*agents):
    rows = []
    for agent in agents:
        for file in sorted((DATA / agent).glob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                rows.append((SPEAKS[agent], json.loads(line)))
    return rows


@each("agent, payload", payloads(*SPEAKS))
def test_a_payload_comes_back_equal(agent, payload):
    event, _ = decode_event(get_agent(agent), payload)

    assert encode_event(get_agent(agent), event) == payload


@each("agent, payload", payloads("claude", "gemini"))
def test_every_member_is_typed_and_nothing_is_wrong(agent, payload):
    tables = get_agent(agent)
    event, problems = decode_event(tables, payload)
    spec = tables.by_canonical[event.name]
    keys = {payload_key(tables, spec, f) for f in event.record_fields if f not in NOT_IN_PAYLOAD}

    assert problems == ()
    assert payload.keys() - {tables.event_key} <= keys


@each("agent, payload", payloads(*PROGRAMS))
def test_the_agent_is_recognized_from_the_payload_alone(agent, payload):
    assert recognize(payload, {}) == agent


@each("other", [{}, [], 1, None, "x", "before_tool"])
@each("agent, payload", payloads(*PROGRAMS))
def test_a_member_that_names_events_elsewhere_misleads_nobody(agent, payload, other):
    assert recognize({**payload, "event": other}, {}) == agent


@pytest.mark.parametrize("name", [{}, [], 1, None, "x"], ids=repr)
def test_an_event_without_a_proper_name_is_recognized_by_the_environment(name):
    assert recognize({"hook_event_name": name}, {}) is None
    assert recognize({"hook_event_name": name}, {"CLAUDECODE": "1"}) == "claude"


def without_last_break(arguments):
    """Return arguments without the line break after a patch, which may be there or not."""
    text = arguments.get("command")
    if not isinstance(text, str):
        return arguments
    return {**arguments, "command": text.removesuffix("\n")}


@each("agent, payload", payloads(*PROGRAMS))
def test_the_generic_form_keeps_everything_and_comes_back(agent, payload):
    source, generic = get_agent(agent), get_agent("generic")
    made, problems = translate_payload(payload, source, generic)
    event, _ = decode_event(source, payload)
    back, problems_of_translated = decode_event(generic, made)

    assert problems == ()
    assert problems_of_translated == ()
    assert made["raw_input"] == payload
    assert made["platform"] == agent
    assert made["event"] == event.name == back.name
    if isinstance(event, ToolEvent):
        # A patch that only adds a file is a call that writes one.
        is_patch = "*** Add File:" in str(event.tool_input)
        assert made["tool_name"] == ("write_file" if is_patch else event.tool)
        again = translate_event(back, generic, source)
        assert without_last_break(again.tool_input) == without_last_break(event.tool_input)
        assert source.vocabulary.canonical.get(again.tool_name) == event.tool or (
            again.tool_name == event.tool_name
        )


@pytest.mark.parametrize("agent", AGENTS)
def test_the_marks_of_an_agent_agree_with_its_tables(agent):
    tables, known = get_agent(agent), AGENTS[agent]

    forms = [tables, *tables.forms.values()]
    assert {spec.wire for form in forms for spec in form.events} == known.events
    assert known.event_key in {form.event_key for form in forms}
    assert known.tools <= set(tables.tools)
    for other, rival in AGENTS.items():
        if other != agent and rival.events == known.events:
            assert known.tools.isdisjoint(rival.tools)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_unknown_event_keeps_its_name_and_is_nobody_elses(agent):
    tables = get_agent(agent)
    payload = {tables.event_key: "BeforeLunch", "session_id": "s", "x": 1}
    event, problems = decode_event(tables, payload)
    made, _ = translate_payload(payload, tables, get_agent("generic"))

    assert isinstance(event, UnknownEvent)
    assert event.wire_name == "BeforeLunch"
    assert [p.code for p in problems] == ["payload-event"]
    assert encode_event(tables, event) == payload
    assert made["event"] == "BeforeLunch"


@each("agent", AGENTS)
@each("name", ["mcp__GitHub__createIssue", "SomeTool", "ui.click"])
def test_an_unknown_tool_keeps_its_name(agent, name):
    assert get_agent(agent).vocabulary.tool(name) == name


def test_the_server_behind_an_mcp_tool_gives_its_canonical_name():
    words = get_agent("gemini").vocabulary
    context = {"server_name": "git_hub", "tool_name": "create_issue"}

    assert words.tool("mcp_git_hub_create_issue", context) == "mcp__git_hub__create_issue"
    assert words.name("mcp__git_hub__create_issue") == "mcp_git_hub_create_issue"
    assert get_agent("claude").vocabulary.name("mcp__a__b") == "mcp__a__b"
    assert words.name("mcp__a") is None
