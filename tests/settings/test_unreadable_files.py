"""Settings that a link or a missing right puts out of reach are reported, with what to do."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

from anyhook.settings.detect import find_project

DENY = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}
STOPS_ROOT = ("--bounding-set=-all", "--inh-caps=-all")
"""Root without the right to read and write everything."""
LOAD = """
from anyhook import Engine
for problem in Engine.load(".", agent="gemini", trust_once=True).diagnostics:
    print(problem.code, problem.message)
"""
WRITE = """
import sys
from pathlib import Path
from anyhook.settings.write import write_atomically
write_atomically(Path(sys.argv[1]), "{}", expected="")
"""


def run_as_user(world, *words, privileges=STOPS_ROOT):
    """Run Python as a user who has no other rights than those of the files' modes."""
    prefix = ()
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("setpriv is missing")
        prefix = ("setpriv", *privileges)
    return subprocess.run(
        [*prefix, sys.executable, *words],
        cwd=world.project,
        env={**os.environ, **world.environ, "COLUMNS": "500"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.fixture
def closed():
    """Take all rights from a path until the test ends."""
    modes = {}

    def close(path):
        modes[path] = path.stat().st_mode
        path.chmod(0)
        return path

    yield close
    for path, mode in modes.items():
        path.chmod(stat.S_IMODE(mode))


# -- links


def put_link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize("layer", ["project", "user"])
def test_a_link_that_leads_nowhere_is_reported(world, layer):
    put_link(world.files[layer], "../gone/settings.json")

    (problem,) = world.load().diagnostics

    assert (problem.code, problem.place.file) == ("settings-unreadable", str(world.files[layer]))
    assert problem.message == (
        "it is a link to ../gone/settings.json, which does not exist; restore that, or delete the "
        "link"
    )


def test_a_linked_directory_that_is_gone_is_reported(world):
    (world.home / ".gemini").symlink_to("dotfiles/gemini")

    problems = [p for p in world.load().diagnostics if p.code == "settings-unreadable"]

    assert f"{world.home}/.gemini is a link to dotfiles/gemini" in problems[0].message


def test_guards_stay_in_force_when_their_link_breaks(world):
    source = world.write(world.root / "dotfiles" / "settings.json", json.dumps(DENY))
    put_link(world.files["user"], source)
    engine = world.load()
    source.unlink()

    engine.reload()

    assert len(engine.definitions) == 1
    assert "settings-kept" in {problem.code for problem in engine.diagnostics}


def test_a_link_to_itself_is_reported(world, run):
    put_link(world.files["project"], "settings.json")

    code, out, err = run("check", "--agent", "gemini")

    assert code == 1
    assert "leads back to itself; delete the link" in " ".join((out + err).split())
    assert "no hook is configured" not in out + err


@pytest.mark.parametrize("target", ["../gone.json", "settings.json"])
def test_a_file_that_cannot_be_read_does_not_count_as_missing(world, run, target):
    put_link(world.files["project"], target)

    _, out, _ = run("list", "--agent", "gemini")

    (line,) = [line for line in out.splitlines() if " project " in line]
    assert "not found" not in line


def test_a_link_to_a_script_that_is_gone_is_named(world, run):
    put_link(world.project / "guard.py", "../old/guard.py")
    hooks = [{"type": "command", "command": "python3 guard.py"}]
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": hooks}]}})

    _, out, err = run("check")

    assert "it is a link to ../old/guard.py" in " ".join((out + err).split())


def test_a_link_out_of_the_project_is_refused_with_what_to_do(world, run):
    put_link(world.files["project"], world.write(world.home / "settings.json", "{}"))
    guard = world.write(world.project / "guard.py", GUARD)

    code, _, err = run("add", str(guard), "--agent", "gemini", "--yes")

    assert code == 64
    assert "replace the link by what it leads to" in " ".join(err.split())


# -- rights


def test_a_directory_without_rights_is_named_with_what_to_run(world, closed):
    world.settings("project", DENY)
    directory = closed(world.files["project"].parent)

    done = run_as_user(world, "-c", LOAD)

    message = f"settings-unreadable you may not enter {directory}; run: chmod u+rx {directory}"
    assert done.stdout.splitlines()[0] == message


def test_a_file_without_rights_is_named_with_what_to_run(world, closed):
    world.settings("project", DENY)
    path = closed(world.files["project"])

    done = run_as_user(world, "-c", LOAD)

    assert done.stdout.splitlines() == [
        f"settings-unreadable you may not read it; run: chmod u+r {path}"
    ]


@pytest.mark.parametrize("is_link", [False, True])
def test_a_directory_of_settings_files_that_cannot_be_read_is_named(world, closed, is_link):
    directory = world.project / ".github" / "hooks"
    hook = {"type": "command", "bash": "exit 2"}
    text = json.dumps({"version": 1, "hooks": {"preToolUse": [hook]}})
    world.write(directory / "guard.json", text)
    if is_link:
        shutil.rmtree(directory)
        directory.symlink_to("elsewhere")
        remedy = "it is a link to elsewhere, which does not exist"
    else:
        closed(directory)
        remedy = f"you may not enter it; run: chmod u+rx {directory}"

    done = run_as_user(world, "-c", LOAD.replace("gemini", "copilot"))

    assert f"settings-unreadable {remedy}" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_another_user_is_named_with_its_owner(world):
    world.settings("project", DENY)
    path = world.files["project"]
    path.chmod(0o600)
    os.chown(path, 54321, -1)

    done = run_as_user(world, "-c", LOAD)

    assert done.stdout.splitlines() == [
        "settings-unreadable you may not read it, which belongs to user 54321"
    ]


def test_an_extension_without_rights_costs_only_itself(world, closed):
    world.settings("user", DENY)
    base = closed(world.extension("ext", DENY))

    done = run_as_user(world, "-c", LOAD)

    assert done.returncode == 0
    assert f"extension-unreadable you may not enter {base}; run: chmod u+rx {base}" in done.stdout


@pytest.mark.parametrize("command", ["check", "list"])
def test_a_project_with_a_closed_directory_is_found(world, closed, command):
    world.settings("project", DENY)
    directory = closed(world.files["project"].parent)

    done = run_as_user(world, "-m", "anyhook", command)

    assert f"chmod u+rx {directory}" in done.stdout + done.stderr
    assert "there is no directory" not in done.stderr


def test_a_project_that_may_not_be_entered_is_named(world, closed):
    outer = world.root / "outer"
    (outer / "project").mkdir(parents=True)
    closed(outer)

    done = run_as_user(world, "-m", "anyhook", "check", "--project", str(outer / "project"))

    assert done.returncode == 64
    assert f"you may not enter {outer}" in done.stderr


def test_a_link_of_settings_that_leads_nowhere_marks_a_project(world):
    put_link(world.project / ".gemini", "gone")
    inner = world.project / "src"
    inner.mkdir()

    assert find_project(inner, world.home) == inner
    (world.project / ".gemini").unlink()
    put_link(world.files["project"], "gone")
    assert find_project(inner, world.home) == world.project


def test_a_read_only_file_is_refused_with_what_to_run(world, run):
    world.settings("project", {"theme": "dark"})
    path = world.files["project"]
    path.chmod(0o444)
    guard = world.write(world.project / "guard.py", GUARD)

    code, _, err = run("add", str(guard), "--agent", "gemini", "--yes")

    assert code == 64
    assert f"run: chmod u+w {path}" in " ".join(err.split())
    assert json.loads(path.read_text()) == {"theme": "dark"}


def test_a_data_directory_that_cannot_be_written_is_named(world, monkeypatch):
    world.settings("project", {"theme": "dark"})
    path = world.files["project"]
    directory = world.root / "data"
    directory.mkdir(mode=0o555)
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(directory / "anyhook"))
    guard = world.write(world.project / "guard.py", GUARD)

    done = run_as_user(world, "-m", "anyhook", "add", str(guard), "--agent", "gemini", "--yes")

    assert done.returncode == 64
    reason = f"the data directory of anyhook cannot be written: you may not change {directory}"
    assert reason in " ".join(done.stderr.split())
    assert json.loads(path.read_text()) == {"theme": "dark"}


GUARD = """
from anyhook.authoring import Hooks
hooks = Hooks()

@hooks.before_tool("shell")
def check(event):
    return None

if __name__ == "__main__":
    hooks.run()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_shared_file_keeps_its_group_when_its_owner_cannot_stay(world):
    path = world.write(world.files["project"], "")
    os.chown(path, 54321, 54322)
    path.chmod(0o664)
    privileges = ("--groups=54322", "--bounding-set=-chown", "--inh-caps=-chown")

    done = run_as_user(world, "-c", WRITE, str(path), privileges=privileges)

    assert done.stderr == ""
    assert path.stat().st_gid == 54322
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
