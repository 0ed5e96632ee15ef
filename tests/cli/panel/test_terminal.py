"""`anyhook hooks` in a real terminal, which tmux plays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from anyhook.trust.approvals import Approvals, DeniedCall
from tests.cli.terminal import TMUX, Terminal
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(TMUX is None, reason="tmux is not installed: no real terminal"),
]
COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;]*m")


@pytest.fixture
def terminal(world, monkeypatch, tmp_path_factory):
    """A terminal in a project with one hook."""
    world.settings(
        "user",
        '{"hooks": {"BeforeTool": [\n{"hooks": [\n{"type": "command", "command": "sh log.sh"}]}]}}',
    )
    world.write(world.project / "log.sh", "exit 0\n")
    environ = {**os.environ, "TERM": "xterm-256color"}
    environ.pop("NO_COLOR", None)
    terminal = Terminal(tmp_path_factory.mktemp("tmux") / "s", environ)
    yield terminal
    terminal.tmux("kill-server")


def test_the_panel_starts_answers_keys_and_leaves_the_terminal_as_it_was(terminal):
    terminal.start("hooks")
    terminal.shows("? log.sh", "on/off")

    terminal.keys("Space")
    terminal.shows("log.sh is off now", "$ anyhook disable log.sh")
    terminal.keys("?")
    terminal.shows("anyhook enable HOOK")
    terminal.keys("Escape")
    terminal.shows("○ log.sh")
    terminal.keys("q")

    terminal.shows("EXIT 0", "icanon")
    assert "-icanon" not in terminal.text()
    assert "log.sh" not in terminal.text()


@pytest.mark.parametrize("size", [(80, 24), (60, 15), (30, 8)])
def test_the_panel_fits_into_a_small_terminal(terminal, size):
    terminal.start("hooks", size=size)
    terminal.shows("log.sh", "quit")

    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    terminal.shows("sh log.sh", "no run is recorded")


def test_the_editor_gets_the_terminal_and_the_line(terminal, world):
    editor = world.write(
        world.root / "editor", '#!/bin/sh\necho "EDITS $@"\nread answer\necho "$answer" > answer\n'
    )
    terminal.environ["EDITOR"] = str(editor)
    terminal.start("hooks")
    terminal.shows("? log.sh")

    terminal.keys("e")
    terminal.shows("EDITS +3", ".gemini/settings.json")
    terminal.keys("yes", "Enter")
    terminal.shows("? log.sh", "edited ~/.gemini/settings.json")
    assert (world.project / "answer").read_text() == "yes\n"


def test_a_lists_denied_calls_and_y_allows_one(terminal):
    denied = {
        "digest": "0" * 64,
        "hook": "guard.py",
        "agent": "claude",
        "tool": "Bash",
        "arguments": '{"command": "rm x"}',
        "cwd": "/",
        "project": "/",
        "reason": "not here",
    }
    chosen = "K3F9QX"
    Approvals().keep(DeniedCall(id=chosen, time=time.time(), **denied))
    terminal.start("hooks")
    terminal.shows("? log.sh")

    terminal.keys("a")
    terminal.shows(chosen, "rm x", "not here")
    terminal.keys("y")

    terminal.shows("it may run once", f"$ anyhook allow {chosen}")
    assert [approval.call.id for approval in Approvals().granted()] == [chosen]


def test_an_editor_that_is_missing_is_reported(terminal):
    terminal.environ["EDITOR"] = "/nowhere/editor"
    terminal.start("hooks")
    terminal.shows("? log.sh")

    terminal.keys("e")
    terminal.shows("/nowhere/editor cannot be started")


def test_without_colour_the_terminal_gets_none(terminal):
    terminal.environ["NO_COLOR"] = "1"
    terminal.start("hooks")
    terminal.shows("? log.sh", "on/off")

    screen = terminal.tmux("capture-pane", "-p", "-e")

    assert not COLOUR.search(screen), screen
    assert re.search(r"\x1b\[[0-9;]*7m", screen)  # the selected hook


def test_with_colour_the_terminal_gets_some(terminal):
    terminal.start("hooks")
    terminal.shows("? log.sh", "on/off")

    assert COLOUR.search(terminal.tmux("capture-pane", "-p", "-e"))


@pytest.mark.parametrize("name", ["TERM", "HUP"])
def test_a_signal_ends_the_panel_and_the_hooks_and_restores_the_terminal(terminal, world, name):
    pid_file = world.project / "pid"
    world.write(world.project / "log.sh", f"echo $$ > {pid_file}; sleep 1000\n")
    terminal.start("hooks")
    terminal.shows("? log.sh")
    terminal.keys("f")
    terminal.shows("Enter fires this event")
    terminal.keys("Enter")
    terminal.shows("Escape ends them")
    hook = int(until(lambda: pid_file.exists() and pid_file.read_text()))

    pane = int(terminal.tmux("display-message", "-p", "#{pane_pid}"))
    children = subprocess.run(
        ["pgrep", "-P", str(pane)], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(children[0]), getattr(signal, f"SIG{name}"))

    terminal.shows("EXIT", "icanon")
    assert "-icanon" not in terminal.text()
    until(lambda: not os.path.exists(f"/proc/{hook}"), "the hook is left")


def test_the_end_of_the_terminal_ends_the_panel_and_the_hooks(terminal, world):
    pid_file = world.project / "pid"
    world.write(world.project / "log.sh", f"echo $$ > {pid_file}; sleep 1000\n")
    terminal.start("hooks")
    terminal.shows("? log.sh")
    terminal.keys("f")
    terminal.shows("Enter fires this event")
    terminal.keys("Enter")
    terminal.shows("Escape ends them")
    hook = int(until(lambda: pid_file.exists() and pid_file.read_text()))
    panel = int(Path(f"/proc/{hook}/stat").read_text().rpartition(")")[2].split()[1])

    terminal.tmux("kill-server")

    until(lambda: not os.path.exists(f"/proc/{hook}"), "the hook is left")
    until(lambda: not os.path.exists(f"/proc/{panel}"), "the panel is left")
