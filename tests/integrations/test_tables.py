"""The page says of frameworks what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_frameworks_is_that_of_the_code():
    page = DOCS / "integrations.md"
    before = page.read_bytes()

    subprocess.run([sys.executable, DOCS / "tables.py"], check=True, capture_output=True)

    assert page.read_bytes() == before
