"""Claude Code's hooks in the engine: who has a say on whom, and blocks that must not be lost."""

from __future__ import annotations

import asyncio
import json

import anyio
import pytest

from anyhook import Answer, Layer, Outcome, UnknownEvent
from anyhook.authoring import Hooks, deny
from anyhook.engine.compare import differences
from anyhook.model.events import BeforeTool
from anyhook.testing import make_event, run_hook
from tests.world import World

DENY = "echo no >&2; exit 2"
TOOL = {"tool": "shell", "input": {"command": "ls"}}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path, agent="claude")


def hooks(*handlers, event="PreToolUse", **more):
    return {"hooks": {event: [{"hooks": [{"type": "command", **h} for h in handlers], **more}]}}


def says(value, code=0):
    return f"cat >/dev/null; echo '{json.dumps(value)}'; exit {code}"


def specific(event="PreToolUse", **fields):
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def fire(world, event="before_tool", *, rules="documented", **fields):
    engine = world.load(rules=rules)
    fields = fields or (TOOL if "tool" in event or event == "permission_request" else {})
    made = make_event(event, agent=world.agent.name, **fields).replace(cwd="")
    return engine, made, anyio.run(engine.dispatch, made)


# -- a project and its user


@pytest.mark.parametrize(
    "project",
    [
        {"enabledPlugins": {"guard@m": False}},
        {"disableAllHooks": True},
        {"pluginConfigs": {"guard@m": {"options": {"mode": "off", "a\0b": "x", "a=b": "y"}}}},
    ],
)
def test_a_project_does_not_touch_the_plugins_of_its_user(world, project):
    check = '[ "$CLAUDE_PLUGIN_OPTION_MODE" = off ] && exit 0; ' + DENY
    world.plugin("guard@m", hooks({"command": check}))
    world.settings("project", project)

    assert fire(world)[2].denied


def test_a_plugin_has_only_options_that_can_be_variables(world):
    world.plugin("guard@m", hooks({"command": '[ "$CLAUDE_PLUGIN_OPTION_MODE" = on ] && exit 2'}))
    user = json.loads(world.files["user"].read_text())
    options = {"mode": "on", "a\0b": "x", "a=b": "y", "\ud800": "z"}
    world.settings("user", {**user, "pluginConfigs": {"guard@m": {"options": options}}})

    assert fire(world)[2].denied


def test_a_plugin_for_this_project_may_be_enabled_by_it(world):
    base = world.plugin("local@m", hooks({"command": DENY}), enabled="project")
    assert not fire(world)[2].denied

    record = world.home / ".claude" / "plugins" / "installed_plugins.json"
    row = {"scope": "project", "projectPath": str(world.project), "installPath": str(base)}
    record.write_text(json.dumps({"version": 2, "plugins": {"local@m": [row]}}))
    assert fire(world)[2].denied

    record.write_text(
        json.dumps({"version": 2, "plugins": {"local@m": [{**row, "projectPath": "/elsewhere"}]}})
    )
    assert not fire(world)[2].denied


def test_a_project_restricts_urls_for_itself_alone(world):
    world.settings("project", {"allowedHttpHookUrls": [], "httpHookAllowedEnvVars": ["A"]})
    loaded = world.load().hooks

    assert loaded.url_patterns(Layer.USER) is None
    assert loaded.url_patterns(Layer.PROJECT) == ()
    assert loaded.header_variables(Layer.USER) is None
    assert loaded.header_variables(Layer.PROJECT) == {"A"}

    world.settings("user", {"allowedHttpHookUrls": ["https://a/*"]})
    loaded = world.load().hooks
    assert loaded.url_patterns(Layer.PROJECT) == loaded.url_patterns(Layer.USER) == ("https://a/*",)


def test_a_new_file_of_the_administrator_is_noticed(world):
    engine = world.load(watch=True)
    event = make_event("before_tool", agent="claude", **TOOL).replace(cwd="")
    assert not anyio.run(engine.dispatch, event).denied

    drop_in = world.system / "managed-settings.d" / "10-guard.json"
    world.write(drop_in, json.dumps(hooks({"command": DENY})))

    assert anyio.run(engine.dispatch, event).denied


# -- sequences and rewrites


@pytest.mark.parametrize("code", [0, 1])
def test_a_guard_of_a_sequence_sees_what_will_run(world, code):
    rewrite = says(specific(updatedInput={"command": "rm -rf /"}), code)
    guard = "grep -q 'rm -rf' && { echo no >&2; exit 2; }; exit 0"
    world.settings("user", hooks({"command": rewrite}, {"command": guard}, sequential=True))

    assert fire(world)[2].denied


def test_what_a_sequence_sees_is_replaced_as_the_call_will_be(world, tmp_path):
    seen = tmp_path / "seen"
    world.settings(
        "user",
        hooks(
            {"command": says(specific(updatedInput={"command": "x"}))},
            {"command": f"cat > {seen}"},
            sequential=True,
        ),
    )
    tool = {"tool": "shell", "input": {"command": "ls", "timeout": 5}}
    decision = fire(world, **tool)[2]

    assert json.loads(seen.read_text())["tool_input"] == decision.tool_input == {"command": "x"}


@pytest.mark.parametrize("value", [0, False, "", []])
def test_any_value_may_stand_for_the_result_of_a_tool_of_a_server(world, value):
    reply = says(specific("PostToolUse", updatedToolOutput=value))
    world.settings("user", hooks({"command": reply}, event="PostToolUse"))
    engine, event, decision = fire(world, "after_tool", tool="mcp__files__read")

    assert decision.tool_output == value
    assert type(decision.tool_output) is type(value)
    assert engine.reply(event, decision)["hookSpecificOutput"]["updatedToolOutput"] == value


# -- stops and denials


def test_a_failure_that_blocks_does_not_swallow_a_stop(world):
    stop = says({"continue": False, "stopReason": "halt"}, 1)
    world.settings("user", hooks({"command": stop, "onFailure": "block"}))
    decision = fire(world)[2]

    assert decision.stop
    assert decision.outcome is Outcome.DENY


@pytest.mark.parametrize("interrupt", [True, False])
def test_a_stop_and_an_interrupt_are_both_stops(world, interrupt):
    reply = {
        "continue": False,
        **specific("PermissionRequest", decision={"behavior": "deny", "interrupt": interrupt}),
    }
    world.settings("user", hooks({"command": says(reply)}, event="PermissionRequest"))

    assert fire(world, "permission_request")[2].stop


def test_an_interrupt_is_only_written_beside_a_denial(world):
    engine = world.load()
    engine.register("permission_request", lambda _event: Answer(stop=True, stop_reason="halt"))
    event = make_event("permission_request", agent="claude", **TOOL).replace(cwd="")
    decision = anyio.run(engine.dispatch, event)

    assert engine.reply(event, decision) == {"continue": False, "stopReason": "halt"}


@pytest.mark.parametrize(
    ("actions", "want"),
    [
        (["cancel", "accept"], {"action": "cancel"}),
        (["decline", "accept", "cancel"], {"action": "decline"}),
        (["accept", "accept"], {"action": "accept", "content": {"n": 1}}),
    ],
)
def test_who_does_not_accept_gives_nothing_away(world, actions, want):
    replies = [
        {"command": says(specific("Elicitation", action=action, content={"n": 1})) + f" # {i}"}
        for i, action in enumerate(actions)
    ]
    world.settings("user", hooks(*replies, event="Elicitation"))
    fields = {"mcp_server_name": "s", "message": "?"}

    assert fire(world, "elicitation", **fields)[2].extra == want


def test_different_hooks_stay_different_under_observed_rules(tmp_path):
    world = World(tmp_path)
    argv = {"command": ["sh", "-c", "exit 0"]}, {"command": ["sh", "-c", DENY]}
    world.settings("user", hooks(*argv, event="BeforeTool"))
    for rules in ("documented", "observed"):
        decision = fire(world, rules=rules)[2]
        assert decision.denied
        assert len(decision.results) == 2


def test_one_hook_in_two_layers_runs_once_under_observed_rules(tmp_path):
    world = World(tmp_path)
    for layer in ("user", "project"):
        world.settings(layer, hooks({"command": "true", "name": "same"}, event="BeforeTool"))
    for rules in ("documented", "observed"):
        assert len(fire(world, rules=rules)[2].results) == 1


# -- events of any shape


@pytest.mark.parametrize("name", [["x"], 5, None])
def test_a_tool_without_a_proper_name_is_guarded_by_all(world, name):
    world.settings("user", hooks({"command": DENY}, matcher="Bash"))
    event = BeforeTool(tool_name=name, tool_input={"command": "ls"})

    assert anyio.run(world.load().dispatch, event).denied


def test_a_condition_that_cannot_be_evaluated_covers(world):
    world.settings("user", hooks({"command": DENY, "if": "Bash(rm *)"}))

    assert anyio.run(world.load().dispatch, BeforeTool(tool_name="Bash", tool_input=None)).denied


def test_a_condition_knows_the_home_that_the_engine_was_given(world):
    world.settings("user", hooks({"command": DENY, "if": "Edit(~/.ssh/**)"}))
    del world.environ["HOME"]
    path = str(world.home / ".ssh" / "config")

    assert fire(world, tool="edit_file", input={"file_path": path})[2].denied


def test_an_event_that_nobody_knows_has_no_differences(world):
    engine = world.load()
    event = UnknownEvent(wire_name="Nothing")
    decision = anyio.run(engine.dispatch, event)

    assert differences(engine, event, decision) == []


# -- hook files


def register(world, hooks):
    engine = world.load()
    hooks.register(engine)
    event = make_event("before_tool", agent="claude", **TOOL).replace(cwd="")
    return anyio.run(engine.dispatch, event)


def test_a_wrapper_of_an_async_function_answers_everywhere(world):
    async def guard(_event):
        await asyncio.sleep(0)
        return deny("no")

    file = Hooks()
    file.before_tool(lambda event: guard(event))

    assert register(world, file).denied
    assert run_hook(file, "before_tool", agent="claude", **TOOL).outcome == "deny"


@pytest.mark.parametrize(("code", "denied"), [(0, False), (None, False), (3, True)])
def test_leaving_means_the_same_everywhere(world, code, denied):
    file = Hooks(on_crash="deny")

    @file.before_tool
    def guard(_event):
        raise SystemExit(code)

    assert register(world, file).denied is denied


@pytest.mark.slow
def test_a_cancelled_guard_fails_closed(world):
    path = world.write(
        world.project / "g.py",
        "import asyncio\nfrom anyhook.authoring import Hooks\nhooks = Hooks(on_crash='deny')\n"
        "@hooks.before_tool\nasync def guard(event):\n    raise asyncio.CancelledError\n"
        "if __name__ == '__main__':\n    hooks.run()\n",
    )
    ran = run_hook(path, "before_tool", agent="claude", process=True, **TOOL)

    assert (ran.exit_code, ran.outcome) == (0, "deny")
    assert "Traceback" not in ran.stdout + ran.stderr


def test_a_denial_is_not_lost_for_a_wrong_response_beside_it(world):
    path = world.write(
        world.project / "g.py",
        "from anyhook.authoring import Hooks, deny\nhooks = Hooks()\n"
        "@hooks.before_model\ndef guard(event):\n"
        "    return deny('no', llm_response={'candidates': ['x']})\n"
        "if __name__ == '__main__':\n    hooks.run()\n",
    )
    ran = run_hook(path, "before_model", agent="gemini", process=True)

    assert ran.outcome == "deny"
    assert "left out" in ran.stderr
