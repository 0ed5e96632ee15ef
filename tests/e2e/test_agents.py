"""One hook file, two real agents: what an answer does to the agent, and what its model hears."""

from __future__ import annotations

import re
import shlex
import socket
import sys

import pytest

from anyhook.agents import get_agent
from anyhook.agents.capabilities import Support, support
from anyhook.probe.models.server import END_OF_SCRIPT, ModelTurn
from anyhook.probe.start import fence

# Installing an agent happens before the first test, and takes what it takes.
pytestmark = pytest.mark.timeout(60, func_only=True)

EVERYTHING = ("before_prompt", "before_tool", "after_tool", "after_agent")
KEY = "KEY = 'AKIAIOSFODNN7EXAMPLE'\n"


def shell_then_stop(agent, command):
    return [ModelTurn("I run it.", tools=[agent.shell(command)]), ModelTurn("That is all.")]


def write_then_stop(agent, path, text):
    return [ModelTurn("I write it.", tools=[agent.write(path, text)]), ModelTurn("That is all.")]


# -- without hooks


def test_an_agent_does_what_its_model_says(agent, run, project):
    result = run(shell_then_stop(agent, "echo fine | tee made.txt"))
    assert result.exit_code == 0
    assert "That is all." in result.stdout
    assert (project / "made.txt").read_text() == "fine\n"
    assert len(result.requests) == 2
    assert "do it" in result.heard(0)
    [told] = result.tool_results()
    assert "fine" in told


def test_an_agent_whose_script_is_at_its_end_fails(agent, run):
    result = run([])
    assert result.exit_code != 0
    assert len(result.requests) == 1
    assert END_OF_SCRIPT in result.stdout + result.stderr


@pytest.mark.skipif(not fence(), reason="unshare cannot shut a program in here")
def test_an_agent_reaches_nothing_but_its_model(agent, run):
    with socket.create_server(("127.0.0.1", 0)) as outside:
        connect = f"import socket; socket.create_connection({outside.getsockname()})"
        result = run(shell_then_stop(agent, shlex.join([sys.executable, "-c", connect])))
    [told] = result.tool_results()
    assert "ConnectionRefusedError" in told


# -- deny


def test_a_denied_write_does_not_happen_and_the_model_hears_why(agent, run, project, hook_file):
    path = project / "keys.py"
    result = run(write_then_stop(agent, path, KEY), hook=hook_file("guard.py"), on=["before_tool"])
    assert not path.exists()
    [told] = result.tool_results()
    assert "that looks like an AWS key" in told
    assert result.exit_code == 0


def test_a_guard_lets_other_writes_pass(agent, run, project, hook_file):
    path = project / "answer.py"
    turns = write_then_stop(agent, path, "ANSWER = 42\n")
    result = run(turns, hook=hook_file("guard.py"), on=["before_tool"])
    assert path.read_text() == "ANSWER = 42\n"
    assert "AWS" not in result.heard(-1)


# -- rewrite


def test_a_rewritten_command_runs_instead_of_the_original(agent, run, project, hook_file):
    turns = shell_then_stop(agent, "echo fine | tee original.txt")
    result = run(turns, hook=hook_file("rewriter.py"), on=["before_tool"])
    assert not (project / "original.txt").exists()
    [told] = result.tool_results()
    if support(get_agent(agent.name), "before_tool", "rewrite") is Support.YES:
        assert (project / "rewritten.txt").read_text() == "fine\n"
        assert "fine" in told
    else:  # the model gets the arguments to use, as the reason of a denial
        assert not (project / "rewritten.txt").exists()
        assert "rewritten.txt" in told


# -- context


def test_the_model_hears_context_with_the_prompt(agent, run, hook_file):
    turns = [ModelTurn("Bonjour.")]
    result = run(turns, prompt="greet me", hook=hook_file("teller.py"), on=["before_prompt"])
    assert "greet me" in result.heard(0)
    assert "this project speaks French" in result.heard(0)
    assert result.exit_code == 0


def test_the_model_hears_context_after_a_tool(agent, run, hook_file):
    turns = shell_then_stop(agent, "echo fine")
    result = run(turns, hook=hook_file("teller.py"), on=["after_tool"])
    assert "the disk is nearly full" not in result.heard(0)
    assert "the disk is nearly full" in result.heard(1)
    assert "fine" in result.tool_results()[0]


# -- stop


def test_an_agent_that_may_not_stop_yet_hears_why_and_stops_the_next_time(agent, run, hook_file):
    turns = [ModelTurn("I think it works."), ModelTurn("The tests pass.")]
    result = run(turns, hook=hook_file("finisher.py"), on=["after_agent"])
    assert len(result.requests) == 2
    assert "run the tests first" not in result.heard(0)
    assert "run the tests first" in result.heard(1)
    assert "The tests pass." in result.stdout
    assert result.exit_code == 0


# -- crash


def test_a_hook_that_crashes_blocks_the_tool_if_its_author_said_so(agent, run, project, hook_file):
    turns = shell_then_stop(agent, "echo fine | tee made.txt")
    result = run(turns, hook=hook_file("crash_deny.py"), on=["before_tool"])
    assert not (project / "made.txt").exists()
    assert len(result.requests) == 2
    assert result.tool_results() != []
    assert "Traceback" not in result.heard(-1)
    assert "raise RuntimeError" not in result.heard(-1)


def test_a_hook_that_crashes_costs_only_itself_otherwise(agent, run, project, hook_file):
    turns = shell_then_stop(agent, "echo fine | tee made.txt")
    crashing = hook_file("crash_allow.py")
    result = run(turns, hook=crashing, on=["before_tool"])
    assert crashing.with_name("seen.txt").exists()
    assert (project / "made.txt").read_text() == "fine\n"
    assert "Traceback" not in result.heard(-1)
    assert "nobody at home" not in result.heard(-1)
    assert result.exit_code == 0


# -- no opinion


def test_a_hook_without_an_opinion_changes_nothing(agent, run, project, hook_file):
    path = project / "answer.py"
    turns = [
        ModelTurn("I run it.", tools=[agent.shell("echo fine")]),
        ModelTurn("I write it.", tools=[agent.write(path, "ANSWER = 42\n")]),
        ModelTurn("That is all."),
    ]
    without = run(turns)
    path.unlink()
    watcher = hook_file("watcher.py")
    with_hook = run(turns, hook=watcher, on=EVERYTHING)
    next_prompt = ["before_prompt"] if agent.repeats_prompt else []
    assert watcher.with_name("seen.txt").read_text().splitlines() == [
        "before_prompt",
        "before_tool shell",
        "after_tool shell",
        *next_prompt,
        "before_tool write_file",
        "after_tool write_file",
        *next_prompt,
        "after_agent",
    ]
    assert conversations(with_hook) == conversations(without)
    assert with_hook.stdout == without.stdout
    assert path.read_text() == "ANSWER = 42\n"


def conversations(result, prompt="do it"):
    """List what the model heard, request by request: from the prompt on, without numbers."""
    heard = (result.heard(number) for number in range(len(result.requests)))
    return [re.sub(r"\d+", "0", text[text.index(prompt) :]) for text in heard]
