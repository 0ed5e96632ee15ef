"""The real agents run when they are asked for: with ANYHOOK_E2E=1."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

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
