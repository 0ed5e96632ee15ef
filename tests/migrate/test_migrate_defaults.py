"""`anyhook migrate` without options, and the names that migrated hooks get."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.matching.matchers import compile_matcher
from anyhook.migrate.matchers import translate_matcher


def settings(*commands, event="PreToolUse", matcher="Bash"):
    hooks = [{"type": "command", "command": command} for command in commands]
    return json.dumps({"hooks": {event: [{"matcher": matcher, "hooks": hooks}]}})


@pytest.fixture
def claude(world, monkeypatch):
    """A project with hooks of Claude Code."""
    monkeypatch.chdir(world.project)
    return world.write(world.project / ".claude" / "settings.json", settings("./guard.sh"))


def test_the_agent_that_has_hooks_and_the_other_one_that_is_here_are_meant(world, run, claude):
    (world.home / ".gemini").mkdir()

    code, out, _ = run("migrate", "--dry-run", "--json")
    told = json.loads(out)

    assert (code, told["from"], told["to"]) == (0, "claude", "gemini")


def test_a_target_is_asked_for_where_none_or_several_are_here(world, run, claude):
    for agents in ((), ("gemini", "terminai")):
        for agent in agents:
            (world.home / f".{agent}").mkdir()
        code, _, err = run("migrate", "--dry-run")
        assert code == 64
        assert "--to gemini or --to terminai" in " ".join(err.split())
    assert run("migrate", "--to", "gemini", "--dry-run")[0] == 0


def test_a_source_is_asked_for_where_several_have_hooks(world, run, claude):
    world.settings("project", settings("./b.sh", event="BeforeTool", matcher="glob"))

    code, _, err = run("migrate", "--to", "terminai", "--dry-run")
    assert code == 64
    assert "--from gemini (.gemini/settings.json)" in " ".join(err.split())
    assert "--from claude (.claude/settings.json)" in " ".join(err.split())

    code, out, _ = run("migrate", "--to", "gemini", "--dry-run", "--json")
    assert (code, json.loads(out)["from"]) == (0, "claude")

    code, _, err = run("migrate", "--to", "cdx", "--dry-run")
    assert (code, "did you mean 'codex'" in " ".join(err.split())) == (64, True)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--agent claude", "--agent {target}"),
        ("--agent='claude' --timeout 5", "--agent={target} --timeout 5"),
        ("--agent gemini", "--agent gemini"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("target", ["codex", "terminai"])
def test_a_hook_file_is_started_for_the_agent_that_it_moves_to(
    world, run, monkeypatch, target, options, expected
):
    monkeypatch.chdir(world.project)
    text = "from anyhook.authoring import Hooks\nhooks = Hooks()\nhooks.run()\n"
    world.write(world.project / "guard.py", text)
    command = f"anyhook run guard.py {options}".strip()
    world.write(world.project / ".claude" / "settings.json", settings(command))

    _, out, _ = run("migrate", "--from", "claude", "--to", target, "--dry-run", "--json")

    moved = f"anyhook run guard.py {expected.format(target=target)}".strip()
    assert json.dumps(moved) in json.loads(out)["text"]


def test_a_project_without_hooks_is_said_to_have_none(world, run, monkeypatch):
    monkeypatch.chdir(world.project)
    world.write(world.home / ".claude" / "settings.json", settings("./guard.sh"))

    code, _, err = run("migrate", "--to", "gemini", "--dry-run")
    assert code == 64
    assert "no agent has hooks in the project settings here" in " ".join(err.split())

    code, out, _ = run("migrate", "--to", "gemini", "--scope", "user", "--dry-run", "--json")
    assert (code, json.loads(out)["from"]) == (0, "claude")


def test_migrated_hooks_are_named_after_their_scripts(world, run, claude):
    """One name for each command, also beside the names that are there already."""
    world.write(
        claude,
        settings(
            '"$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh',
            "python3 lint.py --fix",
            "lint.sh",
            "true",
        ),
    )
    there = {"type": "command", "name": "guard", "command": "their own"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [there]}]}})

    code, _, _ = run("migrate", "--from", "claude", "--to", "gemini", "--yes")

    definitions = json.loads(world.files["project"].read_text())["hooks"]["BeforeTool"]
    names = [hook.get("name") for definition in definitions for hook in definition["hooks"]]
    assert code == 0
    assert names == ["guard", "guard-2", "lint", "lint-2", None]

    before = world.files["project"].read_text()
    run("migrate", "--from", "claude", "--to", "gemini", "--yes")
    assert world.files["project"].read_text() == before


def test_the_review_that_codex_wants_is_named(world, run, claude):
    _, out, _ = run("migrate", "--from", "claude", "--to", "codex", "--yes")

    assert "enter `/hooks` and trust them there" in " ".join(out.split())


def test_names_that_a_migration_made_do_not_come_back(world, run, claude):
    run("migrate", "--from", "claude", "--to", "gemini", "--yes")
    claude.unlink()

    run("migrate", "--from", "gemini", "--to", "claude", "--yes")

    [definition] = json.loads(claude.read_text())["hooks"]["PreToolUse"]
    assert "name" not in definition["hooks"][0]


@pytest.mark.parametrize("target", CODING_AGENTS)
@pytest.mark.parametrize("matcher", [None, "", "*"])
def test_a_hook_on_everything_stays_one(target, matcher):
    claude, other = get_agent("claude"), get_agent(target)
    event = other.by_canonical["before_tool"]
    translated = translate_matcher(claude, claude.event("PreToolUse"), matcher, other, event)
    (pattern,) = translated.patterns
    names = other.match_names(event, other.vocabulary.name("shell"))
    assert compile_matcher(pattern, event.matcher_style).matches_any(names)


@pytest.mark.parametrize("seconds", [0.01, 0.5, 1, 1.5, 30])
@pytest.mark.parametrize("target", CODING_AGENTS)
def test_a_timeout_is_written_as_the_agent_reads_it(target, seconds):
    agent = get_agent(target).settings
    timeout = agent.write_timeout(seconds)
    read = timeout * agent.handler_types["command"].timeout_unit(timeout, agent.timeout_unit)
    assert read >= min(seconds, 1) or read == seconds
    assert not agent.strict_handlers or isinstance(timeout, int)


@pytest.mark.parametrize("target", ["claude", "gemini"])
def test_a_hook_file_at_the_top_of_the_repository_needs_no_shim(world, run, target):
    hook = world.project / ".anyhook" / "guard.py"
    hook.parent.mkdir()
    hook.write_text("from anyhook.authoring import Hooks\n")
    command = 'anyhook run "$(git rev-parse --show-toplevel 2>/dev/null || pwd)/.anyhook/guard.py"'
    handlers = [{"type": "command", "command": command}]
    settings = world.project / ".codex" / "hooks.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": handlers}]}}))

    code, _, _ = run("migrate", "--from", "codex", "--to", target, "--yes")

    written = (world.project / f".{target}" / "settings.json").read_text()
    assert code == 0
    assert "anyhook run" in written
    assert "shim" not in written
