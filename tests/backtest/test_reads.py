"""Files that a hook file reads: a kept result holds as long as they are what they were."""

from __future__ import annotations

import pytest

from anyhook.backtest.baseline import baseline_of
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
DEEP = "from rules.words.shell import WORD"


@pytest.fixture
def recorded(tmp_path):
    recorded = Recorded(tmp_path)
    recorded.add(shell(1, "ls"), shell(2, "rm x"), shell(3, "git push"))
    return recorded


def guard(recorded, expression, line=""):
    text = WORDS.replace("WORDS", expression).replace("hooks =", f"{line}\nhooks =")
    return recorded.hook(text)


def denied(run):
    return [found.text for found in run.result.decided]


READS = {
    "by its name": "Path(FILE).read_text()",
    "with open": "open(FILE).read()",
    "with the functions of the system": "(lambda f: os.read(f, 99).decode())(os.open(FILE, 0))",
    "by a relative name": "open(os.path.relpath(FILE)).read()",
}


@pytest.mark.parametrize("way", READS)
def test_a_changed_data_file_is_noticed(recorded, way):
    file = recorded.root / "words.txt"
    file.write_text("rm")
    subject = guard(recorded, READS[way].replace("FILE", repr(str(file))), "import os")
    assert denied(recorded.run(subject)) == ["rm x"]
    assert recorded.run(subject).progress.kept == 1

    file.write_text("push")

    assert denied(recorded.run(subject)) == ["git push"]
    assert recorded.run(subject).progress.kept == 1


def test_a_data_file_that_is_read_while_the_hook_file_is_loaded_is_noticed(recorded):
    (recorded.root / "words.txt").write_text("rm")
    line = "WORD = (Path(__file__).parent / 'words.txt').read_text()"
    subject = guard(recorded, "WORD", line)
    assert denied(recorded.run(subject)) == ["rm x"]

    (recorded.root / "words.txt").write_text("push")

    assert denied(recorded.run(subject)) == ["git push"]


def test_a_data_file_that_appears_is_noticed(recorded):
    file = recorded.root / "words.txt"
    lines = f"try:\n    WORD = open({str(file)!r}).read()\nexcept OSError:\n    WORD = 'rm'"
    subject = guard(recorded, "WORD", lines)
    assert denied(recorded.run(subject)) == ["rm x"]
    assert recorded.run(subject).progress.kept == 1

    file.write_text("push")

    assert denied(recorded.run(subject)) == ["git push"]


def test_a_changed_module_in_a_package_of_a_package_is_noticed(recorded):
    package = recorded.root / "rules" / "words"
    package.mkdir(parents=True)
    for name in ("rules/__init__.py", "rules/words/__init__.py"):
        (recorded.root / name).touch()
    (package / "shell.py").write_text("WORD = 'rm'\n")
    subject = guard(recorded, "WORD", DEEP)
    assert denied(recorded.run(subject)) == ["rm x"]
    assert recorded.run(subject).progress.kept == 1

    (package / "shell.py").write_text("WORD = 'push'\n")

    assert denied(recorded.run(subject)) == ["git push"]


def test_a_module_that_a_function_imports_late_is_noticed(recorded):
    (recorded.root / "late").mkdir()
    (recorded.root / "late" / "__init__.py").touch()
    (recorded.root / "late" / "words.py").write_text("WORD = 'rm'\n")
    lines = "import sys; sys.path.append(str(Path(__file__).parent))"
    subject = guard(recorded, "__import__('late.words').words.WORD", lines)
    assert denied(recorded.run(subject)) == ["rm x"]

    (recorded.root / "late" / "words.py").write_text("WORD = 'push'\n")

    assert denied(recorded.run(subject)) == ["git push"]


def test_a_file_that_the_hook_only_writes_does_not_matter(recorded):
    log = recorded.root / "log.txt"
    subject = guard(recorded, f"(open({str(log)!r}, 'a').write('x') and 'rm')")

    recorded.run(subject)

    assert recorded.run(subject).progress.kept == 1
    assert not log.exists()


def test_results_of_a_hook_that_changes_what_it_reads_are_not_kept(recorded):
    state = recorded.root / "state.txt"
    state.write_text("")
    subject = guard(recorded, f"('rm' if open({str(state)!r}, 'r+').write('xx') else '')")

    recorded.run(subject)

    assert recorded.run(subject).progress.kept == 0


def test_the_results_of_a_baseline_are_kept(recorded, tmp_path):
    (tmp_path / "words.txt").write_text("rm")
    line = "WORD = (Path(__file__).parent / 'words.txt').read_text()"
    subject = guard(recorded, "WORD", line)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("guard.py", "words.txt"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    recorded.run(subject)

    with baseline_of(subject, str(copy / "guard.py")) as baseline:
        assert recorded.run(baseline).progress.kept == 1
        (copy / "words.txt").write_text("push")
        assert denied(recorded.run(baseline)) == ["git push"]


def test_installed_packages_and_the_source_of_events_do_not_count(recorded):
    import httpx

    subject = recorded.hook(GUARD.replace("hooks =", "import httpx\nhooks ="))
    recorded.run(subject)

    names = recorded.kept_files()

    assert names == {"guard.py"}, httpx.__file__
