"""Contents are exported if a host asks for them, and secrets not even then."""

from __future__ import annotations

import json

import pytest
from tools.telemetry_page import ATTRIBUTES

from anyhook import AfterTool, BeforePrompt, BeforeTool, deny
from anyhook.errors import UsageError
from anyhook.telemetry import Telemetry
from tests.world import World, command

pytestmark = pytest.mark.anyio

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


@pytest.fixture
def telemetry(receiver):
    with Telemetry.from_environment(contents=True, every_event=True) as telemetry:
        yield telemetry


def settings(world, line):
    hook = {"type": "command", "command": line, "name": "guard"}
    world.settings("project", {"hooks": {"PreToolUse": [{"hooks": [hook]}]}})


async def test_contents_are_exported_without_secrets(world, receiver, telemetry):
    settings(world, command({"stdout": f"out {SECRET}", "stderr": f"err {SECRET}", "exit": 2}))
    engine = world.load(observers=[telemetry])

    await engine.dispatch(
        BeforeTool(tool_name="Bash", tool_input={"command": f"login {SECRET}"}, session_id="s")
    )
    await engine.dispatch(
        AfterTool(
            tool_name="Bash",
            tool_input={"command": "ls"},
            tool_response={"stdout": f"found {SECRET}"},
            session_id="s",
        )
    )
    await engine.dispatch(BeforePrompt(prompt=f"use {SECRET}", session_id="s"))
    telemetry.close()

    before, after = receiver.one("before_tool Bash"), receiver.one("after_tool Bash")
    hidden = "[redacted:github-token]"
    assert json.loads(before.attributes["gen_ai.tool.call.arguments"]) == {
        "command": f"login {hidden}"
    }
    assert before.attributes["anyhook.reason"] == f"err {hidden}"
    assert json.loads(after.attributes["gen_ai.tool.call.result"]) == {"stdout": f"found {hidden}"}
    assert receiver.one("before_prompt").attributes["anyhook.prompt"] == f"use {hidden}"
    run = receiver.one("hook guard").attributes
    assert run["anyhook.hook.stdout"] == f"out {hidden}"
    assert run["anyhook.hook.stderr"] == f"err {hidden}"
    assert run["anyhook.hook.reason"] == f"err {hidden}"
    assert not receiver.holds(SECRET)


async def test_context_and_errors_are_exported(world, receiver, telemetry):
    output = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "look"}}
    settings(world, command({"stdout": output}))
    engine = world.load(observers=[telemetry])

    def fail(event):
        raise ValueError(f"bad {SECRET}")

    engine.register("before_tool", fail, name="fails")
    await engine.dispatch(BeforeTool(tool_name="Bash", tool_input={}, session_id="s"))
    telemetry.close()

    assert receiver.one("before_tool Bash").attributes["anyhook.context"] == "look"
    error = receiver.one("hook fails").attributes["anyhook.hook.error"]
    assert error == "raised ValueError: bad [redacted:github-token]"
    assert not receiver.holds(SECRET)


async def test_long_contents_are_cut_behind_the_search_for_secrets(world, receiver, telemetry):
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: deny("x" * 8180 + " " + SECRET))

    line = "y" * 1_000_000
    await engine.dispatch(
        BeforeTool(tool_name="Bash", tool_input={"command": line}, session_id="s")
    )
    telemetry.close()

    event = receiver.one("before_tool Bash").attributes
    assert event["anyhook.reason"] == "x" * 8180 + " [redacted:g"
    assert len(event["gen_ai.tool.call.arguments"]) == 8192
    assert not receiver.holds(SECRET[:8])


async def test_contents_that_are_no_json_are_exported_as_far_as_possible(
    world, receiver, telemetry
):
    engine = world.load(observers=[telemetry])
    loop = {"text": "a\ud800", "set": {1}}
    loop["self"] = loop

    decision = await engine.dispatch(BeforeTool(tool_name="Bash", tool_input=loop, session_id="s"))
    telemetry.close()

    assert "observer-failed" not in [d.code for d in decision.diagnostics]
    assert "a" in receiver.one("before_tool Bash").attributes["gen_ai.tool.call.arguments"]


async def test_every_content_is_in_the_table(world, receiver, telemetry):
    settings(world, command({"stdout": "out", "stderr": "err", "exit": 1}))
    engine = world.load(observers=[telemetry])
    engine.register("before_tool", lambda event: deny("no"))
    engine.register("before_tool", lambda event: 1 / 0)

    await engine.dispatch(BeforeTool(tool_name="Bash", tool_input={}, session_id="s"))
    telemetry.close()

    known = {attribute.key for attribute in ATTRIBUTES}
    for span in receiver.spans:
        assert span.attributes.keys() <= known


def test_contents_must_be_a_truth_value():
    with pytest.raises(UsageError, match="contents is True or False, not 'no'"):
        Telemetry(contents="no")
