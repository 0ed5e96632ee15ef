"""What weakens a guard is refused to a process that an agent has started."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import ANY

import pytest

from anyhook.agents import AGENTS
from anyhook.cli.app import COMMANDS, words_of
from tests.tables import fast_for

GUARD = """
from anyhook.authoring import Hooks, deny

hooks = Hooks()


@hooks.before_tool("shell")
def guard(event):
    return deny("no")


if __name__ == "__main__":
    hooks.run()
"""
WEAKENING = {
    "remove": ["remove", "guard.py", "--yes"],
    "disable": ["disable", "guard.py"],
    "shadow": ["shadow", "guard.py", "--yes"],
    "trust": ["trust", "--yes"],
    "revoke": ["trust", "--revoke"],
    "record": ["history", "record", "off", "--yes"],
    "allow": ["allow", "K3F9QX"],
}
"""Commands that weaken a guard, by name."""
HARMLESS = {
    "list": ["list"],
    "check": ["check"],
    "trust --show": ["trust", "--show"],
    "trust --json": ["trust", "--json"],
    "remove --dry-run": ["remove", "guard.py", "--dry-run"],
    "shadow --dry-run": ["shadow", "guard.py", "--dry-run"],
    "record off --dry-run": ["history", "record", "off", "--dry-run"],
    "record on": ["history", "record", "on", "--yes"],
    "enable": ["enable", "guard.py"],
    "add": ["add", "guard.py", "--yes"],
}
OTHERS = {
    *"init add list check fire test enable hooks ui probe redteam score backtest history".split(),
    *(f"history {word}" for word in "show search stats replay report import export".split()),
    *("history record on", "history record status", "migrate", "agents", "agents capabilities"),
    *("agents schema", "run", "serve", "dispatch", "shim", "convert", "completion"),
    *(f"worker {word}" for word in "status stop doctor bench".split()),
}
"""Commands that weaken no guard."""


@pytest.fixture
def guarded(world, run):
    """Return a project with a guard that is installed, trusted and recorded."""
    (world.project / "guard.py").write_text(GUARD)
    for command in (["add", "guard.py"], ["trust"], ["history", "record", "on"]):
        assert run(*command, "--agent", "claude", "--yes") == (0, ANY, ANY)
    return world


def every_file():
    """Return the files of the project and the home with what they hold."""
    roots = [Path.cwd(), Path.home(), Path(os.environ["ANYHOOK_DATA_DIR"])]
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in files if "__pycache__" not in path.parts}


def variables():
    """Return a variable that each agent sets for the commands that it runs."""
    return [(name, entry.name) for entry in AGENTS.values() for name in entry.child_variables]


@pytest.mark.parametrize("command", fast_for(WEAKENING))
def test_a_command_that_weakens_a_guard_is_left_to_the_user(guarded, run, monkeypatch, command):
    monkeypatch.setenv("CLAUDECODE", "1")
    before = every_file()

    code, _, errors = run(*WEAKENING[command])

    assert code == 1
    assert "Claude Code has started this process" in errors
    assert f"cd {guarded.project} && anyhook {' '.join(WEAKENING[command])}" in errors
    assert every_file() == before


@pytest.mark.parametrize(("variable", "_agent"), fast_for(variables()))
def test_the_variables_of_every_agent_show_it(guarded, run, monkeypatch, variable, _agent):
    monkeypatch.setenv(variable, "1")

    assert run("disable", "guard.py")[0] == 1


@pytest.mark.parametrize("command", fast_for(HARMLESS, "check", "add"))
def test_what_weakens_no_guard_is_not_refused(guarded, run, monkeypatch, command):
    monkeypatch.setenv("CLAUDECODE", "1")

    _, _, errors = run(*HARMLESS[command])

    assert "has started this process" not in errors


# `allow` also needs a terminal: `tests/trust/test_approvals.py`.
@pytest.mark.parametrize("command", fast_for([name for name in WEAKENING if name != "allow"]))
def test_without_an_agent_the_commands_work(guarded, run, command):
    assert run(*WEAKENING[command]) == (0, ANY, ANY)


def test_every_command_is_known_to_weaken_guards_or_not():
    weakening = {words_of(arguments) for arguments in WEAKENING.values()}

    assert {*COMMANDS} - OTHERS == weakening
