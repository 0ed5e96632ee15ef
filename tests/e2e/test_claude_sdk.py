"""Settings of Gemini CLI inside a program that drives the real Claude Code through its SDK."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from anyhook.agents.program import AgentProgram
from anyhook.probe.models.server import ModelTurn
from tests.e2e.agents import CLAUDE, GEMINI, Agent
from tests.e2e.drive import run_agent

claude_agent_sdk = pytest.importorskip("claude_agent_sdk")
PACKAGE = Path(claude_agent_sdk.__file__).parent

pytestmark = [
    pytest.mark.timeout(60, func_only=True),
    pytest.mark.skipif(
        not (PACKAGE / "_bundled" / "claude").exists(),
        reason="this SDK came without its program",
    ),
]

PROGRAM = """
import asyncio, sys
from claude_agent_sdk import ClaudeAgentOptions, PermissionResultAllow, query
from anyhook.integrations.claude_sdk import anyhook_hooks

async def agree(name, arguments, context):
    print("asked:", name, context.decision_reason)
    return PermissionResultAllow()

async def main(prompt, somebody):
    hooks = anyhook_hooks(".", agent="gemini", on_message=print, trust_once=True)
    options = ClaudeAgentOptions(
        hooks=hooks,
        permission_mode="bypassPermissions",
        can_use_tool=agree if somebody else None,
    )
    async for message in query(prompt=prompt, options=options):
        print(message)

asyncio.run(main(sys.argv[1], sys.argv[2] == "somebody"))
"""


@dataclass(frozen=True)
class Embedded(Agent):
    """A program of somebody's own, which has Claude Code do the work.

    Attributes:
        somebody: Whether somebody is there to ask.
    """

    somebody: bool = False

    def start(self) -> list[str]:
        return [sys.executable, "-c", PROGRAM]

    @property
    def program(self) -> AgentProgram:
        who = "somebody" if self.somebody else "nobody"
        return super().program.replace(arguments=lambda prompt, _: (prompt, who))


FIELDS = {field.name: getattr(CLAUDE, field.name) for field in dataclasses.fields(CLAUDE)}
FIELDS |= {"settings_path": GEMINI.settings_path, "events": GEMINI.events}


@pytest.fixture
def run(project, home):
    """Run the program in a project with a hook of Gemini CLI's on an event."""

    def call(turns, event, line, *, prompt="do it", somebody=False):
        agent = Embedded(**FIELDS, somebody=somebody)
        return run_agent(agent, project, home, turns, prompt, agent.settings({event: line}))

    return call


def says(text):
    return f"cat > /dev/null; printf %s {shlex.quote(text)}"


def shell_then_stop(command):
    return [ModelTurn("I run it.", tools=[CLAUDE.shell(command)]), ModelTurn("That is all.")]


def test_a_guard_of_gemini_keeps_a_command_from_running_and_says_why(run, project):
    guard = "grep -q run_shell_command && { echo 'that file is private' >&2; exit 2; }"
    result = run(shell_then_stop("echo x | tee secret.txt"), "before_tool", guard)
    assert not (project / "secret.txt").exists()
    [told] = result.tool_results()
    assert "that file is private" in told
    assert "That is all." in result.stdout
    assert result.exit_code == 0


def test_it_lets_other_commands_pass(run, project):
    guard = "grep -q secret && { echo 'that file is private' >&2; exit 2; } || echo '{}'"
    result = run(shell_then_stop("echo fine | tee made.txt"), "before_tool", guard)
    assert (project / "made.txt").read_text() == "fine\n"
    assert "private" not in result.heard(-1)


def test_a_rewritten_command_runs_instead_of_the_original(run, project):
    new = '{"hookSpecificOutput": {"tool_input": {"command": "echo fine | tee rewritten.txt"}}}'
    run(shell_then_stop("echo x | tee original.txt"), "before_tool", says(new))
    assert (project / "rewritten.txt").read_text() == "fine\n"
    assert not (project / "original.txt").exists()


@pytest.mark.parametrize("somebody", [True, False])
def test_a_question_is_put_to_who_is_there(run, project, somebody):
    question = says('{"decision": "ask", "reason": "sure?"}')
    turns = shell_then_stop("echo fine | tee made.txt")
    result = run(turns, "before_tool", question, somebody=somebody)
    assert (project / "made.txt").exists() is somebody
    assert ("asked: Bash sure?" in result.stdout) is somebody
    [told] = result.tool_results()
    assert ("sure?" in told) is not somebody


def test_a_stop_ends_the_run(run, project):
    stop = says('{"continue": false, "stopReason": "out of budget"}')
    result = run(shell_then_stop("echo x | tee made.txt"), "before_tool", stop)
    assert not (project / "made.txt").exists()
    assert len(result.requests) == 1
    assert "out of budget" in result.stdout
    assert result.exit_code == 0


def test_the_model_hears_context_with_the_prompt(run):
    context = says('{"hookSpecificOutput": {"additionalContext": "we speak French"}}')
    result = run([ModelTurn("Bonjour.")], "before_prompt", context, prompt="greet me")
    assert "greet me" in result.heard(0)
    assert "we speak French" in result.heard(0)


def test_a_denied_prompt_does_not_reach_the_model(run):
    result = run([], "before_prompt", says('{"decision": "deny", "reason": "bad words"}'))
    assert not result.requests
    assert "bad words" in result.stdout


def test_a_hidden_result_does_not_reach_the_model(run):
    hide = says('{"decision": "deny", "reason": "it holds a key"}')
    result = run(shell_then_stop("echo 'K''EY'"), "after_tool", hide)
    assert "it holds a key" in result.heard(1)
    assert "KEY" not in "\n".join(result.tool_results())


def test_an_agent_that_may_not_stop_yet_goes_round_again(run):
    once = """
        if grep -q '"stop_hook_active":true'; then echo '{}'
        else echo '{"decision": "deny", "reason": "run the tests first"}'; fi
    """
    result = run([ModelTurn("It works."), ModelTurn("The tests pass.")], "after_agent", once)
    assert len(result.requests) == 2
    assert "run the tests first" in result.heard(1)
    assert "The tests pass." in result.stdout
