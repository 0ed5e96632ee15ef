"""Output for people: as wide as the terminal, and unwrapped where there is none."""

from __future__ import annotations

import json

import pytest
from rich.table import Table
from rich.text import Text

from anyhook.cli import main
from anyhook.cli.output import UNWRAPPED, console
from anyhook.cli.render import RunRow, make_table, print_quoted, print_rows, runs_table


def print_table(text):
    table = Table(box=None)
    table.add_column("path")
    table.add_column("state")
    table.add_row(text, "on")
    table.add_row("short", "")
    console().print(table)


def test_a_pipe_gets_every_word_in_one_line(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = "/a/very/long/path" * 20

    print_table(path)

    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["path", "state"],
        [path, "on"],
        ["short"],
    ]


def test_no_line_ends_with_blanks(capsys):
    print_table("a path")

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line == line.rstrip() for line in lines)


def test_columns_asks_for_a_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")

    assert console().width == 30


def test_a_word_that_is_cut_shows_it(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    table = make_table("hook", "place", no_wrap=("hook", "place"))
    table.add_row("guard-dependencies.py", "settings.json:108")

    console().print(table)

    _, row = capsys.readouterr().out.splitlines()
    assert len(row) <= 30
    assert row.endswith("…")


def test_a_place_that_fits_is_not_broken_in_a_narrow_terminal(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "72")
    answer = Text("no opinion  as a shadow")
    rows = [RunRow("guard-git.py:88 guard_git_commands", "settings.json:16", answer, 0.0, 0.328)]

    out = console()
    out.print(runs_table(out, rows))

    assert "settings.json:16" in capsys.readouterr().out


def test_a_long_column_stands_below_its_rows_in_a_narrow_terminal(capsys, monkeypatch):
    rows = [["guard.py", "/a/very/long/path/of/a/guard.py", "1"], ["context.py", "/b.py", "12"]]

    monkeypatch.setenv("COLUMNS", "40")
    print_rows(console(), ("hook", "place", "runs"), rows, below=["place"])
    narrow = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "120")
    print_rows(console(), ("hook", "place", "runs"), rows, below=["place"])
    wide = capsys.readouterr().out

    assert narrow.splitlines() == [
        "hook        runs",
        "guard.py    1",
        "    /a/very/long/path/of/a/guard.py",
        "context.py  12",
        "    /b.py",
    ]
    assert wide.splitlines()[1].split() == ["guard.py", "/a/very/long/path/of/a/guard.py", "1"]


@pytest.mark.parametrize("columns", ["99999999", "0", "-5", "wide", "", "9" * 5000])
def test_a_width_that_makes_no_sense_is_not_used(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)

    assert console().width == UNWRAPPED


def test_wrapped_lines_of_a_script_keep_their_mark(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")

    print_quoted(console(), f"first\n\n{'word ' * 20}\ntrusted: 1 hook")

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 4
    assert all(line.startswith("    |") for line in lines)


EXAMPLES = """
from anyhook.authoring import Hooks, deny
hooks = Hooks()

@hooks.before_tool("shell")
def guard(event):
    if "rm -rf" in event.call.command:
        return deny("no")

hooks.example(tool="shell", input={"command": "rm -rf /a/directory && npm install"}, expect="deny")
hooks.example(tool="shell", input={"command": "ls"}, expect="deny")

if __name__ == "__main__":
    hooks.run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80, 100, 150])
def test_the_results_of_examples_are_not_cut(tmp_path, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    file = tmp_path / "guard.py"
    file.write_text(EXAMPLES)

    main(["test", str(file)])

    lines = capsys.readouterr().out.splitlines()
    table = lines[: next(n for n, line in enumerate(lines) if line.startswith(("✗", "~")))]
    words = {word for line in table for word in line.split()}
    assert {"before_tool", "expect", "deny", "✓", "✗", "none", "&&", 'install"}', "all"} <= words
    assert max(map(len, table)) <= columns
    assert "…" not in words


@pytest.mark.slow
def test_agents_with_different_results_have_lines_of_their_own(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / "guard.py"
    file.write_text(EXAMPLES.replace('deny("no")', 'ask("sure?")').replace("deny", "ask"))

    main(["test", str(file)])

    first = capsys.readouterr().out.partition("\n2  ")[0]
    lines = [" ".join(line.split()) for line in first.splitlines()[1:]]
    assert any("✓ ask" in line and "claude" in line for line in lines)
    assert any("~ deny" in line and "cursor" in line for line in lines)


@pytest.mark.parametrize("columns", ["80", "100", "110", "120"])
def test_no_name_and_no_place_in_a_list_is_broken(project, capsys, monkeypatch, columns):
    file = project / ".claude" / "settings.json"
    file.parent.mkdir()
    names = ("protect-production-files.py", "guard.py")
    handlers = [{"type": "command", "command": f"python3 hooks/{name}"} for name in names]
    groups = [{"matcher": "Bash|Write|Edit|MultiEdit", "hooks": handlers}]
    file.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
    monkeypatch.setenv("COLUMNS", columns)

    main(["list", "--project", str(project)])

    table = capsys.readouterr().out.split("\nbroken")[0]
    for text in (*names, "settings.json:1"):
        assert text in table
