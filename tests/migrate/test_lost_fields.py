"""What commands read of their events: constructed by the shim, or reported as lost."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.payloads import payload_key
from anyhook.agents.samples import samples_of
from anyhook.agents.translate import counterparts, translate_payload
from anyhook.migrate import context
from anyhook.migrate.plan import plan_migration
from anyhook.model.events import ToolEvent, event_class
from anyhook.settings.sources import Location
from anyhook.testing import make_payload

FILES = {"cursor": ".cursor/hooks.json", "codex": ".codex/hooks.json"}
SOURCES = ("claude", "gemini", "qwen", "codex", "cursor")
"""Agents whose settings are written in one of two forms."""
SEND_SERVER = ("gemini", "terminai")
"""Agents that send `mcp_context` themselves."""


@pytest.fixture
def reported(world):
    """Return what a migration reports of commands, given by their events."""

    def call(source, target, commands, matcher=None):
        events, version = {}, {"version": 1} if source == "cursor" else {}
        for event, command in commands.items():
            handler = {"type": "command", "command": command}
            definition = {"hooks": [handler]} | ({"matcher": matcher} if matcher else {})
            events[event] = [{"command": command} if source == "cursor" else definition]
        file = world.project / FILES.get(source, f".{source}/settings.json")
        world.write(file, json.dumps(version | {"hooks": events}, indent=1))
        location = Location(world.project, world.home, {})
        migration = plan_migration(get_agent(source), get_agent(target), location)
        agent = migration.source
        places = {
            origin.handler.place: agent.by_canonical[origin.event].wire
            for _, origin in migration.origins()
        }
        return {
            (places[loss.place], loss.subject.partition(": ")[2])
            for loss in migration.losses
            if loss.place in places and loss.kind == "changed"
        }

    return call


def shown_by_shim(source, target, event, tool="shell"):
    """Return what the shim gives a command of one agent on the event that another one sends."""
    is_tool_event = issubclass(event_class(event), ToolEvent)
    fields = {"tool": target.vocabulary.name(tool)} if is_tool_event else {}
    payload = make_payload(event, agent=target.name, **fields)
    return translate_payload(payload, target, source)[0]


def untyped_members(agent, event):
    """Return the members of an event's payloads that no field of a typed event has."""
    spec = agent.by_canonical[event]
    typed = {payload_key(agent, spec, name) for name in event_class(event).record_fields}
    return samples_of(agent).events.get(spec.wire, {}).keys() - typed


@pytest.mark.parametrize("name", SOURCES)
def test_a_member_is_constructed_or_reported(reported, name):
    source = get_agent(name)
    for target in map(get_agent, CODING_AGENTS):
        members = {
            event: sorted(untyped_members(source, event))
            for event in source.by_canonical
            if target is not source and counterparts(source, event, target) == (event,)
        }
        commands = {
            source.by_canonical[event].wire: f"jq '{', '.join(f'.{name}' for name in names)}'"
            for event, names in members.items()
            if names
        }
        if not commands:
            continue
        rows = reported(source.name, target.name, commands)
        for event, names in members.items():
            shown = shown_by_shim(source, target, event)
            wire = source.by_canonical[event].wire
            lost = {member for member in names if (wire, f"reads {member!r}") in rows}
            assert lost == set(names) - shown.keys(), f"{wire} under {target.name}"


@pytest.mark.parametrize("target", [name for name in CODING_AGENTS if name != "cursor"])
def test_a_turn_that_another_agent_ended_is_completed_for_cursor(reported, target):
    for event in ("after_agent", "subagent_stop"):
        if event in get_agent(target).by_canonical:
            shown = shown_by_shim(get_agent("cursor"), get_agent(target), event)
            assert shown["status"] == "completed"
    assert reported("cursor", target, {"stop": "jq .status"}) == set()


def test_a_word_of_another_program_is_not_a_member(reported):
    command = "git status; python3 -c 'print(1)' # a task with a description"

    assert reported("cursor", "claude", {"subagentStop": command}) == set()


@pytest.mark.parametrize("target", [name for name in CODING_AGENTS if name not in SEND_SERVER])
def test_the_server_of_a_tool_is_reported_only_where_the_shim_cannot_name_it(reported, target):
    shown = shown_by_shim(
        get_agent("gemini"), get_agent(target), "before_tool", "mcp__tracker__probe"
    )
    is_named = shown["mcp_context"]["server_name"] == "tracker"
    row = ("BeforeTool", "reads 'mcp_context'")

    def rows(command):
        return reported("gemini", target, {"BeforeTool": command}, "mcp_.*")

    assert is_named is (target != "cursor")
    assert (row in rows("jq .mcp_context.server_name")) is not is_named
    for command in ("jq .mcp_context.url", """python3 -c 'd.get("mcp_context", {}).get("args")'"""):
        assert row in rows(command)


@pytest.mark.parametrize(
    ("source", "event", "command", "member"),
    [
        ("gemini", "AfterTool", "jq .tool_response.llmContent | grep 'Exit Code: 1'", "exit code"),
        ("claude", "PostToolUse", "jq .tool_response.stderr", "stderr"),
        ("claude", "PostToolUse", "jq .tool_response.stdout >&2 # stderr", None),
    ],
)
def test_a_member_of_a_result_that_the_target_does_not_send_is_reported(
    reported, source, event, command, member
):
    rows = {(event, f"reads the {member} of shell commands")} if member else set()

    assert reported(source, "codex", {event: command}) == rows


# -- what can replace an event


@pytest.mark.parametrize("target", [name for name in CODING_AGENTS if name != "cursor"])
def test_the_guards_of_cursor_have_a_counterpart_everywhere(target):
    agent = get_agent(target)
    for event in get_agent("cursor").by_canonical:
        if event.startswith(("before_", "after_")) and event not in agent.by_canonical:
            advice = context.event_advice(event, agent)
            assert any(spec.wire in advice for spec in agent.events), event


def test_advice_names_only_what_some_agent_has():
    for event in context._EVENT_ADVICE:
        others = [get_agent(name) for name in CODING_AGENTS]
        advice = [context.event_advice(event, a) for a in others if event not in a.by_canonical]
        assert not all(text.startswith("nothing in") for text in advice), event
