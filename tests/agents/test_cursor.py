"""Cursor: payloads, hook files as its commands, installation, migration and its own settings."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.agents import get_agent, recognize
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.translate import translate_event
from anyhook.migrate.plan import merge_into, plan_migration
from anyhook.model.events import AfterAgent, BeforeTool
from anyhook.settings.sources import Location
from anyhook.testing import make_payload
from tests.conformance.test_conformance import cursor_payload
from tests.tables import each
from tests.world import World

CURSOR, CLAUDE = get_agent("cursor"), get_agent("claude")
DATA = Path(__file__).parents[1] / "data" / "cursor"
PAYLOADS = [
    json.loads(line)
    for file in sorted(DATA.glob("*.jsonl"))
    for line in file.read_text(encoding="utf-8").splitlines()
]


def payload_of(event):
    (line, *_) = (DATA / f"{event}.jsonl").read_text(encoding="utf-8").splitlines()
    return json.loads(line)


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, agent="cursor")
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.project)
    return world


# -- payloads


@each("payload", PAYLOADS)
def test_a_payload_is_read_without_a_problem_and_comes_back_equal(payload):
    event, problems = decode_event(CURSOR, payload)

    assert problems == ()
    assert event.name != "unknown"
    assert encode_event(CURSOR, event) == payload


@each("environ", [{}, {"CLAUDE_PROJECT_DIR": "/p"}, {"CURSOR_VERSION": "3"}])
@each("payload", PAYLOADS)
def test_a_payload_is_recognized(payload, environ):
    assert recognize(payload, environ) == "cursor"


def test_a_payload_in_the_names_of_claude_code_is_recognized_by_its_members():
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}
    environ = {"CLAUDE_PROJECT_DIR": "/p", "CURSOR_VERSION": "3.9.16"}

    assert recognize({**payload, "cursor_version": "3.9.16"}, environ) == "cursor"
    assert recognize(payload, {"CLAUDE_PROJECT_DIR": "/p"}) == "claude"


def test_there_is_a_payload_for_every_event():
    assert {file.stem for file in DATA.glob("*.jsonl")} == {spec.wire for spec in CURSOR.events}
    assert len(CURSOR.events) == 21


@each(
    "event, field, value",
    [
        ("preToolUse", "session_id", "c0ffee00-0000-4000-8000-000000000001"),
        ("preToolUse", "cwd", "/home/dev/project"),
        ("beforeReadFile", "cwd", "/home/dev/project"),
        ("postToolUse", "tool_response", {"exitCode": 0, "stdout": "All tests passed"}),
        ("postToolUse", "duration_ms", 5432),
        ("beforeMCPExecution", "tool_input", {"title": "Bug"}),
        ("subagentStop", "stop_hook_active", True),
        ("subagentStop", "prompt_response", "It uses tokens."),
        ("stop", "stop_hook_active", False),
        ("postToolUseFailure", "error", "Command timed out after 30s"),
        ("afterAgentResponse", "response", "All tests pass."),
        ("afterAgentThought", "duration_ms", 5000),
        ("workspaceOpen", "workspace_roots", ["/home/dev/project"]),
    ],
)
def test_members_have_the_names_of_every_agent(event, field, value):
    read, _ = decode_event(CURSOR, payload_of(event))

    assert getattr(read, field) == value


@pytest.mark.parametrize("number", [0, 1])
def test_the_result_of_a_command_has_a_text(number):
    lines = (DATA / "postToolUse.jsonl").read_text(encoding="utf-8").splitlines()
    event, _ = decode_event(CURSOR, json.loads(lines[number]))

    shown = translate_event(event, CURSOR, CLAUDE)

    assert shown.tool_name == "Bash"
    assert shown.tool_response["stdout"] == ["All tests passed", "hi\n"][number]
    assert shown.tool_response["exitCode"] == 0


@pytest.mark.parametrize("name", ["before_tool", "after_agent", "before_prompt", "session_start"])
def test_an_event_of_claude_code_becomes_a_payload_of_cursor_and_comes_back(name):
    tool = {"tool": "shell", "input": {"command": "ls"}} if name == "before_tool" else {}
    event, _ = decode_event(CLAUDE, make_payload(name, agent="claude", **tool))

    payload = encode_event(CURSOR, translate_event(event, CLAUDE, CURSOR))
    back, problems = decode_event(CURSOR, payload)

    assert problems == ()
    assert payload["conversation_id"] == event.session_id
    assert payload["cursor_version"]
    assert (back.name, back.session_id) == (event.name, event.session_id)


# -- hook files as commands

GUARD = """
from anyhook.authoring import Answer, Hooks, ask, context, deny, message

hooks = Hooks()

@hooks.before_tool("shell")
def shell(event):
    if "rm" in event.call.command:
        return deny("no rm")
    if "sudo" in event.call.command:
        return ask("really?")
    if "npm install" in event.call.command:
        return event.rewrite(command="npm ci")

@hooks.before_tool("edit_file")
def edit(event):
    return deny("no edits")

@hooks.before_tool("mcp__github__*")
def github(event):
    return Answer(outcome="deny", reason="no issues", system_message="blocked an issue")

@hooks.before_tool("mcp__github__other")
def other(event):
    raise AssertionError

@hooks.after_agent
def end(event):
    return None if event.stop_hook_active else deny("run the tests")

@hooks.before_prompt
def prompt(event):
    return deny("no secrets") if "secret" in event.prompt else context("be nice")

@hooks.session_start("startup")
def start(event):
    return context("hello")

@hooks.after_tool
def after(event):
    return Answer(tool_output="hidden") if "token" in event.text else None

if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture(scope="module")
def guard(tmp_path_factory):
    file = tmp_path_factory.mktemp("hooks") / "guard.py"
    file.write_text(GUARD, encoding="utf-8")
    return file


def run_guard(guard, event, prefix=b"", **fields):
    payload = {**payload_of(event), **fields}
    done = subprocess.run(
        [sys.executable, str(guard)],
        input=prefix + json.dumps(payload).encode(),
        capture_output=True,
        env={**os.environ, "CURSOR_VERSION": "3.9.16", "CLAUDE_PROJECT_DIR": "/"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr.decode()


def shell(command):
    return {"tool_name": "Shell", "tool_input": {"command": command, "working_directory": "/w"}}


@pytest.mark.parametrize(
    ("event", "fields", "reply"),
    [
        (
            "preToolUse",
            shell("rm x"),
            {"permission": "deny", "agent_message": "no rm", "user_message": "no rm"},
        ),
        ("preToolUse", shell("ls"), {}),
        (
            "preToolUse",
            shell("npm install"),
            {"updated_input": {"command": "npm ci", "working_directory": "/w"}},
        ),
        (
            "preToolUse",
            {"tool_name": "Write", "tool_input": {"file_path": "/a"}},
            {"permission": "deny", "agent_message": "no edits", "user_message": "no edits"},
        ),
        (
            "preToolUse",
            {"tool_name": "MCP:create_issue", "tool_input": {}},
            {
                "permission": "deny",
                "agent_message": "no issues",
                "user_message": "blocked an issue",
            },
        ),
        ("stop", {}, {"followup_message": "run the tests"}),
        ("stop", {"loop_count": 1}, {}),
        (
            "beforeSubmitPrompt",
            {"prompt": "a secret"},
            {"continue": False, "user_message": "no secrets"},
        ),
        ("beforeSubmitPrompt", {}, {"additional_context": "be nice"}),
        ("sessionStart", {}, {"additional_context": "hello"}),
        ("postToolUse", {}, {}),
    ],
)  # fmt: skip
def test_a_hook_file_answers_in_the_words_of_cursor(guard, event, fields, reply):
    answer, notes = run_guard(guard, event, **fields)

    assert answer == reply
    assert notes == ""


def test_a_byte_order_mark_is_skipped(guard):
    answer, _ = run_guard(guard, "preToolUse", prefix=b"\xef\xbb\xbf", **shell("rm x"))

    assert answer["permission"] == "deny"


def test_a_question_that_cursor_does_not_enforce_is_a_denial(guard):
    answer, notes = run_guard(guard, "preToolUse", **shell("sudo ls"))

    assert answer["permission"] == "deny"
    assert answer["agent_message"] == "really? (the user cannot be asked)"
    assert "Cursor has no asking the user on preToolUse; it is denied" in notes


def test_a_result_that_cursor_does_not_replace_becomes_context(guard):
    answer, notes = run_guard(guard, "postToolUse", tool_output='{"stdout":"a token"}')

    assert answer == {"additional_context": "hidden"}
    assert "Cursor has no replaced results on postToolUse" in notes


# -- settings


def test_the_working_directory_depends_on_the_file(world):
    layers = {
        "managed": world.system,
        "user": world.home / ".cursor",
        "project": world.project,
    }
    for layer in layers:
        line = f'pwd > "{world.root}/of-{layer}"'
        world.settings(layer, {"version": 1, "hooks": {"preToolUse": [{"command": line}]}})
    below = world.project / "below"
    below.mkdir()
    engine = world.load()
    event, _ = engine.decode({**cursor_payload("preToolUse", world), "cwd": str(below)})

    asyncio.run(engine.dispatch(event))

    seen = {layer: (world.root / f"of-{layer}").read_text().strip() for layer in layers}
    assert seen == {layer: str(path) for layer, path in layers.items()}


def test_commands_get_the_variables_of_cursor(world):
    file = world.root / "variables"
    line = f'echo "$CURSOR_PROJECT_DIR $CLAUDE_PROJECT_DIR $CURSOR_VERSION" > "{file}"'
    world.settings("user", {"version": 1, "hooks": {"preToolUse": [{"command": line}]}})
    engine = world.load()
    event, _ = engine.decode(cursor_payload("preToolUse", world))

    asyncio.run(engine.dispatch(event))

    assert file.read_text().split() == [str(world.project), str(world.project), "3.9.16"]


@pytest.mark.parametrize("rules", ["documented", "observed"])
@pytest.mark.parametrize(
    ("event", "reply", "outcome"),
    [
        ("preToolUse", '{"ok": false, "reason": "no"}', "deny"),
        ("preToolUse", '{"ok": true}', "none"),
        ("stop", '{"ok": false, "reason": "go on"}', "deny"),
        ("afterFileEdit", '{"ok": false, "reason": "no"}', "none"),
    ],
)
def test_a_prompt_hook_that_refuses_denies(world, event, reply, outcome, rules):
    questions = []

    async def ask(question):
        questions.append(question)
        return reply

    prompt = {"type": "prompt", "prompt": "Is $ARGUMENTS safe?", "model": "fast"}
    world.settings("user", {"version": 1, "hooks": {event: [prompt]}})
    engine = world.load(ask=ask, rules=rules)
    read, _ = engine.decode(cursor_payload(event, world))

    decision = asyncio.run(engine.dispatch(read))

    (question,) = questions
    assert str(decision.outcome) == outcome
    assert question.model == "fast"
    assert '"cursor_version"' in question.text


def test_a_prompt_hook_whose_model_is_missing_denies_where_it_must_not_fail(world):
    prompt = {"type": "prompt", "prompt": "Is it safe?", "failClosed": True}
    world.settings("user", {"version": 1, "hooks": {"preToolUse": [prompt]}})

    decision = asyncio.run(world.load().dispatch(BeforeTool(tool_name="Shell", tool_input={})))

    assert decision.denied


def test_the_hook_of_a_host_counts_more_than_those_of_settings(world):
    allow = {"command": 'echo \'{"permission": "allow"}\''}
    world.settings("managed", {"version": 1, "hooks": {"preToolUse": [allow]}})
    engine = world.load()

    @engine.on("before_tool")
    def deny(_event):
        from anyhook import Answer

        return Answer(outcome="deny", reason="the host")

    decision = asyncio.run(engine.dispatch(BeforeTool(tool_name="Shell", tool_input={})))

    assert decision.reason == "the host"


def test_the_settings_of_claude_code_do_not_show_that_cursor_is_used(world):
    hook = {"hooks": [{"type": "command", "command": "true"}]}
    world.settings("project:claude", {"hooks": {"Stop": [hook]}})

    assert world.load(agent=None).agent.name == "claude"
    codes = [problem.code for problem in world.load().diagnostics]
    assert "other-agent" not in codes


def test_an_event_without_a_payload_is_not_limited(world):
    follow_up = {"command": 'echo \'{"followup_message": "go on"}\''}
    world.settings("user", {"version": 1, "hooks": {"stop": [follow_up]}})

    decision = asyncio.run(world.load().dispatch(AfterAgent(prompt="", prompt_response="")))

    assert decision.reason == "go on"


# -- installation and migration


@pytest.mark.slow
def test_add_writes_one_hook_for_a_tool_call_and_remove_removes_it(world, run, guard):
    file = world.write(world.project / "hooks" / "guard.py", guard.read_text())

    code, _, err = run("add", str(file), "--agent", "cursor", "--yes", "--python", "python3")
    written = json.loads((world.project / ".cursor" / "hooks.json").read_text())
    removed, _, _ = run("remove", str(file), "--agent", "cursor", "--yes")

    line = 'python3 "${CURSOR_PROJECT_DIR}/hooks/guard.py"'
    assert (code, removed) == (0, 0), err
    assert list(written) == ["version", "hooks"]
    assert written["hooks"] == {
        "preToolUse": [
            {
                "matcher": "^(?:Shell|Write|StrReplace|MCP:.*|MCP:other)$",
                "type": "command",
                "command": line,
            }
        ],
        "stop": [{"type": "command", "command": line}],
        "beforeSubmitPrompt": [{"type": "command", "command": line}],
        "sessionStart": [{"type": "command", "command": line}],
        "postToolUse": [{"type": "command", "command": line}],
    }
    assert not (world.project / ".cursor").exists()


def migrate(world, source, target, hooks):
    world.settings("project" if source == "cursor" else f"project:{source}", hooks)
    location = Location(world.project, world.home, {})
    migration = plan_migration(get_agent(source), get_agent(target), location)
    text, _ = merge_into(migration, "", "settings.json")
    return json.loads(text) if text.strip() else {}, migration.losses


def test_a_guard_of_claude_code_moves_to_cursor(world):
    hook = {"type": "command", "command": "./guard.sh", "timeout": 5}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash|Write", "hooks": [hook]}]}}

    written, losses = migrate(world, "claude", "cursor", hooks)

    assert [loss.kind for loss in losses if "run twice" in loss.reason] == ["note"]
    assert list(written) == ["version", "hooks"]
    (entry,) = written["hooks"]["preToolUse"]
    assert "hooks" not in entry
    assert entry["timeout"] == 5
    assert "shim" in entry["command"]
    engine_matcher = entry["matcher"]
    world.settings("project", written)
    (definition,) = [d for d in world.load().definitions if d.form == ""]
    assert definition.matcher == engine_matcher


def test_a_guard_of_cursor_moves_to_claude_code(world):
    hooks = {
        "version": 1,
        "hooks": {"preToolUse": [{"matcher": "^Shell$", "command": "./guard.sh", "timeout": 5}]},
    }

    written, _ = migrate(world, "cursor", "claude", hooks)

    (definition,) = written["hooks"]["PreToolUse"]
    assert definition["matcher"] == "Bash|PowerShell|Monitor"
    assert "--as cursor" in definition["hooks"][0]["command"]


def test_a_command_with_a_url_is_not_written_for_cursor(world):
    hook = {"type": "command", "command": "curl https://example.com"}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}

    written, losses = migrate(world, "claude", "cursor", hooks)

    assert written == {}
    assert [loss.kind for loss in losses if "'://'" in loss.reason] == ["lost"]


def test_variables_of_the_start_reach_the_later_hooks_of_the_session(world):
    file = world.root / "variables"
    values = {"MODE": "strict", "PATH": "/nowhere", "BASH_ENV": "/evil", "NUMBER": 1}
    start = f"echo '{json.dumps({'env': values})}'"
    shown = f'echo "$MODE,$BASH_ENV,$NUMBER" >> "{file}"; command -v cat > /dev/null || echo lost'
    hooks = {"sessionStart": [{"command": start}], "preToolUse": [{"command": shown}]}
    world.settings("user", {"version": 1, "hooks": hooks})
    engine = world.load()

    for event, session in [
        ("preToolUse", "s1"),
        ("sessionStart", "s1"),
        ("preToolUse", "s1"),
        ("preToolUse", "s2"),
        ("sessionEnd", "s1"),
    ]:
        payload = {**cursor_payload(event, world), "conversation_id": session}
        decision = asyncio.run(engine.dispatch(engine.decode(payload)[0]))
        assert "lost" not in [result.stdout.strip() for result in decision.results]

    assert file.read_text().splitlines() == [",,", "strict,,", ",,"]
