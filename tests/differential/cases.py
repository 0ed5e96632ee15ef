"""The fixed cases, and what comes of them in the core."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.differential.sides import Case, Effects

CASES: list[Case] = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))


def ids(case: Case) -> str:
    """Name the test of a case."""
    return str(case["id"])


def shown(effects: Effects, case: Case) -> dict[str, Any]:
    """Leave out what is empty, and of what hooks saw what the case does not speak of."""
    expect = case["expect"]
    kept = {key: value for key, value in effects.items() if value or key == "ran"}
    seen = kept.pop("seen", {})
    if "seen" in expect:
        kept["seen"] = {
            name: {key: told[key] for key in expect["seen"].get(name, ())}
            for name, told in seen.items()
        }
    return kept
