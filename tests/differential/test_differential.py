"""Under the rules `observed`, anyhook does what the release does that they describe."""

from __future__ import annotations

import pytest
from benchmarks.peer import PACKAGE, VERSION
from hypothesis import HealthCheck, assume, given, seed, settings

from anyhook.agents import get_agent
from tests.differential import strategies as make
from tests.differential.cases import CASES, ids, shown
from tests.differential.conftest import EXAMPLES, SEED
from tests.differential.known import KNOWN, PREDICATES, covering


def test_the_rules_describe_this_release():
    assert get_agent("gemini").rules("observed").release == f"{PACKAGE} {VERSION}"


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_fixed(sides, case):
    core, ours = sides.fire(case)

    assert shown(core, case) == case["expect"]
    assert ours == core


@pytest.mark.parametrize("entry", KNOWN, ids=[entry["id"] for entry in KNOWN])
def test_known_divergence_is_still_there(sides, entry):
    core, ours = sides.fire(entry["case"])

    assert {key: core.get(key) for key in entry["core"]} == entry["core"]
    assert {key: ours.get(key) for key in entry["ours"]} == entry["ours"]
    assert entry["core"] != entry["ours"]


def test_every_predicate_covers_its_entry():
    cases = {entry["id"]: entry["case"] for entry in KNOWN}

    assert PREDICATES.keys() <= cases.keys()
    for name, covers in PREDICATES.items():
        assert covers(cases[name]), name


@pytest.mark.timeout(max(180, EXAMPLES))
@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(make.cases())
def test_random(sides, case):
    assume(covering(case) is None)

    core, ours = sides.fire(case)

    assert ours == core
