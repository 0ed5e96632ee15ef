"""What every command promises under `--json`: the files in `tests/data/json` hold its output.

The tables of `docs/json.md` are made of these files. To write them again after a change that is
meant: `ANYHOOK_WRITE_GOLDEN=1 python -m pytest -n0 tests/cli/test_json_output.py`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import anyio
import pytest
from tools.json_page import PAGE, page

from anyhook import BeforeTool, Engine
from anyhook.engine.recorder import Recorder
from anyhook.trust.approvals import Approvals, DeniedCall
from tests.conftest import DATA

FILES = DATA / "json"
IS_WRITTEN = os.environ.get("ANYHOOK_WRITE_GOLDEN") == "1"
GUARD = """#!/usr/bin/env python3
from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool("shell")
def guard(event):
    \"\"\"Keep files.\"\"\"
    if "rm" in event.call.command:
        return deny("not here")
    if "sudo" in event.call.command:
        return event.rewrite(command=event.call.command.replace("sudo ", ""))
    return None


hooks.example(tool="shell", input={"command": "rm x"}, expect="deny")
hooks.example(tool="shell", input={"command": "ls"}, expect="deny")

if __name__ == "__main__":
    hooks.run()
"""
SETTINGS = {
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": f"{sys.executable} guard.py"},
                    {"type": "command", "command": "sh fails.sh", "timeout": 5},
                ],
            },
        ],
        "Stopp": [{"hooks": [{"type": "command", "command": "true"}]}],
        "SessionStart": [{"hooks": [{"type": "command", "command": "echo hello"}]}],
    }
}
FAILS = "echo failed >&2\nexit 1\n"
CASES = """
[[case]]
name = "a removal"
event = "before_tool"
tool = "shell"
input = { command = "rm -rf /" }
expect = "deny"

[[case]]
name = "a list"
event = "before_tool"
tool = "shell"
input = { command = "ls" }
expect = "deny"
"""
TRUST = ("trust", "--yes")
COMMANDS = {
    "allow": ["allow", "--list"],
    "add": ["add", "guard.py", "--agent", "gemini", "--yes"],
    "backtest": ["backtest", "guard.py", "--yes"],
    "backtest-against": ["backtest", "guard.py", "--against", "recorded", "--yes"],
    "agents": ["agents"],
    "agents-capabilities": ["agents", "capabilities", "before_tool"],
    "check": ["check"],
    "disable": ["disable", "guard.py"],
    "disable-dry-run": ["disable", "guard.py", "--dry-run"],
    "worker-doctor": ["worker", "doctor"],
    "enable": ["enable", "guard.py"],
    "fire": ["fire", "before_tool", "--tool", "Bash", "--input", '{"command": "sudo rm x"}'],
    "fire-changes": ["fire", "before_tool", "--tool", "Bash", "--input", '{"command": "sudo ls"}'],
    "fire-untrusted": ["fire", "before_tool", "--tool", "Bash", "--input", '{"command": "ls"}'],
    "history": ["history"],
    "history-export": ["history", "export", "events.jsonl"],
    "history-import": ["history", "import"],
    "history-search": ["history", "search"],
    "history-show": ["history", "show", "last"],
    "history-stats": ["history", "stats"],
    "init": ["init", "--bare", "--agent", "claude", "--yes"],
    "list": ["list"],
    "migrate": ["migrate", "--from", "claude", "--to", "gemini", "--yes"],
    "migrate-proof": ["migrate", "--from", "claude", "--to", "gemini", "--prove", "--yes"],
    "enable-shadow": ["enable", "guard.py", "--yes"],
    "history-record-off": ["history", "record", "off", "--yes"],
    "history-record-on": ["history", "record", "on", "--agent", "claude", "--yes"],
    "history-record-status": ["history", "record", "status"],
    "remove": ["remove", "guard.py", "--yes"],
    "history-replay": ["history", "replay", "last", "--hook", "guard.py", "--yes"],
    "shadow": ["shadow", "guard.py", "--yes"],
    "test": ["test", "guard.py", "--agent", "claude", "--yes"],
    "test-cases": ["test", "cases.toml", "--trust-once", "--yes"],
    "trust": ["trust", "--yes"],
    "trust-revoke": ["trust", "--revoke"],
    "trust-show": ["trust", "--show"],
    "worker-status": ["worker", "status"],
    "worker-stop": ["worker", "stop"],
}
"""File to the command line without `--json`."""
BEFORE = {
    "check": [TRUST],
    "disable": [TRUST],
    "worker-doctor": [TRUST],
    "enable": [TRUST, ("disable", "guard.py")],
    "fire": [TRUST],
    "fire-changes": [TRUST],
    "list": [TRUST],
    "enable-shadow": [TRUST, ("shadow", "guard.py", "--yes")],
    "history-record-off": [("history", "record", "on", "--agent", "claude", "--yes")],
    "history-record-status": [("history", "record", "on", "--agent", "claude", "--yes")],
    "shadow": [TRUST],
    "migrate": [TRUST],
    "migrate-proof": [TRUST],
    "trust-revoke": [TRUST],
    "remove": [("add", "guard.py", "--agent", "claude", "--yes")],
}
"""File to the commands that are run before it."""
VOLATILE = re.compile(
    r"(_ms|_size|digest|duration|seconds|started|time|last|sha256|says|text|python|program|release)$"
)
"""Members whose values differ from run to run; their types are compared."""
UNSTABLE_TEXT = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|toolu_\w+|/tmp/anyhook-\w+|20\d\d-\d\d-\d\d|[0-9a-f]{12}"
)
"""Parts of texts that differ from run to run."""


def record_events(project):
    """Record a session of four events, as an engine does."""

    async def dispatch():
        engine = Engine.load(project, agent="claude", environ={**os.environ}, trust_once=True)
        engine.add_observer(Recorder(project))
        for command in ("rm x", "sudo ls", "ls", "ls -l"):
            event = BeforeTool(tool_name="Bash", tool_input={"command": command}, session_id="s1")
            await engine.dispatch(event)

    anyio.run(dispatch)


def deny_calls(project):
    """Keep three denied calls: one that waits, one that is allowed, and one that ran."""
    shutil.rmtree(Path(os.environ["ANYHOOK_DATA_DIR"]) / "approvals", ignore_errors=True)
    approvals = Approvals()
    for call_id in ("AAAAAA", "BBBBBB", "CCCCCC"):
        call = DeniedCall(
            id=call_id,
            hook=str(project / "guard.py"),
            agent="claude",
            tool="Bash",
            cwd=str(project),
            project=str(project),
            time=time.time(),
            arguments='{"command": "rm x"}',
            reason="no rm",
            digest=call_id,
        )
        approvals.keep(call)
        if call_id != "AAAAAA":
            approvals.grant(call, "/dev/pts/1")
    approvals.use("CCCCCC")


@pytest.fixture
def place(world, monkeypatch):
    """A project with a hook that guards, one that fails, and a recorded session."""
    world.write(world.project / "guard.py", GUARD)
    world.write(world.project / "fails.sh", FAILS)
    world.write(world.project / "cases.toml", CASES)
    world.settings("project:claude", SETTINGS)
    record_events(world.project)
    deny_calls(world.project)
    # Other workers of this user are not shown.
    with tempfile.TemporaryDirectory(prefix="anyhook-", dir="/tmp") as directory:
        monkeypatch.setenv("ANYHOOK_RUNTIME_DIR", directory)
        yield world


def stable(value, place, home, name=""):
    """Return a value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: stable(item, place, home, key) for key, item in value.items()}
    if isinstance(value, list):
        return [stable(item, place, home, name) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return type(value)() if VOLATILE.search(name) or isinstance(value, float) else value
    value = UNSTABLE_TEXT.sub("…", value)
    for text, word in ((place.root, "/somewhere"), (home, "/home"), (sys.executable, "python3")):
        value = value.replace(str(text), word)
    return "…" if VOLATILE.search(name) else value


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_writes_what_its_file_promises(place, run, home, name):
    if "shadow" in name:  # a shared file gets no path of this machine
        text = json.dumps(SETTINGS).replace(f"{sys.executable} guard.py", "anyhook run guard.py")
        place.settings("project:claude", json.loads(text))
    for command in BEFORE.get(name, []):
        code, _, errors = run(*command)
        assert code == 0, errors

    _, out, errors = run(*COMMANDS[name], "--json")

    assert out, errors
    value = stable([json.loads(line) for line in out.splitlines()], place, home)
    line = " ".join(["anyhook", *COMMANDS[name], "--json"])
    text = json.dumps({"command": line, "output": value}, indent=1, ensure_ascii=False) + "\n"
    path = FILES / f"{name}.json"
    if IS_WRITTEN:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8"))


def test_the_page_has_the_members_of_the_files():
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again with: make docs"
