"""Payloads: which agent sent them, comments in files, and what the model API shows of them."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import recognize
from anyhook.agents.gemini.model_api import (
    request_from_api,
    request_to_api,
    response_from_api,
    response_to_api,
    tool_config_to_api,
)
from anyhook.model.llm import merge_request
from tests.world import command

PLAIN = {
    "session_id": "s",
    "transcript_path": "",
    "cwd": "/w",
    "hook_event_name": "BeforeTool",
    "timestamp": "2026-01-15T10:30:00.000Z",
    "tool_name": "mine",
    "tool_input": {"command": "ls"},
}


@pytest.mark.parametrize(
    ("change", "environ", "agent"),
    [
        ({}, {}, "gemini"),
        ({"tool_name": "grep_search"}, {}, "gemini"),
        ({}, {"TERMINAI_PROJECT_DIR": "/w"}, "terminai"),
        ({}, {"TERMINAI_PROJECT_DIR": "/w", "GEMINI_PROJECT_DIR": "/w"}, "terminai"),
        ({}, {"GEMINI_PROJECT_DIR": "/w"}, "gemini"),
        ({"transcript_path": "/h/.terminai/t.json"}, {}, "terminai"),
        ({"tool_name": "run_terminal_command"}, {}, "terminai"),
    ],
)
def test_a_payload_that_nothing_distinguishes_is_of_gemini_cli(change, environ, agent):
    assert recognize({**PLAIN, **change}, environ) == agent


COMMENTED = """{
  "session_id": "abc", // the session
  "transcript_path": "", /* a path */
  "cwd": "/w",
  "hook_event_name": "BeforeTool",
  "tool_name": "write_file",
  // arguments of the tool
  "tool_input": {"file_path": "a", "content": "http://x//y"},
}
"""


def guarded(world):
    deny = {"type": "command", "name": "guard", "command": command({"exit": 2, "stderr": "no"})}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [deny]}]}})


def test_an_event_file_may_have_comments(world, run):
    guarded(world)
    (world.project / "event.json").write_text(COMMENTED, encoding="utf-8")

    code, out, err = run("fire", "--event-file", "event.json", "--trust-once", "--json")

    assert code == 0, err
    shown = json.loads(out)
    assert shown["decision"]["outcome"] == "deny"
    assert shown["event"]["tool_input"] == {"file_path": "a", "content": "http://x//y"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (COMMENTED.replace('"cwd": "/w",', '"cwd" "/w",'), "events:4:"),
        (COMMENTED.replace("// arguments", "arguments"), "events:7:"),
        ('{\n  "hook_event_name": "BeforeTool"\n  "tool_name": "x"\n}', "events:3:"),
        (
            '{"hook_event_name": "BeforeTool", "tool_name": "x", "tool_input": {}}\nno\n',
            "events:2:",
        ),
        ('{\n  "a": 1 /* no end\n}', "events:2:"),
    ],
)
def test_a_mistake_is_reported_in_its_own_line(world, run, text, place):
    (world.project / "events").write_text(text, encoding="utf-8")

    code, _, err = run("fire", "--event-file", "events")

    assert code == 64
    assert place in " ".join(err.split())


CALL = {"functionCall": {"name": "shell", "args": {"command": "rm"}}, "thoughtSignature": "x"}
ANSWER = {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}, CALL]}}]}


def test_a_response_shows_the_function_calls_of_the_model():
    (candidate,) = response_from_api(ANSWER)["candidates"]

    assert candidate["functionCalls"] == [CALL["functionCall"]]
    assert candidate["content"]["parts"] == ["ok"]


def test_function_calls_are_only_shown():
    stable = response_from_api(ANSWER)
    candidate = {**stable["candidates"][0], "functionCalls": []}
    candidate["content"] = {"role": "model", "parts": ["no"]}

    changed = response_to_api(ANSWER, {**stable, "candidates": [candidate]})

    assert changed["candidates"] == [
        {"content": {"role": "model", "parts": [{"text": "no"}, CALL]}}
    ]


def test_a_tool_configuration_is_never_nested_twice():
    nested = {"functionCallingConfig": {"mode": "AUTO"}}
    api = {"model": "m", "contents": [], "config": {"toolConfig": nested}}
    override = {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}

    changed = request_to_api(api, merge_request(request_from_api(api), override))

    assert changed["config"]["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    assert tool_config_to_api(nested) == nested
