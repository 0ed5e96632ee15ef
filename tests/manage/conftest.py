"""A project with the programs of this installation on the PATH."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def programs(monkeypatch):
    """Put the programs of this installation on the PATH, as an installed release has them."""
    directory = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def here(project, monkeypatch):
    monkeypatch.chdir(project)
    return project
