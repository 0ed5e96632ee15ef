"""Files that a hook file reads are named in the report: decisions may depend on them."""

from __future__ import annotations

import pytest

from anyhook.backtest.report import dependencies_of
from tests.backtest.test_backtest import GUARD, Recorded, shell

WORDS = """
from pathlib import Path
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if WORDS in event.call.command:
        return deny("no")
"""
"""A guard without the expression for what it refuses."""


@pytest.fixture
def recorded(tmp_path):
    recorded = Recorded(tmp_path)
    recorded.add(shell(1, "ls"), shell(2, "rm x"), shell(3, "git push"))
    return recorded


def guard(recorded, expression, line=""):
    text = WORDS.replace("WORDS", expression).replace("hooks =", f"{line}\nhooks =")
    return recorded.hook(text)


READS = {
    "by its name": "Path(FILE).read_text()",
    "with open": "open(FILE).read()",
    "with the functions of the system": "(lambda f: os.read(f, 99).decode())(os.open(FILE, 0))",
    "by a relative name": "open(os.path.relpath(FILE)).read()",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", READS)
def test_a_data_file_is_named(recorded, way):
    file = recorded.root / "words.txt"
    file.write_text("rm")
    subject = guard(recorded, READS[way].replace("FILE", repr(str(file))), "import os")

    result = recorded.run(subject).result

    assert [decided.text for decided in result.decided] == ["rm x"]
    assert dependencies_of(result).files == ["words.txt"]


@pytest.mark.slow
def test_a_data_file_that_is_read_while_the_hook_file_is_loaded_is_named(recorded):
    (recorded.root / "words.txt").write_text("rm")
    line = "WORD = (Path(__file__).parent / 'words.txt').read_text()"

    result = recorded.run(guard(recorded, "WORD", line)).result

    assert dependencies_of(result).files == ["words.txt"]


@pytest.mark.slow
def test_a_module_that_a_function_imports_late_is_noticed(recorded):
    (recorded.root / "late").mkdir()
    (recorded.root / "late" / "__init__.py").touch()
    (recorded.root / "late" / "words.py").write_text("WORD = 'rm'\n")
    lines = "import sys; sys.path.append(str(Path(__file__).parent))"
    subject = guard(recorded, "__import__('late.words').words.WORD", lines)

    assert "late/words.py" in recorded.run(subject).result.reads


@pytest.mark.slow
def test_a_file_that_the_hook_only_writes_is_not_named(recorded):
    log = recorded.root / "log.txt"
    subject = guard(recorded, f"(open({str(log)!r}, 'a').write('x') and 'rm')")

    assert dependencies_of(recorded.run(subject).result).files == []
    assert not log.exists()


@pytest.mark.slow
def test_installed_packages_and_the_source_of_events_do_not_count(recorded):
    subject = recorded.hook(GUARD.replace("hooks =", "import httpx\nhooks ="))

    assert recorded.run(subject).result.reads == {"guard.py"}
