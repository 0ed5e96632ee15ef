"""Hooks of one agent, migrated, inside the other real agent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.probe.models.server import ModelTurn
from tests.e2e.agents import CLAUDE, GEMINI, release_id
from tests.e2e.drive import run_agent

pytestmark = [
    pytest.mark.timeout(60, func_only=True),
    pytest.mark.skipif(
        any(shutil.which(program) is None for program in ("bash", "jq")),
        reason="these hooks are written with bash and jq",
    ),
]

OTHER = {"gemini": CLAUDE, "claude": GEMINI}
"""An agent to the one whose hooks it is given."""
EVENTS = {
    agent.name: {**agent.events, "session_start": "SessionStart"} for agent in (GEMINI, CLAUDE)
}
BASH = '#!/bin/bash\nset -euo pipefail\necho >> "$0.seen"\n'

# What the hooks of each agent are made of: the same guards, each in the words of its agent.
CLAUDE_HOOKS = {
    "deny-exit": """
        command=$(jq -r '.tool_input.command // empty')
        case "$command" in
          *secret*) echo "that file is private" >&2; exit 2 ;;
        esac
    """,
    "deny-json": """
        command=$(jq -r '.tool_input.command // empty')
        [[ $command == *secret* ]] || exit 0
        jq -n --arg reason "that file is private" '{
          hookSpecificOutput: {
            hookEventName: "PreToolUse",
            permissionDecision: "deny",
            permissionDecisionReason: $reason
          }
        }'
    """,
    "rewrite": """
        jq '.tool_input.command |= sub("original"; "rewritten") | {
          hookSpecificOutput: {
            hookEventName: "PreToolUse",
            permissionDecision: "allow",
            updatedInput: .tool_input
          }
        }'
    """,
    "tell": """
        cat > /dev/null
        echo "this project speaks French"
    """,
    "tell-json": """
        jq '{
          hookSpecificOutput: {
            hookEventName: .hook_event_name,
            additionalContext: "this project speaks French"
          }
        }'
    """,
    "once-more": """
        [ "$(jq -r '.stop_hook_active')" = "true" ] && exit 0
        echo "run the tests first" >&2
        exit 2
    """,
    "once-more-json": """
        jq 'if .stop_hook_active then {}
            else {decision: "block", reason: "run the tests first"} end'
    """,
    "complain": """
        jq 'if .tool_response.stdout | contains("fine")
            then {decision: "block", reason: "the output looks too good"} else {} end'
    """,
}
GEMINI_HOOKS = {
    "deny-exit": CLAUDE_HOOKS["deny-exit"],
    "deny-json": """
        command=$(jq -r '.tool_input.command // empty')
        [[ $command == *secret* ]] || exit 0
        echo '{"decision": "deny", "reason": "that file is private"}'
    """,
    "rewrite": """
        jq '{
          hookSpecificOutput: {
            tool_input: {command: (.tool_input.command | sub("original"; "rewritten"))}
          }
        }'
    """,
    "tell-json": CLAUDE_HOOKS["tell-json"],
    "once-more": """
        jq 'if .stop_hook_active then {decision: "allow"}
            else {decision: "deny", reason: "run the tests first"} end'
    """,
    "complain": """
        jq 'if .tool_response.llmContent | contains("fine")
            then {decision: "deny", reason: "the output looks too good"} else {} end'
    """,
}
HOOKS = {"claude": CLAUDE_HOOKS, "gemini": GEMINI_HOOKS}


def both(*names):
    """Parametrize over the hooks of both agents that have one of these names."""
    return pytest.mark.parametrize(
        ("agent", "hook"),
        [
            pytest.param(agent, name, id=f"{OTHER[agent.name].name}-{name}-in-{release_id(agent)}")
            for agent in (GEMINI, CLAUDE)
            for name in names
            if name in HOOKS[OTHER[agent.name].name]
        ],
        indirect=["agent"],
    )


@pytest.fixture
def agent(request):
    """The agent that is given the other one's hooks."""
    return request.param.install()


@pytest.fixture
def run(agent, project, home, monkeypatch):
    """Run the agent with a hook of the other agent, after a migration."""
    # The shim is a program that the agent's shell has to find.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    other = OTHER[agent.name]

    def call(turns, hook, event, *, matcher=None, prompt="do it", project=project):
        script = script_of(agent, project, hook)
        script.parent.mkdir(parents=True)
        script.write_text(BASH + HOOKS[other.name][hook])
        script.chmod(0o755)
        root = "CLAUDE_PROJECT_DIR" if other is CLAUDE else "GEMINI_PROJECT_DIR"
        command = f'"${{{root}}}"/{script.relative_to(project)}'
        definition = {"hooks": [{"type": "command", "command": command}]}
        if matcher:
            definition["matcher"] = matcher
        settings = {"hooks": {EVENTS[other.name][event]: [definition]}}
        (project / other.settings_path).write_text(json.dumps(settings, indent=2))
        migrate(other, agent, project)
        return run_agent(agent, project, home, turns, prompt)

    return call


def script_of(agent, project, hook):
    """Say where the script of a hook is, which notes beside it that it was run."""
    return project / OTHER[agent.name].settings_path.partition("/")[0] / "hooks" / f"{hook}.sh"


def was_run(agent, project, hook):
    return script_of(agent, project, hook).with_suffix(".sh.seen").exists()


def migrate(source, target, project):
    subprocess.run(
        [
            *("anyhook", "migrate", "--from", source.name, "--to", target.name),
            *("--project", str(project), "--yes", "--prove", "--trust-once"),
        ],
        check=True,
        capture_output=True,
    )


def shell_then_stop(agent, command):
    return [ModelTurn("I run it.", tools=[agent.shell(command)]), ModelTurn("That is all.")]


def shell_of(agent):
    return agent.shell("")[0]


# -- before a tool


@both("deny-exit", "deny-json")
def test_a_migrated_guard_keeps_the_tool_from_running_and_says_why(agent, run, project, hook):
    turns = shell_then_stop(agent, "echo x | tee secret.txt")
    result = run(turns, hook, "before_tool", matcher=shell_of(OTHER[agent.name]))
    assert not (project / "secret.txt").exists()
    [told] = result.tool_results()
    assert "that file is private" in told
    assert result.exit_code == 0


@both("deny-exit", "deny-json")
def test_a_migrated_guard_lets_other_commands_pass(agent, run, project, hook):
    turns = shell_then_stop(agent, "echo fine | tee made.txt")
    result = run(turns, hook, "before_tool", matcher=shell_of(OTHER[agent.name]))
    assert was_run(agent, project, hook)
    assert (project / "made.txt").read_text() == "fine\n"
    assert "private" not in result.heard(-1)


@both("deny-exit")
def test_a_migrated_guard_of_one_tool_is_not_asked_about_others(agent, run, project, hook):
    path = project / "secret.txt"
    turns = [
        ModelTurn("I write it.", tools=[agent.write(path, "secret\n")]),
        ModelTurn("That is all."),
    ]
    run(turns, hook, "before_tool", matcher=shell_of(OTHER[agent.name]))
    assert not was_run(agent, project, hook)
    assert path.read_text() == "secret\n"


@both("deny-exit")
def test_a_migrated_guard_is_found_where_the_path_has_a_blank(agent, run, project, hook):
    inside = project / "my project"
    inside.mkdir()
    turns = shell_then_stop(agent, "echo x | tee secret.txt")
    result = run(turns, hook, "before_tool", project=inside)
    assert not (inside / "secret.txt").exists()
    [told] = result.tool_results()
    assert "that file is private" in told


@both("rewrite")
def test_a_migrated_rewrite_runs_instead_of_the_original(agent, run, project, hook):
    turns = shell_then_stop(agent, "echo fine | tee original.txt")
    result = run(turns, hook, "before_tool", matcher=shell_of(OTHER[agent.name]))
    assert (project / "rewritten.txt").read_text() == "fine\n"
    assert not (project / "original.txt").exists()
    [told] = result.tool_results()
    assert "fine" in told


# -- context


@both("tell", "tell-json")
def test_the_model_hears_the_context_of_a_migrated_hook_with_the_prompt(agent, run, hook):
    result = run([ModelTurn("Bonjour.")], hook, "before_prompt", prompt="greet me")
    assert "greet me" in result.heard(0)
    assert "this project speaks French" in result.heard(0)
    assert result.exit_code == 0


@both("tell", "tell-json")
def test_the_model_hears_the_context_of_a_migrated_hook_from_the_start(agent, run, hook):
    result = run([ModelTurn("Bonjour.")], hook, "session_start", prompt="greet me")
    assert "this project speaks French" in result.heard(0)


# -- after a tool


@both("complain")
def test_the_model_hears_what_a_migrated_hook_has_against_a_result(agent, run, hook):
    turns = shell_then_stop(agent, "echo fine")
    result = run(turns, hook, "after_tool", matcher=shell_of(OTHER[agent.name]))
    assert "the output looks too good" not in result.heard(0)
    assert "the output looks too good" in result.heard(1)


# -- stop


@both("once-more", "once-more-json")
def test_a_migrated_hook_sends_the_agent_back_once(agent, run, hook):
    turns = [ModelTurn("I think it works."), ModelTurn("The tests pass.")]
    result = run(turns, hook, "after_agent")
    assert len(result.requests) == 2
    assert "run the tests first" not in result.heard(0)
    assert "run the tests first" in result.heard(1)
    assert "The tests pass." in result.stdout
    assert result.exit_code == 0
