"""Where a program is: on the `PATH` of the environment of a command, and nowhere else."""

from __future__ import annotations

import json
import shutil

import pytest

from anyhook import Engine, RequiredHooksError
from anyhook.processes.programs import find_program
from anyhook.worker.client import which


@pytest.fixture
def guard(tmp_path):
    """A program in a directory of its own."""
    file = tmp_path / "bin" / "guard"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_a_program_is_looked_up_on_the_path_of_the_environment(guard):
    environ = {"PATH": f"/nowhere:{guard.parent}"}

    assert find_program("guard", environ) == str(guard)
    assert which("guard", environ) == str(guard)


@pytest.mark.parametrize("environ", [{}, {"PATH": ""}])
def test_without_a_path_the_directories_of_the_system_count(guard, monkeypatch, environ):
    monkeypatch.setenv("PATH", str(guard.parent))

    assert find_program("guard", environ) is None
    assert find_program("env", environ) == shutil.which("env", path="/usr/bin:/bin")


def test_an_empty_entry_is_the_working_directory(guard, monkeypatch):
    monkeypatch.chdir(guard.parent)

    assert find_program("guard", {"PATH": ":/usr/bin"}) == str(guard)


def test_directories_and_files_that_may_not_be_executed_are_passed_over(guard, tmp_path):
    (tmp_path / "a" / "guard").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "guard").write_text("")
    directories = [tmp_path / "a", tmp_path / "b", guard.parent]

    assert find_program("guard", {"PATH": ":".join(map(str, directories))}) == str(guard)


def test_a_program_that_only_this_process_finds_is_missing_for_a_hook(guard, project, monkeypatch):
    monkeypatch.setenv("PATH", f"{guard.parent}:/usr/bin:/bin")
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "guard"}]}]}
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": hooks}))

    with pytest.raises(RequiredHooksError, match="no program 'guard'"):
        Engine.load(
            project, agent="claude", environ={}, trust_once=True, require=True, on_message=str
        )
