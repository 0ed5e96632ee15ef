"""A user who edits a hook of their own accepts the edit with one key."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

from anyhook import TrustStore

pty = pytest.importorskip("pty")

DENY = "echo {reason} >&2; exit 2\n"
QUESTION = b"any other key does not. "
FIRE = ["fire", "BeforeTool", "--tool", "write_file"]
TIMEOUT = 60
KEY_INTERVAL = 0.2
"""Seconds."""


@pytest.fixture
def edited(world):
    """Return a project whose trusted hook was edited."""
    script = world.write(
        world.project / ".gemini" / "hooks" / "guard.sh", DENY.format(reason="old")
    )
    hook = {"type": "command", "command": "sh .gemini/hooks/guard.sh"}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    store = TrustStore(world.root / "data" / "trust")
    store.trust(world.project, world.load(trust_store=store).guard.subjects(), agent="gemini")
    world.write(script, DENY.format(reason="edited"))
    return world


def answer_on_terminal(world, arguments, key, **variables):
    """Run anyhook in a terminal of its own, press a key, and return what it printed."""
    environ = {**world.environ, "ANYHOOK_DATA_DIR": str(world.root / "data"), "COLUMNS": "120"}
    environ |= {"TERM": "dumb", **variables}
    terminal, child_end = pty.openpty()
    command = [sys.executable, "-m", "anyhook", *arguments, "--project", str(world.project)]
    with subprocess.Popen(
        command, stdin=child_end, stdout=child_end, stderr=child_end, env=environ
    ) as process:
        os.close(child_end)
        output = b""
        while True:
            # What was typed before the program reads keys is not an answer, so it is typed again.
            if not select.select([terminal], [], [], KEY_INTERVAL)[0]:
                if QUESTION in output:
                    os.write(terminal, key)
                continue
            chunk = _read(terminal)
            if not chunk:
                break
            output += chunk
        process.wait(TIMEOUT)
    os.close(terminal)
    return output.decode()


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last process that had the terminal has ended
        return b""


def test_fire_shows_the_difference_and_accepts_it_with_one_key(edited):
    output = answer_on_terminal(edited, FIRE, b"y")

    assert "-echo old" in output
    assert "+echo edited" in output
    assert "Did you make these changes?" in output
    assert "not trusted" not in output.partition("Did you make")[2]
    assert "Did you make" not in answer_on_terminal(edited, FIRE, b"n")


def test_another_key_accepts_nothing(edited):
    output = answer_on_terminal(edited, FIRE, b"n")

    assert "not trusted" in output.partition("Did you make")[2]


@pytest.mark.parametrize("variable", ["CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT"])
def test_a_process_that_an_agent_started_is_not_asked(edited, variable):
    output = answer_on_terminal(edited, FIRE, b"y", **{variable: "1"})

    assert "Did you make" not in output
    assert "not trusted" in output


def test_a_changed_definition_is_not_accepted_with_one_key(edited):
    hook = {"type": "command", "command": "sh .gemini/hooks/guard.sh", "timeout": 1_000}
    edited.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})

    output = answer_on_terminal(edited, FIRE, b"y")

    assert "Did you make" not in output
    assert "not trusted" in output
