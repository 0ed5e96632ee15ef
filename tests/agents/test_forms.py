"""An agent with two forms: other names of events and tools, other payloads and replies."""

from __future__ import annotations

import json
from pathlib import Path

from anyhook.agents import get_agent
from anyhook.agents.entry import event_of_shape
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.spec.settings import SettingsFile
from anyhook.agents.translate import decode_any_form
from anyhook.engine.forms import answer_from_form
from anyhook.engine.plan import make_plan
from anyhook.model.answers import Answer, Outcome
from anyhook.model.layers import Layer
from anyhook.settings.jsonc import parse
from anyhook.settings.reader import read_document
from anyhook.settings.sources import Source

GENERIC, CLAUDE = get_agent("generic"), get_agent("claude")
PASCAL = CLAUDE.replace(name="generic", form_name="pascal", observed=None).with_settings(
    authority=GENERIC.settings.authority
)
AGENT = GENERIC.replace(
    event_key="",
    payload_keys={"session_id": "sessionId", "tool_name": "toolName", "transcript_path": None},
    payload_shapes={
        "after_tool": frozenset({"toolName", "tool_response"}),
        "before_tool": frozenset({"toolName"}),
    },
    forms={"pascal": PASCAL},
)
CAMEL = {"sessionId": "s", "cwd": "/p", "toolName": "shell", "tool_input": {"command": "ls"}}
BASH = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "transcript_path": "",
    "cwd": "/p",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
}


def read(forms, hooks):
    file = SettingsFile(Layer.PROJECT, {"*": "hooks.json"}, forms=forms)
    source = Source(Layer.PROJECT, Path("hooks.json"), file=file)
    return read_document(AGENT, source, parse(json.dumps({"hooks": hooks}), "hooks.json"))


def definition(command, matcher=None):
    handler = {"type": "command", "command": command}
    return [{"matcher": matcher, "hooks": [handler]}]


def test_a_payload_without_an_event_name_is_recognized_by_its_members():
    event, problems = decode_event(AGENT, CAMEL)
    assert (event.name, event.session_id, event.tool, problems) == ("before_tool", "s", "shell", ())
    after, _ = decode_event(AGENT, {**CAMEL, "tool_response": "x"})
    assert after.name == "after_tool"
    assert event_of_shape(AGENT.payload_shapes, {"cwd": "/p"}) is None


def test_such_a_payload_is_written_without_an_event_name():
    event, _ = decode_event(AGENT, CAMEL)
    assert encode_event(AGENT, event) == CAMEL
    assert encode_event(AGENT, event.replace(raw=None)) == {**CAMEL, "timestamp": ""}


def test_a_payload_of_another_form_becomes_an_event_of_the_agent():
    event, problems = decode_any_form(AGENT, BASH)
    assert problems == ()
    assert (event.name, event.tool_name, event.session_id) == ("before_tool", "shell", "s")
    assert AGENT.form_of(BASH) is PASCAL
    assert AGENT.form_of(CAMEL) is AGENT


def test_events_of_other_forms_have_their_names():
    assert AGENT.event("PreToolUse").canonical == "before_tool"
    assert AGENT.event("PreToolUse").wire == "before_tool"


def test_a_file_holds_the_hooks_of_its_forms_in_their_order():
    hooks = {"PreToolUse": definition("second"), "before_tool": definition("first")}
    both = read(("", "pascal"), hooks)
    assert [d.handlers[0].command for d in both.definitions] == ["first", "second"]
    assert [d.form for d in both.definitions] == ["", "pascal"]
    assert both.definitions[1].handlers[0].form == "pascal"
    only = read(("pascal",), hooks)
    assert [d.handlers[0].command for d in only.definitions] == ["second"]
    assert [problem.code for problem in only.diagnostics] == ["unknown-event"]


def test_matchers_of_a_form_see_its_names():
    hooks = {
        "PreToolUse": definition("bash", "Bash") + definition("generic", "shell"),
        "before_tool": definition("own", "shell") + definition("foreign", "Bash"),
    }
    file = read(("", "pascal"), hooks)
    plan = make_plan(AGENT, AGENT.documented, file.definitions, "before_tool", "shell")
    assert [handler.command for handler in plan.handlers] == ["own", "bash"]


def test_matchers_of_a_form_may_see_the_names_of_the_agent_too():
    agent = AGENT.replace(forms={"pascal": PASCAL.replace(matches_both_names=True)})
    file = read(("", "pascal"), {"PreToolUse": definition("a", "Bash") + definition("b", "shell")})
    plan = make_plan(agent, agent.documented, file.definitions, "before_tool", "shell")
    assert [handler.command for handler in plan.handlers] == ["a", "b"]


def test_the_answer_of_a_form_is_translated_back():
    event, _ = decode_event(AGENT, CAMEL)
    answer = Answer(outcome=Outcome.ALLOW, tool_input={"command": "ls -l"})
    assert answer_from_form(AGENT, "pascal", event, answer).tool_input == {"command": "ls -l"}
    assert answer_from_form(AGENT, "", event, answer) is answer
