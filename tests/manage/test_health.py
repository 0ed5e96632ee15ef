"""Whether hooks work: one word for each, the same in every view, and on what evidence."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

import anyhook
from anyhook import Engine
from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.engine.sync import SyncEngine
from anyhook.history.events import RecordedEvent
from anyhook.history.record_switch import RecordingSwitch, write_switch
from anyhook.history.store import History
from anyhook.history.trials import PROBE, TEST, Trial, keep_trials
from anyhook.manage.evidence import hook_identity, installed_version
from anyhook.manage.health import HealthWord
from anyhook.model.events import BeforeTool
from anyhook.settings.changes import settings_file
from anyhook.settings.companions import SHARED_PROGRAM, companion_path, render_companion
from anyhook.settings.entries import add_definitions
from tests.tables import fast_for

HOOK_FILE = """
from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool("shell")
def guard(event):
    if "rm" in event.text:
        return deny("no")


hooks.example(tool="shell", input={"command": "rm -r x"}, expect="deny")
hooks.example(tool="shell", input={"command": "ls"}, expect="none")

if __name__ == "__main__":
    hooks.run()
"""
DENY = "echo no >&2; exit 2"
FORMATTER = "exit 0"
AGENTS = [name for name in CODING_AGENTS if name not in ("opencode", "codex")]
"""Agents whose settings hold commands and need no trust of the agent itself."""


pytestmark = pytest.mark.usefixtures("programs")


def configure(project, name, command, event="before_tool", **options):
    """Configure a command for the shell tool of an agent; return its engine."""
    agent = get_agent(name)
    spec = agent.by_canonical[event]
    handler = {"type": "command", "command": command, **options}
    definition = {"hooks": [handler]}
    if spec.subject == "tool_name" and spec.writes_matchers:
        definition["matcher"] = options.pop("matcher", agent.vocabulary.name("shell"))
        handler.pop("matcher", None)
    path = settings_file(agent, project, "project")
    text = add_definitions(agent, "", str(path), {spec.wire: [definition]})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    write_companions(agent, path)
    return load(project, name)


def write_companions(agent, path):
    """Write what makes an agent run the hooks of a settings file that a test has written."""
    for companion in agent.settings.companions:
        file = companion_path(companion, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(render_companion(companion, (*SHARED_PROGRAM, *companion.command)))


def load(project, name, **options):
    options.setdefault("trust_once", True)
    return Engine.load(project, agent=name, on_message=lambda _text: None, **options)


def script(project, text, name="guard.sh"):
    path = project / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def fire(project, name, text="rm -r x", times=1):
    """Let an engine that records decide a call of the shell tool."""
    engine = load(project, name, record=True)
    tool = engine.agent.vocabulary.name("shell")
    with SyncEngine(engine) as sync:
        for _ in range(times):
            event = BeforeTool(tool_name=tool, tool_input={"command": text}, session_id="s")
            sync.dispatch(engine.complete(event))


def words(project, name, **options):
    """Return the words for the hooks of an agent."""
    return [hook.word for hook in anyhook.health(load(project, name, **options)).hooks]


def only(project, name, **options):
    """Return the health of the only hook of an agent."""
    (hook,) = anyhook.health(load(project, name, **options)).hooks
    return hook


# -- works


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CODING_AGENTS if name != "codex"])
def test_a_hook_file_whose_examples_pass_works(here, run, name):
    (here / "guard.py").write_text(HOOK_FILE)
    assert run("add", "guard.py", "--agent", name, "--yes")[0] == 0
    assert run("trust", "--agent", name, "--yes")[0] == 0
    before = run("check", "--agent", name, "--strict", "--json")
    run("test", "guard.py", "--agent", name, "--yes")

    code, out, _ = run("list", "--agent", name, "--json")
    (hook,) = json.loads(out)

    assert (before[0], code) == (1, 0)
    assert hook["health"]["word"] == "works", hook
    assert "2 examples" in hook["health"]["evidence"]


@pytest.mark.parametrize("name", AGENTS)
def test_a_guard_that_was_recorded_to_deny_works(here, name):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    configure(here, name, shlex.quote(str(path)))
    assert words(here, name) == [HealthWord.UNKNOWN]
    fire(here, name)

    hook = only(here, name)

    assert (hook.word, hook.settle) == (HealthWord.WORKS, "")
    assert "decided once" in hook.evidence


@pytest.mark.parametrize("name", AGENTS)
def test_a_hook_that_is_no_guard_works_if_it_ran(here, name):
    path = script(here, "#!/bin/sh\nexit 0\n", "format.sh")
    configure(here, name, shlex.quote(str(path)))
    fire(here, name, times=2)

    assert only(here, name).word is HealthWord.WORKS


def test_a_package_that_an_agent_does_not_belong_to_does_not_tell_its_release(tmp_path):
    (tmp_path / "package.json").write_text(json.dumps({"name": "shop", "version": "9.9.9"}))
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert installed_version("claude", {"PATH": str(program.parent)}) == ""


def test_a_probe_is_the_strongest_evidence(here):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    engine = configure(here, "claude", shlex.quote(str(path)))
    fire(here, "claude")
    keep(engine, PROBE, release="Claude Code 2.1.0", detail="its denial held")

    hook = only(here, "claude")

    assert hook.evidence.startswith("probe in Claude Code 2.1.0 on ")


def install_claude(directory, version):
    """Install a program like npm does: a link to a file of a package."""
    package = directory / "lib" / "node_modules" / "claude"
    package.mkdir(parents=True, exist_ok=True)
    about = {"version": version, "bin": {"claude": "cli.js"}}
    (package / "package.json").write_text(json.dumps(about))
    (package / "cli.js").write_text("#!/bin/sh\n")
    (package / "cli.js").chmod(0o755)
    program = directory / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.unlink(missing_ok=True)
    program.symlink_to(package / "cli.js")


@pytest.mark.parametrize(
    ("installed", "word"), [("2.1.0", HealthWord.WORKS), ("2.1.1", HealthWord.UNKNOWN)]
)
def test_a_probe_counts_for_the_release_that_is_installed(
    here, tmp_path, monkeypatch, installed, word
):
    install_claude(tmp_path / "npm", installed)
    monkeypatch.setenv("PATH", f"{tmp_path / 'npm' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    engine = configure(here, "claude", shlex.quote(str(script(here, f"#!/bin/sh\n{DENY}\n"))))
    keep(engine, PROBE, release="Claude Code 2.1.0", detail="its denial held")

    hook = only(here, "claude")

    assert hook.word is word
    assert bool(hook.old) is (word is HealthWord.UNKNOWN)


def keep(engine, kind, *, release="", detail="", is_good=True, has_decided=True, at=None):
    (definition,) = engine.definitions
    (handler,) = definition.handlers
    identity = hook_identity(engine, definition, handler)
    with History.open() as history:
        keep_trials(
            history,
            [
                Trial(
                    kind=kind,
                    agent=engine.agent.name,
                    release=release,
                    event=definition.event,
                    hook=handler.label,
                    entry=identity.entry,
                    content=identity.content,
                    file=identity.file,
                    time=at or time.time(),
                    is_good=is_good,
                    has_decided=has_decided,
                    detail=detail,
                )
            ],
        )


# -- what an entry was not asked about

TWO_TOOLS = HOOK_FILE.replace('"shell"', '"shell", "write_file"', 1)


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen"])
def test_examples_count_for_an_entry_whose_matcher_covers_them(here, run, name):
    vocabulary = get_agent(name).vocabulary
    path = script(here, TWO_TOOLS, "guard.py")
    configure(here, name, f"python3 {path}", matcher=vocabulary.name("write_file"))
    run("test", str(path), "--agent", name)

    hook = only(here, name)

    assert hook.word is HealthWord.UNKNOWN
    assert hook.evidence == (
        "its file passes its own examples, but the calls that it answers there do not reach this "
        "entry"
    )
    assert hook.settle == f"anyhook probe --agent {name}"

    configure(here, name, f"python3 {path}", matcher=vocabulary.name("shell"))
    assert only(here, name).word is HealthWord.WORKS


@pytest.mark.parametrize(
    ("condition", "word"),
    [("Bash(git *)", HealthWord.UNKNOWN), ("Bash(rm *)", HealthWord.WORKS)],
)
def test_examples_count_for_an_entry_whose_condition_covers_them(here, run, condition, word):
    path = script(here, HOOK_FILE, "guard.py")
    configure(here, "claude", f"python3 {path}", **{"if": condition})
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is word


def test_an_example_that_is_let_pass_does_not_show_that_a_guard_works(here, run):
    text = HOOK_FILE.replace('input={"command": "ls"}', 'input={"command": "git status"}')
    path = script(here, text, "guard.py")
    configure(here, "claude", f"python3 {path}", **{"if": "Bash(git *)"})
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is HealthWord.UNKNOWN


@pytest.mark.parametrize("name", AGENTS)
def test_examples_do_not_show_that_a_hook_answers_within_a_short_timeout(here, run, name):
    path = script(here, HOOK_FILE, "guard.py")
    timeout = round(0.02 / get_agent(name).settings.timeout_unit, 2)
    configure(here, name, f"python3 {path}", timeout=timeout)
    run("test", str(path), "--agent", name)

    hook = only(here, name)

    assert (hook.word, hook.row.handler.timeout) == (HealthWord.UNKNOWN, 0.02)
    assert hook.evidence.endswith("its timeout of 0.02 s may be too short")


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen"])
def test_calls_that_another_matcher_let_through_do_not_count(here, name):
    path = shlex.quote(str(script(here, f"#!/bin/sh\n{DENY}\n")))
    vocabulary = get_agent(name).vocabulary
    shell, write = vocabulary.name("shell"), vocabulary.name("write_file")
    configure(here, name, path, matcher=f"{shell}|{write}")
    fire(here, name, times=3)
    assert only(here, name).word is HealthWord.WORKS

    configure(here, name, path, matcher=write)

    assert only(here, name).word is HealthWord.UNKNOWN


def test_calls_that_another_condition_let_through_do_not_count(here):
    path = shlex.quote(str(script(here, f"#!/bin/sh\n{DENY}\n")))
    configure(here, "claude", path)
    fire(here, "claude", "rm -r x", times=3)

    configure(here, "claude", path, **{"if": "Bash(git *)"})

    assert only(here, "claude").word is HealthWord.UNKNOWN


@pytest.mark.parametrize("line", ["env -i anyhook run FILE", "timeout 0.001 python3 FILE"])
def test_runs_that_a_file_recorded_count_for_the_line_that_started_it(here, recording, line):
    plain = f"python3 {recording}"
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "cwd": str(here),
        "tool_name": "Bash",
        "tool_input": {"command": "rm x"},
    }
    text = json.dumps(payload).encode()
    subprocess.run(["sh", "-c", plain], input=text, capture_output=True, check=False)
    settings = settings_file(get_agent("claude"), here, "project")
    earlier, later = time.time() - SINCE, time.time() + SINCE
    os.utime(settings, (later, later))
    assert only(here, "claude").word is HealthWord.WORKS

    configure(here, "claude", line.replace("FILE", str(recording)))
    os.utime(settings, (later, later))
    assert only(here, "claude").word is HealthWord.UNKNOWN
    # What ran since the entry is as it is ran by this entry.
    os.utime(settings, (earlier, earlier))
    assert only(here, "claude").word is HealthWord.WORKS


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("python3 -u -B FILE", HealthWord.WORKS),
        ("exec python3 FILE", HealthWord.WORKS),
        ("python3 -u -I FILE", HealthWord.UNKNOWN),
        ("python3 -B -S FILE", HealthWord.UNKNOWN),
        ("exec -c python3 FILE", HealthWord.UNKNOWN),
    ],
)
def test_examples_do_not_show_that_a_hook_finds_its_modules_otherwise(here, run, line, word):
    path = script(here, HOOK_FILE, "guard.py")
    configure(here, "claude", line.replace("FILE", str(path)))
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is word


def test_another_shadow_in_a_file_does_not_make_its_guard_one(here, run):
    text = HOOK_FILE + "\n\ndef trial():\n    return Hooks(shadow=True)\n"
    path = script(here, text, "guard.py")
    configure(here, "claude", f"python3 {path}")
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is HealthWord.WORKS


@pytest.mark.parametrize("name", AGENTS)
def test_a_file_that_makes_itself_a_shadow_does_not_work(here, run, name):
    path = script(here, HOOK_FILE.replace("Hooks()", "Hooks(shadow=True)"), "guard.py")
    configure(here, name, f"python3 {path}")
    run("test", str(path), "--agent", name)

    hook = only(here, name)

    assert (hook.word, hook.row.state) == (HealthWord.UNKNOWN, "shadow")
    assert hook.settle == f"remove shadow=True from {path}:4"
    assert f"remove shadow=True from {path}:4" in run("check", "--agent", name)[1]
    assert f"remove shadow=True from {path}:4" in run("enable", "guard.py", "--agent", name)[1]
    for require in (True, ["before_tool"]):
        with pytest.raises(anyhook.RequiredHooksError, match="runs as a shadow"):
            load(here, name, require=require)


def test_a_file_that_is_a_shadow_when_it_is_tested_does_not_work(here, run):
    path = script(here, HOOK_FILE.replace("Hooks()", "Hooks(shadow=bool(1))"), "guard.py")
    configure(here, "claude", f"python3 {path}")
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is HealthWord.UNKNOWN


# -- broken

BROKEN_COMMANDS = {
    "a script that is not there": ("sh hooks/missing.sh", "missing.sh"),
    "a program that is not there": ("no-such-program-x --check", "no-such-program-x"),
    "a file that may not be executed": ("./plain.sh", "plain.sh"),
    "a command line that no shell reads": ("echo 'x; exit 2", "shell"),
}


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("what", BROKEN_COMMANDS)
def test_a_command_that_cannot_run_is_broken(here, run, name, what):
    command, cause = BROKEN_COMMANDS[what]
    (here / "plain.sh").write_text(f"#!/bin/sh\n{DENY}\n")
    configure(here, name, command)

    hook = only(here, name)

    assert hook.word is HealthWord.BROKEN
    assert cause in hook.evidence
    assert run("check", "--agent", name)[0] == 1


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen"])
def test_a_matcher_that_hits_nothing_is_broken(here, name):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    shell = get_agent(name).vocabulary.name("shell")
    configure(here, name, shlex.quote(str(path)), matcher=f"{shell}{shell[-1]}")

    assert only(here, name).word is HealthWord.BROKEN


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen"])
def test_a_matcher_of_which_a_part_hits_something_is_not(here, name):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    shell = get_agent(name).vocabulary.name("shell")
    configure(here, name, shlex.quote(str(path)), matcher=f"{shell}|Bashh")

    assert only(here, name).word is HealthWord.UNKNOWN


@pytest.mark.parametrize("text", [f"#!/bin/sh\n{DENY}\n", HOOK_FILE])
def test_a_guard_is_not_broken_because_another_entry_runs_it_in_the_background(here, text):
    is_python = text == HOOK_FILE
    path = script(here, text, "guard.py" if is_python else "guard.sh")
    command = f"python3 {path}" if is_python else str(path)
    entries = [
        {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]},
        {"matcher": "Write", "hooks": [{"type": "command", "command": command, "async": True}]},
    ]
    (here / ".claude").mkdir()
    settings = json.dumps({"hooks": {"PreToolUse": entries}}, indent=1)
    (here / ".claude" / "settings.json").write_text(settings)

    assert words(here, "claude") == [HealthWord.UNKNOWN, HealthWord.BROKEN]


@pytest.mark.parametrize(
    "line",
    [
        "python3 FILE 2>&1",
        "python3 FILE < /dev/null",
        "python3 FILE | tee log",
        "bash -c 'x=$(python3 FILE)'",
        "echo $(python3 FILE)",
        "true || python3 FILE",
        "echo FILE",
        "python3 -c pass FILE",
        "# python3 FILE",
        "env -i anyhook run FILE",
        "env X=1 python3 FILE",
        "PATH=/nonexistent anyhook run FILE",
        "PATH=/nonexistent; anyhook run FILE",
        "timeout 0.001 anyhook run FILE",
        "timeout -k 1 0.001 python3 FILE",
        "exec timeout 0.01s python3 FILE",
        "sh -c 'PATH=/nonexistent anyhook run FILE'",
        "sh -c 'timeout 0.001 python3 FILE'",
        "cd /nonexistent && python3 FILE",
        "python3 -S FILE",
        "python3 FILE --timeout 0.01",
    ],
)
def test_a_command_line_that_may_not_run_its_file_does_not_work_by_examples(here, run, line):
    path = script(here, HOOK_FILE, "guard.py")
    configure(here, "claude", line.replace("FILE", str(path)))
    run("test", str(path), "--agent", "claude")

    hook = only(here, "claude")

    assert hook.word is HealthWord.UNKNOWN
    assert hook.evidence.startswith("its file passes its own examples")
    assert hook.settle == "anyhook probe --agent claude"


@pytest.mark.parametrize(
    "line", ["python3 FILE > /dev/null", "python3 FILE &", "x=$(python3 FILE)"]
)
def test_a_command_line_that_loses_the_denial_of_its_file_is_broken(here, run, line):
    path = script(here, HOOK_FILE, "guard.py")
    configure(here, "claude", line.replace("FILE", str(path)))
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is HealthWord.BROKEN


@pytest.mark.parametrize(
    "line",
    [
        "cd / && python3 FILE",
        "FILE 2>/dev/null",
        "exec python3 FILE",
        "timeout 5 python3 FILE",
        "timeout 1m python3 -u FILE",
        "sh -c 'exec python3 FILE'",
        "python3 FILE --agent claude",
        '"$CLAUDE_PROJECT_DIR"/NAME',
    ],
)
def test_a_command_line_that_only_starts_its_file_works_by_examples(here, run, line):
    path = script(here, f"#!/usr/bin/env python3\n{HOOK_FILE}", "guard.py")
    line = line.replace("FILE", str(path)).replace("NAME", str(path.relative_to(here)))
    configure(here, "claude", line)
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is HealthWord.WORKS


@pytest.fixture
def with_dollar(here):
    """Return a project with a dollar in its path."""
    project = here / "do$HOME"
    project.mkdir()
    return project


def test_a_file_in_a_project_with_a_dollar_in_its_path_works_by_examples(with_dollar, run):
    path = script(with_dollar, HOOK_FILE, "guard.py")
    configure(with_dollar, "claude", 'anyhook run "${CLAUDE_PROJECT_DIR}/hooks/guard.py"')
    run("test", str(path), "--agent", "claude", "--project", str(with_dollar))

    assert only(with_dollar, "claude").word is HealthWord.WORKS


def test_an_interpreter_in_a_project_with_a_dollar_in_its_path_is_asked(with_dollar):
    script(with_dollar, f"import no_such_module_x\n{HOOK_FILE}", "guard.py")
    (with_dollar / "python3").symlink_to(sys.executable)
    line = '"${CLAUDE_PROJECT_DIR}/hooks/guard.py"'
    line = f'anyhook run --python "${{CLAUDE_PROJECT_DIR}}/python3" {line}'
    configure(with_dollar, "claude", line)

    hook = only(with_dollar, "claude")

    assert hook.word is HealthWord.BROKEN
    assert f"which {with_dollar}/python3 does not find" in hook.evidence


def test_a_file_in_a_directory_with_blanks_to_which_the_line_goes_works_by_examples(here, run):
    project = here / "my project"
    project.mkdir()
    path = script(project, HOOK_FILE, "guard.py")
    configure(project, "claude", 'cd "$CLAUDE_PROJECT_DIR" && python3 hooks/guard.py')
    run("test", str(path), "--agent", "claude", "--project", str(project))

    assert only(project, "claude").word is HealthWord.WORKS


@pytest.mark.parametrize("interpreter", ["/bin/true", "true"])
def test_a_file_that_is_given_to_another_program_does_not_work_by_examples(here, run, interpreter):
    path = script(here, HOOK_FILE, "guard.py")
    configure(here, "claude", f"anyhook run --python {interpreter} {path}")
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is HealthWord.UNKNOWN


@pytest.mark.parametrize("line", ["anyhook run --python DIRECTORY FILE", "DIRECTORY", "./hooks"])
def test_a_directory_in_place_of_a_program_makes_a_hook_broken(here, run, line):
    path = script(here, HOOK_FILE, "guard.py")
    directory = str(path.parent)
    configure(here, "claude", line.replace("FILE", str(path)).replace("DIRECTORY", directory))
    run("test", str(path), "--agent", "claude")

    hook = only(here, "claude")

    assert hook.word is HealthWord.BROKEN
    assert hook.evidence == f"{directory} is a directory, not a program"


def test_a_file_that_is_named_through_a_link_works_by_examples(here, run):
    path = script(here, f"#!/usr/bin/env python3\n{HOOK_FILE}", "guard.py")
    link = here / "link"
    link.symlink_to(path.parent)
    configure(here, "claude", shlex.quote(str(link / "guard.py")))
    run("test", str(path), "--agent", "claude")

    assert only(here, "claude").word is HealthWord.WORKS


@pytest.mark.parametrize("line", ["python3 FILE --agent gemini", "anyhook run FILE --agent nobody"])
def test_a_hook_file_that_is_started_for_another_agent_is_broken(here, run, line):
    path = script(here, HOOK_FILE, "guard.py")
    configure(here, "claude", line.replace("FILE", str(path)))
    run("test", str(path), "--agent", "claude")

    hook = only(here, "claude")

    assert hook.word is HealthWord.BROKEN
    assert "write --agent claude" in hook.evidence
    assert hook.place.file == str(here / ".claude" / "settings.json")


@pytest.mark.parametrize("name", fast_for(["claude", "gemini", "qwen"]))
@pytest.mark.parametrize(
    ("subjects", "matcher", "word"),
    [
        ('"shell"', "{write}", HealthWord.BROKEN),
        ('"shell", "mcp__x__y"', "{write}", HealthWord.BROKEN),
        ('"shell"', "{write}|{shell}", HealthWord.WORKS),
        ('"shell"', "", HealthWord.WORKS),
        ('"shell", "mcp__x__*"', "{write}", HealthWord.UNKNOWN),
        ('*["shell"]', "{write}", HealthWord.UNKNOWN),
    ],
)
def test_a_matcher_that_hits_no_tool_of_its_file_is_broken(
    here, run, name, subjects, matcher, word
):
    vocabulary = get_agent(name).vocabulary
    path = script(here, HOOK_FILE.replace('"shell"', subjects, 1), "guard.py")
    names = {"write": vocabulary.name("write_file"), "shell": vocabulary.name("shell")}
    configure(here, name, f"python3 {path}", matcher=matcher.format(**names))
    run("test", str(path), "--agent", name)

    hook = only(here, name)

    assert hook.word is word
    assert ("does not match" in hook.evidence) is (word is HealthWord.BROKEN)


FAULTS = {
    "a script that is not there": ("{there}/missing/guard.py", ""),
    "another agent": ("anyhook run {there}/guard.py --agent nobody", HOOK_FILE),
    "a file that may not be executed": ("{there}/guard.py", "#!/usr/bin/env python3\n"),
    "a script that cannot be read": ("python3 {there}/guard.py", "def broken(:\n"),
    "a module that is not there": ("python3 {there}/guard.py", "import no_such_module_x\n"),
    "a hook file that never runs": (
        "python3 {there}/guard.py",
        HOOK_FILE.replace("hooks.run()", "pass"),
    ),
    "a lost answer": ("python3 {there}/guard.py", HOOK_FILE.replace("return deny", "deny")),
}
"""What is wrong with a hook to its command, and to the text of its script."""


@pytest.mark.parametrize("name", ["claude", "gemini", "qwen"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_hook_is_not_broken_because_another_of_its_name_is(here, name, fault):
    command, text = FAULTS[fault]
    there = Path.home() / "hooks"
    there.mkdir()
    (there / "guard.py").write_text(text)
    (here / "guard.py").write_text(HOOK_FILE)
    agent = get_agent(name)
    commands = {"user": command.format(there=there), "project": "python3 guard.py"}
    for layer, line in commands.items():
        path = settings_file(agent, here, layer)
        path.parent.mkdir(exist_ok=True)
        definition = {"hooks": [{"type": "command", "command": line}]}
        wire = agent.by_canonical["before_tool"].wire
        path.write_text(add_definitions(agent, "", str(path), {wire: [definition]}))

    hooks = anyhook.health(load(here, name)).hooks

    found = {str(hook.row.handler.layer): (hook.row.handler.label, hook.word) for hook in hooks}
    assert found == {
        "user": ("guard.py", HealthWord.BROKEN),
        "project": ("guard.py", HealthWord.UNKNOWN),
    }


def test_a_hook_that_names_the_settings_is_not_broken_because_another_is(here):
    (here / ".claude").mkdir()
    commands = ("sh missing.sh", "grep -q x .claude/settings.json")
    handlers = [{"type": "command", "command": command} for command in commands]
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": handlers}]}}
    (here / ".claude" / "settings.json").write_text(json.dumps(settings, indent=1))

    assert words(here, "claude") == [HealthWord.BROKEN, HealthWord.UNKNOWN]


@pytest.mark.parametrize("name", AGENTS)
def test_a_guard_that_was_killed_in_its_last_runs_is_broken(here, name):
    path = script(here, "#!/bin/sh\nkill -9 $$\nexit 2\n")
    configure(here, name, shlex.quote(str(path)))
    fire(here, name, times=3)

    hook = only(here, name)

    assert hook.word is HealthWord.BROKEN
    assert "failed or was killed in its last 3 runs" in hook.evidence


def test_a_guard_that_runs_into_its_timeout_is_broken(here):
    path = script(here, "#!/bin/sh\nsleep 30\nexit 2\n")
    configure(here, "gemini", shlex.quote(str(path)), timeout=200)
    fire(here, "gemini")

    assert "ran into the timeout in its last run" in only(here, "gemini").evidence


def test_a_denial_with_an_exit_code_that_does_not_block_is_broken(here):
    text = """#!/bin/sh\necho '{"decision": "deny", "reason": "no"}'\nexit 1\n"""
    path = script(here, text)
    configure(here, "gemini", shlex.quote(str(path)))
    fire(here, "gemini")

    hook = only(here, "gemini")

    assert hook.word is HealthWord.BROKEN
    assert "printed a denial and ended with 1" in hook.evidence


def test_a_settings_file_that_cannot_be_read_is_broken(here, run):
    path = settings_file(get_agent("claude"), here, "project")
    path.parent.mkdir()
    path.write_text('{"hooks": {')

    found = anyhook.health(anyhook.SyncEngine(load(here, "claude")))

    assert found.is_broken
    assert [one.code for one in found.unreadable] == ["settings-syntax"]
    assert run("check", "--agent", "claude")[0] == 1


def test_a_trial_that_failed_is_broken(here):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    engine = configure(here, "claude", shlex.quote(str(path)))
    keep(engine, PROBE, is_good=False, detail="Claude Code did not run it")

    hook = only(here, "claude")

    assert hook.word is HealthWord.BROKEN
    assert "Claude Code did not run it" in hook.evidence


# -- what should have reached it

SINCE = 3600.0


def recorded(number, *, hook_file=None, tool="shell"):
    """Return an event of a session that began after recording was switched on."""
    from anyhook.history.events import RecordedResult

    results = ()
    if hook_file is not None:
        results = (RecordedResult(hook_file.name, kind="command", version={}, status="ran"),)
    return RecordedEvent(
        agent="claude",
        session="imported",
        event="before_tool",
        time=time.time() + SINCE + number,
        payload={
            "hook_event_name": "PreToolUse",
            "tool_name": get_agent("claude").vocabulary.name(tool),
            "tool_input": {"command": f"rm {number}"},
        },
        source="import" if hook_file is None else "hook",
        project=str(Path.cwd()),
        tool=tool,
        results=results,
    )


@pytest.fixture
def recording(here):
    """Return a guard that is a hook file, in a project that is recorded."""
    path = here / "guard.py"
    path.write_text(HOOK_FILE)
    configure(here, "claude", f"python3 {path}")
    directory = Path(os.environ["ANYHOOK_DATA_DIR"]) / "history"
    directory.mkdir(parents=True, exist_ok=True)
    write_switch(RecordingSwitch(), str(directory))
    return path


def store(*events):
    with History.open() as history:
        history.add(events)


def test_a_guard_that_no_call_reached_is_broken(here, recording):
    store(*map(recorded, range(214)), *[recorded(n, tool="read_file") for n in range(300, 310)])

    hook = only(here, "claude")

    assert hook.word is HealthWord.BROKEN
    assert hook.evidence.startswith("214 events since ")
    assert hook.evidence.endswith("matched it, and none reached it")


def test_a_guard_that_some_calls_reached_is_not(here, recording):
    store(*map(recorded, range(5)), recorded(9, hook_file=recording))

    assert only(here, "claude").word is HealthWord.UNKNOWN


def test_calls_from_before_the_entry_was_written_do_not_count(here, recording):
    store(*map(recorded, range(5)))
    later = time.time() + 2 * SINCE
    os.utime(settings_file(get_agent("claude"), here, "project"), (later, later))

    assert only(here, "claude").word is HealthWord.UNKNOWN


def test_calls_count_only_while_recording_is_on(here, recording):
    store(*map(recorded, range(5)))
    (Path(os.environ["ANYHOOK_DATA_DIR"]) / "history" / "recording.json").unlink()

    assert only(here, "claude").word is HealthWord.UNKNOWN


# -- unknown


def test_a_guard_that_never_denied_is_unknown(here):
    path = script(here, '#!/bin/sh\ngrep -q "git push" && exit 2\nexit 0\n')
    configure(here, "claude", shlex.quote(str(path)))
    fire(here, "claude", times=4)

    hook = only(here, "claude")

    assert hook.word is HealthWord.UNKNOWN
    assert hook.evidence.startswith("it ran 4 times since ")
    assert hook.evidence.endswith(" and decided nothing")
    assert hook.settle == "anyhook probe --agent claude"


@pytest.mark.parametrize(
    ("event", "settle"),
    [
        ("notification", "anyhook history record on --agent claude --tap"),
        ("subagent_stop", "anyhook probe --agent claude"),
        ("after_agent", "anyhook probe --agent claude"),
    ],
)
def test_what_would_settle_it_reaches_the_event(here, event, settle):
    configure(here, "claude", "true", event)

    hook = only(here, "claude")

    assert (hook.word, hook.settle) == (HealthWord.UNKNOWN, settle)


def test_no_command_settles_whether_a_hook_of_another_type_works(here):
    path = here / ".claude" / "settings.json"
    path.parent.mkdir()
    handler = {"type": "http", "url": "http://127.0.0.1:9/"}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}}))

    hook = only(here, "claude")

    assert (hook.word, hook.settle) == (HealthWord.UNKNOWN, "")
    assert hook.evidence.endswith("; a probe does not run hooks of type http")


@pytest.mark.parametrize(("text", "problem"), [("", "is missing"), ("//", "was edited")])
def test_a_hook_that_its_agent_never_starts_is_broken(here, run, text, problem):
    (here / "guard.py").write_text(HOOK_FILE)
    assert run("add", "guard.py", "--agent", "opencode", "--yes")[0] == 0
    plugin = here / ".opencode" / "plugins" / "anyhook.js"
    plugin.unlink()
    if text:
        plugin.write_text(text)

    hook = only(here, "opencode")

    assert hook.word is HealthWord.BROKEN
    assert problem in hook.evidence


def test_what_was_seen_of_another_content_is_old(here):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    engine = configure(here, "claude", shlex.quote(str(path)))
    keep(engine, TEST, detail="2 examples")
    assert only(here, "claude").word is HealthWord.WORKS
    path.write_text(f"#!/bin/sh\n# edited\n{DENY}\n")

    hook = only(here, "claude")

    assert hook.word is HealthWord.UNKNOWN
    assert hook.old
    assert "2 examples" in hook.old[0]


def test_what_was_seen_under_another_entry_is_old(here):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    engine = configure(here, "claude", shlex.quote(str(path)))
    keep(engine, PROBE, detail="its denial held")

    configure(here, "claude", shlex.quote(str(path)), timeout=5)

    assert only(here, "claude").word is HealthWord.UNKNOWN


@pytest.mark.parametrize("name", AGENTS)
def test_a_hook_that_is_not_trusted_is_unknown(here, name):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    configure(here, name, shlex.quote(str(path)))
    fire(here, name)

    hook = only(here, name, trust_once=False)

    assert hook.word is HealthWord.UNKNOWN
    assert hook.settle == f"anyhook trust --agent {name}"


def test_a_hook_that_is_switched_off_is_unknown(here, run):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    configure(here, "gemini", shlex.quote(str(path)))
    fire(here, "gemini")
    run("disable", "guard.sh", "--agent", "gemini")

    hook = only(here, "gemini")

    assert hook.word is HealthWord.UNKNOWN
    assert "switched off" in hook.evidence
    assert hook.settle == "anyhook enable guard.sh"


def test_a_hook_that_its_agent_does_not_trust_is_unknown(here):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    configure(here, "codex", shlex.quote(str(path)))
    fire(here, "codex")

    hook = only(here, "codex")

    assert hook.word is HealthWord.UNKNOWN
    assert "Codex CLI does not run it: it is untrusted there" in hook.evidence
    assert "/hooks" in hook.settle


def test_without_a_history_every_hook_is_unknown_or_broken(here):
    path = script(here, f"#!/bin/sh\n{DENY}\n")
    configure(here, "claude", shlex.quote(str(path)))
    data = Path(os.environ["ANYHOOK_DATA_DIR"])
    data.mkdir(exist_ok=True)
    (data / "history").write_text("no directory")

    assert only(here, "claude").word is HealthWord.UNKNOWN


# -- the same in every view


def test_every_view_says_the_same(here, run):
    good = script(here, f"#!/bin/sh\n{DENY}\n", "good.sh")
    agent = get_agent("claude")
    handlers = [
        {"type": "command", "command": str(good)},
        {"type": "command", "command": "sh hooks/missing.sh"},
        {"type": "command", "command": "sh hooks/idle.sh"},
    ]
    script(here, "#!/bin/sh\ngrep -q never && exit 2\nexit 0\n", "idle.sh")
    path = settings_file(agent, here, "project")
    path.parent.mkdir()
    definition = {"matcher": "Bash", "hooks": handlers}
    path.write_text(add_definitions(agent, "", str(path), {"PreToolUse": [definition]}))
    run("trust", "--yes")
    fire(here, "claude")
    expected = {"good.sh": "works", "missing.sh": "broken", "idle.sh": "unknown"}

    found = anyhook.health(load(here, "claude")).hooks
    listed = json.loads(run("list", "--json")[1])
    checked = json.loads(run("check", "--json")[1])["health"]
    text = run("check")[1]

    assert {hook.row.label: str(hook.word) for hook in found} == expected
    assert {item["name"]: item["health"]["word"] for item in listed} == expected
    assert {item["hook"]: item["word"] for item in checked} == expected
    assert "hooks: 1 works, 1 broken, 1 unknown" in text
    assert "to settle it: anyhook probe --agent claude" in text


def test_a_reason_of_many_hooks_is_printed_once(here, run):
    agent = get_agent("claude")
    path = settings_file(agent, here, "project")
    path.parent.mkdir()
    handlers = [{"type": "command", "command": f"cat {name}.json"} for name in "ab"]
    definition = {"matcher": "Bash", "hooks": handlers}
    path.write_text(add_definitions(agent, "", str(path), {"PreToolUse": [definition]}))

    text = run("check")[1]

    assert text.count("? unknown") == 2
    assert text.count("    anyhook does not run it: it is not trusted") == 1
    assert text.count("    to settle it: anyhook trust") == 1


def test_a_hook_whose_agent_does_not_find_anyhook_is_broken(here, monkeypatch):
    (here / "guard.py").write_text(HOOK_FILE)
    configure(here, "claude", 'anyhook run "${CLAUDE_PROJECT_DIR}/guard.py"')
    assert words(here, "claude") == ["unknown"]

    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    hook = only(here, "claude")

    assert hook.word == "broken"
    assert "pipx install anyhook" in hook.evidence


# -- files that the agent ignores as a whole


@pytest.mark.parametrize("addition", ["comment", "comma", "mark"])
@pytest.mark.parametrize("name", AGENTS)
def test_hooks_of_a_file_that_the_agent_ignores_are_broken(here, run, name, addition):
    engine = configure(here, name, DENY)
    if addition not in engine.agent.settings.rejected_json:
        pytest.skip("the agent accepts it")
    fire(here, name)
    path = settings_file(engine.agent, here, "project")
    text = path.read_text()
    changed = {
        "comment": f"// why\n{text}",
        "comma": f"{text.rstrip().removesuffix('}')},}}",
        "mark": f"\ufeff{text}",
    }
    path.write_text(changed[addition], encoding="utf-8")
    hook = only(here, name)
    assert hook.word is HealthWord.BROKEN
    assert "runs no hook of this file" in hook.evidence
    spec = engine.agent.by_canonical["before_tool"]
    tool = engine.agent.vocabulary.name("shell")
    call = (spec.wire, "--tool", tool, "--input", '{"command": "rm x"}', "--trust-once")
    code, out, _ = run("fire", *call, "--agent", name, "--exit-code")
    assert code == 4
    assert "UNKNOWN" in out
    assert "does not run this call" not in out
    code, out, _ = run("fire", *call, "--agent", name, "--exit-code", "--json")
    assert json.loads(out)["decided"] is False
    assert not json.loads(out)["verdicts"][0]["decided"]
