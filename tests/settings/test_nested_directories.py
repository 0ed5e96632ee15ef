"""Settings of every directory from the repository down to the project."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import get_agent
from anyhook.agents.spec.settings import SettingsFile
from anyhook.model.layers import Layer
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location, written_file

CLAUDE = get_agent("claude")
NESTED = CLAUDE.with_settings(
    files=(
        SettingsFile(Layer.USER, {"*": "{home}/.nested/hooks.json"}),
        SettingsFile(Layer.PROJECT, {"*": "{directory}/.nested/first.json"}),
        SettingsFile(Layer.PROJECT, {"*": "{directory}/.nested/second.json"}),
    ),
    packages=None,
)


def write(directory, name):
    hook = {"type": "command", "command": "true", "name": f"{directory.name}-{name}"}
    path = directory / ".nested" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))


@pytest.fixture
def tree(tmp_path):
    for directory in (
        tmp_path / "top",
        tmp_path / "top" / "sub",
        tmp_path / "top" / "sub" / "deep",
    ):
        write(directory, "first")
        write(directory, "second")
    return tmp_path / "top"


def hooks_of(tmp_path, project):
    hooks = load_hook_set(NESTED, Location(project, tmp_path, {}))
    return [handler.label for d in hooks.definitions for handler in d.handlers]


def make_repository(directory, kind):
    git = directory / ".git"
    if kind == "worktree":
        git.write_text("gitdir: /elsewhere\n")
        return
    git.mkdir()
    if kind == "repository":
        (git / "HEAD").write_text("ref: refs/heads/main\n")


@pytest.mark.parametrize("kind", ["repository", "worktree"])
def test_hooks_of_the_repository_run_before_those_of_its_directories(tree, tmp_path, kind):
    make_repository(tree, kind)
    both = [f"{name}-{part}" for name in ("top", "sub", "deep") for part in ("first", "second")]

    assert hooks_of(tmp_path, tree / "sub" / "deep") == both
    assert hooks_of(tmp_path, tree / "sub") == both[:4]
    assert hooks_of(tmp_path, tree) == both[:2]


def test_a_repository_inside_another_one_begins_anew(tree, tmp_path):
    make_repository(tree, "repository")
    make_repository(tree / "sub", "repository")

    assert hooks_of(tmp_path, tree / "sub" / "deep")[0] == "sub-first"


@pytest.mark.parametrize("kind", ["empty", "none"])
def test_without_a_repository_only_the_project_counts(tree, tmp_path, kind):
    if kind == "empty":
        make_repository(tree, "empty")

    assert hooks_of(tmp_path, tree / "sub") == ["sub-first", "sub-second"]


def test_hooks_are_written_into_the_first_file_of_the_project_itself(tree, tmp_path):
    make_repository(tree, "repository")
    location = Location(tree / "sub", tmp_path, {})

    path = written_file(NESTED, location, Layer.PROJECT)

    assert path == tree / "sub" / ".nested" / "first.json"
