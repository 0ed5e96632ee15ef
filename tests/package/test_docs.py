"""What the documentation says: its code runs, its commands work, its tables are complete."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anyhook.agents import get_agent
from anyhook.authoring.hooks import EXPECTATIONS
from anyhook.cli import BUG, USAGE, main
from anyhook.model.diagnostics import CODES
from anyhook.model.events import EVENTS
from anyhook.testing import HookRun, make_payload
from anyhook.testing.cases import MEMBERS

COMMAND = "echo AKIA && rm -rf src"
"""What each guard in the documentation denies: a secret, or deleting the sources."""
EVENT = json.dumps(
    make_payload("before_tool", agent="claude", tool="shell", input={"command": COMMAND})
)
ROOT = Path(__file__).parents[2]
FLAGS = re.MULTILINE | re.DOTALL
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    found = []
    for page in PAGES:
        for i, match in enumerate(
            re.finditer(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), FLAGS)
        ):
            is_slow = page.stem.startswith("integration-")  # each imports a framework
            marks = [pytest.mark.slow] if is_slow else []
            found.append(pytest.param(match[1], id=f"{page.stem}-{i}", marks=marks))
    return found


@pytest.fixture
def example(tmp_path, monkeypatch):
    directory = tmp_path / "guarded-project"
    shutil.copytree(ROOT / "examples" / "guarded-project", directory)
    monkeypatch.chdir(directory)
    return directory


def _reports_a_hook_of_the_example(line):
    """The example project is not trusted, two of its hooks fail on purpose, and it is Gemini CLI's.

    The README has a name of Claude Code's tools.
    """
    if line.startswith("warning[unmatched-tool]: tool 'Write' is one that no hook applies to"):
        return True
    codes = "project-untrusted|other-agent|handler-exit|handler-timeout"
    return re.search(rf"guarded-project/\.gemini/settings\.json[:\d]*: warning\[({codes})\]", line)


PROGRAMS = [
    pytest.param(file.read_text("utf-8"), id=file.stem, marks=pytest.mark.slow)
    for file in sorted((ROOT / "examples" / "frameworks").glob("*.py"))
]


@pytest.mark.parametrize("code", [*blocks("python"), *PROGRAMS])
def test_python_runs(example, code):
    program = example / "program.py"
    program.write_text(code)

    done = subprocess.run(
        [sys.executable, program.name], input=EVENT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert all(_reports_a_hook_of_the_example(line) for line in done.stderr.splitlines())
    if "hooks.run()" in code:  # a reader copies it as it is, and it guards
        assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "output", "message"),
    [("Write", "deny", ""), ("write_file", "none", "if it writes files, write tool_name='Write'")],
)
def test_the_program_of_the_readme_is_guarded_by_its_guard(
    project, monkeypatch, tool, output, message
):
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert main(["init", "--bare", "--agent", "claude", "--yes"]) == 0
    readme = (ROOT / "README.md").read_text("utf-8")
    code = re.search(r"^## Hooks in a program of yours\n+```python\n(.*?)^```", readme, FLAGS)[1]
    code = code.replace('"Write"', f'"{tool}"').replace('"x"', '"AKIAIOSFODNN7EXAMPLE"')

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.startswith(output), done
    assert message in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)  # a proof starts some hundred interpreters
@pytest.mark.parametrize("text", blocks("console"))
def test_commands_work(example, text, capsys):
    lines = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            makefile = (ROOT / "Makefile").read_text("utf-8")
            assert f"\n{words[1]}:" in makefile
        elif words[0] == "anyhook" and words != ["anyhook", "trust"]:
            assert main(words[1:]) not in (USAGE, BUG), capsys.readouterr().err


def anchors(page):
    """Return the anchors that GitHub makes of the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=FLAGS)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def leads_nowhere(path, anchor):
    return not path.exists() or (anchor and anchor not in anchors(path))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text("utf-8"))

    broken = [(to, at) for to, at in links if leads_nowhere(page.parent / to if to else page, at)]
    assert broken == []


def test_every_page_that_the_code_names_is_there():
    files = [file for top in ("src", "tools", "examples") for file in (ROOT / top).rglob("*.py")]
    names = {
        (file.name, name, anchor)
        for file in files
        for name, anchor in re.findall(r"`(docs/[\w-]+\.md)#?([\w-]*)", file.read_text("utf-8"))
    }

    assert len(names) > 5
    assert [entry for entry in names if leads_nowhere(ROOT / entry[1], entry[2])] == []


def test_every_page_is_in_the_table_of_contents():
    text = (ROOT / "docs" / "README.md").read_text("utf-8")

    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {name for name in pages if f"({name}" not in text} == set()


def test_every_diagnostic_has_a_section_with_a_remedy():
    text = (ROOT / "docs" / "diagnostics.md").read_text("utf-8")

    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(CODES)
    for code, (severity, meaning) in CODES.items():  # if not: make docs
        assert re.search(
            rf"^## {code}\n\n\*{severity}\*: {re.escape(meaning)}\.\n\n\S", text, FLAGS
        )


def test_every_event_is_in_the_table():
    text = (ROOT / "docs" / "embedding.md").read_text("utf-8")

    for spec in get_agent("gemini").events:
        cls = EVENTS[spec.canonical].__name__
        assert f"|`{cls}`|`{spec.wire}`|" in text


def test_every_switch_and_variable_is_in_the_settings_page():
    text = (ROOT / "docs" / "gemini-cli.md").read_text("utf-8")
    agent = get_agent("gemini")
    settings = agent.settings

    words = [
        *(".".join(switch.path) for switch in settings.hook_toggles),
        *(file.variable for file in settings.files if file.variable),
        *agent.hook_environment,
        *(file.layer for file in settings.files),
    ]
    for word in words:
        assert word in text


def test_every_word_of_a_test_is_in_its_page():
    text = (ROOT / "docs" / "testing.md").read_text("utf-8")

    for word in (*EXPECTATIONS, *MEMBERS, *HookRun.record_fields, "outcome", "reason"):
        assert f"`{word}`" in text, word


@pytest.mark.slow
def test_the_demo_decides_the_events_of_its_session():
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "demo.py"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "120"},
    )

    for words in ("AWS access key", "DENY", "ASK", "timed out", "warning  exit 1", "adds context"):
        assert words in done.stdout
    assert done.stderr == ""


def test_the_pages_speak_of_the_project_only():
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        text = page.read_text("utf-8")
        assert not re.search(
            r"/wor[k]/|\.\./shared|issue #?\d|[A-Z]+-TABLE|TODO\b(?!.*VAT)", text
        ), page.name
