"""What tests of the command share."""

from __future__ import annotations

import pytest

from anyhook.cli import main
from tests.world import World


@pytest.fixture
def world(tmp_path, monkeypatch):
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
