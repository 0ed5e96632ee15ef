"""The real agents run when they are asked for: with ANYHOOK_E2E=1."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.cli import main
from anyhook.probe.start import fence
from tests.e2e.agents import AGENTS, release_id
from tests.e2e.drive import run_agent

WANTED = os.environ.get("ANYHOOK_E2E") == "1"
HOOKS = Path(__file__).parent / "hooks"

collect_ignore_glob = [] if WANTED else ["test_*.py"]


def pytest_terminal_summary(terminalreporter):
    if WANTED and not fence():
        terminalreporter.write_line("e2e: no `unshare --net` here; agents had the whole network")


@pytest.fixture(scope="session", params=AGENTS, ids=release_id)
def agent(request):
    """Every test runs with each release of each agent."""
    return request.param.install()


@pytest.fixture
def hook_file(tmp_path):
    """Give a copy of a hook file of `tests/e2e/hooks`, with room beside it for what it writes."""
    directory = tmp_path / "hook"
    directory.mkdir()
    return lambda name: Path(shutil.copy(HOOKS / name, directory))


@pytest.fixture
def run(agent, project, home):
    """Run the agent in the project, with a hook file on some events."""

    def call(turns, *, prompt="do it", hook=None, on=()):
        command = shlex.join([sys.executable, str(hook)])
        settings = agent.settings(dict.fromkeys(on, command))
        return run_agent(agent, project, home, turns, prompt, settings)

    return call


@pytest.fixture
def add_guards(agent, project, home, monkeypatch):
    """Add guards to a repository of the user, for the agent."""
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    data = home / ("anyhook" if agent.name == "opencode" else ".local/share/anyhook")
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(data))  # where the hooks of the agent find it
    monkeypatch.chdir(project)
    subprocess.run(["git", "init", "-q", str(project)], check=True)

    def call(*names):
        assert main(["add", *names, "--agent", agent.name, "--yes"]) == 0

    return call
