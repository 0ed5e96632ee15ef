"""One hook file in the real Codex CLI: what an answer does, and what its model is sent next."""

from __future__ import annotations

import json
import os
import shlex
import sys

import pytest

from anyhook.agents.program import Workplace
from anyhook.probe.models.server import ModelScript, ModelTurn
from anyhook.probe.start import run_program
from tests.e2e.agents import CODEX, release_id, releases

pytestmark = pytest.mark.timeout(120, func_only=True)

HOOK = """
from anyhook.authoring import Hooks, context, deny

hooks = Hooks()


@hooks.before_tool("shell")
def guard(event):
    if "forbidden" in event.call.command:
        return deny("that command is forbidden here")
    if "plain" in event.call.command:
        return event.rewrite(command=event.call.command.replace("plain", "changed"))


@hooks.before_prompt
def hint(event):
    return context("the hint of the hook")


@hooks.after_agent
def gate(event):
    if not event.stop_hook_active:
        return deny("say goodbye first")


if __name__ == "__main__":
    hooks.run()
"""
WIRE = {"before_tool": "PreToolUse", "before_prompt": "UserPromptSubmit", "after_agent": "Stop"}


def shell(command):
    return ("exec_command", {"cmd": command})


@pytest.fixture(scope="session", params=releases(CODEX), ids=release_id)
def codex(request):
    return request.param.install()


@pytest.fixture
def run(codex, project, home):
    """Run Codex CLI in the project, with the hook file on some events."""

    def call(turns, *events, layout="json"):
        hook = project / "hook.py"
        hook.write_text(HOOK)
        command = shlex.join([sys.executable, str(hook)])
        directory = project / ".codex"
        directory.mkdir()
        if layout == "json":
            handler = {"type": "command", "command": command}
            hooks = {WIRE[event]: [{"hooks": [handler]}] for event in events}
            (directory / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        else:
            tables = [
                f"[[hooks.{WIRE[event]}]]\n[[hooks.{WIRE[event]}.hooks]]\n"
                f'type = "command"\ncommand = {json.dumps(command)}\n'
                for event in events
            ]
            (directory / "config.toml").write_text("\n".join(tables))
        environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        place = Workplace(home, project, environ)
        run = run_program(
            codex.program, codex.start(), place, ModelScript(turns), "do it", seconds=90
        )
        assert not run.timed_out, run.stdout + run.stderr
        return run

    return call


def test_codex_does_what_its_model_says(run, project):
    result = run(
        [ModelTurn("I run it.", [shell("echo fine | tee made.txt")]), ModelTurn("That is all.")]
    )

    assert result.exit_code == 0, result.stderr
    assert (project / "made.txt").read_text() == "fine\n"
    assert "fine" in result.tool_results()[0]


@pytest.mark.parametrize("layout", ["json", "toml"])
def test_a_denied_call_does_not_run_and_the_model_hears_why(run, project, layout):
    turns = [ModelTurn("", [shell("echo forbidden > made.txt")]), ModelTurn("That is all.")]

    result = run(turns, "before_tool", layout=layout)

    assert not (project / "made.txt").exists()
    [answer] = result.tool_results()
    assert answer == (
        "Command blocked by PreToolUse hook: that command is forbidden here. "
        "Command: echo forbidden > made.txt"
    )


def test_a_changed_command_runs_in_place_of_the_models(run, project):
    turns = [ModelTurn("", [shell("echo plain > made.txt")]), ModelTurn("That is all.")]

    run(turns, "before_tool")

    assert (project / "made.txt").read_text() == "changed\n"


def test_the_model_gets_the_context_of_a_hook(run):
    result = run([ModelTurn("That is all.")], "before_prompt")

    assert "the hint of the hook" in result.heard(0)


def test_a_hook_keeps_codex_from_stopping_once(run):
    result = run([ModelTurn("That is all."), ModelTurn("Goodbye.")], "after_agent")

    assert len(result.requests) == 2
    assert "say goodbye first" in result.heard(1)
    assert result.exit_code == 0
