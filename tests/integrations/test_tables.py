"""The pages say of agents and frameworks what the code says."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_of_the_pages_are_those_of_the_code(tmp_path):
    before = {page.name: page.read_bytes() for page in DOCS.glob("*.md")}
    shutil.copytree(DOCS, tmp_path / "docs")

    runpy.run_path(str(tmp_path / "docs" / "tables.py"))

    after = {page.name: page.read_bytes() for page in (tmp_path / "docs").glob("*.md")}
    assert after == before
