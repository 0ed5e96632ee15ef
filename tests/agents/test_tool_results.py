"""Results of tools, from every agent's form into every other's."""

from __future__ import annotations

import itertools

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.patches import write_patch
from anyhook.agents.payloads import payload_key
from anyhook.agents.tool_results import read_tool_result, write_tool_result
from anyhook.agents.translate import translate_payload
from anyhook.model.tools import RAW, ToolCall, ToolResult
from anyhook.testing import make_event, make_payload

CODEX = get_agent("codex")
CALLS = {
    "shell": {"command": "cat .env"},
    "write_file": {"file_path": "/p/a.txt", "content": "one\n"},
    "mcp__fs__read": {"path": ".env"},
}
RESULT = ToolResult(text="API_KEY=abc", stdout="API_KEY=abc", stderr="", exit_code=0)
PATCH = (
    "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: b.txt\n@@\n-x\n*** End Patch\n"
)
REPORT = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n"


def payload_of(agent, tool):
    """Return what an agent sends after a tool, with the result in its own form."""
    arguments = CALLS[tool]
    if tool == "write_file" and agent is CODEX:
        arguments = {"command": write_patch(tool, arguments, "/p")}
    response = write_tool_result(agent, ToolCall(tool=tool, arguments=arguments), RESULT)
    name = agent.vocabulary.name(tool)
    return make_payload(
        "after_tool",
        agent=agent.name,
        tool_name=name,
        tool_input=agent.vocabulary.arguments(tool, arguments),
        tool_response=response,
        cwd="/p",
    )


def response_in(agent, payload):
    return payload[payload_key(agent, agent.by_canonical["after_tool"], "tool_response")]


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_every_agent_has_a_form_of_its_own(name):
    assert get_agent(name).vocabulary.tool_result_form != RAW


@pytest.mark.parametrize("name", ["gemini", "terminai", "cursor", "qwen", "opencode", "copilot"])
def test_a_hook_reads_the_exit_code_that_the_agent_reports(name):
    call = ToolCall(tool="shell", arguments=CALLS["shell"])
    response = write_tool_result(get_agent(name), call, RESULT.replace(exit_code=1))
    event = make_event(
        "after_tool", agent=name, tool="shell", input=CALLS["shell"], tool_response=response
    )

    assert event.result.exit_code == 1
    assert "API_KEY=abc" in event.result.text


@pytest.mark.parametrize("tool", CALLS)
def test_a_result_has_the_shape_that_the_other_agent_itself_sends(tool):
    for source, target in itertools.permutations(map(get_agent, CODING_AGENTS), 2):
        translated, _ = translate_payload(payload_of(source, tool), source, target)

        own, response = (response_in(target, p) for p in (payload_of(target, tool), translated))
        pair = f"{source.name} to {target.name}"
        assert type(response) is type(own), pair
        if isinstance(own, dict):
            assert response.keys() >= own.keys() - {"exitCode"}, pair
        if tool != "write_file":
            assert "API_KEY=abc" in str(response), pair


@pytest.mark.parametrize(
    ("tool", "response", "text", "error"),
    [
        ("shell", "out\n", "out\n", None),
        ("edit_file", f"{REPORT}M a.txt\n", f"{REPORT.partition('Output:')[2][1:]}M a.txt\n", None),
        ("edit_file", "Exit code: 1\nWall time: 0 seconds\nOutput:\nno\n", "no\n", "no\n"),
        ("edit_file", "something else", "something else", None),
        ("mcp__a__b", {"content": [{"type": "text", "text": "hi"}]}, "hi", None),
        ("get_goal", {"goal": {"objective": "ship"}, "remainingTokens": None}, "ship", None),
        ("spawn_agent", '{"agent_id":"1"}', '{"agent_id":"1"}', None),
    ],
)
def test_results_of_codex_are_read(tool, response, text, error):
    result = read_tool_result(CODEX, ToolCall(tool=tool, arguments={}), response)

    assert (result.text, result.error) == (text, error)


def test_a_patch_of_codex_lists_its_files():
    call = ToolCall(tool="edit_file", arguments={"command": PATCH})

    assert write_tool_result(CODEX, call, ToolResult(text="ok")) == f"{REPORT}A a.txt\nM b.txt\n"


def test_a_patch_that_failed_shows_the_error():
    call = ToolCall(tool="edit_file", arguments={"command": PATCH})
    response = write_tool_result(CODEX, call, ToolResult(error="no such file"))

    assert read_tool_result(CODEX, call, response).error == "no such file"
