"""`anyhook fire` does not say what the agent does if a hook that listens was not run."""

from __future__ import annotations

import json

import pytest

import anyhook
from anyhook import Engine, RequiredHooksError
from anyhook.agents import get_agent
from anyhook.cli import main
from anyhook.model.events import BeforeTool
from anyhook.settings.changes import settings_file
from anyhook.settings.entries import add_definitions
from anyhook.settings.report import MAX_ITEMS
from anyhook.settings.sources import SIZE_LIMIT

DENY = "echo no >&2; exit 2"
CALL = ("PreToolUse", "--tool", "Bash", "--input", '{"command": "ls"}')
NOT_TRUSTED = "1 hook was not run because it is not trusted here (Claude Code itself would run it)"


@pytest.fixture
def run(project, capsys):
    """Run a command for the project; return the exit code and the text."""

    def run(name, *arguments):
        code = main([name, *arguments, "--project", str(project)])
        return code, " ".join(capsys.readouterr().out.split())

    return run


def configure(directory, *commands, agent="claude", event="PreToolUse", matcher="Bash"):
    hooks = [{"type": "command", "command": command} for command in commands]
    file = directory / f".{agent}" / ("hooks.json" if agent == "codex" else "settings.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": {event: [{"matcher": matcher, "hooks": hooks}]}}))


@pytest.mark.parametrize("options", [(), ("--exit-code",)])
def test_an_untrusted_hook_makes_the_decision_unknown(project, run, options):
    configure(project, DENY)

    code, out = run("fire", *CALL, *options)

    assert code == 4
    assert f"→ UNKNOWN {NOT_TRUSTED}" in out
    assert f"anyhook trust --agent claude --project {project}" in out
    assert "runs this call" not in out


def test_programs_get_the_reasons(project, run):
    configure(project, DENY)

    code, out = run("fire", *CALL, "--json")
    result = json.loads(out)

    assert code == 4
    assert result["decided"] is False
    assert result["not_decided"]["reason"] == NOT_TRUSTED
    assert result["not_decided"]["remedy"].startswith("anyhook trust --agent claude")
    (hook,) = result["not_decided"]["hooks"]
    assert hook["name"] == "echo"
    assert hook["file"] == str(project / ".claude" / "settings.json")
    assert "its project is not trusted" in hook["reason"]
    (verdict,) = result["verdicts"]
    assert verdict["decided"] is False
    assert verdict["outcome"] == "UNKNOWN"
    assert verdict["effect"] == NOT_TRUSTED


@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool"])
def test_a_hook_on_an_event_that_the_agent_drops_decides_nothing(project, run, event):
    configure(project, DENY, agent="gemini", event=event, matcher="*")
    file = project / ".gemini" / "settings.json"
    settings = json.loads(file.read_text())
    settings["hooks"].setdefault("BeforeTool", []).append({"matcher": ["*"], "hooks": []})
    file.write_text(json.dumps(settings))
    run("trust", "--yes")

    code, out = run("fire", event, "--agent", "gemini", "--tool", "run_shell_command")

    is_dropped = event == "BeforeTool"
    reason = "1 hook does not run in Gemini CLI, which ignores the hooks on this event"
    assert (reason in out) is is_dropped
    assert code == (4 if is_dropped else 0)


def test_a_hook_that_the_agent_leaves_out_decides_nothing(project, run):
    configure(project, DENY, agent="claude", event="Stop", matcher="")
    file = project / ".claude" / "settings.json"
    file.write_text(file.read_text().replace('"type"', '"timeout": "5", "type"'))
    run("trust", "--yes")

    code, out = run("fire", "Stop", "--agent", "claude")

    assert "1 hook does not run in Claude Code, which ignores entries with a mistake" in out
    assert code == 4


def test_a_trusted_hook_decides(project, run):
    configure(project, DENY)
    run("trust", "--yes")

    code, out = run("fire", *CALL, "--json")
    result = json.loads(out)

    assert code == 0
    assert result["decided"] is True
    assert result["not_decided"] is None
    assert run("fire", *CALL, "--exit-code")[0] == 2


def test_a_hook_that_changed_makes_the_decision_unknown(project, run):
    script = project / "guard.sh"
    script.write_text("exit 2\n")
    configure(project, f"sh {script}")
    run("trust", "--yes")
    script.write_text("exit 0\n")

    code, out = run("fire", *CALL)

    assert code == 4
    assert "1 hook was not run because it changed since it was trusted" in out


def test_several_hooks_are_counted(project, run):
    configure(project, DENY, "true")

    out = run("fire", *CALL)[1]

    assert "2 hooks were not run because they are not trusted here" in out
    assert "(Claude Code itself would run them)" in out


def test_a_denial_of_the_user_is_named(world, capsys):
    configure(world.home, DENY)
    configure(world.project, "true")

    code = main(["fire", *CALL, "--project", str(world.project), "--exit-code"])
    out = capsys.readouterr().out

    assert code == 4
    assert "the hooks that ran: DENY" in out


def test_one_event_of_a_file_that_is_not_decided_sets_the_exit_code(project, run, tmp_path):
    configure(project, DENY)
    common = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "", "transcript_path": ""}
    tools = [{**common, "tool_name": name, "tool_input": {}} for name in ("Bash", "Read")]
    file = tmp_path / "events.json"
    file.write_text(json.dumps(tools))

    code, out = run("fire", "--event-file", str(file), "--agent", "claude")

    assert code == 4
    assert "UNKNOWN" in out
    assert "Claude Code runs this call" in out  # nothing listens to Read


def test_an_agent_that_does_not_trust_the_hook_either_would_not_run_it(project, run):
    configure(project, DENY, agent="codex")

    code, out = run("fire", "PreToolUse", "--agent", "codex", "--tool", "Bash")

    assert code == 4
    assert "UNKNOWN 1 hook was not run because it is not trusted here" in out
    assert "itself would run it" not in out


@pytest.mark.anyio
async def test_a_host_sees_that_a_decision_is_not_decided(project):
    configure(project, DENY)
    event = BeforeTool(tool_name="Bash", tool_input={"command": "ls"})

    async with Engine.load(project, agent="claude", on_message=lambda _text: None) as engine:
        decision = await engine.dispatch(event)
    async with Engine.load(project, agent="claude", trust_once=True) as engine:
        trusted = await engine.dispatch(event)

    assert not decision.decided
    assert [result.handler.label for result in decision.withheld] == ["echo"]
    assert decision.explain().startswith("not decided, because hooks were not run")
    assert trusted.decided


def test_people_are_warned_that_hooks_run_for_real(project, capsys):
    configure(project, "true")
    words = ["fire", *CALL, "--project", str(project), "--trust-once"]

    main(words)
    shown = capsys.readouterr()
    main([*words, "--json"])
    for_programs = capsys.readouterr()
    main(["fire", "PreToolUse", "--tool", "Read", "--project", str(project), "--trust-once"])
    without_hooks = capsys.readouterr()

    assert shown.err == (
        "Hooks run for real, as in the agent. To try them in a sandbox: anyhook test\n"
    )
    assert for_programs.err == ""
    assert without_hooks.err == ""


@pytest.mark.parametrize("event", ["SessionEnd", "SessionStart", "Notification"])
@pytest.mark.parametrize("rules", ["documented", "observed"])
def test_a_denial_that_denies_nothing_is_no_denial_in_the_exit_code(project, run, event, rules):
    configure(project, DENY, agent="gemini", event=event, matcher="*")
    words = [event, "--agent", "gemini", "--rules", rules, "--trust-once", "--exit-code"]

    code, out = run("fire", *words)

    assert code == 0
    assert "goes on" in out
    assert json.loads(run("fire", *words, "--json")[1])["verdicts"][0]["denied"] is False


@pytest.mark.parametrize(
    ("command", "effect"), [(DENY, "→ DENY Codex CLI does not run this call"), ("true", "")]
)
def test_a_verdict_names_the_hooks_that_the_agent_does_not_run_yet(project, run, command, effect):
    configure(project, command, agent="codex")
    configure(project, command, agent="claude")
    label = "echo" if command == DENY else "true"

    _, out = run("fire", *CALL, "--agent", "codex", "--trust-once")
    report = json.loads(run("fire", *CALL, "--agent", "codex", "--trust-once", "--json")[1])

    condition = f", once it trusts {label}, which it does not run yet"
    assert effect in out
    assert (condition in out) is bool(effect)
    assert (condition in report["verdicts"][0]["effect"]) is bool(effect)
    assert condition not in run("fire", *CALL, "--agent", "claude", "--trust-once")[1]


def test_codex_edits_a_file_by_a_patch(project, run):
    configure(project, f"cat > {project}/sent.json", agent="codex", matcher="apply_patch")
    arguments = json.dumps({"file_path": "a.py", "content": "x = 1\n"})
    options = ("--agent", "codex", "--tool", "apply_patch", "--input", arguments, "--trust-once")

    run("fire", "PreToolUse", *options)

    sent = json.loads((project / "sent.json").read_text())["tool_input"]
    patch = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n*** End Patch\n"
    assert sent == {"command": patch}


@pytest.mark.parametrize(
    ("agent", "is_set"), [("claude", False), ("cursor", False), ("qwen", True)]
)
def test_a_member_that_the_agent_ignores_has_no_effect(project, run, agent, is_set):
    spec = get_agent(agent)
    event, tool = spec.by_canonical["before_tool"].wire, spec.vocabulary.name("shell")
    handler = {
        "type": "command",
        "command": 'test "$MODE" != hard || exit 2',
        "env": {"MODE": "hard"},
    }
    path = settings_file(spec, project, "project")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(add_definitions(spec, "", str(path), {event: [{"hooks": [handler]}]}))

    _, out = run("fire", event, "--agent", agent, "--tool", tool, "--trust-once")

    assert ("→ DENY" in out) is is_set


def configure_too_large(project):
    configure(project, DENY)
    file = project / ".claude/settings.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "model": "x" * SIZE_LIMIT}))


def configure_too_many(project):
    configure(project, *["true"] * MAX_ITEMS, DENY)


@pytest.mark.parametrize("configure_more", [configure_too_large, configure_too_many])
def test_what_is_not_read_may_deny_in_the_agent(project, run, configure_more):
    configure_more(project)

    code, out = run("fire", *CALL, "--trust-once", "--exit-code")

    assert code == 4
    assert "UNKNOWN not all settings were read; Claude Code may run more hooks" in out
    with pytest.raises(RequiredHooksError):
        Engine.load(project, agent="claude", trust_once=True, require=True)


def test_a_file_that_is_not_read_is_not_an_empty_one(project, capsys):
    configure_too_large(project)

    for words in (["list"], ["disable", "--all"]):
        code = main([*words, "--project", str(project)])
        done = capsys.readouterr()
        assert "it is larger than 1024 KiB" in " ".join((done.out + done.err).split())
        assert "No hooks are configured" not in done.out
        assert "No hook here is on" not in done.out
    assert code == 1


@pytest.mark.parametrize(("agent", "is_known"), [("gemini", False), ("opencode", True)])
def test_a_program_with_arguments_is_not_what_agents_with_command_lines_start(
    project, run, agent, is_known
):
    spec = get_agent(agent)
    event, tool = spec.by_canonical["before_tool"].wire, spec.vocabulary.name("shell")
    handler = {"type": "command", "command": "sh", "args": ["-c", DENY]}
    path = settings_file(spec, project, "project")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(add_definitions(spec, "", str(path), {event: [{"hooks": [handler]}]}))

    _, out = run("fire", event, "--agent", agent, "--tool", tool, "--trust-once")

    assert ("→ DENY" in out, "→ UNKNOWN" in out) == (is_known, not is_known)
    (hook,) = anyhook.health(Engine.load(project, agent=agent)).hooks
    assert ("runs command lines only" in hook.evidence) is not is_known
