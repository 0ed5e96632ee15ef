"""What type checkers and editors know of hooks: the stubs, and mypy with them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.stubs import ARGUMENT_TYPES, REQUIRED

import anyhook
from anyhook import authoring
from anyhook.model.calls import NAMES
from anyhook.model.tools import TOOLS
from anyhook.testing import make_event
from tests.conftest import DATA

ROOT = Path(__file__).parents[2]
FILES = [DATA / "typing" / "right.py", DATA / "typing" / "wrong.py"]
SLOW = pytest.mark.timeout(300)  # a type checker without its cache reads the whole package


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """The errors of mypy: file, line and code."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context"]
        + ["--config-file", "/dev/null", "--cache-dir", str(tmp_path_factory.mktemp("mypy"))]
        + [str(file) for file in FILES],
        cwd=ROOT / "src",
        capture_output=True,
        text=True,
        check=False,
    )
    errors = re.findall(r"^(.+?):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    assert errors, done.stdout + done.stderr
    return {(Path(file).name, int(line), code) for file, line, code in errors}


def marked(file):
    """The errors that are written at the end of lines."""
    errors = set()
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        _, _, codes = line.partition("# error: ")
        errors |= {(file.name, number, code) for code in codes.split()}
    return errors


@pytest.mark.slow
@SLOW
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_mypy_reports_what_is_wrong_and_nothing_else(reported, file):
    assert {error for error in reported if error[0] == file.name} == marked(file)


@pytest.mark.slow
def test_the_stubs_are_those_of_the_tables():
    program = "import stubs; print(*[p for p, t in stubs.generate().items() if p.read_text() != t])"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "tools",
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == [], "run: make stubs"


def test_every_tool_has_a_class_of_calls_with_types():
    assert set(NAMES.values()) == set(TOOLS)
    assert set(authoring.CALLS) == set(NAMES)
    arguments = {argument for names in TOOLS.values() for argument in names}
    assert set(ARGUMENT_TYPES) <= arguments
    for tool, names in REQUIRED.items():
        assert set(names) <= set(TOOLS[tool])


def test_the_class_of_a_call_is_that_of_its_tool():
    from anyhook.authoring import Glob, Shell

    event = make_event("before_tool", agent="claude", tool="shell", input={"command": "ls"})

    assert isinstance(event.call, Shell)
    assert not isinstance(event.call, Glob)
    assert anyhook.BeforeTool[Shell] is anyhook.BeforeTool


def test_types_cost_nothing_until_they_are_imported():
    program = (
        "import sys; from anyhook.authoring import Hooks; before = set(sys.modules);"
        "assert not {'typing', 'anyhook.model.calls', 'anyhook.model.llm_types'} & before, before"
    )

    subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT / "src", check=True)


def test_the_types_of_the_model_api_can_be_imported():
    from anyhook.model.llm import LLMRequest, LLMResponse

    assert LLMRequest.__optional_keys__ >= {"model", "messages", "config"}
    assert "candidates" in LLMResponse.__annotations__
    with pytest.raises(ImportError, match="LLMReply"):
        from anyhook.model.llm import LLMReply  # noqa: F401


def test_a_module_of_authors_has_no_other_names():
    with pytest.raises(AttributeError, match="'anyhook\\.authoring' has no attribute 'Shel'"):
        _ = authoring.Shel
