"""The real agents while they are recorded: they do the same, and everything is in the history."""

from __future__ import annotations

import json
import shlex

import pytest

from anyhook.cli import OK, main
from anyhook.history.ingest import ingest
from anyhook.history.store import History
from anyhook.probe.models.server import ModelTurn
from tests.e2e.drive import run_agent
from tests.waiting import until

pytestmark = pytest.mark.timeout(120, func_only=True)


@pytest.fixture
def data(home, project, monkeypatch):
    """Let the agent and this process have one home, and so one history."""
    monkeypatch.setenv("HOME", str(home))
    for name in ("ANYHOOK_DATA_DIR", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    return home / ".local" / "share" / "anyhook" / "history"


def events(data):
    with History.open(data) as history:
        ingest(history)
        rows = history.connection.execute(
            "SELECT event, tool, verdict FROM events ORDER BY time"
        ).fetchall()
        results = history.connection.execute(
            "SELECT label, kind, status, results.verdict, exit_code FROM results"
            " JOIN hooks ON hooks.id = hook_id"
        ).fetchall()
    return rows, results


def test_a_session_is_recorded(agent, project, home, data):
    guard = project / "guard.sh"
    guard.write_text("#!/bin/sh\ncat >/dev/null\necho 'not here' >&2\nexit 2\n")
    settings = agent.settings({"before_tool": f"sh {shlex.quote(str(guard))}"})
    path = project / agent.settings_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings, indent=2))
    before = path.read_bytes()
    assert main(["history", "record", "on", "--agent", agent.name, "--tap", "--yes"]) == OK
    turns = [
        ModelTurn("I run it.", tools=[agent.shell("echo fine > made.txt")]),
        ModelTurn("Done."),
    ]

    run = run_agent(agent, project, home, turns, "do it")

    assert run.exit_code == 0
    assert not (project / "made.txt").exists()
    [reason] = run.tool_results()
    assert "not here" in reason

    def is_recorded():
        seen, results = events(data)
        names = {event for event, _, _ in seen}
        return {"before_prompt", "before_tool"} <= names and any(
            label == "guard.sh" for label, *_ in results
        )

    until(is_recorded, lambda: f"not recorded: {events(data)}")
    rows, results = events(data)
    assert ("before_tool", "shell", "deny") in rows
    assert ("guard.sh", "command", "ran", "deny", 2) in results
    assert [kind for _, kind, *_ in results].count("recorder") >= 3
    assert main(["history", "record", "off", "--yes"]) == OK
    after = path.read_bytes()
    if b'"$version"' not in after:  # Qwen Code adds it by itself
        assert after == before
    assert json.loads(after)["hooks"] == settings["hooks"]
