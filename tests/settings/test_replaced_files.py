"""What stays of a settings file when it is replaced, and what a killed process leaves."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys

import pytest

from anyhook.settings.write import write_atomically

KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from anyhook.settings.write import write_atomically
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
path = Path(sys.argv[1])
write_atomically(path, "{}", expected=path.read_text(), backup=sys.argv[2] == "backup")
"""
HOOK = """
from anyhook.authoring import Hooks
hooks = Hooks()

@hooks.before_tool("shell")
def check(event):
    return None

if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"theme": "dark"}')
    return path


@pytest.mark.parametrize("form", ["backup", "no-backup"])
def test_the_next_edit_removes_what_a_killed_process_left(settings, form):
    line = [sys.executable, "-c", KILLED_WHILE_WRITING, str(settings), form]
    killed = subprocess.run(line, check=False, timeout=60)
    left = [path for path in settings.parent.iterdir() if path.name.startswith(".")]
    assert (killed.returncode, len(left)) == (-signal.SIGKILL, 1)
    (settings.parent / "settings.json.lock").rmdir()

    write_atomically(settings, "{}", expected='{"theme": "dark"}')

    assert [path.name for path in settings.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    "name",
    [
        ".settings.json.swp",
        ".settings.json.0123456789abcdef",
        ".settings.json.anyhook-0123",
        ".settings.json.anyhook-0123456789abcdef.bak",
        ".other.json.anyhook-0123456789abcdef",
        "settings.json.anyhook-0123456789abcdef",
    ],
)
def test_an_edit_removes_no_file_of_another_program(settings, name):
    (settings.parent / name).write_text("")

    write_atomically(settings, "{}", expected='{"theme": "dark"}')

    assert (settings.parent / name).exists()


def test_an_edit_removes_neither_a_link_nor_a_directory(settings):
    link = settings.parent / ".settings.json.anyhook-0123456789abcdef"
    directory = settings.parent / ".settings.json.anyhook-fedcba9876543210"
    link.symlink_to(settings)
    directory.mkdir()

    write_atomically(settings, "{}", expected='{"theme": "dark"}')

    assert link.is_symlink()
    assert directory.is_dir()


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes")
@pytest.mark.parametrize("backup", [False, True])
def test_an_edited_file_keeps_its_extended_attributes(settings, backup):
    try:
        os.setxattr(settings, "user.comment", b"mine")
    except OSError as error:
        assert error.errno == errno.ENOTSUP
        pytest.skip("this file system has no extended attributes")

    write_atomically(settings, "{}", expected='{"theme": "dark"}', backup=backup)

    assert os.getxattr(settings, "user.comment") == b"mine"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_installs_at_the_same_time_all_succeed(world):
    processes = []
    for number in range(8):
        file = world.write(world.project / "hooks" / f"guard{number}.py", HOOK)
        line = [sys.executable, "-m", "anyhook", "add", str(file), "--agent", "claude", "--yes"]
        processes.append(
            subprocess.Popen(
                line,
                cwd=world.project,
                env={**os.environ, **world.environ},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    outputs = [process.communicate(timeout=200)[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 8, outputs
    content = json.loads((world.project / ".claude" / "settings.json").read_text())
    installed = json.dumps(content)
    assert all(f"guard{number}.py" in installed for number in range(8))
