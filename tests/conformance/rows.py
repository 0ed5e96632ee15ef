"""Loads conformance rows; strict about what a row may hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
KEYS = {"id", "source", "behaviour", "given", "expect", "gap"}


def load(feature: str) -> list[dict]:
    """Read the rows of a feature."""
    rows = json.loads(
        (CASES / f"{feature}.json").read_text(encoding="utf-8"), object_hook=_expand_repetition
    )
    for row in rows:
        extra = row.keys() - KEYS
        assert not extra, f"{row.get('id')}: unknown keys {extra}"
        for key in ("id", "source", "behaviour"):
            assert isinstance(row.get(key), str), f"{row.get('id')}: {key} is missing"
        assert row["id"].startswith(f"{feature}:"), row["id"]
        assert ("gap" in row) != ("expect" in row), f"{row['id']}: a gap or an expectation"
    return rows


def _expand_repetition(value: dict) -> dict | str:
    """Make the text that `{"repeat": TEXT, "times": N, "before": …, "after": …}` stands for."""
    if not {"repeat", "times"} <= value.keys():
        return value
    return value.get("before", "") + value["repeat"] * value["times"] + value.get("after", "")


def parametrize(feature: str):
    """Run a test once for every row of a feature that is no gap."""
    rows = [row for row in load(feature) if "gap" not in row]
    return pytest.mark.parametrize("row", rows, ids=[row["id"] for row in rows])


def parametrize_rules(feature: str):
    """Run a test for every row and rule set; a row that names a rule set is for that alone."""
    pairs = []
    for row in load(feature):
        for rules in ("documented", "observed"):
            if "gap" not in row and row["given"].get("rules", rules) == rules:
                given = {**row["given"], "rules": rules}
                pairs.append(pytest.param({**row, "given": given}, id=f"{row['id']}-{rules}"))
    return pytest.mark.parametrize("row", pairs)
