"""Hooks in the real OpenCode, through the plugin that `anyhook add` writes."""

from __future__ import annotations

import json
import os

import pytest

from anyhook.agents.program import Workplace
from anyhook.cli import main
from anyhook.probe.models.server import ModelScript, ModelTurn
from anyhook.probe.start import run_program
from anyhook.settings.companions import render_companion
from tests.agents.opencode import PLUGIN
from tests.e2e.agents import OPENCODE, release_id, releases

SECONDS = 240.0  # a run takes five on an idle machine
pytestmark = pytest.mark.timeout(SECONDS + 60, func_only=True)

HOOK = """
import json
from pathlib import Path

from anyhook.authoring import Answer, Hooks, context, deny

hooks = Hooks()
LOG = Path(__file__).with_name("seen.jsonl")


@hooks.session_start
def start(event):
    return context("the branch is main")


@hooks.before_prompt
def prompt(event):
    if "password" in event.prompt:
        return deny("no passwords")
    return context("use tabs")


@hooks.before_tool
def before(event):
    with LOG.open("a") as log:
        log.write(json.dumps([event.tool, event.agent_type, dict(event.call.arguments)]) + "\\n")
    if "secret" in event.text:
        return deny("no secrets")
    if event.tool == "shell" and "one" in event.call.command:
        return event.rewrite(command="echo two | tee made.txt")


@hooks.after_tool("shell")
def after(event):
    if "two" in event.text:
        return Answer(tool_output="three", context="it was changed")


@hooks.post_tool_use_failure
def failed(event):
    with LOG.open("a") as log:
        log.write(json.dumps(["failed", event.tool, event.error]) + "\\n")


if __name__ == "__main__":
    hooks.run()
"""


@pytest.fixture(scope="session", params=releases(OPENCODE), ids=release_id)
def opencode(request):
    return request.param.install()


@pytest.fixture
def installed(tmp_path, project, home, monkeypatch):
    """Install a hook file for the user; returns it."""
    hook = tmp_path / "guard.py"
    hook.write_text(HOOK, encoding="utf-8")
    monkeypatch.chdir(project)
    assert main(["add", str(hook), "--agent", "opencode", "--scope", "user", "--yes"]) == 0
    return hook


@pytest.fixture
def run(opencode, project, home):
    """Run OpenCode in the project."""

    def call(turns, prompt="do it"):
        environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        place = Workplace(home, project, environ)
        run = run_program(
            opencode.program, opencode.start(), place, ModelScript(turns), prompt, seconds=SECONDS
        )
        assert not run.timed_out, run.stderr
        return run

    return call


def seen(hook):
    return [json.loads(line) for line in hook.with_name("seen.jsonl").read_text().splitlines()]


def test_tools_are_denied_rewritten_and_their_results_replaced(opencode, run, project, installed):
    calls = [
        opencode.shell("cat secret.txt"),
        opencode.shell("echo one | tee made.txt"),
        opencode.call("read_file", file_path=str(project / "missing.txt")),
    ]
    result = run(
        [ModelTurn("I try.", tools=[call]) for call in calls] + [ModelTurn("That is all.")]
    )
    denied, changed, failed = result.tool_results()

    assert result.exit_code == 0
    assert denied == "no secrets"
    assert (project / "made.txt").read_text() == "two\n"
    assert changed == "three\n\nit was changed"
    assert "missing.txt" in failed
    assert seen(installed)[-1][:2] == ["failed", "read_file"]
    assert "the branch is main" in result.heard(0)
    assert "use tabs" in result.heard(0)


def test_tools_of_a_subagent_are_guarded(opencode, run, installed):
    name, arguments = opencode.program.subagent_call("look into secret.txt quickly")
    turns = [
        ModelTurn("I delegate.", tools=[(name, {**arguments, "prompt": "look around"})]),
        ModelTurn("I look.", tools=[opencode.shell("cat secret.txt")]),
        ModelTurn("I may not."),
        ModelTurn("That is all."),
    ]
    result = run(turns)
    inside = [entry for entry in seen(installed) if entry[1]]

    assert result.exit_code == 0
    assert [entry[:2] for entry in inside] == [["shell", "general"]]
    assert "no secrets" in json.dumps(result.requests)


def test_a_prompt_is_refused_and_the_user_reads_why(run, installed):
    result = run([ModelTurn("That is all.")], prompt="my password is 1234")

    assert result.exit_code != 0
    assert result.requests == []
    assert "anyhook: no passwords" in result.stderr


def test_tools_are_denied_if_anyhook_is_missing(opencode, run, project, installed, home):
    plugin = home / ".config" / "opencode" / PLUGIN.path
    plugin.write_text(render_companion(PLUGIN, ("/no/such/anyhook", "dispatch")), encoding="utf-8")
    turns = [
        ModelTurn("I run it.", tools=[opencode.shell("touch made.txt")]),
        ModelTurn("That is all."),
    ]
    result = run(turns)
    [told] = result.tool_results()

    assert told.startswith("anyhook: the hooks on tool.execute.before could not be run")
    assert not (project / "made.txt").exists()
