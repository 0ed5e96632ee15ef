"""A backtest on events that were recorded live gives the decisions that were recorded."""

from __future__ import annotations

import json
import random
from contextlib import nullcontext

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.authoring.load import load_hooks
from anyhook.authoring.process_exit import Output
from anyhook.authoring.run import answer
from anyhook.backtest.evaluation import recorded_baseline
from anyhook.backtest.report import find_changes
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.history.filters import Filter
from anyhook.history.ingest import ingest
from anyhook.history.store import History
from anyhook.testing import make_payload

HOOKS = """
from anyhook.authoring import Hooks, allow, ask, context, deny, stop
hooks = Hooks(on_crash="deny")

@hooks.before_tool("shell")
def guard(event):
    command = event.call.command
    if "rm" in command:
        return deny(f"no {command}")
    if "sudo" in command:
        return ask("really?")
    if "crash" in command:
        raise RuntimeError("crash")
    if "npm" in command:
        return event.rewrite(command=command.replace("npm", "pnpm"))

@hooks.before_tool
def every_tool(event):
    if event.tool == "write_file" and ".env" in event.call.file_path:
        return deny("no secrets")
    if event.tool == "shell" and "git" in event.call.command:
        return allow()

@hooks.after_tool
def look(event):
    if "rm" in event.text:
        return context("look at the result")

@hooks.before_prompt
def prompt(event):
    if "password" in event.prompt:
        return deny("no passwords")
    return context("be careful")

@hooks.after_agent
def end(event):
    return stop("enough")
"""
COMMANDS = ["ls", "rm -rf build", "sudo ls", "crash", "npm install", "git push"]
PROMPTS = ["hello", "my password"]
EVENTS = ["before_tool", "before_tool", "after_tool", "before_prompt", "after_agent"]


class Delivered(Output):
    """Takes the answer of a hook, as the worker does."""

    def watch(self, seconds, on_late):
        return nullcontext()

    def write(self, text, fallback):
        self.text = text


def payloads(agent, number):
    """Return payloads of an agent, the same ones in every run."""
    chosen = random.Random(agent)
    known = get_agent(agent).by_canonical
    for _ in range(number):
        event = chosen.choice([event for event in EVENTS if event in known])
        fields = {}
        if event == "before_prompt":
            fields = {"prompt": chosen.choice(PROMPTS)}
        elif event in ("before_tool", "after_tool"):
            path = chosen.choice(["/a/.env", "/a/b"])
            tool, arguments = chosen.choice(
                [
                    ("shell", {"command": chosen.choice(COMMANDS)}),
                    ("write_file", {"file_path": path, "content": "x"}),
                ]
            )
            fields = {"tool": tool, "input": arguments}
        yield make_payload(event, agent=agent, **fields)


def record_live(hooks, agent, number):
    """Let a hook file answer events of an agent while recording is on."""
    for payload in payloads(agent, number):
        output = Delivered()
        try:
            answer(hooks, ["--agent", agent], json.dumps(payload).encode(), output)
        except SystemExit as end:
            assert end.code == output.code
        output.record()


@pytest.mark.slow
@pytest.mark.parametrize("agent", [*CODING_AGENTS, "generic"])
def test_a_hook_file_decides_as_it_did_live(tmp_path, monkeypatch, agent):
    directory = tmp_path / "history"
    directory.mkdir()
    (directory / "recording.json").write_text("{}")
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(tmp_path))
    file = tmp_path / "hooks.py"
    file.write_text(HOOKS)

    record_live(load_hooks(file), agent, 60)
    with History.open(directory) as history:
        assert ingest(history).problems == []
        parts = list(parts_of_history(str(directory), Filter()))
        subject = BacktestSubject(str(file), "hooks.py")
        run = run_backtest(subject, parts, jobs=1)
        _, recorded = recorded_baseline(history, Filter(), subject, run.result)

    assert run.result.total == 60
    assert list(find_changes(recorded, run.result)) == []
    assert len(run.result.outcomes()) >= 2
