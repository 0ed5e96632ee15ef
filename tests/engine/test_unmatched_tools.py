"""A program learns which of its tools no hook applies to, once for each, with the line to write."""

from __future__ import annotations

import json

import pytest

from anyhook import AfterTool, BeforeTool, Engine, RequiredHooksError, SyncEngine
from anyhook.agents import get_agent
from anyhook.authoring import Hooks, deny
from anyhook.engine.tool_kinds import find_kind

DENY = {"type": "command", "command": "echo blocked >&2; exit 2"}


def write_hooks(project, *hooks, event="PreToolUse"):
    path = project / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {event: list(hooks)}}, indent=1))


def on(matcher, **options):
    return {"matcher": matcher, "hooks": [{**DENY, **options}]}


@pytest.fixture
def messages():
    return []


@pytest.fixture
def load(project, messages):
    engines = []

    def load_engine(**options):
        engine = SyncEngine.load(
            project, agent="claude", trust_once=True, on_message=messages.append, **options
        )
        engines.append(engine)
        return engine

    yield load_engine
    for engine in engines:
        engine.close()


def call(name, **arguments):
    return BeforeTool(tool_name=name, tool_input=arguments)


class TestDispatch:
    def test_a_tool_that_no_hook_matches_is_reported_with_the_name_to_write(
        self, project, load, messages
    ):
        write_hooks(project, on("Bash", name="guard.py"))

        decision = load().dispatch(call("run_command", cmd="rm -rf /"))

        assert not decision.denied
        message = (
            "warning[unmatched-tool]: tool 'run_command' is one that no hook applies to (guard.py "
            "at .claude/settings.json:7 listens to Bash); if it is a shell, write "
            "tool_name='Bash' in its event"
        )
        assert messages == [message]

    def test_it_is_reported_once_for_each_tool(self, project, load, messages):
        write_hooks(project, on("Bash"))
        engine = load()

        for name in ("run_command", "run_shell", "run_command"):
            engine.dispatch(call(name, command="ls"))

        assert len(messages) == 2
        assert "'run_command'" in messages[0]
        assert "'run_shell'" in messages[1]

    def test_tools_whose_names_differ_in_a_number_are_reported_each(self, project, load, messages):
        write_hooks(project, on("Bash"))
        engine = load()

        for name in ("run1", "run2", "run1"):
            engine.dispatch(call(name, command="ls"))

        assert ["'run1'" in messages[0], "'run2'" in messages[1]] == [True, True]
        assert len(messages) == 2

    def test_a_canonical_name_is_reported_with_the_name_of_the_agent(self, project, load, messages):
        write_hooks(project, on("Write|Edit"))

        load().dispatch(call("write_file", file_path="a.txt", content="x"))

        assert "if it writes files, write tool_name='Write' in its event" in messages[0]

    @pytest.mark.parametrize("matcher", ["*", "", "run_.*", "Bash|run_command"])
    def test_a_tool_that_a_hook_matches_is_not_reported(self, project, load, messages, matcher):
        write_hooks(project, on("Bash"), on(matcher))

        assert load().dispatch(call("run_command", command="ls")).denied
        assert messages == []

    @pytest.mark.parametrize("name", ["Read", "Task", "mcp__github__search_issues"])
    def test_a_tool_of_the_agent_is_not_reported(self, project, load, messages, name):
        write_hooks(project, on("Bash"))

        load().dispatch(call(name, query="x"))

        assert messages == []

    @pytest.mark.parametrize("word", ["shell", "run_shell_command", "Shell"])
    def test_a_matcher_with_another_name_of_the_tool_is_reported(
        self, project, load, messages, word
    ):
        write_hooks(project, on(f"{word}|Read", name="guard.py"), on("*"))

        load().dispatch(call("Bash", command="ls"))

        message = (
            f"{project}/.claude/settings.json:7: warning[dead-matcher]: 'guard.py' does not run on "
            f"'Bash': its matcher has {word!r}, which is not a tool of Claude Code; write 'Bash'"
        )
        assert messages == [message]

    @pytest.mark.parametrize("matcher", ["run_shell_command|Bash", ".*sh$|Shell", "PowerShell"])
    def test_a_matcher_that_means_this_tool_or_another_one_of_the_agent_is_not(
        self, project, load, messages, matcher
    ):
        write_hooks(project, on(matcher))

        load().dispatch(call("Bash", command="ls"))

        assert messages == []

    def test_a_function_with_a_dead_matcher_is_reported_and_an_escape_if_it_is_required(
        self, project, load, messages
    ):
        write_hooks(project, on("Read"))
        engine = load(require=True)
        engine.engine.register("before_tool", lambda event: deny("no"), matcher="shell")

        with pytest.raises(RequiredHooksError, match="its matcher has 'shell'"):
            engine.dispatch(call("Bash", command="ls"))

    def test_a_function_for_a_value_that_the_event_lacks_is_reported(self, load, messages):
        load().engine.register("session_start", str, matcher="start")

        assert "'start' is not a value that the event has; did you mean 'startup'?" in messages[0]

    def test_a_matcher_of_the_settings_for_such_a_value_is_reported_when_they_are_loaded(
        self, project, load, messages
    ):
        write_hooks(project, on("start"), event="SessionStart")

        engine = load()

        assert "'start' is not a value that the event has; did you mean 'startup'?" in messages[0]
        assert [problem.code for problem in engine.engine.diagnostics] == ["dead-matcher"]

    @pytest.mark.parametrize("matcher", ["startup", "startup|resume", "*", "start.*"])
    def test_a_matcher_that_matches_a_value_is_not_reported(self, project, load, messages, matcher):
        write_hooks(project, on(matcher), event="SessionStart")

        load()

        assert messages == []

    def test_a_shell_of_a_server_is_reported(self, project, load, messages):
        write_hooks(project, on("Bash"))

        load().dispatch(call("mcp__box__run", cmd="ls"))

        assert "if it is a shell" in messages[0]

    def test_a_program_without_hooks_on_tools_gets_no_message(self, project, load, messages):
        write_hooks(project, {"hooks": [DENY]}, event="Stop")

        load().dispatch(call("run_command", command="ls"))

        assert messages == []

    def test_a_hook_that_only_sees_results_does_not_hide_an_escape(self, project, load, messages):
        hooks = {"PreToolUse": [on("Bash")], "PostToolUse": [on("*")]}
        (project / ".claude").mkdir()
        (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))

        load().dispatch(call("run_command", command="ls"))

        assert len(messages) == 1

    def test_hooks_on_results_count_where_no_hook_stops_calls(self, project, load, messages):
        write_hooks(project, on("Bash"), event="PostToolUse")
        event = AfterTool(tool_name="run_command", tool_input={"command": "ls"}, tool_response="a")

        load().dispatch(event)

        assert "'run_command'" in messages[0]

    def test_the_recorder_is_not_a_guard(self, project, load, messages):
        recorder = {"type": "command", "command": "python3 /x/anyhook/authoring/recorder.py"}
        write_hooks(project, on("Bash"), {"hooks": [recorder]})

        load().dispatch(call("run_command", command="ls"))

        assert any("[unmatched-tool]" in message for message in messages)

    def test_functions_of_a_hook_file_count_for_their_own_tools(self, project, load, messages):
        hooks = Hooks("guard.py")

        @hooks.before_tool("shell", "write_file")
        def guard(_event):
            return deny("no")

        engine = load(require=False)
        messages.clear()
        hooks.register(engine.engine)

        assert engine.dispatch(call("Bash", command="ls")).denied
        assert not engine.dispatch(call("run_command", command="ls")).denied
        assert len(messages) == 1
        assert "listens to shell, write_file" in messages[0]

    @pytest.fixture
    def on_every_tool(self, load):
        """Return an engine with a function of a hook file that names no tools."""
        hooks = Hooks("guard.py")
        hooks.before_tool(lambda _event: None)
        engine = load()
        hooks.register(engine.engine)
        return engine

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("get_weather", {"city": "Rome"}),
            ("save_file", {"path": "a.txt", "text": "x"}),
            ("mcp__files__write", {"path": "a.txt", "content": "x"}),
            ("mcp__box__run", {"command": "ls"}),
            ("mcp__browser__open", {"url": "https://example.com"}),
            ("Bash", {"command": "ls"}),
        ],
    )
    def test_a_tool_whose_calls_hook_files_read_or_do_not_guard_is_not_reported(
        self, on_every_tool, messages, name, arguments
    ):
        on_every_tool.dispatch(call(name, **arguments))

        assert messages == []

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("run_command", {"command": "ls"}),
            ("store", {"path": "a.txt", "text": "x"}),
            ("mcp__box__run", {"cmd": "ls"}),
            ("download", {"url": "https://example.com"}),
        ],
    )
    def test_a_tool_whose_calls_hook_files_cannot_read_is_reported(
        self, on_every_tool, messages, name, arguments
    ):
        on_every_tool.dispatch(call(name, **arguments))

        (message,) = messages
        assert f"hooks do not see what tool {name!r} does" in message

    def test_a_function_that_names_the_tool_of_the_program_sees_it(self, load, messages):
        hooks = Hooks("guard.py")
        hooks.before_tool("run_command")(lambda _event: deny("no"))
        engine = load()
        hooks.register(engine.engine)

        assert engine.dispatch(call("run_command", command="ls")).denied
        assert messages == []

    def test_a_hook_that_is_added_later_applies(self, project, load, messages):
        write_hooks(project, on("Bash"))
        engine = load()
        engine.dispatch(call("run_command", command="ls"))
        engine.engine.register("before_tool", lambda _event: deny("no"), matcher="run_command")

        assert engine.dispatch(call("run_command", command="ls")).denied
        assert len(messages) == 1


class TestRequire:
    @pytest.mark.parametrize("require", [True, {"before_tool"}])
    def test_a_tool_that_escapes_a_required_guard_is_an_error_each_time(
        self, project, load, require
    ):
        write_hooks(project, on("Bash"))
        engine = load(require=require)

        for _ in range(2):
            with pytest.raises(RequiredHooksError, match="run_command"):
                engine.dispatch(call("run_command", cmd="ls"))

    def test_a_tool_whose_kind_is_not_plain_is_a_message(self, project, load, messages):
        write_hooks(project, on("Bash"))

        load(require=True).dispatch(call("get_weather", city="Rome"))

        assert "'get_weather'" in messages[0]

    def test_a_tool_whose_kind_nothing_guards_is_a_message(self, project, load, messages):
        write_hooks(project, on("Write"))

        load(require=True).dispatch(call("run_command", command="ls"))

        assert len(messages) == 1

    def test_other_required_events_do_not_require_guards_of_tools(self, project, load, messages):
        (project / ".claude").mkdir()
        hooks = {"PreToolUse": [on("Bash")], "Stop": [{"hooks": [DENY]}]}
        (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))

        load(require={"after_agent"}).dispatch(call("run_command", command="ls"))

        assert len(messages) == 1


@pytest.mark.parametrize(
    ("name", "arguments", "tool", "renamed"),
    [
        ("x", ["cmd"], "shell", {"cmd": "command"}),
        ("x", ["command", "timeout"], "shell", {}),
        ("x", ["filePath", "body"], "write_file", {"filePath": "file_path", "body": "content"}),
        (
            "x",
            ["command", "path", "old_str", "new_str"],
            "edit_file",
            {"path": "file_path", "old_str": "old_string", "new_str": "new_string"},
        ),
        ("fetch", ["url"], "web_fetch", {}),
        ("read_file", ["path"], "read_file", {"path": "file_path"}),
        ("bash", ["command"], "shell", {}),
        ("grep_search", ["pattern"], "grep", {}),
    ],
)
def test_names_make_the_kind_of_a_tool_plain(name, arguments, tool, renamed):
    kind = find_kind(get_agent("claude"), name, arguments)

    assert kind is not None
    assert kind.tool == tool
    assert kind.renamed == renamed


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("delete", ["path"]), ("create", ["title"]), ("bash", ["session"]), ("get_weather", [])],
)
def test_nothing_is_guessed(name, arguments):
    assert find_kind(get_agent("claude"), name, arguments) is None


def test_a_tool_is_checked_again_while_a_pattern_may_not_be_evaluated(project, messages):
    write_hooks(project, on("^(Bash|Write)$"))
    engine = Engine.load(project, agent="claude", on_message=messages.append)

    with SyncEngine(engine) as sync:
        sync.dispatch(call("run_command", command="ls"))

    assert not engine.unmatched_tools.is_checked("run_command", "run_command")
