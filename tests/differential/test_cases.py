"""The fixed cases in anyhook alone: no node is needed to see that a prediction changed."""

from __future__ import annotations

import pytest

from tests.differential.cases import CASES, ids, shown


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_fixed_here(ours, case):
    assert shown(ours.fire(case), case) == case["expect"]
