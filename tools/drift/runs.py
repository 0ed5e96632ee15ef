"""The tests with real agents, for one release of one agent."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

from tools.drift.packages import ROOT, cache_directory

if TYPE_CHECKING:
    from tools.drift.packages import Package

SECONDS = 3600.0


def has_tests(package: Package) -> bool:
    """Return whether `make e2e` runs an agent: its variable is in the table of agents there."""
    text = (ROOT / "tests" / "e2e" / "agents.py").read_text(encoding="utf-8")
    return bool(package.variable) and package.variable in text


def failed_tests(package: Package, version: str) -> list[str]:
    """Run the tests with a release of an agent, and return the names of those that failed."""
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
        subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, timeout=SECONDS, check=False
        )
        return read_failures(results)


def read_failures(results: Path) -> list[str]:
    """Return the names of the tests that failed from a file in the form of JUnit.

    A run without a file has failed as a whole.
    """
    if not results.exists():
        return ["the test run itself"]
    cases = ET.parse(results).iter("testcase")  # noqa: S314 - see above
    failed = [case for case in cases if {part.tag for part in case} & {"failure", "error"}]
    return [str(case.get("name")) for case in failed]
