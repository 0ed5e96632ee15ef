"""`anyhook fire` answers: what will my agent do, and why did my hook not run?"""

from __future__ import annotations

import datetime
import json
import re

import pytest

from anyhook.cli import main


@pytest.fixture
def fire(project, capsys):
    """Fire an event at the project; return the exit code, the text and the errors."""

    def run(*arguments):
        code = main(["fire", *arguments, "--project", str(project), "--trust-once"])
        done = capsys.readouterr()
        return code, " ".join(done.out.split()), done.err

    return run


@pytest.fixture
def fired(project, capsys):
    """Fire an event at the project and return the result for programs."""

    def run(*arguments):
        main(["fire", *arguments, "--project", str(project), "--trust-once", "--json"])
        return json.loads(capsys.readouterr().out)

    return run


def configure(project, agent, hooks, **more):
    file = project / f".{agent}" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": hooks, **more}, indent=2))
    return file


def definition(command, matcher="*", **more):
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}


DENY_AS_GEMINI_DOES = """echo '{"decision": "deny", "reason": "not here"}'"""


class TestWhatTheAgentWillDo:
    def test_both_rule_sets_are_in_the_headline_where_they_differ(self, project, fire):
        configure(project, "claude", {"PreToolUse": [definition(DENY_AS_GEMINI_DOES, "Bash")]})

        code, out, _ = fire("PreToolUse", "--tool", "Bash", "--exit-code")

        assert code == 3
        assert "→ DENY by its reference, Claude Code does not run this call" in out
        assert ") runs this call rules observed" in out

    def test_one_line_is_enough_where_they_agree(self, project, fire):
        configure(project, "claude", {"PreToolUse": [definition("echo no >&2; exit 2")]})

        code, out, _ = fire("PreToolUse", "--tool", "Bash", "--exit-code")

        assert code == 2
        assert "→ DENY Claude Code does not run this call" in out
        assert "rules observed" not in out

    def test_programs_get_the_verdict_of_every_rule_set(self, project, fired):
        configure(project, "claude", {"PreToolUse": [definition(DENY_AS_GEMINI_DOES)]})

        verdicts = fired("PreToolUse", "--tool", "Bash")["verdicts"]

        assert [verdict["denied"] for verdict in verdicts] == [True, False]
        assert verdicts[0]["rules"] == "documented"

    @pytest.mark.parametrize(
        ("event", "effect"),
        [
            ("Stop", "Claude Code continues, with the reason as its next prompt"),
            ("UserPromptSubmit", "Claude Code erases this prompt reason r for the user"),
            ("SubagentStop", "Claude Code lets the subagent continue, with the reason as its next"),
            ("SessionEnd", "Claude Code goes on"),
        ],
    )
    def test_the_effect_is_the_one_of_the_event(self, project, fire, event, effect):
        configure(
            project, "claude", {event: [{"hooks": definition("echo r >&2; exit 2")["hooks"]}]}
        )

        assert effect in fire(event)[1]

    def test_a_part_that_the_agent_merges_is_no_difference(self, project, fired):
        reply = {"hookSpecificOutput": {"tool_input": {"content": "new"}}}
        configure(project, "gemini", {"BeforeTool": [definition(f"echo '{json.dumps(reply)}'")]})
        tool_input = '{"file_path": "a", "content": "old"}'

        result = fired("BeforeTool", "--tool", "write_file", "--input", tool_input)

        assert result["decision"]["tool_input"] == {"file_path": "a", "content": "new"}
        assert result["differences"] == []


class TestWhyAHookDidNotRun:
    def test_hooks_of_one_script_keep_the_names_by_which_they_differ(self, project, fire):
        commands = [definition("sh run.sh a", "Bash"), definition("sh run.sh b", "Write")]
        configure(project, "claude", {"PreToolUse": commands})

        _, out, _ = fire("PreToolUse", "--tool", "Bash")

        assert len(set(re.findall(r"run\.sh#\w+", out))) == 2

    def test_the_matcher_does_not_match(self, project, fire):
        configure(project, "claude", {"PreToolUse": [definition("true", "Write")]})

        out = fire("PreToolUse", "--tool", "Bash")[1]

        assert "did not run: its matcher 'Write' does not match 'Bash'" in out

    def test_it_is_switched_off(self, project, fired):
        file = configure(
            project,
            "gemini",
            {"BeforeTool": [definition("true", name="guard")]},
            hooksConfig={"disabled": ["guard"]},
        )

        (absent,) = fired("BeforeTool", "--tool", "write_file")["did_not_run"]

        assert absent["name"] == "guard"
        assert absent["reason"].startswith(f"it is switched off by {file}:")

    def test_it_is_the_same_hook_twice(self, project, fire):
        configure(project, "claude", {"PreToolUse": [definition("true"), definition("true")]})

        assert (
            "did not run: it is the same hook as the one at"
            in fire("PreToolUse", "--tool", "Bash")[1]
        )

    def test_hooks_are_configured_on_other_events_only(self, project, fire):
        configure(project, "claude", {"Stop": [{"hooks": definition("true")["hooks"]}]})

        out = fire("PreToolUse", "--tool", "Bash")[1]

        assert "no hook is configured on PreToolUse; hooks are configured on: Stop" in out

    def test_no_hooks_are_configured_at_all(self, project, fire):
        out = fire("PreToolUse", "--tool", "Bash", "--agent", "claude")[1]

        assert "no hook is configured at all" in out

    @pytest.mark.parametrize(
        ("agent", "event", "tool", "meant"),
        [
            ("claude", "PreToolUse", "bash", "Bash"),
            ("gemini", "BeforeTool", "Bash", "run_shell_command"),
            ("gemini", "BeforeTool", "run_shel_command", "run_shell_command"),
        ],
    )
    def test_an_unknown_tool_gets_a_suggestion(self, project, fire, agent, event, tool, meant):
        configure(project, agent, {event: [definition("true")]})

        assert f"has no tool {tool!r}; did you mean {meant!r}?" in fire(event, "--tool", tool)[1]


class TestTheAgentOfAnEvent:
    def test_the_name_of_the_event_decides(self, project, fired):
        configure(project, "claude", {"PreToolUse": [definition("true")]})
        configure(project, "gemini", {"BeforeTool": [definition("true")]})

        assert fired("PreToolUse", "--tool", "Bash")["agent"] == "claude"

    def test_a_payload_decides(self, project, fired, tmp_path):
        configure(project, "gemini", {"BeforeTool": [definition("true")]})
        payload = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash"}
        file = tmp_path / "event.json"
        file.write_text(json.dumps(payload | {"tool_input": {}, "cwd": "", "transcript_path": ""}))

        assert fired("--event-file", str(file))["agent"] == "claude"

    def test_an_event_of_another_agent_is_named_with_its_own_name(self, project, fire):
        code, _, err = fire("PreToolUse", "--agent", "gemini", "--tool", "x")

        assert code == 64
        assert "PreToolUse is not an event of Gemini CLI" in err
        assert "use BeforeTool" in err

    def test_several_agents_need_a_name_where_the_event_does_not_show_it(self, project, fire):
        configure(project, "claude", {"SessionStart": [{"hooks": definition("true")["hooks"]}]})
        configure(project, "gemini", {"SessionStart": [definition("true")]})

        code, _, err = fire("SessionStart")

        assert code == 64
        assert "--agent gemini or --agent claude" in err


class TestTheEventIsPlausible:
    def test_every_session_has_its_own_id_and_an_empty_transcript(self, project, fire):
        read = "import json, pathlib; e = json.load(open('seen.json')); "
        read += "assert pathlib.Path(e['transcript_path']).read_text() == ''"
        command = f'cat > seen.json; python3 -c "{read}" && echo ok > read'
        configure(project, "claude", {"PreToolUse": [definition(command)]})

        fire("PreToolUse", "--tool", "Bash")
        first = json.loads((project / "seen.json").read_text())
        fire("PreToolUse", "--tool", "Bash")
        second = json.loads((project / "seen.json").read_text())

        assert (project / "read").exists()
        assert first["session_id"] != second["session_id"]
        assert first["cwd"] == str(project)

    @pytest.mark.parametrize(
        ("agent", "event", "member", "part"),
        [
            ("gemini", "AfterTool", "tool_response", "llmContent"),
            ("claude", "PostToolUse", "tool_response", "type"),
            ("gemini", "Notification", "details", "title"),
        ],
    )
    def test_members_that_the_reference_requires_are_there(
        self, project, fired, agent, event, member, part
    ):
        configure(project, agent, {event: [definition("true")]})
        tool = ["--tool", "read_file"] if "Tool" in event else []

        assert part in fired(event, *tool, "--agent", agent)["event"][member]

    @pytest.mark.parametrize(
        ("agent", "event", "names"),
        [
            ("claude", "PreCompact", ["custom_instructions", "prompt_id"]),
            ("claude", "PreToolUse", ["permission_mode", "tool_use_id", "prompt_id", "effort"]),
            ("codex", "PreToolUse", ["turn_id", "model", "tool_use_id"]),
        ],
    )
    def test_members_that_the_agent_always_sends_are_there(
        self, project, fired, agent, event, names
    ):
        tool = ["--tool", "Bash"] if "Tool" in event else []

        assert fired(event, *tool, "--agent", agent)["event"].keys() >= set(names)

    def test_the_time_is_the_present(self, project, fired):
        payload = fired("BeforeAgent", "--agent", "gemini")["event"]

        moment = datetime.datetime.fromisoformat(payload["timestamp"])
        assert abs(datetime.datetime.now(datetime.UTC) - moment) < datetime.timedelta(hours=1)


def test_hooks_that_the_agent_itself_does_not_trust_are_named(project, fire):
    file = project / ".codex" / "hooks.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": {"PreToolUse": [definition("exit 2", "Bash")]}}))

    _, out, _ = fire("PreToolUse", "--agent", "codex", "--tool", "Bash")

    assert "untrusted in Codex CLI, which does not run them: exit" in out


def test_the_trust_of_the_agent_itself_is_in_the_json(project, fired):
    file = project / ".codex" / "hooks.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    hooks = [definition("exit 2", "Bash"), definition("exit 0", "apply_patch")]
    file.write_text(json.dumps({"hooks": {"PreToolUse": hooks}}))
    configure(project, "claude", {"PreToolUse": [definition("exit 0", "Bash")]})

    codex = fired("PreToolUse", "--agent", "codex", "--tool", "Bash")
    claude = fired("PreToolUse", "--agent", "claude", "--tool", "Bash")

    assert [one["native_trust"] for one in codex["handlers"]] == ["untrusted"]
    assert [one["native_trust"] for one in codex["did_not_run"]] == ["untrusted"]
    assert len(claude["handlers"]) == 1
    assert "native_trust" not in claude["handlers"][0]
