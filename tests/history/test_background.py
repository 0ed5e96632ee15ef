"""An agent does not wait for a hook in the background, so its recorded answer does not count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from anyhook.history.denials import denials_to_look_at
from anyhook.history.ingest import ingest
from anyhook.history.store import History
from anyhook.journal.lines import SWITCH
from anyhook.shell.tapped import tap_words, write_tapped
from anyhook.testing import make_payload
from tests.waiting import until

HOOK_FILE = """
from anyhook.authoring import Hooks, deny
hooks = Hooks()
@hooks.before_tool("shell")
def guard(event):
    return deny("not here")
hooks.run()
"""
SCRIPT = "import sys; sys.stdin.read(); print('not here', file=sys.stderr); sys.exit(2)"


class Project:
    """A project of Claude Code whose only hooks run `guard.py`, and their history."""

    def __init__(self, root):
        self.root = root
        self.history = root / "data" / "history"
        self.history.mkdir(parents=True)
        (self.history / SWITCH).write_text("{}")
        (root / ".claude").mkdir()
        self.settings = root / ".claude" / "settings.json"
        self.command = f"{sys.executable} {root / 'guard.py'}"

    def configure(self, way, *flags):
        """Write one hook for each flag: whether it runs in the background."""
        (self.root / "guard.py").write_text(HOOK_FILE if way == "hook file" else SCRIPT)
        if way == "tap":
            self.command = write_tapped(tap_words("history", "claude"), self.command, "ANYHOOK_TAP")
        handlers = [{"type": "command", "command": self.command, "async": flag} for flag in flags]
        definitions = [{"matcher": "Bash", "hooks": [handler]} for handler in handlers]
        self.settings.write_text(json.dumps({"hooks": {"PreToolUse": definitions}}))

    def run(self):
        """Run the hook as an agent does; return the history of what it has recorded."""
        data = {"ANYHOOK_DATA_DIR": str(self.root / "data")}
        env = {**os.environ, **data, "CLAUDE_PROJECT_DIR": str(self.root)}
        payload = make_payload("before_tool", agent="claude", tool="shell", input={"command": "x"})
        event = json.dumps({**payload, "cwd": str(self.root)})
        subprocess.run(["sh", "-c", self.command], input=event.encode(), check=False, env=env)
        until(lambda: list(self.history.glob("journal/*.jsonl")), "not recorded")
        history = History.open(self.history)
        until(lambda: ingest(history).events, "not recorded")
        return history


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def verdicts(history):
    """Return the verdicts of events, and the status and the verdict of results."""
    events = history.connection.execute("SELECT verdict FROM events").fetchall()
    results = history.connection.execute("SELECT status, verdict FROM results").fetchall()
    return events, results


@pytest.mark.parametrize("way", ["hook file", "tap"])
def test_the_answer_of_a_hook_in_the_background_is_no_decision(project, way):
    project.configure(way, True)

    with project.run() as history:
        assert verdicts(history) == ([("none",)], [("started", "none")])
        assert denials_to_look_at(history) == []


@pytest.mark.parametrize("way", ["hook file", "tap"])
def test_the_answer_of_a_hook_that_the_agent_waits_for_is_a_decision(project, way):
    project.configure(way, False)

    with project.run() as history:
        assert verdicts(history) == ([("deny",)], [("ran", "deny")])


def test_the_answer_counts_if_the_agent_waits_for_one_of_two_entries(project):
    project.configure("hook file", True, False)

    with project.run() as history:
        assert verdicts(history)[0] == [("deny",)]


def test_the_answer_counts_if_the_settings_were_changed_since(project):
    project.configure("hook file", True)
    later = time.time() + 3600
    os.utime(project.settings, (later, later))

    with project.run() as history:
        assert verdicts(history)[0] == [("deny",)]
