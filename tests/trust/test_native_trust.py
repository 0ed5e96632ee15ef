"""What an agent itself trusts is shown beside the trust store of anyhook."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import get_agent
from anyhook.agents.codex.trust import hash_of, key_of
from anyhook.checks.settings import report_native_trust
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location
from anyhook.trust.native import native_states

CODEX = get_agent("codex")
DEFINITION = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}


def load(tmp_path, state=None):
    file = tmp_path / ".codex" / "hooks.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"hooks": {"PreToolUse": [DEFINITION]}}))
    if state is not None:
        key = key_of(str(file), "PreToolUse", 0, 0)
        lines = [f"{name} = {json.dumps(value)}" for name, value in state.items()]
        text = "\n".join([f"[hooks.state.{json.dumps(key)}]", *lines, ""])
        (file.parent / "config.toml").write_text(text)
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    return load_hook_set(CODEX, Location(project, tmp_path, {}))


DIGEST = hash_of("PreToolUse", DEFINITION, 0)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (None, "untrusted"),
        ({}, "untrusted"),
        ({"trusted_hash": DIGEST}, "trusted"),
        ({"trusted_hash": "sha256:0"}, "modified"),
        ({"trusted_hash": DIGEST, "enabled": False}, "disabled"),
        ({"trusted_hash": DIGEST, "enabled": True}, "trusted"),
    ],
)
def test_the_record_of_codex_says_which_hooks_it_trusts(tmp_path, state, expected):
    hooks = load(tmp_path, state)
    (handler,) = next(hooks.definitions).handlers

    native = native_states(CODEX, hooks)

    assert native is not None
    assert native.of(handler) == expected
    reported = [problem.message for problem in report_native_trust(hooks)]
    assert len(reported) == (expected != "trusted")
    assert all(expected in message and "/hooks" in message for message in reported)


def test_a_hook_of_several_events_is_reported_once_with_them(tmp_path):
    file = tmp_path / ".codex" / "hooks.json"
    load(tmp_path)
    other = {"hooks": [{"type": "command", "command": "false"}]}
    hooks = {"PreToolUse": [DEFINITION, other], "Stop": [DEFINITION], "SessionStart": [other]}
    file.write_text(json.dumps({"hooks": hooks}))

    problems = list(report_native_trust(load_hook_set(CODEX, Location(tmp_path, tmp_path, {}))))

    messages = [problem.message.partition(" is untrusted")[0] for problem in problems]
    assert messages == ["'true' on PreToolUse, Stop", "'false' on PreToolUse, SessionStart"]
    assert {problem.place.file for problem in problems} == {str(file)}


def test_an_agent_without_a_record_shows_none(tmp_path):
    claude = get_agent("claude")
    hooks = load_hook_set(claude, Location(tmp_path, tmp_path, {}))

    assert native_states(claude, hooks) is None
    assert list(report_native_trust(hooks)) == []
