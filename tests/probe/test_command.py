"""The command `anyhook probe`, without an agent: what it refuses, and agents that are missing."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import get_agent
from anyhook.agents.program import agent_programs
from anyhook.cli import PROBLEMS, USAGE
from anyhook.probe.models import MODELS

GUARD = {"type": "command", "command": "./guard.sh"}


@pytest.fixture
def hooks(world, monkeypatch):
    """A project with a hook of Claude Code, and no agent on the `PATH`."""
    path = world.project / ".claude" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [GUARD]}]}}))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return path


@pytest.mark.parametrize("options", [(), ("--agent", "claude")])
def test_where_no_agent_could_be_tried_nothing_is_fine(run, hooks, options):
    code, out, _ = run("probe", "--trust-once", *options)
    assert code == PROBLEMS
    assert "Claude Code is not installed: there is no claude on the PATH" in out


def test_a_missing_agent_is_reported_to_programs_too(run, hooks):
    code, out, _ = run("probe", "--agent", "claude", "--trust-once", "--json")
    report = json.loads(out)
    assert code == PROBLEMS
    assert report["ok"] is False
    [agent] = report["agents"]
    assert agent["agent"] == "claude"
    assert agent["installed"] is False
    assert "--program PATH" in agent["missing"]


def test_hooks_that_the_user_has_not_trusted_do_not_run(run, hooks):
    code, _, err = run("probe", "--agent", "claude")
    assert code == USAGE
    assert "anyhook trust --agent claude" in err


def test_without_hooks_the_places_are_listed(run, world):
    code, out, _ = run("probe")
    assert code == 0
    assert "No hooks are configured here" in out


def test_an_agent_that_cannot_be_started_without_a_user_is_reported(run, hooks):
    code, out, _ = run("probe", "--agent", "terminai", "--trust-once")
    assert code == PROBLEMS
    assert "TerminaI cannot be started without a user" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--agent", "nobody"), "nobody"),
        (("--agent", "generic"), "generic is not a program"),
        (("--timeout", "0"), "--timeout is a number of seconds above 0"),
        (("--timeout", "nan"), "--timeout is a number of seconds above 0"),
        (("--call", "Bash ls"), "is not a tool with a JSON object"),
        (("--agent", "claude", "--agent", "gemini", "--program", "x"), "name it with --agent"),
    ],
)
def test_wrong_options_are_refused(run, hooks, arguments, text):
    code, _, err = run("probe", "--trust-once", *arguments)
    assert code == USAGE
    assert text in err


def test_a_named_program_that_does_not_start_is_an_error(run, hooks, tmp_path):
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    program.chmod(0o755)
    code, _, err = run("probe", "--agent", "claude", "--trust-once", "--program", str(program))
    assert code == USAGE
    assert "does not print its version: broken" in err


def test_every_program_names_an_api_and_events_of_its_agent():
    for name, program in agent_programs().items():
        agent = get_agent(name)
        assert program.name == name
        assert program.api in MODELS
        assert program.events | program.subagent_events <= agent.by_canonical.keys()
        assert program.subjects.keys() <= agent.by_canonical.keys()
