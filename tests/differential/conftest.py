"""The real hook system runs when it is asked for: with ANYHOOK_DIFFERENTIAL=1."""

from __future__ import annotations

import os
import shutil

import pytest
from benchmarks.peer import PACKAGE, VERSION, install_core

from tests.differential.core import Core
from tests.differential.sides import Comparison, Ours

# Read here, because no test sees ANYHOOK_* of the developer.
WANTED = os.environ.get("ANYHOOK_DIFFERENTIAL") == "1"
EXAMPLES = int(os.environ.get("ANYHOOK_EXAMPLES") or 300)
SEED = int(os.environ.get("ANYHOOK_SEED") or 1)

collect_ignore = [] if WANTED else ["test_differential.py"]


def pytest_terminal_summary(terminalreporter):
    if WANTED:
        terminalreporter.write_line(
            f"differential: {PACKAGE} {VERSION}, {EXAMPLES} random cases from seed {SEED} "
            "(ANYHOOK_EXAMPLES, ANYHOOK_SEED)"
        )


@pytest.fixture(scope="session")
def ours(tmp_path_factory):
    """Fire cases through anyhook alone."""
    side = Ours(tmp_path_factory.mktemp("ours"))
    yield side
    side.close()


@pytest.fixture(scope="session")
def sides(tmp_path_factory, ours):
    """Fire cases through the core and through anyhook."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"the real hook system needs {program}, which is not on PATH")
    package = install_core()
    if package is None:
        pytest.skip(f"{PACKAGE} is not installed, and the npm registry does not deliver it")
    core = Core(package, tmp_path_factory.mktemp("core"))
    yield Comparison(core, ours)
    core.close()
