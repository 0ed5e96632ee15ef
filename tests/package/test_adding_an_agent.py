"""An agent is a folder and a line: nothing else in the package names one."""

from __future__ import annotations

import ast
import json
import re
import sys
from functools import cache
from pathlib import Path

import pytest

import anyhook
import anyhook.agents
from anyhook.agents import AGENTS, NAMES, get_agent
from anyhook.migrate.plan import merge_into, plan_migration
from anyhook.settings.sources import Location
from tests.world import World

ROOT = Path(__file__).parents[2]
SRC = Path(anyhook.__file__).parent
REGISTRY = "agents/__init__.py"

EXCEPTIONS = {
    "testing/cases.py": "examples in messages",
    "testing/running.py": "the default of an argument in the public interface",
    "migrate/corpus.py": "the built-in events are written in the words of one agent",
    "integrations/claude_sdk/": "the SDK runs the program of this agent",
    "integrations/model_api.py": "model requests in the form of the agent that shows them",
    "cli/panel/": "the cursor of a terminal, and an editor with the name of an agent",
    "guards/": "hook files that users read list what they protect, and have examples for agents",
    "probe/models/": "a model API has the name of its maker",
}
"""File or directory that names an agent outside of docstrings and comments, and why."""
SHARED_NAMES = frozenset({"generic"})
"""Names of agents that are words of the language, too."""


def owner_of(file):
    """Return the agent whose folder a file is in; `None` if it is in none."""
    folder, _, rest = file.removeprefix("agents/").partition("/")
    return folder if file.startswith("agents/") and rest and folder in NAMES else None


@cache
def words_in(file):
    """Return the names and texts of a module, one on each line, no docstrings and comments."""
    return "\n".join(_iter_words(file))


def _iter_words(file):
    tree = ast.parse((SRC / file).read_bytes())
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield node.value if isinstance(node.value, str) else ""
        for member in ("id", "attr", "name", "module", "arg", "asname"):
            value = getattr(node, member, None)
            if isinstance(value, str):
                yield value


def names_an_agent(file, agent):
    name = re.compile(rf"(?<![a-z]){agent}", re.IGNORECASE)
    return name.search(words_in(file)) is not None


FILES = [file.relative_to(SRC).as_posix() for file in sorted(SRC.rglob("*.py"))]
SHARED = [file for file in FILES if owner_of(file) is None and file != REGISTRY]


@pytest.mark.slow
@pytest.mark.parametrize("agent", [name for name in NAMES if name not in SHARED_NAMES])
def test_nothing_outside_of_its_folder_names_an_agent(agent):
    files = [file for file in SHARED if names_an_agent(file, agent)]

    assert [file for file in files if not file.startswith(tuple(EXCEPTIONS))] == []


@pytest.mark.parametrize("place", EXCEPTIONS)
def test_an_exception_is_needed(place):
    files = [file for file in SHARED if file.startswith(place)]

    assert any(names_an_agent(file, agent) for file in files for agent in NAMES)


@pytest.mark.parametrize("agent", NAMES)
def test_the_registry_names_an_agent_in_one_line(agent):
    lines = (SRC / REGISTRY).read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if f'"{agent}"' in line] == [f'    "{agent}",']


# -- the agent of CONTRIBUTING


def blocks():
    """Return the files that CONTRIBUTING shows for a new agent: path to content."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## Add an agent")[1].split("\n## ")[0]
    return dict(re.findall(r"```python\n# (src/\S+)\n(.*?)```", section, re.DOTALL))


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Add the agent of CONTRIBUTING to the package, and return a world of it."""
    files = blocks()
    assert len(files) == 3
    for path, content in files.items():
        file = tmp_path / path.removeprefix("src/anyhook/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    search_path = [*anyhook.agents.__path__, str(tmp_path / "agents")]
    monkeypatch.setattr(anyhook.agents, "__path__", search_path)
    module = __import__("anyhook.agents.acme", fromlist=["ENTRY"])
    monkeypatch.setitem(AGENTS, "acme", module.ENTRY)
    world = World(tmp_path / "world", agent="acme")
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(world.project)
    yield world
    for name in [name for name in sys.modules if name.startswith("anyhook.agents.acme")]:
        del sys.modules[name]


HOOK = """
from anyhook.authoring import Hooks, deny

hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    return deny("no rm") if "rm" in event.call.command else None

if __name__ == "__main__":
    hooks.run()
"""


def test_an_agent_of_three_files_is_installed_and_checked(sample, run):
    file = sample.write(sample.project / "guard.py", HOOK)
    arguments = ("--agent", "acme", "--yes", "--python", sys.executable)

    installed, _, err = run("add", str(file), *arguments)
    settings = json.loads((sample.project / ".acme" / "hooks.json").read_text(encoding="utf-8"))
    checked, out, _ = run("check", "--agent", "acme")

    assert (installed, checked) == (0, 0), (err, out)
    (definition,) = settings["hooks"]["tool.before"]
    assert definition["matcher"] == "shell"


def test_its_hooks_decide_in_its_words(sample, run):
    line = """echo '{"verdict": "no", "why": "no rm"}'"""
    hook = {"matcher": "shell", "hooks": [{"type": "command", "command": line}]}
    settings = {"hooks": {"tool.before": [hook]}}
    sample.write(sample.project / ".acme" / "hooks.json", json.dumps(settings))

    call = ("--tool", "shell", "--input", '{"command": "rm x"}', "--json", "--trust-once")
    code, answer, err = run("fire", "tool.before", "--agent", "acme", *call)

    assert code == 0, err
    decision = json.loads(answer)["decision"]
    assert (decision["outcome"], decision["reason"]) == ("deny", "no rm")


def test_a_hook_of_another_agent_moves_to_it(sample):
    hook = {"type": "command", "command": "./guard.sh"}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}
    sample.write(sample.project / ".claude" / "settings.json", json.dumps(hooks))
    location = Location(sample.project, sample.home, {})

    migration = plan_migration(get_agent("claude"), get_agent("acme"), location)
    text, _ = merge_into(migration, "", "hooks.json")

    (definition,) = json.loads(text)["hooks"]["tool.before"]
    (handler,) = definition["hooks"]
    assert definition["matcher"] == "shell"
    assert "--as claude" in handler["command"]
