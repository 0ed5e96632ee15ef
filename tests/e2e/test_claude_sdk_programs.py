"""Programs with tools of their own that drive the real Claude Code through its SDK."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from anyhook.agents.program import AgentProgram, Workplace
from anyhook.probe.models.server import ModelScript, ModelTurn
from anyhook.probe.start import run_program
from tests.e2e.agents import CLAUDE, GEMINI, Agent
from tests.e2e.drive import SECONDS

claude_agent_sdk = pytest.importorskip("claude_agent_sdk")

pytestmark = [
    pytest.mark.timeout(60, func_only=True),
    pytest.mark.skipif(
        not (Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude").exists(),
        reason="this SDK came without its program",
    ),
]

PROGRAM = """
import asyncio, sys
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, create_sdk_mcp_server, tool
from anyhook.integrations import HostTool
from anyhook.integrations.claude_sdk import anyhook_hooks

started = asyncio.Event()

@tool("run", "Run a command", {"cmd": str})
async def run(arguments):
    command = arguments["cmd"]
    print("ran:", command, flush=True)
    if command == "explode":
        raise RuntimeError("boom")
    if command == "wait":
        started.set()
        await asyncio.sleep(3600)
    return {"content": [{"type": "text", "text": f"{command} worked"}]}

async def turn(client, prompt):
    await client.query(prompt)
    async for message in client.receive_response():
        print(type(message).__name__, message, flush=True)

async def interrupt(client):
    await started.wait()
    await client.interrupt()

async def main(prompt):
    hooks = anyhook_hooks(
        ".",
        agent="gemini",
        on_message=print,
        on_decision=lambda event, _: print("event:", event.name, event.session_id, flush=True),
        trust_once=True,
        require={"before_tool"},
        tools={"mcp__box__run": HostTool("shell", {"cmd": "command"})},
    )
    options = ClaudeAgentOptions(
        hooks=hooks,
        mcp_servers={"box": create_sdk_mcp_server("box", "1", [run])},
        permission_mode="bypassPermissions",
        include_partial_messages=True,
    )
    async with ClaudeSDKClient(options) as client:
        if prompt == "wait":
            await asyncio.gather(turn(client, "wait"), interrupt(client))
            prompt = "go on"
        await turn(client, prompt)

asyncio.run(main(sys.argv[1]))
"""
GUARD = """grep -q '"command": *"rm"' && { echo 'not that' >&2; exit 2; }; echo '{}'"""
MARK = "the work of the subagent"


@dataclass(frozen=True)
class Program(Agent):
    """A program with a tool of its own."""

    def start(self) -> list[str]:
        return [sys.executable, "-c", PROGRAM]

    @property
    def program(self) -> AgentProgram:
        return super().program.replace(arguments=lambda prompt, _: (prompt,))


FIELDS = {field.name: getattr(CLAUDE, field.name) for field in dataclasses.fields(CLAUDE)}
FIELDS |= {"settings_path": GEMINI.settings_path, "events": GEMINI.events}


@pytest.fixture
def live(project, home):
    """Run the program in a project whose hook of Gemini CLI denies the command `rm`."""

    def run(prompt, turns, subagent_turns=()):
        agent = Program(**FIELDS)
        path = project / agent.settings_path
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(agent.settings({"before_tool": GUARD})))
        script = ModelScript(turns, subagent_turns, MARK if subagent_turns else "")
        place = Workplace(home, project, {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"})
        done = run_program(agent.program, agent.start(), place, script, prompt, seconds=SECONDS)
        assert (done.exit_code, done.timed_out) == (0, False), (done.stdout, done.stderr)
        return done

    return run


def call(command):
    return "mcp__box__run", {"cmd": command}


def ran(done):
    return [line[5:] for line in done.stdout.splitlines() if line.startswith("ran: ")]


def test_calls_at_once_are_decided_one_by_one_and_a_failure_is_answered(live):
    calls = [call(word) for word in ("ls", "rm", "explode", "pwd", "rm")]

    done = live("look around", [ModelTurn("", calls), ModelTurn("That is all.")])

    assert sorted(ran(done)) == ["explode", "ls", "pwd"]
    results = "\n".join(done.tool_results())
    assert results.count("not that") == 2
    assert "boom" in results
    assert "StreamEvent" in done.stdout
    assert "That is all." in done.stdout


def test_a_subagent_is_guarded(live):
    task = {
        "description": "a task",
        "prompt": MARK,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    }

    done = live(
        "delegate it",
        [ModelTurn("", [("Agent", task)]), ModelTurn("That is all.")],
        [ModelTurn("", [call("rm"), call("ls")]), ModelTurn("I am done.")],
    )

    assert ran(done) == ["ls"]
    assert "That is all." in done.stdout


def test_after_an_interrupt_the_next_turn_is_guarded(live):
    done = live(
        "wait",
        [
            ModelTurn("", [call("wait")]),
            ModelTurn("", [call("rm"), call("ls")]),
            ModelTurn("Fine."),
        ],
    )

    assert ran(done) == ["wait", "ls"]
    assert "not that" in "\n".join(done.tool_results())
    sessions = {line.split()[2] for line in done.stdout.splitlines() if line.startswith("event: ")}
    assert len(sessions) == 1
