"""Trust in a hook is bound to the code that it was seen to load."""

from __future__ import annotations

import asyncio
import sys

import pytest

from anyhook import BeforeTool, TrustStore
from anyhook.trust.observed import observed_file, read_observed
from tests.waiting import until
from tests.warm import CLIENTS, FOOTER, HEADER, Warm

WRITE = BeforeTool(tool_name="write_file", tool_input={})
HOOK = ".anyhook/guard.py"
LOADED = "lib/rules.py"
SAYS = "@hooks.before_tool\ndef say(event):\n"
ANSWER = "    return deny(WORD)\n"
ROOT = "from pathlib import Path\nROOT = Path(__file__).parents[1]\nNAME = 'ru' + 'les'\n"
COMPUTED_WAYS = {
    "computed import": ROOT
    + "import sys\nsys.path.insert(0, str(ROOT / 'l{}b'.format('i')))\n"
    + "WORD = __import__(NAME).WORD\n"
    + SAYS
    + ANSWER,
    "import in a function": ROOT
    + SAYS
    + "    import sys\n    sys.path.insert(0, str(ROOT / 'l{}b'.format('i')))\n"
    + "    WORD = __import__(NAME).WORD\n"
    + ANSWER,
    "exec of a text": ROOT
    + SAYS
    + "    names = {}\n    path = ROOT / 'l{}b'.format('i') / (NAME + '.py')\n"
    + "    exec(open(path).read(), names)\n    WORD = names['WORD']\n"
    + ANSWER,
    "exec of a text while loading": "from __future__ import annotations\n"
    + ROOT
    + "path = ROOT / 'l{}b'.format('i') / (NAME + '.py')\nexec(path.read_text())\n"
    + SAYS
    + ANSWER,
    "runpy": ROOT
    + "import runpy\n"
    + SAYS
    + "    path = ROOT / 'l{}b'.format('i') / (NAME + '.py')\n"
    + "    WORD = runpy.run_path(str(path))['WORD']\n"
    + ANSWER,
    "importlib with a name from a file": ROOT
    + "import importlib, sys\n"
    + SAYS
    + "    sys.path.insert(0, str(ROOT / 'l{}b'.format('i')))\n"
    + "    name = (ROOT / 'name.txt').read_text()\n"
    + "    WORD = importlib.import_module(name).WORD\n"
    + ANSWER,
    "a module that is not kept": ROOT
    + "import importlib.util as util\n"
    + SAYS
    + "    path = ROOT / 'l{}b'.format('i') / (NAME + '.py')\n"
    + "    spec = util.spec_from_file_location('m', path)\n"
    + "    module = util.module_from_spec(spec)\n    spec.loader.exec_module(module)\n"
    + "    WORD = module.WORD\n"
    + ANSWER,
}
"""Hook files whose texts do not show what they load."""


@pytest.fixture
def store(tmp_path):
    return TrustStore(tmp_path / "trust")


@pytest.fixture
def warm(world, monkeypatch):
    warm = Warm(world.project, [*CLIENTS.values()][-1])
    monkeypatch.setenv("ANYHOOK_RUNTIME_DIR", str(warm.runtime))
    yield warm
    warm.close()


def configure(world, body):
    """Write a hook file that loads `LOADED`, and settings that run it."""
    world.write(world.project / "name.txt", "rules")
    write_loaded(world, "first")
    future, end, rest = body.rpartition("annotations\n")
    path = world.write(world.project / HOOK, future + end + HEADER + rest + FOOTER)
    hook = {"type": "command", "command": f"{sys.executable} {HOOK}", "timeout": 20_000}
    world.settings("project", {"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    return path


def write_loaded(world, word):
    return world.write(world.project / LOADED, f"WORD = '{word}'\n")


def load(world, store):
    return world.load(trust_once=False, trust_store=store, warm=False)


def trust(world, store):
    subjects = load(world, store).guard.subjects()
    store.trust(world.project, subjects, agent="gemini")
    return subjects[0]


def result(world, store):
    (only,) = asyncio.run(load(world, store).dispatch(WRITE)).results
    return only


def is_kept(path, loaded):
    return str(loaded) in read_observed(observed_file(str(path))).code


@pytest.mark.parametrize("way", COMPUTED_WAYS)
def test_code_that_a_warm_hook_has_loaded_is_bound(world, store, warm, way):
    path = configure(world, COMPUTED_WAYS[way])
    trust(world, store)
    loaded = world.project / LOADED

    assert "first" in warm.warm(path)[1]

    until(lambda: is_kept(path, loaded), "what the hook loaded was not kept")
    (change,) = load(world, store).guard.changes()
    assert change.what == "script"
    assert f"{loaded}: was loaded in a run on 20" in "\n".join(change.difference)
    assert result(world, store).status == "withheld"
    assert loaded in [script.path for script in trust(world, store).scripts]
    assert result(world, store).answer.reason == "first"
    write_loaded(world, "other")
    assert result(world, store).status == "withheld"
