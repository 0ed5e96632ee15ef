"""One contract for every agent: what hooks say is what happens."""

from __future__ import annotations

import asyncio

import pytest

from tests.integrations import bare
from tests.integrations.contract import check, scenarios
from tests.world import World

SCENARIOS = scenarios()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_a_bare_session_keeps_the_contract(scenario, tmp_path):
    seen = asyncio.run(bare.live(scenario, World(tmp_path, agent=scenario.agent)))

    check(scenario, seen)
