"""What others measured with releases of Cursor, against the `observed` rules in the engine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.conformance.test_conformance import cursor_payload
from tests.world import World, command

CASES = json.loads((Path(__file__).parent / "observed" / "cursor.json").read_text(encoding="utf-8"))
PREDICTED = [case for case in CASES if "beyond" not in case]


def observe(case, world):
    """Return what the engine makes of a case, in the words of the case."""
    line = case["output"].get("command") or command(case["output"])
    hooks = {case["event"]: [{"command": line, **case.get("handler", {})}], **case.get("more", {})}
    world.settings("user", {"version": 1, "hooks": hooks})
    engine = world.load(rules="observed")
    event, _ = engine.decode({**cursor_payload(case["event"], world), **case.get("fields", {})})

    decision = asyncio.run(engine.dispatch(event))

    return {
        "ran": any(result.status != "skipped" for result in decision.results),
        "outcome": str(decision.outcome),
        "approve": decision.approve,
        "continues": str(decision.outcome) == "deny",
        "reason": decision.reason,
        "context": list(decision.context),
    }


@pytest.mark.parametrize("case", PREDICTED, ids=[case["id"] for case in PREDICTED])
def test_an_observed_case_is_predicted(case, tmp_path):
    effect = observe(case, World(tmp_path, agent="cursor"))

    assert {key: effect[key] for key in case["observed"]} == case["observed"]


def test_what_cannot_be_predicted_has_a_reason():
    beyond = [case for case in CASES if "beyond" in case]

    assert len(beyond) == 2
    assert all(case["source"] and case["beyond"] for case in beyond)
