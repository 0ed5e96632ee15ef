"""The page about the guards that come with anyhook, and the tool that measures them."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from tools.guards_table import (
    COLUMNS,
    END,
    PAGE,
    REVIEWED,
    START,
    Bench,
    Measured,
    benign_rows,
    digest,
    is_about,
    right_denials,
    rows_of,
)

from anyhook.manage.guard_files import all_guards

GUARDS = all_guards()
ROW = re.compile(r"^\|`(?P<name>[\w-]+)`\|.*?\|(?P<settings>.*?)\|", re.MULTILINE)
ROWS = {match["name"]: match["settings"] for match in ROW.finditer(PAGE.read_text("utf-8"))}


@pytest.mark.parametrize("name", GUARDS)
def test_the_page_names_the_settings_of_each_guard(name):
    settings = re.findall(r"`([A-Z_]+)`", ROWS[name])

    assert settings
    for setting in settings:
        assert re.search(rf"^{setting} = ", GUARDS[name].text, re.MULTILINE), setting


def test_the_page_has_a_place_for_the_measurements():
    text = PAGE.read_text("utf-8")

    assert text.index(START) < text.index(END)


def test_a_row_holds_what_was_measured():
    guard = GUARDS["git"]
    counts = {"of": 20, "denied": 1, "asked": 3}
    score = {"family": "git", "detection": counts, "false_blocks": counts}
    measured = Measured(
        guard,
        own={"families": [score], "latency": {"p50": 0.0012}},
        idle={"families": [], "latency": {"p50": 0.0008}},
        others={"git": Counter(of=3000, denied=4, asked=5, wrong=3)},
        escapes={
            "escapes": [{}, {}],
            "accepted": [{}],
            "hooks": [{"classes": {"quotes": {"tried": 10}, "names": {"tried": 5}}}],
        },
        mutants={"tried": 50, "killed": 48},
    )

    (row,) = rows_of(measured)
    cells = [cell.strip() for cell in row.strip("|").split("|")]

    assert len(cells) == len(COLUMNS)
    assert cells == [
        *("git", "git", "4 of 20", "50.0 (1 of 20)", "150.0 (3 of 20)"),
        *("4, 5 of 3,000", "1.0 (3 of 4)", "2 of 15, 1 accepted", "1.5", "96% of 50"),
    ]


def test_what_was_not_measured_is_no_number():
    (row,) = rows_of(Measured(GUARDS["git"]))

    assert set(row.strip("|").split("|")[2:]) == {"-"}


def test_benign_rows_of_a_family_count_for_it_alone(tmp_path: Path):
    rows = [
        {"command": "a", "label": "benign", "families": ["git"]},
        {"command": "b", "label": "benign"},
        {"command": "c", "label": "dangerous", "families": ["git"]},
    ]
    labelled = tmp_path / "set.jsonl"
    labelled.write_text("\n".join(map(json.dumps, rows)))

    def commands(family):
        return [row["command"] for row in benign_rows(labelled) if is_about(row, [family])]

    assert commands("git") == ["a", "b"]
    assert commands("files") == ["b"]


def test_each_denial_that_is_right_has_a_reason_and_stands_once():
    entries = tomllib.loads(REVIEWED.read_text("utf-8"))["right"]

    for entry in entries:
        assert entry.keys() == {"guard", "reason", "calls"}
        assert entry["reason"]
        assert all(re.fullmatch("[0-9a-f]{16}", call) for call in entry["calls"])
    for guard in GUARDS:
        calls = [call for entry in entries if entry["guard"] == guard for call in entry["calls"]]
        assert len(calls) == len(set(calls))
    assert {entry["guard"] for entry in entries} <= GUARDS.keys()


@pytest.mark.slow
def test_a_denial_that_is_not_reviewed_counts_as_wrong(tmp_path: Path):
    right = "git prune"
    assert digest(right) in right_denials("git")
    labelled = tmp_path / "set.jsonl"
    rows = [
        {"command": command, "label": "benign"} for command in (right, "git prune -v", "git log")
    ]
    labelled.write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "project").mkdir()
    bench = Bench(GUARDS["git"], tmp_path / "project")

    bench.count_other(labelled)

    assert bench.measured.others == {"git": Counter(of=3, denied=2, asked=0, wrong=1)}
