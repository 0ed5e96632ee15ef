"""Runs the plugin of OpenCode in node, with the hooks of a world."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from anyhook.agents import get_agent
from anyhook.settings.companions import render_companion

HOST = Path(__file__).with_name("opencode_host.mjs")
OPENCODE = get_agent("opencode")
PLUGIN = OPENCODE.settings.companions[0]
DISPATCH = (sys.executable, "-P", "-m", "anyhook", *PLUGIN.command, "--trust-once")
SECONDS = 60.0
NUMBERS = count(1)


@dataclass(frozen=True)
class HostRun:
    """What the plugin did.

    Attributes:
        results: For each step the output after it, and the message of an exception.
        calls: The calls of OpenCode's client, each a name and its options.
        stderr: What was printed for the user.
    """

    results: list[dict[str, Any]]
    calls: list[tuple[str, dict[str, Any]]]
    stderr: str

    @property
    def last(self) -> dict[str, Any]:
        """The result of the last step that is a hook."""
        return [result for result in self.results if result][-1]

    def called(self, name: str) -> list[dict[str, Any]]:
        """Return the options of all calls of one name."""
        return [options for called, options in self.calls if called == name]


def write_plugin(world, command=DISPATCH, layer="project"):
    """Write the plugin beside the settings of a layer; returns its path."""
    return world.write(world.files[layer].parent / PLUGIN.path, render_companion(PLUGIN, command))


def run_plugin(world, steps, *, plugins=None, **scenario):
    """Let node load plugins and go through steps."""
    files = plugins if plugins is not None else [write_plugin(world)]
    scenario = {
        "plugins": [str(file) for file in files],
        "directory": str(world.project),
        "steps": steps,
        **scenario,
    }
    done = subprocess.run(
        ["node", str(HOST)],
        input=json.dumps(scenario),
        env=world.environ,
        cwd=world.project,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return HostRun(report["results"], [tuple(call) for call in report["calls"]], done.stderr)


def before(command="ls", call="c1", session="s1", tool="bash", **args):
    """Make the step of a tool that is about to run."""
    args = args or {"command": command, "description": "d"}
    ids = {"tool": tool, "sessionID": session, "callID": call}
    return {"hook": "tool.execute.before", "input": ids, "output": {"args": args}}


def after(output="a\n", call="c1", session="s1", tool="bash", **result):
    """Make the step of a tool that has run."""
    ids = {"tool": tool, "sessionID": session, "callID": call, "args": {"command": "ls"}}
    result = result or {"title": "ls", "output": output, "metadata": {"exit": 0}}
    return {"hook": "tool.execute.after", "input": ids, "output": result}


def message(text="hello", session="s1", **members):
    """Make the step of a prompt."""
    ids = {"sessionID": session, "messageID": "msg_1"}
    part = {"type": "text", "text": text, "id": "prt_1", **ids}
    prompt = {"id": "msg_1", "role": "user", "sessionID": session, "agent": "build", **members}
    output = {"message": prompt, "parts": [part]}
    return {"hook": "chat.message", "input": {"sessionID": session}, "output": output}


def bus(kind, session="s1", **properties):
    """Make the step of an event on OpenCode's bus."""
    members = {"sessionID": session, **properties}
    return {"event": {"id": f"evt_{next(NUMBERS)}", "type": kind, "properties": members}}
