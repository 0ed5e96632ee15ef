"""What shells complete: the words, and real bash, zsh and fish that ask for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.completion import generate

from anyhook.cli.completion_words import TABLE, complete
from anyhook.history.events import RecordedEvent
from anyhook.history.store import History
from anyhook.trust.approvals import Approvals, DeniedCall
from tests.cli.terminal import TMUX, Terminal

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def hooks(world):
    """Hooks of two agents, one with a name that a shell would take apart."""
    names = (
        "secret-guard",
        "guard two",
        "a:b",
        "$(touch gone)",
        "`id`;x",
        "new\nline",
        "\x1b[31mx",
    )
    handlers = [{"type": "command", "name": name, "command": f"true {name!r}"} for name in names]
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": handlers}]}})
    world.settings(
        "project:claude",
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh notify.sh"}]}]}},
    )
    return world


def words(*typed):
    return [word for word, _ in complete(list(typed))]


def record(session, agent="gemini", at=1_790_000_000.0):
    event = RecordedEvent(
        agent=agent, session=session, event="turn_start", time=at, payload={}, source="engine"
    )
    with History.open() as history:
        history.add([event])


def test_the_table_is_what_the_commands_and_agents_are():
    assert json.loads(TABLE.read_text(encoding="utf-8")) == generate(), "run: make stubs"


def test_commands_and_their_commands_are_completed():
    assert words("dis") == ["disable", "dispatch"]
    assert "search" in words("history", "")
    assert words("history", "show", "--al") == ["--all"]
    assert "fire" in words("")


def test_options_are_completed_once():
    assert words("list", "--p") == ["--project"]
    assert words("list", "--project", ".", "--p") == []
    assert "--set" in words("fire", "--set", "a=1", "--s")


def test_agents_events_and_tools_are_completed():
    assert words("list", "--agent", "cl") == ["claude"]
    assert words("list", "--agent=cl") == ["--agent=claude"]
    assert words("fire", "--agent", "claude", "PreTool") == ["PreToolUse"]
    assert words("fire", "PreToolUse", "--agent", "claude", "--tool", "Web") == [
        "WebFetch",
        "WebSearch",
    ]
    for command in ("backtest", "serve", "dispatch", "history replay", "history report"):
        assert words(*command.split(), "--agent", "cl") == ["claude"]
    assert words("migrate", "--from", "cl") == words("migrate", "--to", "cl") == ["claude"]
    assert words("agents", "schema", "PreToolUse") == ["PreToolUse"]
    assert "before_tool" in words("fire", "before_")
    assert "before_tool" in words("history", "search", "--event", "before_t")


def test_words_of_options_are_completed():
    assert words("check", "--format", "s") == ["sarif"]
    assert words("add", "hook.py", "--scope", "") == ["project", "local", "user"]
    assert words("history", "search", "--outcome", "d") == ["deny", "defer"]


def test_the_ids_of_denied_calls_are_completed(home):
    approvals, now = Approvals(), time.time()
    names = {"hook": "guard.py", "agent": "claude", "tool": "Bash", "cwd": "/p", "project": "/p"}
    calls = [
        DeniedCall(id=call_id, **names, time=now, arguments=call_id, digest=call_id)
        for call_id in ("ABC234", "XYZ567")
    ]
    for call in calls:
        approvals.keep(call)

    assert sorted(words("allow", "")) == ["ABC234", "XYZ567"]
    assert words("allow", "A") == ["ABC234"]
    approvals.grant(calls[0], "")
    assert words("allow", "") == ["XYZ567"]
    assert words("allow", "--revoke", "") == ["ABC234"]


def test_files_are_left_to_the_shell():
    assert words("test", "") == []
    assert words("list", "--project", "") == []


def test_hooks_are_completed_and_names_of_several_lines_are_left_out(hooks):
    names = words("disable", "")

    assert names[:5] == ["secret-guard", "guard two", "a:b", "$(touch gone)", "`id`;x"]
    assert "notify.sh" in names
    assert not [name for name in names if not name.isprintable()]
    assert words("enable", "--agent", "claude", "") == ["notify.sh"]


def test_guards_that_come_with_anyhook_are_completed(hooks):
    assert words("add", "se") == ["secrets", "send-out"]
    assert words("remove", "git", "own") == ["own-hooks"]
    assert words("score", "secret") == ["secret-guard"]
    assert words("redteam", "guard two", "sec") == ["secret-guard"]


def test_hooks_are_those_that_the_files_hold_now(hooks):
    assert words("disable", "secret") == ["secret-guard"]

    hooks.settings("project", {"hooks": {"BeforeTool": [{"hooks": []}]}})

    assert words("disable", "secret") == []


def test_sessions_are_completed_the_newest_first(world):
    assert words("history", "show", "") == ["last"]
    record("older", at=1_790_000_000.0)
    record("newer", agent="claude", at=1_790_001_000.0)

    assert words("history", "show", "") == ["last", "newer", "older"]
    assert words("history", "show", "ol") == ["older"]
    assert words("history", "replay", "--agent", "claude", "") == ["last", "newer"]


def call(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "anyhook", "--complete", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )


@pytest.mark.parametrize("arguments", [(), ("bash",), ("zsh",), ("tcsh", "x"), ("bash", "'\"")])
def test_a_mistake_is_no_error(arguments):
    done = call(*arguments)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_quotes_of_bash_are_read(hooks):
    assert call("bash", 'anyhook disable "guard t').stdout == "guard two\n"
    assert call("bash", "anyhook disable guard\\ t").stdout == "guard two\n"
    assert call("bash", "anyhook disable a:").stdout == "b\n"
    assert call("bash", "anyhook list --agent=cl").stdout == "claude\n"


def test_a_completion_imports_no_command(hooks):
    code = (
        "import sys; from anyhook.cli.completion_words import complete;"
        "complete(['fire', 'Pre']); complete(['history', 'show', '']);"
        "print([n for n in ('typer', 'rich', 'click', 'asyncio', 'anyio') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )

    assert done.stdout == "[]\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed_and_read_by_its_shell(run, shell, tmp_path):
    code, script, _ = run("completion", shell)
    assert code == 0
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script)

    done = subprocess.run([program, "-n", str(file)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_refused(run):
    code, _, err = run("completion", "tcsh")

    assert code == 64
    assert "bash" in err


# -- real shells


@pytest.fixture(params=SHELLS)
def shell(request, hooks, tmp_path_factory):
    """An interactive shell in a terminal, which has read its script."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    if TMUX is None:
        pytest.skip("tmux is not installed: no real terminal")
    directory = tmp_path_factory.mktemp("shell")
    binary = hooks.write(
        directory / "anyhook", f'#!/bin/sh\nexec {sys.executable} -m anyhook "$@"\n'
    ).parent
    environ = {
        **os.environ,
        "TERM": "xterm",
        "PATH": f"{binary}:{os.environ['PATH']}",
        "ZDOTDIR": str(directory),
        "XDG_CONFIG_HOME": str(directory),
    }
    start = {
        "bash": 'PS1="READY "; eval "$(anyhook completion bash)"; bind "set bell-style none"\n',
        "zsh": 'PS1="READY "\nautoload -U compinit; compinit -u -D\n'
        "source <(anyhook completion zsh)\nunsetopt beep\n",
        "fish": 'set fish_greeting ""\nfunction fish_prompt; echo -n "READY "; end\n'
        "anyhook completion fish | source\n",
    }
    hooks.write(directory / "bashrc", start["bash"])
    hooks.write(directory / ".zshrc", start["zsh"])
    hooks.write(directory / "fish" / "config.fish", start["fish"])
    words = {
        "bash": (program, "--rcfile", str(directory / "bashrc"), "-i"),
        "zsh": (program, "-i"),
        "fish": (program, "-i"),
    }
    terminal = Terminal(directory / "s", environ)
    terminal.run(*words[request.param], size=(100, 30))
    terminal.shows("READY")
    yield terminal
    terminal.tmux("kill-server")


@pytest.mark.slow
def test_a_shell_completes_a_word(shell):
    shell.keys("anyhook disab", "Tab")
    shell.shows("anyhook disable")
    shell.keys("secr", "Tab")
    shell.shows("anyhook disable secret-guard")
    shell.keys("--agent gem", "Tab")
    shell.shows("secret-guard --agent gemini")


@pytest.mark.slow
def test_a_shell_lists_several_words(shell):
    shell.keys("anyhook history ", "Tab", "Tab")

    shell.shows("search", "import")


@pytest.mark.slow
def test_a_hostile_name_is_completed_within_quotes(shell):
    shell.keys("anyhook disable '$(tou")
    shell.shows("$(tou")
    shell.keys("Tab")

    shell.shows("$(touch gone)")
    assert not Path("gone").exists()


@pytest.mark.slow
def test_hostile_names_are_listed_and_not_run(shell):
    shell.keys("anyhook disable ")
    shell.shows("anyhook disable")
    shell.keys("Tab", "Tab")

    shell.shows("secret-guard", "touch")
    assert not Path("gone").exists()


@pytest.mark.slow
def test_a_name_with_a_blank_stays_one_word(shell):
    shell.keys("anyhook disable guard")
    shell.shows("anyhook disable guard")
    shell.keys("Tab")
    shell.shows("two")
    shell.keys("Enter")

    shell.shows("'guard two' switched off")
