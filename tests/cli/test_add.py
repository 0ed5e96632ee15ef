"""Hooks into the settings of agents and out again; examples; capabilities; the pytest plugin."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tools.capability_tables import generate

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent
from anyhook.cli.agents import LEGEND
from anyhook.errors import EventError, UsageError
from anyhook.settings.jsonc import parse
from anyhook.testing import load_hooks, make_event, make_payload, run_examples, run_hook
from anyhook.worker.commands import read_line
from tests.answering import answer
from tests.tables import fast_for

HOOK = """
from anyhook.authoring import Hooks, ask, context, deny

hooks = Hooks(timeout=5)

@hooks.before_tool("shell", "mcp__git__*")
def guard(event):
    if "rm" in event.text:
        return deny("no")
    if "sudo" in event.text:
        return ask("really?")

@hooks.before_tool("edit_file")
def editing(event):
    return None

@hooks.session_start("startup", "resume")
def hello(event):
    return context("hi")

@hooks.before_model
def model(event):
    return None

hooks.example(tool="shell", input={"command": "rm x"}, expect="deny", says="no")
hooks.example(tool="shell", input={"command": "ls"}, expect="none")
hooks.example(tool="shell", input={"command": "sudo x"}, expect="ask")
hooks.example("session_start", source="startup", expect="context", agents=["claude"])

if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture
def hook_file(world):
    return world.write(world.project / "hooks" / "my guard.py", HOOK)


@pytest.fixture
def anyhook_on_the_path(monkeypatch):
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


def value(path):
    return parse(path.read_text(encoding="utf-8"), str(path)).value


# -- add and remove


def test_add_writes_each_agents_own_words(world, run, hook_file):
    arguments = [f"--agent={name}" for name in ("claude", "gemini", "terminai")]
    code, out, _ = run("add", str(hook_file), *arguments, "--yes", "--python", "py thon")

    claude = value(world.project / ".claude" / "settings.json")["hooks"]
    gemini = value(world.project / ".gemini" / "settings.json")["hooks"]
    terminai = value(world.project / ".terminai" / "settings.json")
    assert code == 0
    assert claude["PreToolUse"] == [
        {
            "matcher": "^(?:Bash|PowerShell|Monitor|mcp__git__.*|Edit|MultiEdit)$",
            "hooks": [
                {
                    "type": "command",
                    "command": "'py thon' \"${CLAUDE_PROJECT_DIR}/hooks/my guard.py\"",
                    "timeout": 10,
                }
            ],
        }
    ]
    assert claude["SessionStart"][0]["matcher"] == "startup|resume"
    assert claude.keys() == {"PreToolUse", "SessionStart"}
    assert gemini["BeforeTool"][0]["matcher"] == "^(?:run_shell_command|mcp_git_.*|replace)$"
    assert gemini["BeforeTool"][0]["hooks"][0]["timeout"] == 10_000
    assert gemini["BeforeTool"][0]["hooks"][0]["name"] == "my guard"
    assert "matcher" not in gemini["BeforeModel"][0]
    assert terminai["tools"] == {"enableHooks": True}
    guarded = terminai["hooks"]["BeforeTool"][0]["matcher"]
    assert guarded == (
        "^(?:run_terminal_command|run_shell_command|manage_processes|execute_repl|git__.*|edit_file|replace)$"
    )
    assert "Claude Code has no event before_model" in out
    assert "TerminaI ignores asking the user on BeforeTool" in out


@pytest.mark.parametrize("agent", ["claude", "gemini", "terminai"])
def test_what_was_added_runs(world, run, hook_file, agent):
    run("add", str(hook_file), "--agent", agent, "--yes", "--python", sys.executable)
    wire = get_agent(agent).event("before_tool").wire
    tool = get_agent(agent).vocabulary.name("shell")

    code, out, _ = run(
        "fire", wire, "--agent", agent, "--tool", tool,
        "--input", '{"command": "rm x"}', "--trust-once", "--json",
    )  # fmt: skip
    fired = json.loads(out)

    assert code == 0
    assert fired["decision"]["outcome"] == "deny"
    assert fired["decision"]["reason"] == "no"
    assert fired["differences"] == []


@pytest.mark.parametrize("agent", ["claude", "gemini", "terminai"])
def test_shared_settings_get_a_command_that_means_the_same_on_every_machine(
    world, run, hook_file, agent
):
    run("add", str(hook_file), "--agent", agent, "--yes")

    event = get_agent(agent).event("before_tool").wire
    written = (world.project / f".{agent}" / "settings.json").read_text()
    (definition,) = parse(written).value["hooks"][event]
    variable = {"claude": "CLAUDE", "gemini": "GEMINI", "terminai": "TERMINAI"}[agent]
    path = f'"${{{variable}_PROJECT_DIR}}/hooks/my guard.py"'
    assert definition["hooks"][0]["command"] == f"anyhook run {path}"
    assert sys.prefix not in written
    assert str(world.project) not in written


def test_a_command_for_codex_works_in_every_directory_of_the_repository(
    world, run, hook_file, anyhook_on_the_path
):
    subprocess.run(["git", "init", "-q", world.root], check=True)
    below = world.project / "a" / "b"
    below.mkdir(parents=True)

    run("add", str(hook_file), "--agent", "codex", "--yes")

    (definition,) = value(world.root / ".codex" / "hooks.json")["hooks"]["PreToolUse"]
    command = definition["hooks"][0]["command"]
    rm = {"command": "rm x"}
    payload = json.dumps(make_payload("before_tool", agent="codex", tool="shell", input=rm))
    result = subprocess.run(
        ["sh", "-c", command], cwd=below, input=payload, capture_output=True, text=True, check=False
    )
    assert str(world.root) not in command
    assert json.loads(result.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
    run("remove", str(hook_file), "--agent", "codex", "--yes")
    assert not (world.root / ".codex").exists()


@pytest.mark.slow
def test_shared_settings_get_a_portable_interpreter_for_cold_hooks(world, run, hook_file):
    run("add", str(hook_file), "--agent", "gemini", "--cold", "--yes")

    (definition,) = value(world.files["project"])["hooks"]["BeforeTool"]
    command = definition["hooks"][0]["command"]
    assert command == 'python3 "${GEMINI_PROJECT_DIR}/hooks/my guard.py"'


def test_a_program_that_is_missing_here_is_reported(world, run, hook_file, monkeypatch):
    empty = world.project / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))

    for option, name in (((), "anyhook"), (("--cold",), "python3")):
        code, _, err = run("add", str(hook_file), "--agent", "gemini", "--yes", *option)
        assert code == 0
        assert f"{name} " in err
        assert "install it" in " ".join(err.split())


@pytest.mark.parametrize("scope", ["user", "local"])
def test_settings_of_one_user_name_whole_paths(world, run, hook_file, scope):
    run("add", str(hook_file), "--agent", "claude", "--scope", scope, "--yes")

    base = world.home if scope == "user" else world.project
    name = "settings.json" if scope == "user" else "settings.local.json"
    (definition,) = value(base / ".claude" / name)["hooks"]["PreToolUse"]
    words = shlex.split(definition["hooks"][0]["command"])
    assert words[:2] == [str(Path(sys.executable).with_name("anyhook")), "run"]


def test_a_portable_command_runs_warm_where_anyhook_is_on_the_path(world, run, hook_file):
    """The engine recognizes our own program, which it finds through `PATH`."""
    run("add", str(hook_file), "--agent", "gemini", "--yes")
    program = Path(sys.executable).with_name("anyhook")
    (definition,) = value(world.files["project"])["hooks"]["BeforeTool"]

    found = read_line(definition["hooks"][0]["command"])

    assert program.exists()
    assert found.program == "anyhook"
    environ = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    assert found.interpreter(environ) == first_line(f"{program}-python").removeprefix("#!")


def first_line(file):
    return Path(file).read_text().splitlines()[0]


def test_what_was_added_at_the_users_request_is_trusted(world, run, hook_file):
    other = {"type": "command", "name": "other", "command": "true"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [other]}]}})

    run("add", str(hook_file), "--agent", "gemini", "--yes")
    states = {row["name"]: row["state"] for row in json.loads(run("list", "--json")[1])}
    assert states == {"other": "not trusted", "my guard": "on"}

    hook_file.write_text(hook_file.read_text() + "# another author was here\n")
    states = {row["name"]: row["state"] for row in json.loads(run("list", "--json")[1])}
    assert states["my guard"] == "changed"


def test_what_was_added_is_trusted_in_each_agent_that_reads_the_settings(world, run, hook_file):
    """Cursor runs the hooks in the settings of Claude Code, too."""
    other = {"type": "command", "name": "other", "command": "true"}
    world.write(world.project / ".cursor" / "hooks.json", '{"version": 1, "hooks": {}}')
    world.settings("project:claude", {"hooks": {"PreToolUse": [{"hooks": [other]}]}})

    def trusted_by_cursor():
        rows = json.loads(run("list", "--agent", "cursor", "--json")[1])
        return {row["name"] for row in rows if row["state"] == "on"}

    run("add", str(hook_file), "--agent", "claude", "--yes")
    assert trusted_by_cursor() == {"my guard.py"}

    run("remove", str(hook_file), "--agent", "claude", "--yes")
    assert not [*Path(os.environ["ANYHOOK_DATA_DIR"], "trust").glob("*.json")]


def test_a_dry_run_trusts_nothing(world, run, hook_file):
    run("add", str(hook_file), "--agent", "gemini", "--dry-run")

    assert not Path(os.environ["ANYHOOK_DATA_DIR"], "trust").exists()


def test_init_trusts_what_it_wrote_and_shows_that_it_works(world, run, anyhook_on_the_path):
    (world.project / ".claude").mkdir()
    code, out, _ = run("init", "--bare", "--yes")

    assert code == 0
    assert run("trust", "--show", "--agent", "claude")[0] == 0
    assert re.search(r"^✓ works .* guard.py  PreToolUse ", out, re.MULTILINE)
    assert re.search(r"^✓ works .* guard.py  SessionStart ", out, re.MULTILINE)


def test_adding_twice_changes_nothing_and_comments_stay(world, run, hook_file):
    before = '{\n  // mine\n  "model": "x", // keep\n}\n'
    path = world.settings("project", before)
    run("add", str(hook_file), "--agent", "gemini", "--yes")
    once = path.read_text()
    _, out, _ = run("add", str(hook_file), "--agent", "gemini", "--yes")

    assert path.read_text() == once
    assert "nothing to change" in out
    assert "// mine" in once
    assert "// keep" in once

    run("remove", str(hook_file), "--yes")
    after = path.read_text()
    assert after == before


@pytest.mark.parametrize("last", ["[]", '[{"hooks": [{"type": "command", "command": "b"}]}]'])
def test_hooks_are_added_to_an_event_that_is_there_twice(world, run, hook_file, last):
    first = '[{"hooks": [{"type": "command", "command": "a"}]}]'
    before = f'{{"hooks": {{"BeforeTool": {first}, "BeforeTool": {last}}}}}'
    path = world.settings("project", before)

    code, _, _ = run("add", str(hook_file), "--agent", "gemini", "--yes")
    assert code == 0
    assert first in path.read_text()
    assert "my guard.py" in json.dumps(value(path))

    assert run("remove", str(hook_file), "--agent", "gemini", "--yes")[0] == 0
    assert path.read_text() == before


def test_remove_leaves_the_hooks_of_others(world, run, hook_file):
    other = {"type": "command", "name": "other", "command": "true"}
    run("add", str(hook_file), "--agent", "gemini", "--yes")
    path = world.files["project"]
    settings = value(path)
    settings["hooks"]["BeforeTool"][0]["hooks"].append(other)
    settings["hooks"]["AfterTool"] = [{"hooks": [other]}, {"hooks": [{"command": "un'balanced"}]}]
    world.settings("project", settings)

    code, _, _ = run("remove", str(hook_file), "--agent", "gemini", "--yes")
    left = value(path)["hooks"]

    assert code == 0
    assert [d["hooks"] for d in left["BeforeTool"]] == [[other]]
    assert left["AfterTool"] == settings["hooks"]["AfterTool"]
    assert left.keys() == {"BeforeTool", "AfterTool"}


def test_remove_takes_our_handler_alone_and_comments_stay(world, run, hook_file):
    ours = '{"type": "command", "command": "py \\"${GEMINI_PROJECT_DIR}/hooks/my guard.py\\""}'
    lint = ours.replace("py ", "ruff check ")
    text = f"""{{
  "hooks": {{
    "BeforeTool": [
      {{"hooks": [{ours}]}},
      {{
        // theirs
        "matcher": "b",
        "hooks": [
          {{"command": "one"}}, // the first
          {ours},
          {lint}, // the linter
          {ours},
          {{"command": "two"}} // the last
        ]
      }},
      {{"matcher": "c", "hooks": [{{"command": "three"}}]}} // stays
    ]
  }}
}}
"""
    path = world.settings("project", text)

    code, _, _ = run("remove", str(hook_file), "--agent", "gemini", "--yes")

    kept = [line for line in text.splitlines(keepends=True) if ours not in line]
    assert code == 0
    assert path.read_text() == "".join(kept)


@pytest.mark.parametrize(
    "command",
    [
        'ruff check "${GEMINI_PROJECT_DIR}/hooks/my guard.py"',
        'python3 "${GEMINI_PROJECT_DIR}/hooks/my guard.py" --mine',
        '"${GEMINI_PROJECT_DIR}/hooks/my guard.py"',
    ],
)
def test_remove_leaves_other_commands_on_the_file(world, run, hook_file, command):
    path = world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [{"command": command}]}]}})
    before = path.read_text()

    run("remove", str(hook_file), "--agent", "gemini", "--yes")

    assert path.read_text() == before


@pytest.mark.parametrize("command", ["add", "remove"])
def test_a_link_out_of_the_project_is_refused(world, run, hook_file, command):
    outside = world.write(world.home / ".claude" / "settings.json", "{}")
    (world.project / ".claude").mkdir()
    (world.project / ".claude" / "settings.json").symlink_to(outside)
    (world.project / ".claude" / "settings.local.json").symlink_to(world.home / "none.json")

    for scope in ("project", "local"):
        arguments = ("--agent", "claude", "--scope", scope, "--yes")
        code, _, err = run(command, str(hook_file), *arguments)
        assert code == 64
        assert "outside the project" in " ".join(err.split())
        assert "home" in err

    assert outside.read_text() == "{}"
    assert not (world.home / "none.json").exists()


def test_a_link_inside_the_project_is_followed(world, run, hook_file):
    inside = world.write(world.project / "shared" / "settings.json", "{}")
    (world.project / ".claude").symlink_to(inside.parent)

    assert run("add", str(hook_file), "--agent", "claude", "--yes")[0] == 0
    assert "PreToolUse" in value(inside)["hooks"]


def test_a_dry_run_shows_the_difference_and_writes_nothing(world, run, hook_file):
    code, out, _ = run("add", str(hook_file), "--agent", "claude", "--dry-run")

    assert code == 0
    assert '+            "type": "command",' in out
    assert not (world.project / ".claude").exists()


def test_without_a_terminal_it_asks_for_yes(world, run, hook_file):
    code, _, err = run("add", str(hook_file), "--agent", "claude")

    assert code == 64
    assert "--yes" in err
    assert not (world.project / ".claude").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("key", "written"), [(b"y", True), (b"n", False), (b"\r", False)])
def test_it_asks_on_a_terminal(world, hook_file, key, written):
    words = ["add", str(hook_file), "--agent", "claude"]

    code, out = answer(words, key, cwd=world.project)

    assert code == 0
    assert "Write this?" in out
    assert (world.project / ".claude" / "settings.json").exists() is written


def test_user_scope_names_the_whole_path(world, run, hook_file):
    run("add", str(hook_file), "--agent", "claude", "--scope", "user", "--yes")
    command = value(world.home / ".claude" / "settings.json")["hooks"]["PreToolUse"][0]["hooks"][0]

    assert f"'{hook_file}'" in command["command"]

    run("remove", str(hook_file), "--scope", "user", "--yes")
    assert not (world.home / ".claude").exists()


def test_the_local_scope_is_claude_codes_own(world, run, hook_file):
    run("add", str(hook_file), "--agent", "claude", "--scope", "local", "--yes")
    assert (world.project / ".claude" / "settings.local.json").exists()

    code, _, err = run("add", str(hook_file), "--agent", "gemini", "--scope", "local", "--yes")
    assert code == 64
    assert "no settings of the scope 'local'" in err
    code, _, err = run("add", str(hook_file), "--agent", "gemini", "--scope", "all", "--yes")
    assert code == 64
    assert "--scope is" in err


def test_agents_are_found_by_their_directories(world, run, hook_file):
    code, _, err = run("add", str(hook_file), "--yes")
    assert code == 64
    assert "--agent gemini or --agent claude" in err

    (world.home / ".claude").mkdir()
    code, out, _ = run("add", str(hook_file), "--yes", "--json")
    report = json.loads(out)
    assert report["written"] is True
    assert [file["agent"] for file in report["files"]] == ["claude"]
    assert report["degraded"]["claude"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"hooks": []}', "must be an object"),
        ("{", "was not changed"),
        ('{"tools": {"enableHooks": false}}', "has another value"),
        ('{"tools": 3}', "not an object"),
    ],
)
def test_a_file_that_cannot_be_edited_stays_as_it_is(world, run, hook_file, text, words):
    path = world.write(world.project / ".terminai" / "settings.json", text)
    code, _, err = run("add", str(hook_file), "--agent", "terminai", "--yes")

    assert code == 64
    assert words in " ".join(err.split())
    assert path.read_text() == text


def test_a_file_that_is_not_text_is_refused(world, run, hook_file):
    path = world.project / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe")
    code, _, err = run("add", str(hook_file), "--agent", "claude", "--yes")

    assert code == 64
    assert "cannot be read" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "does not exist"),
        ("x = 1", "is not an anyhook hook file"),
        (
            "from anyhook.authoring import Hooks\nHooks\nraise ValueError('broken')",
            "cannot be imported: ValueError: broken",
        ),
    ],
)
def test_what_is_not_a_hook_file_is_refused(world, run, text, words):
    path = world.project / "x.py"
    if text is not None:
        path.write_text(text)
    code, _, err = run("add", str(path), "--agent", "claude", "--yes")

    assert code == 64
    assert words in err


def test_adding_again_replaces_what_changed(world, run, hook_file):
    run("add", str(hook_file), "--agent", "gemini", "--yes")
    text = hook_file.read_text().replace("before_model", "after_model").replace("edit_file", "glob")
    hook_file.write_text(text)
    run("add", str(hook_file), "--agent", "gemini", "--yes", "--python", "other")
    hooks = value(world.files["project"])["hooks"]

    assert hooks.keys() == {"BeforeTool", "SessionStart", "AfterModel"}
    assert [len(definitions) for definitions in hooks.values()] == [1, 1, 1]
    assert hooks["BeforeTool"][0]["matcher"] == "^(?:run_shell_command|mcp_git_.*|glob)$"
    assert hooks["BeforeTool"][0]["hooks"][0]["command"].startswith("other ")


def test_wildcards_are_the_agents_own_tools(world, run):
    path = world.write(
        world.project / "w.py",
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n"
        "@hooks.before_tool('edit_*')\ndef f(event): pass\n"
        "if __name__ == '__main__':\n    hooks.run()\n",
    )
    run("add", str(path), "--agent", "claude", "--agent", "gemini", "--yes")
    claude = value(world.project / ".claude" / "settings.json")["hooks"]["PreToolUse"][0]
    gemini = value(world.project / ".gemini" / "settings.json")["hooks"]["BeforeTool"][0]

    assert claude["matcher"] == "^(?:Edit|MultiEdit|NotebookEdit|edit_.*)$"
    assert gemini["matcher"] == "^(?:replace|edit_.*)$"


@pytest.mark.parametrize("agent", fast_for(CODING_AGENTS))
def test_a_guard_on_every_tool_gets_a_matcher_that_the_agent_reads(world, run, agent):
    text = HOOK.replace('before_tool("shell", "mcp__git__*")', "before_tool")
    file = world.write(world.project / "guard.py", text)
    run("add", str(file), "--agent", agent, "--yes", "--python", sys.executable)
    wire = get_agent(agent).event("before_tool").wire
    tool = get_agent(agent).vocabulary.name("shell")

    code, out, err = run(
        "fire", wire, "--agent", agent, "--tool", tool,
        "--input", '{"command": "rm x"}', "--trust-once", "--json",
    )  # fmt: skip

    assert code == 0, err
    assert json.loads(out)["decision"]["outcome"] == "deny"


@pytest.mark.parametrize("agent", fast_for(CODING_AGENTS))
def test_a_guard_on_all_mcp_tools_runs_in_every_agent(world, run, agent):
    text = HOOK.replace('before_tool("shell", "mcp__git__*")', "before_tool('mcp__*')")
    file = world.write(world.project / "guard.py", text)
    run("add", str(file), "--agent", agent, "--yes", "--python", sys.executable)
    wire = get_agent(agent).event("before_tool").wire
    tool = get_agent(agent).vocabulary.name("mcp__files__remove")

    code, out, err = run(
        "fire", wire, "--agent", agent, "--tool", tool,
        "--input", '{"command": "rm x"}', "--trust-once", "--json",
    )  # fmt: skip

    assert code == 0, err
    assert json.loads(out)["decision"]["outcome"] == "deny"


def test_remove_goes_on_where_a_file_is_broken(world, run, hook_file):
    run("add", str(hook_file), "--agent", "claude", "--agent", "gemini", "--yes")
    world.settings("project", "{")
    code, _, err = run("remove", str(hook_file), "--yes")

    assert code == 64
    assert "settings.json:1" in err
    assert not (world.project / ".claude").exists()
    assert world.files["project"].read_text() == "{"


def test_init_leaves_nothing_behind_that_was_not_agreed(world, run):
    assert run("init", "--bare")[0] == 64
    assert run("init", "--bare", "--agent", "claude")[0] == 64
    assert not (world.project / ".anyhook").exists()


@pytest.mark.parametrize("options", [(), ("--json",), ("--agent", "gemini")])
def test_remove_of_a_file_that_no_settings_run_is_an_error(world, run, hook_file, options):
    run("add", str(hook_file), "--agent", "gemini", "--yes")

    code, _, err = run("remove", "hooks/my gard.py", "--yes", *options)

    assert code == 64
    assert "no settings of the scope 'project' run hooks/my gard.py" in " ".join(err.split())
    assert run("remove", str(hook_file), "--yes")[0] == 0


# -- init


def test_init_without_any_agent_writes_the_file_and_names_the_next_command(world, run):
    code, out, err = run("init", "--bare", "--yes")

    assert code == 0, err
    assert "No agent is found" in out
    assert "anyhook add .anyhook/guard.py --agent" in out
    assert not (world.project / ".claude").exists()
    assert run("test", ".anyhook/guard.py")[0] == 0


def test_add_without_any_agent_asks_for_one(world, run, hook_file):
    code, _, err = run("add", str(hook_file), "--yes")

    assert code == 64
    assert "name one: --agent" in " ".join(err.split())


@pytest.mark.slow
def test_init_writes_a_starter_that_works(world, run, anyhook_on_the_path):
    (world.project / ".claude").mkdir()
    (world.project / ".gemini").mkdir()
    code, out, _ = run("init", "--bare", "--yes")
    starter = world.project / ".anyhook" / "guard.py"

    assert code == 0
    assert "a new file" in out
    assert run("test", str(starter))[0] == 0
    code, out, _ = run("check", "--agent", "claude")
    assert code == 0, out

    starter.write_text(starter.read_text() + "\n# mine\n")
    code, out, _ = run("init", "--bare", "--yes")
    assert "a new file" not in out
    assert starter.read_text().endswith("# mine\n")


def test_init_writes_no_starter_through_a_link_out_of_the_project(world, run):
    (world.project / ".anyhook").symlink_to(world.home)

    code, _, err = run("init", "--bare", "--agent", "claude", "--yes")

    assert code == 64
    assert str(world.home / "guard.py") in "".join(err.splitlines())
    assert not (world.home / "guard.py").exists()
    assert not (world.project / ".claude").exists()


def test_init_can_be_looked_at_first(world, run):
    code, out, _ = run("init", "--bare", "--agent", "claude", "--dry-run")

    assert code == 0
    assert "a new file" in out
    assert '+    "PreToolUse": [' in out
    assert not (world.project / ".anyhook").exists()


def test_check_reports_what_the_agent_cannot_do_without_running_the_file(
    world, run, hook_file, anyhook_on_the_path
):
    run("add", str(hook_file), "--agent", "claude", "--yes")
    hook_file.write_text("raise SystemExit('must not run')\n" + hook_file.read_text())
    code, out, _ = run("check", "--agent", "claude", "--json")
    found = [d for d in json.loads(out)["diagnostics"] if d["code"] == "ability"]

    assert code == 0
    assert [(d["line"], d["message"]) for d in found] == [
        (23, "model: Claude Code has no event before_model; it never runs there")
    ]


@pytest.mark.parametrize("python", ["", "."])
def test_an_interpreter_is_a_program(world, run, hook_file, python):
    code, _, err = run("add", str(hook_file), "--agent", "claude", "--python", python, "--yes")

    assert code == 64
    assert f"{python!r} is not an interpreter" in err


def test_check_shows_whose_settings_are_here(world, run, hook_file):
    run("add", str(hook_file), "--agent", "claude", "--yes")

    assert "Claude Code" in run("check")[1]
    assert hook_file.name in run("list")[1]
    for command in ("check", "list"):
        out = run(command, "--agent", "gemini")[1]
        assert "Claude Code has hooks here" in out
        assert "add: --agent claude" in out


# -- test


def test_examples_are_tried_for_every_agent(world, run, hook_file):
    code, out, _ = run("test", str(hook_file))

    assert code == 0
    assert " ".join(out.splitlines()[1].split()).endswith("✓ deny all")
    assert "✓ ask" in out
    assert "~ deny" in out  # TerminaI cannot ask
    assert "the user cannot be asked" not in out
    assert "TerminaI ignores asking the user" in out


def test_a_failing_example_fails_with_its_place(world, run):
    path = world.write(
        world.project / "bad.py",
        HOOK.replace('expect="none")', 'expect="deny")').replace('says="no"', 'says="nope"'),
    )
    code, out, _ = run("test", str(path), "--agent", "claude")

    assert code == 1
    assert "✗ claude" in out
    assert "bad.py:" in out
    assert "expected deny" in out
    assert "does not say 'nope'" in " ".join(out.split())


@pytest.mark.slow
def test_a_crash_in_an_example_is_a_failure(world, run):
    path = world.write(world.project / "bad.py", HOOK.replace('"rm" in', "rm in"))
    code, out, _ = run("test", str(path), "--json")
    report = json.loads(out)

    assert code == 1
    assert report["ok"] is False
    assert {r["got"] for r in report["results"] if r["status"] == "failed"} == {"crash"}
    assert "NameError" in report["results"][0]["notes"][0]
    assert run("test", str(path))[1].count("Traceback") == 1


def test_an_example_that_hangs_or_leaves_is_a_failure(world, run):
    path = world.write(
        world.project / "hang.py",
        "import sys\nfrom anyhook.authoring import Hooks\nhooks = Hooks(timeout=0.2)\n"
        "@hooks.before_tool('shell')\ndef f(event):\n    print('noise')\n    while True: pass\n"
        "@hooks.before_tool('glob')\ndef g(event):\n    sys.exit(3)\n"
        "hooks.example(tool='shell', input={}, expect='none')\n"
        "hooks.example(tool='glob', input={}, expect='deny')\n",
    )
    code, out, _ = run("test", str(path), "--agent", "claude", "--json")
    report = json.loads(out)

    assert code == 1
    assert [r["got"] for r in report["results"]] == ["crash", "crash"]
    assert "ran out of time" in report["results"][0]["notes"][0]


def test_a_file_without_examples_is_reported(world, run):
    path = world.write(world.project / "none.py", HOOK.replace("hooks.example", "''.format"))
    code, out, _ = run("test", str(path))

    assert code == 1
    assert "There are no examples" in out


def test_what_an_agent_lacks_is_neither_right_nor_wrong(world):
    path = world.write(
        world.project / "m.py",
        HOOK + '\nhooks.example("before_model", expect="none")\n'
        'hooks.example(tool="read_many_files", input={}, expect="none")\n',
    )
    results = run_examples(load_hooks(path), ["claude"])

    assert [r.status for r in results][-2:] == ["absent", "absent"]
    assert results[-1].got == "no tool read_many_files"


# -- capabilities


def test_capabilities_are_shown_for_people_programs_and_the_documentation(run):
    code, out, _ = run("agents", "capabilities", "before_tool")
    assert code == 0
    assert "rewrite" in out
    assert "promised" in out

    _, out, _ = run("agents", "capabilities", "--json")
    rewrite = json.loads(out)["before_tool"]["rewrite"]
    assert rewrite.keys() == set(CODING_AGENTS)
    assert (rewrite["claude"], rewrite["terminai"]) == ("yes", "no")
    assert run("agents", "capabilities", "before_lunch")[0] == 64


@pytest.mark.parametrize("columns", ["80", "100"])
def test_the_capabilities_of_all_agents_fit_the_terminal(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)

    _, out, _ = run("agents", "capabilities", "before_tool")

    for title in ("Gemini", "Qwen", "Codex"):
        assert title in out
    (deny,) = {line.count("yes") for line in out.splitlines() if line.startswith("deny")}
    assert deny in (4, 8)


def test_the_tables_of_the_documentation_are_those_of_the_code():
    from tests.package.test_docs import ROOT

    page = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")

    assert "\n".join(generate()) in page
    for word in ("yes", "promised", "undocumented"):
        assert f"{word}:" in LEGEND
        assert f"|{word}|" in page


# -- the testing package


def test_events_are_made_as_the_agent_sends_them():
    claude = make_payload("before_tool", agent="claude", tool="shell", input={"background": True})
    gemini = make_payload("PreCompress", agent="gemini")

    assert claude["hook_event_name"] == "PreToolUse"
    assert claude["tool_name"] == "Bash"
    assert claude["tool_input"] == {"run_in_background": True}
    assert "timestamp" not in claude
    assert gemini["hook_event_name"] == "PreCompress"
    assert gemini["trigger"] == "manual"
    assert gemini["timestamp"]
    with pytest.raises(EventError, match="needs a tool"):
        make_event("before_tool", agent="claude")
    with pytest.raises(EventError, match="has no field 'promt'"):
        make_event("before_prompt", agent="claude", promt="x")


@pytest.mark.parametrize("name", ["shell", "Bash", "run_shell_command", "mcp__a__b", "deploy"])
def test_a_tool_that_an_agent_lacks_may_be_one_of_a_program(name):
    assert make_event("before_tool", agent="claude", tool=name).name == "before_tool"


@pytest.mark.parametrize(("name", "tool"), [("shel", "shell"), ("Bashh", "Bash")])
def test_a_mistyped_tool_is_reported(hook_file, name, tool):
    with pytest.warns(UserWarning, match=f"no tool '{name}'; did you mean '{tool}'"):
        run_hook(hook_file, "before_tool", tool=name)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_event_of_every_agent_can_be_made(agent):
    for spec in get_agent(agent).events:
        tool = {"tool": "shell"} if spec.subject == "tool_name" else {}
        assert make_event(spec.wire, agent=agent, **tool).name == spec.canonical


def test_runs_take_whole_payloads_and_say_what_cannot_be(hook_file):
    payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "rm"})
    unknown = {"hook_event_name": "Nothing"}

    assert run_hook(hook_file, payload).outcome == "deny"
    assert run_hook(str(hook_file), payload, process=True).outcome == "deny"
    assert run_hook(hook_file, unknown).stdout == ""
    assert run_hook(hook_file, unknown, process=True).outcome == "none"
    with pytest.raises(UsageError, match="needs a file"):
        run_hook(load_hooks(hook_file), payload, process=True)


@pytest.mark.slow
def test_the_plugin_collects_examples(world, hook_file):
    world.write(world.project / "pytest.ini", "[pytest]\nanyhook_hooks = hooks/*.py\n")
    world.write(
        world.project / "test_more.py",
        "def test_by_hand(run_hook):\n"
        "    ran = run_hook('hooks/my guard.py', 'before_tool', agent='gemini',\n"
        "                   tool='shell', input={'command': 'rm'})\n"
        "    assert ran.outcome == 'deny'\n",
    )
    bad = HOOK.replace('expect="none")', 'expect="stop")').replace(
        "hooks.before_model", "hooks.before_compress"
    )
    world.write(
        world.project / "hooks" / "bad.py", bad + '\nhooks.example("before_model", expect="none")\n'
    )

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider"],
        cwd=world.project,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "PASSED hooks/my guard.py::1-before_tool-shell-deny[gemini]" in done.stdout
    assert "PASSED test_more.py::test_by_hand" in done.stdout
    assert "FAILED hooks/bad.py::2-before_tool-shell-stop[claude]" in done.stdout
    assert "expected stop, got none" in done.stdout
    assert "claude has no event before_model" in done.stdout
    assert done.returncode == 1


def test_a_file_that_never_runs_its_hooks_is_not_installed(world, run):
    file = world.write(
        world.project / "guard.py",
        "from anyhook.authoring import Hooks\nhooks = Hooks()\n"
        "@hooks.before_tool\ndef guard(event): pass\n",
    )

    code, _, err = run("add", str(file), "--agent", "claude", "--yes")

    assert code == 64
    assert "never calls hooks.run()" in err
    assert not (world.project / ".claude").exists()


# -- a project that is the home


@pytest.mark.parametrize("command", ["add", "init"])
@pytest.mark.parametrize("agent", fast_for(["claude", "gemini", "qwen", "cursor"]))
def test_settings_that_are_also_the_users_get_whole_paths(
    world, run, monkeypatch, anyhook_on_the_path, agent, command
):
    monkeypatch.chdir(world.home)
    names = ["git"] if command == "add" else ["--guards", "git"]
    assert run(command, *names, "--agent", agent, "--yes")[0] == 0
    settings = next((world.home / f".{agent}").glob("*.json")).read_text(encoding="utf-8")
    assert "PROJECT_DIR" not in settings
    assert str(world.home / ".anyhook" / "guard-git.py") in settings
    assert run("remove", "git", "--agent", agent, "--yes")[0] == 0
    assert not (world.home / ".anyhook").exists()


# -- a project whose path is not UTF-8


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such paths")
def test_a_path_that_is_not_utf8_is_stored_and_shown(world, run, monkeypatch, anyhook_on_the_path):
    directory = Path(os.fsdecode(os.fsencode(world.project) + b"/lat\xe9n"))
    directory.mkdir()
    (directory / ".git").mkdir()
    monkeypatch.chdir(directory)
    call = ("PreToolUse", "--tool", "Bash", "--input", '{"command": "git push --force"}')
    for arguments in (
        ("init", "--agent", "claude", "--guards", "git", "--yes"),
        ("list",),
        ("trust", "--yes"),
        ("trust", "--show"),
        ("check",),
        ("fire", *call),
        ("list", "--json"),
    ):
        code, out, err = run(*arguments)
        assert (code, "bug of anyhook" in err) == (0, False), (arguments, out, err)
    assert json.loads(run("list", "--json")[1])[0]["health"]["word"] == "works"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such paths")
def test_a_home_that_is_not_utf8_is_used_where_it_can_be(
    world, run, monkeypatch, anyhook_on_the_path
):
    home = Path(os.fsdecode(os.fsencode(world.home) + b"/lat\xe9n"))
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(home / "data"))
    for arguments in (
        ("history", "record", "on", "--agent", "claude", "--yes"),
        ("init", "--agent", "claude", "--guards", "git", "--yes"),
        ("list",),
        ("history", "record", "status"),
        ("history", "record", "off", "--yes"),
        ("disable", "guard-git.py"),
    ):
        code, out, err = run(*arguments)
        assert (code, "bug of anyhook" in err) == (0, False), (arguments, out, err)

    # The settings of the user would have to name the copy of the guard there.
    code, _, err = run("add", "git", "--agent", "claude", "--scope", "user", "--yes")
    assert code == 64
    assert "which is not UTF-8" in " ".join(err.split())
    assert not (home / ".claude" / "settings.json").exists()
