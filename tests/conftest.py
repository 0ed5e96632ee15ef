"""What every test has: a home of its own, a clean environment, and a look for leftovers."""

from __future__ import annotations

import gc
import itertools
import os
import signal
from pathlib import Path

import pytest

from anyhook.agents import AGENTS
from anyhook.cli import main
from anyhook.shell.variables import controls_shell
from tests.world import World

DATA = Path(__file__).parent / "data"
OF_AGENTS = {
    name for entry in AGENTS.values() for name in (*entry.variables, *entry.child_variables)
}
OF_OTHERS = ("GEMINI_", "CLAUDE", "ANYHOOK_", "GITHUB_")
"""What the names of further variables begin with."""
OTHERS = ("COLUMNS", "LINES", "SURFACE", "XDG_CONFIG_HOME")


def pytest_configure():
    gc.disable()  # until everything is collected, which is kept
    # A shell that starts the tests in the background ignores SIGINT, which processes inherit.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_sessionfinish():
    gc.unfreeze()  # Hypothesis looks for referrers when it is imported, which pytest does last


@pytest.fixture(scope="session", autouse=True)
def clean_environment():
    """No test has variables of the developer, of an agent that runs the tests, or of pytest."""
    for name in list(os.environ):
        is_of_agent = name in OF_AGENTS or name.startswith(OF_OTHERS)
        if is_of_agent or name in OTHERS or controls_shell(name):
            del os.environ[name]


@pytest.fixture(scope="session")
def homes(tmp_path_factory):
    """Yield the paths of new homes.

    `mktemp` reads the names of all directories that it made, 10 ms after thousands of tests.
    """
    directory = tmp_path_factory.mktemp("homes")
    return (directory / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def clean_surroundings(homes, monkeypatch):
    """No test reads or writes the developer's home, settings or trust."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANYHOOK_DATA_DIR", str(home / "data"))
    monkeypatch.setenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH", str(home / "system" / "settings.json"))
    monkeypatch.setenv("ANYHOOK_MANAGED_SETTINGS", str(home / "system" / "managed-settings.json"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("ANYHOOK_ALLOW", "off")  # the tests of it switch it on
    monkeypatch.setenv("ANYHOOK_WORKER", "off")  # a worker outlives the test; those of it say "on"
    return home


@pytest.fixture
def home(clean_surroundings):
    """The user's home in this test."""
    return clean_surroundings


@pytest.fixture
def project(tmp_path):
    """An empty project."""
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A project with settings of its own, which is the current directory."""
    world = World(tmp_path)
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.project)
    return world


@pytest.fixture
def run(capsys):
    """Run the command in this process. Returns exit code, output and errors."""

    def call(*arguments):
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Every test marked with anyio runs on both event loops."""
    return request.param
