"""Copies for the probe: what is in them, what is not, and that the originals stay as they are."""

from __future__ import annotations

import json
import subprocess

import pytest

from anyhook.agents import get_agent
from anyhook.agents.program import Workplace, get_program
from anyhook.probe.start import make_scratch, program_environment
from anyhook.settings.overlay import lay_over
from anyhook.settings.sources import Location


@pytest.fixture
def scratch(project, home, tmp_path):
    """Make a copy of the project and the home for Gemini CLI."""

    def make(name="gemini", **environ):
        real = Location.of(project, home=home, environ={"PATH": "/usr/bin:/bin", **environ})
        return make_scratch(get_agent(name), get_program(name), real, tmp_path / "scratch", True)

    return make


def git(directory, *arguments):
    command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_copy_has_the_history_of_the_project_and_no_remote(project, scratch):
    git(project, "init", "-q")
    (project / "a.txt").write_text("first\n")
    git(project, "add", "a.txt")
    git(project, "commit", "-q", "-m", "the first commit")
    git(project, "remote", "add", "origin", str(project))
    copy = scratch().copy.project
    assert "the first commit" in git(copy, "log", "--oneline")
    assert git(copy, "status", "--short") == ""
    assert git(copy, "remote") == ""
    git(copy, "commit", "-q", "--allow-empty", "-m", "of the copy")
    assert "of the copy" in git(copy, "log", "--oneline")
    assert "of the copy" not in git(project, "log", "--oneline")


def test_the_copy_of_a_worktree_has_its_history(project, scratch, tmp_path, home):
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "the first commit")
    project.rmdir()
    git(main, "worktree", "add", "-q", str(project))
    copy = scratch().copy.project
    assert "the first commit" in git(copy, "log", "--oneline")


def test_credentials_stay_where_they_are(home, scratch):
    directory = home / ".gemini"
    (directory / "hooks").mkdir(parents=True)
    (directory / "oauth_creds.json").write_text("{}")
    (directory / "hooks" / "guard.sh").write_text("exit 0\n")
    copy = scratch().copy.home
    assert (copy / ".gemini" / "hooks" / "guard.sh").exists()
    assert not (copy / ".gemini" / "oauth_creds.json").exists()


def test_paths_of_the_copy_are_shown_as_those_of_the_original(project, home, scratch):
    made = scratch()
    assert made.original(f"{made.copy.project}/a {made.copy.home}/b") == f"{project}/a {home}/b"
    assert made.in_copy(f"{project}/a") == f"{made.copy.project}/a"


def test_a_program_gets_no_secret_and_no_account_of_the_user(tmp_path):
    environ = {
        "PATH": "/usr/bin",
        "LANG": "C",
        "GITHUB_TOKEN": "secret",
        "DB_PASSWORD": "secret",
        "GEMINI_API_KEY": "secret",
        "GOOGLE_CLOUD_PROJECT": "mine",
        "HTTPS_PROXY": "http://proxy",
        "XDG_CONFIG_HOME": "/home/me/.config",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    place = Workplace(tmp_path / "home", tmp_path, environ, "http://127.0.0.1:1")
    given = program_environment(get_program("gemini"), place)
    assert "secret" not in given.values()
    assert not given.keys() & {"GOOGLE_CLOUD_PROJECT", "XDG_CONFIG_HOME"}
    assert given["HOME"] == str(tmp_path / "home")
    assert given["LANG"] == "C"
    assert given["GEMINI_CLI_TRUST_WORKSPACE"] == "true"
    assert given["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:1"
    assert given["HTTPS_PROXY"] != "http://proxy"


@pytest.mark.parametrize(
    ("rules", "trusted"),
    [
        ({}, False),
        ({"{project}": "TRUST_FOLDER"}, True),
        ({"{parent}": "TRUST_FOLDER"}, True),
        ({"{parent}": "TRUST_FOLDER", "{project}": "DO_NOT_TRUST"}, False),
        ({"{project}/below": "TRUST_PARENT"}, True),
        ({"{project}/below": "TRUST_FOLDER"}, False),
    ],
)
def test_the_longest_rule_for_a_folder_trusts_it(project, home, rules, trusted):
    (home / ".gemini").mkdir()
    named = {
        path.format(project=project, parent=project.parent): level for path, level in rules.items()
    }
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps(named))
    assert get_program("gemini").is_trusted(Workplace(home, project)) is trusted
    (home / ".gemini" / "settings.json").write_text(
        json.dumps({"security": {"folderTrust": {"enabled": False}}})
    )
    assert get_program("gemini").is_trusted(Workplace(home, project))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{}", '{"a": {"b": 1}}'),
        ('{"c": 2}', '{"a": {"b": 1}, "c": 2}'),
        ('{"a": {"b": 3, "d": 4}, // x\n}', '{"a": {"b": 1, "d": 4}, // x\n}'),
        ('{"a": {}}', '{"a": {"b": 1}}'),
        ('{"a": "text"}', '{"a": "text"}'),
        ("[]", "[]"),
        ('{"a": ', '{"a": '),
    ],
)
def test_members_are_laid_over_a_file_and_the_rest_stays(text, result):
    assert lay_over(text, {"a": {"b": 1}}) == result


def test_members_that_a_file_does_not_have_can_be_left_out():
    members = {"a": 1, "b": {"c": 2}}
    assert lay_over('{"b": {"c": 3}}', members, only_existing=True) == '{"b": {"c": 2}}'
