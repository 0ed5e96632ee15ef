"""Trust in a hook is bound to the code that it was seen to load."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook import BeforeTool, TrustStore
from anyhook.trust.observed import MAX_CODE, add_observed, observed_file, read_observed
from tests.waiting import until
from tests.warm import FOOTER, HEADER, Warm

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
    warm = Warm(world.project)
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


@pytest.mark.slow
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
    withheld = result(world, store)
    assert withheld.status == "withheld"
    assert f"it loaded {loaded} in a run" in withheld.diagnostics[0].message
    assert loaded in [script.path for script in trust(world, store).scripts]
    assert result(world, store).answer.reason == "first"
    write_loaded(world, "other")
    assert result(world, store).status == "withheld"


@pytest.mark.slow
@pytest.mark.parametrize("way", COMPUTED_WAYS)
def test_code_that_a_registered_file_has_loaded_is_bound(world, store, way):
    path = configure(world, COMPUTED_WAYS[way])
    trust(world, store)
    loaded = world.project / LOADED
    program = """
import asyncio, sys
from anyhook import BeforeTool, Engine
async def main():
    engine = Engine.load(sys.argv[1], agent="gemini")
    engine.register_file(sys.argv[2])
    decision = await engine.dispatch(BeforeTool(tool_name="write_file", tool_input={}))
    print(decision.reason)
asyncio.run(main())
"""

    words = [sys.executable, "-c", program, world.root, path]
    run = subprocess.run(words, check=False, capture_output=True, text=True)

    assert run.stdout == "first\n", run.stderr
    assert is_kept(path, loaded)
    assert result(world, store).status == "withheld"
    assert loaded in [script.path for script in trust(world, store).scripts]
    write_loaded(world, "other")
    assert result(world, store).status == "withheld"


@pytest.mark.slow
def test_code_that_the_examples_of_a_file_load_is_bound(world, store, run):
    example = "hooks.example(tool='write_file', input={}, expect='deny')\n"
    path = configure(world, COMPUTED_WAYS["runpy"] + example)
    loaded = world.project / LOADED

    run("test", str(path), "--yes")

    assert loaded in [script.path for script in trust(world, store).scripts]
    assert result(world, store).answer.reason == "first"
    write_loaded(world, "other")
    assert result(world, store).status == "withheld"


@pytest.mark.slow
def test_data_is_listed_and_not_bound(world, store, warm):
    body = ROOT + SAYS + "    return deny((ROOT / ('wo' + 'rds')).read_text())\n"
    path = configure(world, body)
    words = world.write(world.project / "words", "first")
    assert "first" in warm.warm(path)[1]
    until(lambda: read_observed(observed_file(str(path))).data, "what the hook read was not kept")

    subject = trust(world, store)

    assert f"{words}, which guard.py was seen to read as data" in subject.unclear
    world.write(words, "other")
    assert result(world, store).answer.reason == "other"


def test_observations_only_add_files(world, store):
    path = configure(world, ROOT + SAYS + "    return deny('no')\n")
    loaded = world.project / LOADED
    elsewhere = world.write(world.root / "elsewhere" / "x.py", "")
    package = world.write(world.project / ".venv" / "x.py", "")
    add_observed(str(path), [str(loaded), str(elsewhere), str(package), sys.executable], [])
    add_observed(str(path), [], [str(loaded)])
    subject = trust(world, store)

    names = [script.path for script in subject.scripts]

    assert loaded in names
    assert elsewhere not in names
    assert package not in names
    assert f"{elsewhere}, which guard.py was seen to load" in subject.unclear
    Path(observed_file(str(path))).write_text("nonsense")
    assert result(world, store).status == "withheld"


def test_the_kept_files_are_bounded(world, store):
    path = configure(world, SAYS + "    return deny('no')\n")
    files = [str(world.project / f"{number}.py") for number in range(MAX_CODE + 1)]
    add_observed(str(path), files, files)

    assert len(read_observed(observed_file(str(path))).code) == MAX_CODE
    assert f"more than {MAX_CODE} files that guard.py loads" in trust(world, store).unclear


def test_a_file_that_is_gone_is_bound_to_that(world, store):
    path = configure(world, SAYS + "    return deny('no')\n")
    trust(world, store)
    gone = world.project / "gone.py"
    add_observed(str(path), [str(gone)], [])
    assert result(world, store).answer.reason == "no"

    world.write(gone, "")

    assert result(world, store).status == "withheld"


def test_an_engine_that_is_loaded_notices_what_a_run_has_loaded(world, store):
    path = configure(world, SAYS + "    return deny('no')\n")
    loaded = world.project / LOADED
    trust(world, store)
    engine = load(world, store)
    (before,) = asyncio.run(engine.dispatch(WRITE)).results
    assert before.answer.reason == "no"

    add_observed(str(path), [str(loaded)], [])

    (after,) = asyncio.run(engine.dispatch(WRITE)).results
    assert after.status == "withheld"
    assert f"it loaded {loaded} in a run" in after.diagnostics[0].message


def test_a_hook_that_raises_audit_events_of_its_own_runs(world, store, warm):
    body = SAYS + "    import sys\n    for name in ('exec', 'open', 'import'): sys.audit(name)\n"
    path = configure(world, body + "    return deny('no')\n")

    assert '"no"' in warm.warm(path)[1]
