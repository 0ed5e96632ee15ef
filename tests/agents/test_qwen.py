"""Qwen Code: its settings, its tools, and what hooks can say to it."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import get_agent
from anyhook.agents.capabilities import Support, support
from anyhook.agents.encode import encode_answer
from anyhook.agents.translate import translate_payload
from anyhook.authoring.degrade import fit
from anyhook.model.answers import Answer, allow, deny, stop
from anyhook.model.events import AfterAgent, AfterTool, BeforeTool
from tests.world import World

QWEN = get_agent("qwen")
SHELL = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}


def hook(**members):
    return {"type": "command", "command": "true", **members}


def load(world, **settings):
    world.settings("user", settings)
    return world.load()


@pytest.mark.parametrize(
    ("timeout", "seconds"),
    [(30, 30.0), (0.5, 0.5), (999, 999.0), (1000, 1.0), (5000, 5.0), ("20", 20.0), (0, 60.0),
     (-1, 60.0), ("1s", 60.0), (True, 60.0)],
)  # fmt: skip
def test_a_large_timeout_is_in_milliseconds(tmp_path, timeout, seconds):
    world = World(tmp_path, agent="qwen")
    engine = load(world, hooks={"Stop": [{"hooks": [hook(timeout=timeout)]}]})

    (definition,) = engine.definitions
    assert definition.handlers[0].timeout == pytest.approx(seconds)
    is_milliseconds = isinstance(timeout, int) and timeout >= 1000
    assert ("timeout-unit" in [d.code for d in engine.diagnostics]) is is_milliseconds


def test_a_timeout_of_an_http_hook_is_always_in_seconds(tmp_path):
    world = World(tmp_path, agent="qwen")
    web = {"type": "http", "url": "http://127.0.0.1:9/x", "timeout": 1200}
    engine = load(world, hooks={"Stop": [{"hooks": [web]}]})

    assert next(iter(engine.definitions)).handlers[0].timeout == 1200.0


@pytest.mark.parametrize(("seconds", "timeout"), [(30.0, 30), (0.5, 0.5), (1500.0, 1_500_000)])
def test_timeouts_are_written_in_the_form_that_means_them(seconds, timeout):
    assert QWEN.settings.write_timeout(seconds) == timeout
    unit = QWEN.settings.handler_types["command"].timeout_unit(timeout, QWEN.settings.timeout_unit)
    assert timeout * unit == pytest.approx(seconds)


@pytest.mark.parametrize("value", [True, "true", 1, {}])
def test_any_true_value_switches_all_hooks_off(tmp_path, value):
    world = World(tmp_path, agent="qwen")
    engine = load(world, disableAllHooks=value, hooks={"Stop": [{"hooks": [hook()]}]})

    (handler,) = next(iter(engine.definitions)).handlers
    assert engine.hooks.switched_off(handler, engine.rules) is not None


def test_a_project_does_not_switch_off_the_hooks_of_its_user_unless_as_observed(tmp_path):
    world = World(tmp_path, agent="qwen")
    world.settings("project", {"disableAllHooks": True})
    engine = load(world, hooks={"Stop": [{"hooks": [hook()]}]})

    (handler,) = next(iter(engine.definitions)).handlers
    assert engine.hooks.switched_off(handler, QWEN.rules()) is None
    assert engine.hooks.switched_off(handler, QWEN.rules("observed")) is not None


@pytest.mark.parametrize("named", [False, True])
def test_the_manifest_of_an_extension_holds_hooks_or_names_their_file(tmp_path, named):
    world = World(tmp_path, agent="qwen")
    base = world.home / ".qwen" / "extensions" / "guard"
    hooks = {"Stop": [{"hooks": [hook(name="ours")]}]}
    manifest = {"name": "guard", "version": "1.0.0", "hooks": "ours.json" if named else hooks}
    world.write(base / "qwen-extension.json", json.dumps(manifest))
    world.write(base / "ours.json", json.dumps({"hooks": hooks}))

    assert [h.label for d in world.load().definitions for h in d.handlers] == ["ours"]


@pytest.mark.parametrize("ability", ["rewrite", "context", "approve"])
def test_what_the_release_ignores_before_a_tool_is_only_promised(ability):
    assert support(QWEN, "before_tool", ability) is Support.PROMISED


def test_a_rewrite_becomes_a_denial_that_names_the_arguments():
    event = BeforeTool(**SHELL)
    answer, notes = fit(QWEN, event, Answer(tool_input={"command": "ls -l"}))
    reply = encode_answer(QWEN, QWEN.by_canonical["before_tool"], answer)

    assert reply["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert '"ls -l"' in reply["hookSpecificOutput"]["permissionDecisionReason"]
    assert len(notes) == 1


def test_an_allowance_is_not_written_because_it_would_cancel_the_denial_of_another_hook():
    answer, _ = fit(QWEN, BeforeTool(**SHELL), allow("fine"))

    assert encode_answer(QWEN, QWEN.by_canonical["before_tool"], answer) == {"reason": "fine"} or (
        "permissionDecision"
        not in json.dumps(encode_answer(QWEN, QWEN.by_canonical["before_tool"], answer))
    )


def test_a_result_is_hidden_by_continue_false():
    event = AfterTool(**SHELL, tool_response={"llmContent": "secret"})
    answer, notes = fit(QWEN, event, deny("hidden"))

    assert notes == []
    assert encode_answer(QWEN, QWEN.by_canonical["after_tool"], answer) == {
        "continue": False,
        "stopReason": "hidden",
    }


def test_a_hook_that_stops_the_agent_does_not_make_it_continue():
    event = AfterAgent(prompt="", prompt_response="done")
    answer, notes = fit(QWEN, event, stop("enough"))
    reply = encode_answer(QWEN, QWEN.by_canonical["after_agent"], answer)

    assert "continue" not in reply
    assert "decision" not in reply
    assert len(notes) == 1


def test_a_denial_of_an_item_says_block():
    answer = deny("no")
    for event in ("todo_created", "todo_completed", "after_agent", "before_prompt"):
        assert encode_answer(QWEN, QWEN.by_canonical[event], answer)["decision"] == "block"


def test_a_failed_command_reaches_hooks_of_claude_code_with_its_exit_code():
    report = "Command: x\nDirectory: (root)\nOutput: bad\nError: (none)\nExit Code: 3\nSignal: 0"
    payload = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/p",
        "hook_event_name": "PostToolUseFailure",
        "timestamp": "t",
        **SHELL,
        "tool_use_id": "toolu_1",
        "error": report,
        "is_interrupt": False,
    }
    made, problems = translate_payload(payload, QWEN, get_agent("claude"))

    assert problems == ()
    assert made["hook_event_name"] == "PostToolUseFailure"
    assert made["tool_name"] == "Bash"
    assert made["error"].startswith("Exit code 3")


def test_the_older_release_knows_no_aliases_and_goes_on_after_continue_false():
    rules = QWEN.rules("observed@0.15.10")
    spec = rules.by_canonical["before_tool"]
    decide = rules.loaded_coercions.decide

    assert QWEN.match_names(spec, "run_shell_command") == ("run_shell_command",)
    assert decide("before_tool", [{"continue": False}]) == {}
    assert decide("before_prompt", [{"continue": False}]) != {}
