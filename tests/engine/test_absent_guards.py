"""A host learns at load time which configured hooks do not run, and may require them."""

from __future__ import annotations

import json
import logging
import re

import pytest

from anyhook import (
    BeforeTool,
    Engine,
    EventError,
    RequiredHooksError,
    SessionStart,
    SyncEngine,
    UsageError,
)
from anyhook.cli import main
from anyhook.settings.detect import agents_with_hooks, find_project

DENY = {"hooks": [{"type": "command", "command": "echo blocked >&2; exit 2"}]}


def settings(event, **more):
    return json.dumps({"hooks": {event: [DENY]}, **more})


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def claude_project(project):
    write(project / ".claude" / "settings.json", settings("PreToolUse"))
    return project


@pytest.fixture
def gemini_project(project):
    write(project / ".gemini" / "settings.json", settings("BeforeTool"))
    return project


def codes(engine):
    return [found.code for found in engine.diagnostics]


class TestTheAgentIsDetected:
    def test_the_only_agent_with_hooks_is_loaded(self, claude_project):
        engine = Engine.load(claude_project, trust_once=True)

        assert engine.agent.name == "claude"
        assert engine.diagnostics == ()

    def test_its_guard_denies(self, claude_project):
        event = BeforeTool(tool_name="Bash", tool_input={"command": "rm -rf /"})
        with SyncEngine.load(claude_project, trust_once=True) as engine:
            assert engine.dispatch(event).denied

    def test_without_hooks_anywhere_the_default_is_reported(self, project):
        messages = []

        engine = Engine.load(project, on_message=messages.append)

        assert engine.agent.name == "gemini"
        assert codes(engine) == ["agent-assumed"]
        assert len(messages) == 1
        assert "Gemini CLI" in messages[0]

    def test_the_users_hooks_decide_where_the_project_has_none(self, project, home):
        write(home / ".claude" / "settings.json", settings("PreToolUse"))

        assert Engine.load(project).agent.name == "claude"

    def test_the_projects_hooks_are_stronger_than_the_users(self, gemini_project, home):
        write(home / ".claude" / "settings.json", settings("PreToolUse"))

        engine = Engine.load(gemini_project, trust_once=True)

        assert engine.agent.name == "gemini"
        assert codes(engine) == ["other-agent"]

    def test_several_agents_are_an_error_that_names_them(self, gemini_project):
        write(gemini_project / ".claude" / "settings.json", settings("PreToolUse"))

        with pytest.raises(UsageError, match="one of: gemini, claude"):
            Engine.load(gemini_project)

    def test_a_broken_file_counts_as_one_with_hooks(self, project):
        write(project / ".claude" / "settings.json", '{"hooks": {')

        engine = Engine.load(project)

        assert engine.agent.name == "claude"
        assert codes(engine) == ["settings-syntax"]

    def test_hooks_of_another_agent_than_the_named_one_are_reported(self, claude_project):
        messages = []

        engine = Engine.load(claude_project, agent="gemini", on_message=messages.append)

        assert codes(engine) == ["other-agent"]
        assert "Claude Code" in messages[0]
        assert str(claude_project / ".claude" / "settings.json") in messages[0]

    def test_settings_without_hooks_are_no_reason_to_warn(self, gemini_project):
        write(gemini_project / ".claude" / "settings.json", '{"permissions": {"allow": []}}')

        assert Engine.load(gemini_project, trust_once=True).diagnostics == ()

    def test_a_directory_that_is_not_there_is_an_error(self, project):
        with pytest.raises(UsageError, match="no directory"):
            Engine.load(project / "gone")


class TestTheProjectIsFoundUpwards:
    def test_from_a_directory_inside_it(self, claude_project):
        inside = claude_project / "src" / "package"
        inside.mkdir(parents=True)

        assert find_project(inside) == claude_project

    def test_the_nearest_settings_are_the_projects(self, claude_project):
        nested = claude_project / "vendor" / "library"
        write(nested / ".gemini" / "settings.json", "{}")

        assert find_project(nested / ".gemini") == nested

    def test_without_settings_it_is_the_repository(self, project):
        (project / ".git").mkdir()
        (project / "src").mkdir()

        assert find_project(project / "src") == project

    def test_settings_above_the_repository_are_not_its_own(self, claude_project):
        repository = claude_project / "checkout"
        (repository / ".git").mkdir(parents=True)

        assert find_project(repository) == repository

    def test_the_home_is_no_project(self, home):
        write(home / ".claude" / "settings.json", settings("PreToolUse"))
        inside = home / "code" / "app"
        inside.mkdir(parents=True)

        assert find_project(inside) == inside

    def test_an_engine_without_a_directory_loads_it(self, claude_project, monkeypatch):
        (claude_project / "src").mkdir()
        monkeypatch.chdir(claude_project / "src")

        engine = Engine.load(trust_once=True)

        assert engine.project_dir == claude_project
        assert engine.agent.name == "claude"

    def test_every_agent_is_found_with_its_files(self, gemini_project, home):
        write(gemini_project / ".claude" / "settings.local.json", settings("PreToolUse"))
        write(home / ".terminai" / "settings.json", settings("BeforeTool"))

        found = {agent.agent: agent for agent in agents_with_hooks(gemini_project)}

        local = gemini_project / ".claude" / "settings.local.json"
        assert found["claude"].project_files == (local,)
        assert found["terminai"].user_files == (home / ".terminai" / "settings.json",)
        assert set(found) == {"gemini", "claude", "terminai"}


class TestTheHostLearnsOfIt:
    def test_hooks_without_trust_are_one_message(self, project):
        commands = ["./a.sh", "./b.sh", "./b.sh", "./b.sh", "./c.sh"]
        entries = [{"hooks": [{"type": "command", "command": command}]} for command in commands]
        write(project / ".claude" / "settings.json", json.dumps({"hooks": {"Stop": entries}}))
        messages = []

        Engine.load(project, on_message=messages.append)

        (message,) = messages
        assert "5 hooks do not run: their project is not trusted" in message
        assert "a.sh, b.sh (3 entries), c.sh" in message

    def test_hooks_in_one_message_get_no_diagnostics_of_their_own(self, project, monkeypatch):
        entries = [DENY, {"hooks": [{"type": "command", "command": "./a.sh"}]}]
        write(project / ".claude" / "settings.json", json.dumps({"hooks": {"Stop": entries}}))
        monkeypatch.setattr("anyhook.engine.guard.TrustGuard._report", lambda *_: 1 / 0)

        Engine.load(project, on_message=str)

    def test_hooks_that_are_switched_off_are_reported_with_the_switch(self, gemini_project):
        file = write(
            gemini_project / ".gemini" / "settings.json",
            settings("BeforeTool", hooksConfig={"enabled": False}),
        )
        messages = []

        Engine.load(gemini_project, trust_once=True, on_message=messages.append)

        (message,) = messages
        assert "1 hook does not run" in message
        assert str(file) in message

    def test_without_a_function_the_logger_gets_the_messages(self, claude_project, caplog):
        with caplog.at_level(logging.WARNING, "anyhook"):
            Engine.load(claude_project)

        assert [record.name for record in caplog.records] == ["anyhook"]
        assert "not trusted" in caplog.text

    def test_a_hook_that_fails_is_reported_once(self, project):
        failing = {"hooks": [{"type": "command", "command": "echo broken >&2; exit 1"}]}
        file = {"hooks": {"BeforeTool": [failing]}}
        write(project / ".gemini" / "settings.json", json.dumps(file))
        messages = []
        event = BeforeTool(tool_name="write_file", tool_input={})

        with SyncEngine.load(project, trust_once=True, on_message=messages.append) as engine:
            for _ in range(3):
                assert not engine.dispatch(event).denied

        (message,) = messages
        assert "broken" in message

    @pytest.mark.parametrize(
        "line",
        [
            "echo process $$ is broken >&2; exit 1",
            "echo '{\"decision\":' $$",
            "echo $$ is not JSON >&2; echo '{'; exit 3",
        ],
    )
    def test_a_hook_that_prints_its_process_id_is_reported_once(self, project, line):
        file = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": line}]}]}}
        write(project / ".gemini" / "settings.json", json.dumps(file))
        messages = []
        event = BeforeTool(tool_name="write_file", tool_input={})

        with SyncEngine.load(project, trust_once=True, on_message=messages.append) as engine:
            engine.dispatch(event)
            first = len(messages)
            engine.dispatch(event)

        assert first == len(messages) > 0

    def test_a_hook_that_fails_in_another_way_is_reported_again(self, project):
        line = "test -e failed && exit 4; touch failed; exit 3"
        file = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": line}]}]}}
        write(project / ".gemini" / "settings.json", json.dumps(file))
        messages = []
        event = BeforeTool(tool_name="write_file", tool_input={})

        with SyncEngine.load(project, trust_once=True, on_message=messages.append) as engine:
            for _ in range(3):
                engine.dispatch(event)

        assert ["exit code 3" in messages[0], "exit code 4" in messages[1]] == [True, True]
        assert len(messages) == 2

    def test_a_function_is_reported_once_for_each_kind_of_error(self, project):
        errors = iter([ValueError("call 1"), ValueError("call 2"), KeyError("call 3")])

        def fail(_event):
            raise next(errors)

        messages = []
        event = BeforeTool(tool_name="write_file", tool_input={})

        with SyncEngine.load(project, agent="gemini", on_message=messages.append) as engine:
            engine.engine.register("before_tool", fail)
            for _ in range(3):
                engine.dispatch(event)

        assert ["ValueError: call 1" in messages[0], "KeyError" in messages[1]] == [True, True]
        assert len(messages) == 2

    def test_a_function_that_fails_costs_no_hook_its_answer(self, gemini_project, caplog):
        def fail(text):
            raise RuntimeError("the window is closed")

        event = BeforeTool(tool_name="write_file", tool_input={})
        with SyncEngine.load(gemini_project, on_message=fail) as engine:
            decision = engine.dispatch(event)

        assert not decision.denied
        assert "the window is closed" in caplog.text

    def test_a_payload_in_place_of_an_event_is_a_clear_error(self, gemini_project):
        with (
            SyncEngine.load(gemini_project, trust_once=True) as engine,
            pytest.raises(EventError, match=r"engine\.decode"),
        ):
            engine.dispatch({"hook_event_name": "BeforeTool"})


class TestHooksAreRequired:
    def test_a_project_whose_hooks_run_is_loaded(self, gemini_project):
        Engine.load(gemini_project, trust_once=True, require=True)
        Engine.load(gemini_project, trust_once=True, require={"before_tool"})

    def test_without_trust_it_is_an_error_with_the_reason(self, gemini_project):
        with pytest.raises(RequiredHooksError, match="not trusted") as caught:
            Engine.load(gemini_project, require=True, on_message=str)

        assert [found.code for found in caught.value.diagnostics] == [
            "project-untrusted",
            "no-hooks",
        ]

    @pytest.mark.parametrize("require", [True, {"before_tool"}])
    def test_an_empty_project_is_an_error(self, project, require):
        with pytest.raises(RequiredHooksError):
            Engine.load(project, require=require, on_message=str)

    @pytest.mark.parametrize("require", [True, {"BeforeTool"}])
    def test_a_hook_that_is_switched_off_is_an_error(self, gemini_project, require):
        write(
            gemini_project / ".gemini" / "settings.json",
            settings("BeforeTool", hooksConfig={"enabled": False}),
        )

        with pytest.raises(RequiredHooksError):
            Engine.load(gemini_project, trust_once=True, require=require, on_message=str)

    @pytest.mark.parametrize("require", [True, {"before_tool"}])
    def test_a_file_that_cannot_be_read_is_an_error(self, gemini_project, home, require):
        write(home / ".gemini" / "settings.json", '{"hooks":')

        with pytest.raises(RequiredHooksError, match=r"settings\.json:1"):
            Engine.load(gemini_project, trust_once=True, require=require, on_message=str)

    @pytest.mark.parametrize(
        ("definition", "reason"),
        [
            ({"hooks": [{"type": "command", "command": "./none.sh"}]}, "none.sh does not exist"),
            ({"hooks": [{"type": "command", "command": "no-such-program"}]}, "no program"),
            ({"matcher": "Bash(rm *)", **DENY}, "is a permission rule"),
            ({"matcher": "Bsh", **DENY}, "did you mean 'Bash'"),
            ({"matcher": "run_shell_command|Raed", **DENY}, "'Raed' is not a tool of Claude Code"),
            ({"matcher": "mcp__github", **DENY}, "names a server and no tool"),
            ({"matcher": "Write|Edit(", **DENY}, "'Write|Edit(' is not a tool of Claude Code"),
            ({"hooks": [{"type": "prompt", "prompt": "Is it safe?"}]}, "pass ask=…"),
            ({"hooks": [{"type": "agent", "prompt": "Is it safe?"}]}, "pass ask=…"),
            ({"hooks": [{"type": "mcp_tool", "server": "a", "tool": "b"}]}, "pass mcp=…"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    @pytest.mark.parametrize("require", [True, {"before_tool"}])
    def test_a_guard_that_can_never_run_is_an_error(self, project, definition, reason, require):
        file = {"hooks": {"PreToolUse": [definition, {"matcher": "Bash", **DENY}]}}
        write(project / ".claude" / "settings.json", json.dumps(file))

        with pytest.raises(RequiredHooksError, match=re.escape(reason)):
            Engine.load(project, trust_once=True, require=require)
        assert Engine.load(project, trust_once=True, on_message=str).definitions

    @pytest.mark.parametrize(
        ("members", "cause"),
        [
            ({}, "it is not trusted"),
            ({"disableAllHooks": True}, r"settings\.json:1 switches it off"),
        ],
    )
    def test_an_event_whose_hook_does_not_run_has_the_cause(self, project, members, cause):
        file = {**members, "hooks": {"PreToolUse": [{"matcher": "Bash", **DENY}]}}
        write(project / ".claude" / "settings.json", json.dumps(file))

        with pytest.raises(RequiredHooksError, match=cause):
            Engine.load(project, require={"before_tool"}, on_message=str)

    def test_a_matcher_of_an_event_with_known_subjects_is_checked_too(self, project):
        file = {"hooks": {"SessionStart": [{"matcher": "start-up|begin", **DENY}]}}
        write(project / ".claude" / "settings.json", json.dumps(file))

        with pytest.raises(RequiredHooksError, match="startup"):
            Engine.load(project, trust_once=True, require={"session_start"})

    @pytest.mark.parametrize("matcher", ["delete_account", "Bash|Raed", "account_.*", "mcp__a__b"])
    def test_a_matcher_may_name_a_tool_of_the_host(self, project, matcher):
        file = {"hooks": {"PreToolUse": [{"matcher": matcher, **DENY}]}}
        write(project / ".claude" / "settings.json", json.dumps(file))

        Engine.load(project, trust_once=True, require=True)

    def test_a_hook_that_cannot_run_on_another_event_does_not_count(self, project):
        prompt = {"hooks": [{"type": "prompt", "prompt": "Is it done?"}]}
        write(
            project / ".claude" / "settings.json",
            json.dumps({"hooks": {"PreToolUse": [DENY], "Stop": [prompt]}}),
        )

        Engine.load(project, trust_once=True, require={"before_tool"})

    def test_a_model_that_is_there_makes_a_prompt_run(self, project):
        async def ask(_question):
            return '{"ok": true}'

        prompt = {"hooks": [{"type": "prompt", "prompt": "Is it safe?"}]}
        file = {"hooks": {"PreToolUse": [prompt]}}
        write(project / ".claude" / "settings.json", json.dumps(file))

        Engine.load(project, trust_once=True, require=True, ask=ask)

    def test_hooks_on_another_event_do_not_count(self, gemini_project):
        with pytest.raises(RequiredHooksError, match="no hook is configured on AfterTool"):
            Engine.load(gemini_project, trust_once=True, require={"after_tool"})


@pytest.mark.parametrize(
    "command",
    ["echo not here >&2; exit 2", """echo '{"decision": "deny", "reason": "not here"}'"""],
    ids=["exit code 2", "JSON"],
)
class TestADenialOfAnEventThatCannotBeDenied:
    @pytest.fixture
    def denying(self, project, command):
        handler = {"type": "command", "command": command}
        file = {"hooks": {"SessionStart": [{"hooks": [handler]}]}}
        write(project / ".gemini" / "settings.json", json.dumps(file))
        return project

    def test_has_no_effect_in_either_form(self, denying):
        with SyncEngine.load(denying, trust_once=True) as engine:
            decision = engine.dispatch(SessionStart(source="startup"))

        assert decision.reason == "not here"
        assert "output-no-effect" in [found.code for found in decision.diagnostics]

    def test_is_shown_as_such(self, denying, monkeypatch, capsys):
        monkeypatch.chdir(denying)

        main(["fire", "SessionStart", "--trust-once"])

        assert "this event cannot be denied" in " ".join(capsys.readouterr().out.split())


class TestOptionsOfAnEngine:
    @pytest.mark.parametrize(
        "option", [{"require": "before_tool"}, {"trust_once": "no"}, {"on_message": 5}]
    )
    def test_an_option_of_the_wrong_type_is_refused(self, gemini_project, option):
        with pytest.raises(UsageError, match=next(iter(option))):
            Engine.load(gemini_project, **option)

    def test_a_hook_that_was_taken_out_is_reported_and_required(self, claude_project, monkeypatch):
        monkeypatch.chdir(claude_project)
        assert main(["disable", "echo"]) == 0

        engine = Engine.load(".", trust_once=True, agent="claude")

        assert [found.code for found in engine.diagnostics] == ["hooks-off"]
        with pytest.raises(RequiredHooksError, match="disabled"):
            Engine.load(".", trust_once=True, agent="claude", require={"before_tool"})

    def test_the_current_directory_stands_for_its_project(self, gemini_project, monkeypatch):
        (gemini_project / "src").mkdir()
        monkeypatch.chdir(gemini_project / "src")

        assert Engine.load(".", agent="gemini", trust_once=True).definitions != ()


RUN_SHELL = BeforeTool(tool_name="Bash", tool_input={"command": "ls"})


class TestRequiredHooksThatDoNotRunLater:
    """What ends a guard while the engine is loaded is an error at the next event of the guard."""

    @pytest.fixture
    def settings_file(self, project):
        script = write(project / "guard.sh", "#!/bin/sh\nexit 0\n")
        script.chmod(0o755)
        hook = {"hooks": [{"type": "command", "command": f'"{script}"'}]}
        return write(
            project / ".claude" / "settings.json",
            json.dumps({"hooks": {"PreToolUse": [hook]}}),
        )

    @pytest.fixture
    def trusted(self, project, settings_file, monkeypatch):
        monkeypatch.chdir(project)
        assert main(["trust", "--yes", "--agent", "claude"]) == 0

    @pytest.fixture
    def load(self, project):
        engines = []

        def load(**options):
            engine = SyncEngine.load(project, agent="claude", on_message=str, **options)
            engines.append(engine)
            return engine

        yield load
        for engine in engines:
            engine.close()

    @pytest.mark.slow
    @pytest.mark.usefixtures("trusted")
    @pytest.mark.parametrize("require", [True, {"before_tool"}])
    def test_one_that_loses_its_trust(self, project, load, require):
        engine = load(require=require)
        assert not engine.dispatch(RUN_SHELL).denied

        write(project / "guard.sh", "#!/bin/sh\nexit 0 # changed\n")

        with pytest.raises(RequiredHooksError, match="changed since it was trusted"):
            engine.dispatch(RUN_SHELL)
        assert main(["trust", "--yes", "--agent", "claude"]) == 0
        assert not engine.dispatch(RUN_SHELL).denied

    @pytest.mark.parametrize("require", [True, {"before_tool"}])
    def test_one_whose_script_is_deleted(self, project, settings_file, load, require):
        engine = load(require=require, trust_once=True)

        (project / "guard.sh").unlink()

        with pytest.raises(RequiredHooksError, match=r"guard\.sh does not exist"):
            engine.dispatch(RUN_SHELL)

    @pytest.mark.parametrize("text", ["{}", None])
    @pytest.mark.parametrize("require", [True, {"before_tool"}])
    @pytest.mark.parametrize("watch", [True, False])
    def test_one_that_leaves_the_settings(self, settings_file, load, require, text, watch):
        before = settings_file.read_text()
        engine = load(require=require, trust_once=True, watch=watch)

        settings_file.unlink()
        if text is not None:
            settings_file.write_text(text)
        assert watch or engine.engine.reload()

        assert engine.engine.listens("before_tool")
        for _ in range(2):
            with pytest.raises(RequiredHooksError, match="no hook is configured"):
                engine.dispatch(RUN_SHELL)
        settings_file.write_text(before)
        assert watch or engine.engine.reload()
        assert not engine.dispatch(RUN_SHELL).denied

    def test_the_hooks_of_a_file_that_is_half_written_stay_in_force(self, settings_file, load):
        engine = load(require=True, trust_once=True, watch=True)

        settings_file.write_text('{"hooks": {"PreToolUse"')

        assert not engine.dispatch(RUN_SHELL).denied

    def test_one_that_cannot_be_judged(self, settings_file, load, trusted, monkeypatch):
        engine = load(require=True)
        guard = engine.engine.guard

        def fail(*_arguments):
            raise OSError("the disk is gone")

        monkeypatch.setattr(guard, "withhold", fail)

        with pytest.raises(RequiredHooksError, match="the disk is gone"):
            engine.dispatch(RUN_SHELL)

    def test_settings_that_are_read_again_do_not_make_every_event_one_with_hooks(
        self, settings_file, load
    ):
        engine = load(trust_once=True).engine

        settings_file.write_text("{}")

        assert engine.reload()
        assert not engine.listens()

    def test_other_events_are_decided(self, settings_file, load):
        engine = load(require={"before_tool"}, trust_once=True, watch=True)

        settings_file.write_text("{}")

        engine.dispatch(SessionStart(source="startup"))

    def test_a_hook_that_fails_may_be_started_again(self, project, settings_file, load):
        write(project / "guard.sh", "#!/bin/sh\nexit 1\n")
        engine = load(require=True, trust_once=True)

        assert not engine.dispatch(RUN_SHELL).denied


class TestAHookOfTheHost:
    @pytest.mark.parametrize(
        ("register", "reason"),
        [
            (lambda e: e.register("before_tool", None), "a function that takes the event"),
            (lambda e: e.register("before_tool", str, matcher=["shell"]), "matcher is a text"),
            (lambda e: e.register("before_tool", str, matcher="write_("), "is not a pattern"),
            (lambda e: e.on("before_tool", matcher="write_("), "is not a pattern"),
            (lambda e: e.on("before_tool", matcher="shell")(5), "a function that takes the event"),
            (lambda e: e.on(lambda event: None), "name the event"),
        ],
    )
    def test_that_would_never_run_is_refused(self, project, register, reason):
        engine = Engine.load(project, agent="gemini", on_message=str)

        with pytest.raises(UsageError, match=reason):
            register(engine)
