"""The recipes of the documentation decide their own examples as they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anyhook.testing import run_examples

PAGE = Path(__file__).parents[2] / "docs" / "commands-of-a-call.md"
RECIPES = [
    block
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    if "hooks.example(" in block
]


@pytest.mark.parametrize("agent", ["claude", "gemini"])
@pytest.mark.parametrize("index", range(10))
def test_a_recipe_decides_its_examples(tmp_path, index, agent):
    file = tmp_path / "recipe.py"
    file.write_text(f"{RECIPES[index]}\nif __name__ == '__main__':\n    hooks.run()\n")

    results = list(run_examples(file, agent=agent))

    assert len(results) >= 2
    assert [result for result in results if not result.passed] == []
