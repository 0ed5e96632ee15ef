"""One hook file in the real GitHub Copilot CLI: what an answer does, and what its model is sent."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from anyhook.probe.models.server import ModelTurn
from tests.e2e.agents import COPILOT, release_id, releases
from tests.e2e.drive import run_agent

pytestmark = pytest.mark.timeout(120, func_only=True)

HOOKS = """
from anyhook.authoring import Hooks, context, deny

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if "forbidden" in event.call.command:
        return deny("that word is forbidden")
    if "original" in event.call.command:
        return event.rewrite(command=event.call.command.replace("original", "rewritten"))

@hooks.before_prompt
def prompt(event):
    if "secret" in event.prompt:
        return deny("no secrets in prompts")
    return context("this project speaks French")

@hooks.after_tool
def after(event):
    return context("the disk is nearly full")

@hooks.after_agent
def finish(event):
    return None if event.stop_hook_active else deny("run the tests first")

@hooks.session_start
def start(event):
    return context("welcome to a " + event.source + " session")

hooks.run()
"""
PASCAL = {
    "session_start": "SessionStart",
    "before_prompt": "UserPromptSubmit",
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUse",
    "after_agent": "Stop",
}


@pytest.fixture(scope="session", params=releases(COPILOT), ids=release_id)
def copilot(request):
    return request.param.install()


@pytest.fixture(params=["camel", "pascal"])
def run(request, copilot, project, home, tmp_path):
    """Run the agent with the hook file on some events, in one of the two forms."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    file = tmp_path / "hook.py"
    file.write_text(HOOKS, encoding="utf-8")
    names = copilot.events if request.param == "camel" else PASCAL

    def call(turns, on, prompt="do it"):
        command = shlex.join([sys.executable, str(file)])
        groups = [{"hooks": [{"type": "command", "command": command, "timeout": 30}]}]
        settings = {"version": 1, "hooks": {names[event]: groups for event in on}}
        return run_agent(copilot, project, home, turns, prompt, settings)

    return call


def shell(command):
    return ModelTurn("I run it.", tools=[("bash", {"command": command, "description": "run it"})])


DONE = ModelTurn("That is all.")


def test_a_denied_command_does_not_run_and_the_model_is_sent_the_reason(run, project):
    result = run([shell("echo forbidden > made.txt"), DONE], ["before_tool"])

    assert not (project / "made.txt").exists()
    [sent] = result.tool_results()
    assert "Denied by preToolUse hook: that word is forbidden" in sent
    assert result.exit_code == 0


def test_a_rewritten_command_runs_instead_of_the_original(run, project):
    result = run([shell("echo fine > original.txt; cat original.txt"), DONE], ["before_tool"])

    assert (project / "rewritten.txt").read_text() == "fine\n"
    assert not (project / "original.txt").exists()
    assert "fine" in result.tool_results()[0]


def test_context_after_a_tool_is_sent_with_its_result(run):
    result = run([shell("echo fine"), DONE], ["after_tool"])

    assert "the disk is nearly full" not in result.heard(0)
    assert "the disk is nearly full" in result.heard(1)


def test_context_is_sent_at_the_start_and_with_the_prompt(run):
    result = run([DONE], ["session_start", "before_prompt"], prompt="greet me")

    assert "welcome to a new session" in result.heard(0)
    assert "this project speaks French" in result.heard(0)


def test_a_denied_prompt_is_not_sent(run):
    result = run([DONE], ["before_prompt"], prompt="my secret")

    assert result.requests == []
    assert "no secrets in prompts" in result.stdout + result.stderr


def test_an_agent_that_may_not_stop_yet_is_sent_the_reason(run):
    result = run([ModelTurn("I think it works."), ModelTurn("The tests pass.")], ["after_agent"])

    assert len(result.requests) == 2
    assert "run the tests first" not in result.heard(0)
    assert "run the tests first" in result.heard(1)


def test_hooks_of_a_settings_file_of_claude_code_run(copilot, project, home, tmp_path):
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    file = tmp_path / "hook.py"
    file.write_text(HOOKS, encoding="utf-8")
    handler = {"type": "command", "command": shlex.join([sys.executable, str(file)])}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler]}]}}
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps(settings))

    result = run_agent(copilot, project, home, [shell("echo forbidden > x"), DONE], "do it")

    assert not (project / "x").exists()
    assert "that word is forbidden" in result.tool_results()[0]
