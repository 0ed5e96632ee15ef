"""The tests with real agents, for one release of one agent."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.drift.packages import ROOT, cache_directory

if TYPE_CHECKING:
    from tools.drift.packages import Package

SECONDS = 3600.0
FINISHED = frozenset({0, 1, 5})
"""Exit codes of pytest: all tests passed, some failed, none was chosen."""


@dataclass(frozen=True, slots=True)
class AgentTests:
    """A run of the tests with a release of an agent.

    Attributes:
        count: Tests that ran.
        skipped: Tests that were skipped.
        failed: Names of those that failed.
        problem: Why the run shows nothing; empty if it does.
    """

    count: int = 0
    skipped: int = 0
    failed: tuple[str, ...] = ()
    problem: str = ""


def has_tests(package: Package) -> bool:
    """Return whether `make e2e` runs an agent: its variable is in the table of agents there."""
    text = (ROOT / "tests" / "e2e" / "agents.py").read_text(encoding="utf-8")
    return bool(package.variable) and package.variable in text


def run_tests(package: Package, version: str) -> AgentTests:
    """Run the tests with a release of an agent.

    Args:
        package: The agent.
        version: The release; the names of its tests hold it (`tests.e2e.agents.release_id`).
    """
    with tempfile.TemporaryDirectory(prefix="drift-") as scratch:
        results = Path(scratch) / "results.xml"
        command = [sys.executable, "-m", "pytest", "tests/e2e", "-q", "-p", "no:cacheprovider",
                   "-k", f"{package.agent}-{version}", f"--junitxml={results}"]  # fmt: skip
        environ = {
            **os.environ,
            "ANYHOOK_E2E": "1",
            "ANYHOOK_E2E_CACHE": str(cache_directory()),
            package.variable: version,
        }
        done = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, timeout=SECONDS, check=False
        )
        return read_results(results, done.returncode)


def read_results(results: Path, exit_code: int) -> AgentTests:
    """Read how tests ended from a file in the form of JUnit.

    Args:
        results: The file.
        exit_code: That of pytest.
    """
    if not results.exists() or exit_code not in FINISHED:
        return AgentTests(problem=f"pytest ended with exit code {exit_code}")
    count, skipped = 0, 0
    failed: list[str] = []
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 - see above
        outcomes = {part.tag for part in case}
        if "skipped" in outcomes:
            skipped += 1
            continue
        count += 1
        if outcomes & {"failure", "error"}:
            failed.append(str(case.get("name")))
    problem = "" if count else f"no test ran, {skipped} were skipped"
    return AgentTests(count, skipped, tuple(failed), problem)
