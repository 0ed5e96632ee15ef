"""Recorded values of a wrong type: their line is reported and left out, and breaks no view."""

from __future__ import annotations

import json
import sqlite3

import pytest

from anyhook.history.filters import Filter
from anyhook.history.ingest import ingest
from anyhook.history.search import search
from anyhook.history.store import History
from anyhook.journal import lines as journal
from tests.history.test_faults import journal_files, record

WRONG = ["soon", [1], {"a": 1}, True, -5, 10**400, float("nan"), float("inf"), None]
RESULT = {"hook": "guard.py", "status": "ran", "started": 0.1, "duration": 0.2}


def write(directory, *records):
    """Append lines as another program may write them."""
    journal.append(str(directory), record("first", results=[RESULT]))
    (file,) = journal_files(directory)
    with file.open("a") as stream:
        stream.writelines(f"{json.dumps(one)}\n" for one in records)


@pytest.mark.parametrize(
    "fields",
    [
        *[{"time": value} for value in ("soon", None, float("nan"), 10**400, -1, True)],
        *[{"payload": value} for value in ([1], None)],
        *[{"decision": value} for value in ([1], {"outcome": [1]})],
        *[{"results": value} for value in (5, ["x"], [{"hook": 5}], [{"place": "p"}])],
        *[{"redacted": value} for value in ("x", 10**400)],
        *[
            {"results": [RESULT | {name: value}]}
            for name, value in (
                *[("started", value) for value in ("soon", -5, float("inf"), None)],
                *[("duration", value) for value in ([1], 10**400)],
                *[("exit_code", value) for value in ("1", True, 0.5)],
                *[("answer", value) for value in (None, {"outcome": {}})],
                *[(name, 5) for name in ("shadow", "version", "signal", "stdout", "status")],
            )
        ],
    ],
)
def test_a_line_with_a_wrong_member_is_reported_and_costs_no_other_event(tmp_path, fields):
    write(tmp_path, record("bad") | fields, record("last"))

    with History.open(tmp_path) as history:
        (problem,) = ingest(history).problems
        texts = [event.payload["tool_input"]["command"] for event in search(history, Filter())]

    assert "a line is not an event and is lost" in problem
    assert texts == ["last", "first"]


@pytest.mark.parametrize("column", ["started", "duration", "exit_code"])
def test_the_store_holds_no_values_of_a_wrong_type(tmp_path, column):
    write(tmp_path)
    with History.open(tmp_path) as history:
        ingest(history)
        with pytest.raises(sqlite3.IntegrityError):
            history.connection.execute(f"UPDATE results SET {column} = 'soon'")
