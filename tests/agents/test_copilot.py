"""GitHub Copilot CLI: its two forms, its settings, and what hooks can say to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook import Engine
from anyhook.agents import get_agent, recognize
from anyhook.agents.capabilities import Support, support
from anyhook.agents.encode import encode_answer
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.translate import decode_any_form, translate_event
from anyhook.authoring.degrade import fit
from anyhook.model.answers import Answer, Outcome, allow, ask, deny
from anyhook.model.events import AfterTool, BeforeTool
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location
from tests.tables import each

COPILOT = get_agent("copilot")
PASCAL = COPILOT.form("pascal")
CLAUDE = get_agent("claude")
DATA = Path(__file__).parents[1] / "data" / "copilot"
SHELL = {"tool_name": "bash", "tool_input": {"command": "ls", "description": "list"}}
NO_NAME_OF_ITS_OWN = frozenset({"Notification", "PermissionRequest", "SubagentStart"})
"""Events with PascalCase names whose payloads are those of the camelCase form."""


def recorded(directory):
    rows = []
    for file in sorted((DATA / directory).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            rows.append((file.stem, json.loads(line)))
    return rows


CAMEL_PAYLOADS, PASCAL_PAYLOADS = recorded("."), recorded("pascal")


# -- payloads


@each("wire, payload", CAMEL_PAYLOADS + PASCAL_PAYLOADS)
def test_a_recorded_payload_comes_back_equal(wire, payload):
    form = COPILOT.form_of(payload)
    event, problems = decode_event(form, payload)

    assert problems == ()
    assert encode_event(form, event) == payload
    assert COPILOT.event(wire).canonical == event.name


@each("payload", [payload for _, payload in CAMEL_PAYLOADS])
def test_a_payload_without_the_name_of_its_event_is_recognized(payload):
    assert COPILOT.form_of(payload) is COPILOT
    assert recognize(payload, {"COPILOT_CLI": "1", "CLAUDE_PROJECT_DIR": "/p"}) == "copilot"


@each("wire, payload", PASCAL_PAYLOADS)
def test_a_payload_of_the_other_form_is_recognized_by_the_environment(wire, payload):
    expected = COPILOT if wire in NO_NAME_OF_ITS_OWN else PASCAL

    assert COPILOT.form_of(payload) is expected
    assert recognize(payload, {"COPILOT_CLI": "1", "CLAUDE_PROJECT_DIR": "/p"}) == "copilot"


@each("wire, payload", PASCAL_PAYLOADS)
def test_an_event_in_the_other_form_has_the_same_payload_again(wire, payload):
    event, _ = decode_any_form(COPILOT, payload)
    again = encode_event(PASCAL, translate_event(event, COPILOT, PASCAL))

    if wire in NO_NAME_OF_ITS_OWN:
        assert again.keys() <= {*payload, "hook_event_name"}
    else:
        assert {key: again.get(key) for key in payload.keys() - again.keys()} == dict.fromkeys(
            payload.keys() - again.keys()
        )
        assert {k: v for k, v in again.items() if k in payload} == {k: payload[k] for k in again}


def test_a_time_is_a_number_of_milliseconds_and_a_text_in_the_other_form():
    event = BeforeTool(**SHELL, timestamp="2026-11-22T03:10:07.177Z")

    assert encode_event(COPILOT, event)["timestamp"] == 1795317007177
    assert encode_event(PASCAL, event)["timestamp"] == "2026-11-22T03:10:07.177Z"


def test_the_exit_code_of_a_shell_command_is_in_its_text():
    text = "out\n<shellId: 3 completed with exit code 7>"
    event = AfterTool(**SHELL, tool_response={"resultType": "success", "textResultForLlm": text})

    shown = translate_event(event, COPILOT, CLAUDE)

    assert (shown.tool_name, shown.tool_response["stdout"]) == ("Bash", "out")
    assert shown.tool_response["exitCode"] == 7


# -- replies


def reply_to(name, answer, agent=COPILOT):
    return encode_answer(agent, agent.by_canonical[name], answer)


@pytest.mark.parametrize("agent", [COPILOT, PASCAL], ids=["camel", "pascal"])
def test_no_reply_has_the_shape_of_claude_code(agent):
    for spec in agent.events:
        for answer in (deny("no"), ask("?"), allow(approve=True), Answer(context="c")):
            assert "hookSpecificOutput" not in encode_answer(agent, spec, answer)


def test_a_denial_is_written_as_each_event_reads_it():
    assert reply_to("before_tool", deny("no")) == {
        "permissionDecisionReason": "no",
        "permissionDecision": "deny",
    }
    assert reply_to("permission_request", deny("no")) == {"message": "no", "behavior": "deny"}
    for name in ("before_prompt", "after_tool", "after_agent", "subagent_stop"):
        assert reply_to(name, deny("no")) == {"reason": "no", "decision": "block"}


def test_changed_arguments_are_written_as_a_whole():
    fitted, notes = fit(
        COPILOT, BeforeTool(**SHELL), Answer(tool_input={"command": "ls -l"}), refuse=False
    )

    assert notes == []
    assert reply_to("before_tool", fitted) == {
        "modifiedArgs": {"command": "ls -l", "description": "list"}
    }


def test_a_prompt_can_be_denied_and_given_context():
    assert support(COPILOT, "before_prompt", "deny") is Support.YES
    assert support(COPILOT, "before_prompt", "context") is Support.UNDOCUMENTED
    assert support(COPILOT, "before_tool", "message") is Support.NO


def test_an_approval_of_a_permission_is_not_taken_back():
    from anyhook.model.tool_events import PermissionRequest

    fitted, _ = fit(COPILOT, PermissionRequest(**SHELL), allow(approve=True))

    assert fitted.outcome is Outcome.ALLOW


# -- hook files

HOOKS = """
from anyhook.authoring import Hooks, context, deny

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if "rm" in event.call.command:
        return deny("no rm")
    if "plain" in event.call.command:
        return event.rewrite(command="echo changed")

@hooks.before_prompt
def prompt(event):
    return deny("no secrets") if "secret" in event.prompt else None

@hooks.after_agent
def stop(event):
    return None if event.stop_hook_active else deny("run the tests")

@hooks.session_start
def start(event):
    return context(f"session of {event.source}")

hooks.run()
"""
CAMEL = {"sessionId": "s", "timestamp": 1795317007177, "cwd": "/p"}
SNAKE = {"session_id": "s", "timestamp": "2026-11-22T03:10:07.177Z", "cwd": "/p"}


def run_hook_file(tmp_path, payload):
    file = tmp_path / "hook.py"
    file.write_text(HOOKS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(file)],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "COPILOT_CLI": "1",
            "CLAUDE_PROJECT_DIR": "/p",
            "ANYHOOK_WORKER": "off",
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def calls(command):
    return [
        {**CAMEL, "toolName": "bash", "toolArgs": {"command": command, "description": "d"}},
        {
            **SNAKE,
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command, "description": "d"},
        },
    ]


@pytest.mark.parametrize("payload", calls("rm -r x"), ids=["camel", "pascal"])
def test_a_guard_denies_in_both_forms(tmp_path, payload):
    assert run_hook_file(tmp_path, payload) == {
        "permissionDecisionReason": "no rm",
        "permissionDecision": "deny",
    }


@pytest.mark.parametrize("payload", calls("plain"), ids=["camel", "pascal"])
def test_a_guard_rewrites_in_both_forms(tmp_path, payload):
    reply = run_hook_file(tmp_path, payload)

    assert reply["modifiedArgs"] == {"command": "echo changed", "description": "d"}
    assert "hookSpecificOutput" not in reply


@pytest.mark.parametrize(
    ("payload", "reply"),
    [
        ({"prompt": "my secret"}, {"reason": "no secrets", "decision": "block"}),
        (
            {"transcriptPath": "/t", "stopReason": "end_turn", "stop_hook_active": False},
            {"reason": "run the tests", "decision": "block"},
        ),
        ({"transcriptPath": "/t", "stopReason": "end_turn", "stop_hook_active": True}, {}),
        ({"source": "new"}, {"additionalContext": "session of new"}),
    ],
)
def test_other_events_are_answered_at_the_top_of_the_reply(tmp_path, payload, reply):
    assert run_hook_file(tmp_path, {**CAMEL, **payload}) == reply


# -- settings


def test_the_places_are_those_of_the_agent_in_their_order(tmp_path):
    project, home = tmp_path / "project", tmp_path / "home"
    places = (
        home / ".copilot/hooks/a.json",
        home / ".copilot/settings.json",
        project / ".github/hooks/b.json",
        project / ".github/hooks/a.json",
        project / ".github/hooks/sub/z.json",
        project / ".claude/settings.json",
        project / ".claude/settings.local.json",
        project / ".github/copilot/settings.json",
        project / ".github/copilot/settings.local.json",
    )
    for number, path in enumerate(places):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"hooks": {"preToolUse": [{"bash": f"echo {number}"}]}}))

    hooks = load_hook_set(COPILOT, Location.of(project, home=home, environ={}))

    commands = [handler.command for hook in hooks.definitions for handler in hook.handlers]
    assert commands == [f"echo {number}" for number in range(len(places))]


def test_another_home_of_the_agent_is_read(tmp_path):
    path = tmp_path / "other" / "hooks" / "a.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"hooks": {"preToolUse": [{"bash": "true"}]}}))

    environ = {"COPILOT_HOME": str(tmp_path / "other")}
    hooks = load_hook_set(COPILOT, Location.of(tmp_path, home=tmp_path, environ=environ))

    assert len(list(hooks.definitions)) == 1


def test_a_settings_file_of_claude_code_with_an_unknown_handler_is_reported(tmp_path):
    group = {"matcher": "Bash", "hooks": [{"type": "agent", "prompt": "is it safe?"}]}
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"hooks": {"PreToolUse": [group]}}))

    hooks = load_hook_set(COPILOT, Location.of(tmp_path, home=tmp_path / "home", environ={}))

    assert list(hooks.definitions) == []
    assert "settings-dropped" in [problem.code for problem in hooks.diagnostics]


def test_a_message_is_submitted_in_a_new_session_only(tmp_path):
    import asyncio

    from anyhook.model.events import SessionStart

    path = tmp_path / ".github" / "hooks" / "a.json"
    path.parent.mkdir(parents=True)
    path.write_text(
        json.dumps({"hooks": {"sessionStart": [{"type": "prompt", "prompt": "/review"}]}})
    )
    engine = Engine.load(tmp_path, agent="copilot", home=tmp_path / "home", trust_once=True)

    new = asyncio.run(engine.dispatch(SessionStart(source="new")))
    resumed = asyncio.run(engine.dispatch(SessionStart(source="resume")))

    assert new.extra == {"initial_user_message": "/review"}
    assert resumed.extra == {}
