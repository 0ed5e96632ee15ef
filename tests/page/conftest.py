"""Pages that are served while a test runs."""

from __future__ import annotations

import pytest

from tests.page.serving import Command, Served


@pytest.fixture
def running():
    """What is served; it is ended after the test."""
    found = []
    yield found
    for served in found:
        served.close()


@pytest.fixture
def serve(world, running):
    """Serve the page for the test's project."""

    def start(port=0):
        running.append(Served(world.project, port))
        return running[-1]

    return start


@pytest.fixture
def command(world, running):
    """Start the command `anyhook ui` for the test's project."""

    def start(port=0):
        running.append(Command(world.project, port))
        return running[-1]

    return start
