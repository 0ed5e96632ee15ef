"""Hooks whose command line needs no shell, and those that do, through the engine."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from anyhook import BeforeTool
from anyhook.shell.plain import find_direct

BASH = shutil.which("bash") or ""
WRITE = BeforeTool(tool_name="write_file", tool_input={"file_path": "a.txt"})
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        sys.platform != "linux" or not find_direct([BASH, "-c", "cat"], {"PATH": "/bin"}, "/"),
        reason="every line has its shell here",
    ),
]
DENIES = "#!/bin/sh\necho no >&2\nexit 2\n"


@pytest.fixture
def dispatch(world):
    """Dispatch an event to one hook."""

    async def fire(line, **options):
        entry = {"hooks": [{"type": "command", "command": line, **options}]}
        world.settings("project", {"hooks": {"BeforeTool": [entry]}})
        return await world.load().dispatch(WRITE)

    return fire


@pytest.fixture
def lame_bash(world):
    """A bash that is known by its content, and that the system cannot start."""
    directory = world.root / "lame"
    directory.mkdir()
    (directory / "bash").write_bytes(b"\x7fELF @(#)Bash version 5.2.0")
    (directory / "bash").chmod(0o755)
    world.environ["PATH"] = f"{directory}:/usr/bin:/bin"


async def test_a_plain_line_starts_no_shell(world, dispatch, lame_bash):
    world.write(world.project / "check me.sh", DENIES)

    decision = await dispatch('"$GEMINI_PROJECT_DIR"/check\\ me.sh --flag')

    assert (decision.denied, decision.reason) == (True, "no")


async def test_a_line_that_needs_a_shell_gets_one(world, dispatch, lame_bash):
    world.write(world.project / "check.sh", DENIES)

    decision = await dispatch("./check.sh; true")

    assert "bash' cannot be started" in decision.results[0].error


async def test_a_result_shows_the_line_as_it_is_written(world, dispatch, lame_bash):
    world.write(world.project / "check.sh", DENIES)
    line = '"$GEMINI_PROJECT_DIR"/check.sh'

    handler = (await dispatch(line)).results[0].handler

    assert (handler.command, handler.label) == (line, "check.sh")


async def test_a_script_that_says_not_how_to_run_it_runs_in_the_shell(world, dispatch):
    script = world.write(world.project / "check.sh", '[ "$1" = "a b" ] && exit 2\n')
    script.chmod(0o755)

    assert (await dispatch("./check.sh 'a b'")).denied
    assert not (await dispatch("./check.sh a b")).denied


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("./lost.sh", 127, "./lost.sh"),
        ("./none", 127, "No such file or directory"),
        ("./plain.txt", 126, "Permission denied"),
        ("./directory", 126, "Is a directory"),
        ("no-such-program-here", 127, "command not found"),
    ],
)
async def test_what_cannot_be_started_is_told_by_the_shell(world, dispatch, line, code, said):
    world.write(world.project / "lost.sh", "#!/no/such/interpreter\n")
    world.write(world.project / "plain.txt", "x")
    (world.project / "directory").mkdir()

    result = (await dispatch(line)).results[0]

    assert result.exit_code == code
    assert said in result.stderr


async def test_a_command_that_cannot_be_watched_is_not_started_again(world, dispatch, monkeypatch):
    world.write(world.project / "check.sh", "#!/bin/sh\necho x >> count\nsleep 60\n")

    def refuse(pid):
        while not (world.project / "count").exists():
            os.sched_yield()
        raise ValueError("no watch")

    monkeypatch.setattr(os, "pidfd_open", refuse)

    assert (await dispatch("./check.sh")).results[0].error.endswith("no watch")
    assert (world.project / "count").read_text() == "x\n"


async def test_a_program_without_a_shell_that_runs_late_is_ended(world, dispatch, lame_bash):
    result = (await dispatch("sleep 60", timeout=100)).results[0]

    assert result.status.name == "TIMED_OUT"
    assert result.signal == "SIGTERM"
