"""The recipes of the documentation decide their own examples as they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anyhook.testing import run_examples

PAGE = Path(__file__).parents[2] / "docs" / "commands-of-a-call.md"
RECIPES = [
    block
    for block in re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    if "hooks.example(" in block
]


@pytest.mark.parametrize("index", range(6))
def test_a_recipe_decides_its_examples_in_every_agent(index):
    names = {}
    exec(compile(RECIPES[index], f"recipe {index + 1}", "exec"), names)

    results = run_examples(names["hooks"])

    failed = [result for result in results if result.status == "failed"]
    assert [(item.agent, item.example.fields, item.got) for item in failed] == []
    decided = [result.example.fields for result in results if result.status == "ok"]
    assert all(example.fields in decided for example in names["hooks"].examples)


def test_there_are_an_example_and_five_recipes():
    assert len(RECIPES) == 6
