"""Whose hooks a switch of a settings file counts for, and files of an administrator."""

from __future__ import annotations

import json
import os

import pytest

from anyhook.agents import get_agent
from anyhook.agents.spec.settings import SettingsFile
from anyhook.model.layers import Layer
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location

FILES = {
    "managed": SettingsFile(Layer.MANAGED, {"*": "{home}/managed.json"}, variable="ANYHOOK_X"),
    "user": SettingsFile(Layer.USER, {"*": "{home}/user.json"}),
    "project": SettingsFile(Layer.PROJECT, {"*": "{project}/project.json"}),
    "one": SettingsFile(Layer.PROJECT, {"*": "{project}/one.json"}, switches_itself=True),
}
AGENT = get_agent("claude").with_settings(files=tuple(FILES.values()), packages=None)
OFF = {"disableAllHooks": True}
ANY = AGENT.rules().replace(toggle_policy="any")


@pytest.fixture
def running(tmp_path):
    """Return a function that switches hooks off in files and names the hooks that still run."""

    def run(off, rules=AGENT.rules()):  # noqa: B008 - rules never change
        for name in FILES:
            handler = {"type": "command", "command": name}
            content = {"hooks": {"PreToolUse": [{"hooks": [handler]}]}}
            if name in off:
                content |= OFF
            (tmp_path / f"{name}.json").write_text(json.dumps(content))
        hooks = load_hook_set(AGENT, Location.of(tmp_path, home=tmp_path, environ={}))
        handlers = [handler for hook in hooks.definitions for handler in hook.handlers]
        return {h.command for h in handlers if hooks.switched_off(h, rules) is None}

    return run


@pytest.mark.parametrize("rules", [AGENT.rules(), ANY], ids=["authority", "any"])
def test_a_file_can_switch_off_itself_alone(running, rules):
    assert running({"one"}, rules) == {"managed", "user", "project"}


def test_any_file_can_switch_off_all_hooks_but_the_administrators(running):
    assert running({"project"}, ANY) == {"managed"}
    assert running({"user"}, ANY) == {"managed"}
    assert running({"project"}) == {"managed", "user"}


def test_the_switch_of_a_layer_can_count_for_its_file_alone(running):
    rules = ANY.replace(self_switching_layers=frozenset({Layer.USER}))

    assert running({"user"}, rules) == {"managed", "project", "one"}


# -- files of an administrator


def load_protected(tmp_path, mode, environ=None):
    path = tmp_path / "policy.json"
    handler = {"type": "command", "command": "policy"}
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [handler]}]}}))
    path.chmod(mode)
    place = SettingsFile(
        Layer.MANAGED, {"*": "{home}/policy.json"}, variable="POLICY", is_protected=True
    )
    agent = AGENT.with_settings(files=(place,))
    location = Location.of(tmp_path, home=tmp_path, environ=environ or {"POLICY": str(path)})
    (file,) = load_hook_set(agent, location).files
    return file


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_change_is_not_read(tmp_path, mode):
    file = load_protected(tmp_path, mode)

    assert file.definitions == ()
    assert file.is_broken
    assert [problem.code for problem in file.diagnostics] == ["settings-unreadable"]
    assert "chmod go-w" in file.diagnostics[0].message


def test_a_file_that_only_its_owner_may_change_is_read(tmp_path):
    assert len(load_protected(tmp_path, 0o644).definitions) == 1


def test_a_file_at_its_usual_place_has_to_belong_to_root(tmp_path):
    file = load_protected(tmp_path, 0o644, environ={"HOME": str(tmp_path)})

    assert bool(file.definitions) is (os.geteuid() == 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_a_user_at_its_usual_place_is_not_read(tmp_path):
    (tmp_path / "policy.json").touch()
    os.chown(tmp_path / "policy.json", 1234, 1234)

    file = load_protected(tmp_path, 0o644, environ={"HOME": str(tmp_path)})

    assert "chown root" in file.diagnostics[0].message
