"""The example of the documentation and the recipes decide their own examples as they say."""

from __future__ import annotations

import re
from pathlib import Path

from anyhook.testing import run_examples
from tests.tables import each

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "commands-of-a-call.md"
(ON_THE_PAGE,) = [
    block
    for block in re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    if "hooks.example(" in block
]
RECIPES = {path.name: path.read_text("utf-8") for path in ROOT.glob("examples/recipes/*.py")}


@each("text", [ON_THE_PAGE, *RECIPES.values()])
def test_a_recipe_decides_its_examples_in_every_agent(text):
    names = {"__name__": "recipe"}
    exec(compile(text, "recipe", "exec"), names)

    results = run_examples(names["hooks"])

    failed = [result for result in results if result.status == "failed"]
    assert [(item.agent, item.example.fields, item.got) for item in failed] == []
    decided = [result.example.fields for result in results if result.status == "ok"]
    assert all(example.fields in decided for example in names["hooks"].examples)


def test_the_page_names_every_recipe():
    links = re.findall(r"examples/recipes/(\w+\.py)\)", PAGE.read_text("utf-8"))

    assert sorted(links) == sorted(RECIPES)
