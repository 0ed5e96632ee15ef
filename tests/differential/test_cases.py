"""The fixed cases in anyhook alone: no node is needed to see that a prediction changed."""

from __future__ import annotations

from tests.differential.cases import CASES, shown
from tests.tables import each


@each("case", CASES)
def test_fixed_here(ours, case):
    assert shown(ours.fire(case), case) == case["expect"]
