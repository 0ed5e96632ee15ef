"""Recorded values of a wrong type: they are reported and left out, and break no view."""

from __future__ import annotations

import json
import sqlite3

import pytest

from anyhook.history.events import RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.ingest import ingest
from anyhook.history.search import search
from anyhook.history.store import History
from anyhook.journal import lines as journal
from tests.history.test_faults import journal_files, record

WRONG = ["soon", [1], {"a": 1}, True, -5, 10**400, float("nan"), float("inf"), None]
RESULT = {"hook": "guard.py", "status": "ran", "started": 0.1, "duration": 0.2}
TEXTS = {"signal", "error", "stdout", "stderr", "status"}


def write(directory, *records):
    """Append lines as another program may write them."""
    journal.append(str(directory), record("first", results=[RESULT]))
    (file,) = journal_files(directory)
    with file.open("a") as stream:
        stream.writelines(f"{json.dumps(one)}\n" for one in records)


@pytest.mark.parametrize(
    "name", ["started", "duration", "exit_code", "shadow", "answer", "version", *sorted(TEXTS)]
)
def test_a_wrong_member_of_a_result_is_reported_and_the_rest_is_stored(tmp_path, name):
    is_right = {
        "shadow": lambda value: isinstance(value, bool),
        "answer": lambda value: isinstance(value, dict),
        "version": lambda value: isinstance(value, dict),
        "exit_code": lambda value: value in (None, -5) and value is not True,
        "duration": lambda value: value is None,
    }.get(name, lambda value: isinstance(value, str) and name in TEXTS)
    if name in {"signal", "error"}:
        values = [value for value in WRONG if not isinstance(value, str | None)]
    else:
        values = [value for value in WRONG if not is_right(value)]
    write(tmp_path, *[record(str(n), results=[RESULT | {name: v}]) for n, v in enumerate(values)])

    with History.open(tmp_path) as history:
        problems = ingest(history).problems
        events = search(history, Filter())

    default = getattr(RecordedResult(""), name)
    assert [getattr(event.results[0], name) for event in events[:-1]] == [default] * len(values)
    assert len(problems) == len(values)
    assert all(f"result of guard.py: {name} is no " in problem for problem in problems)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"time": "soon"}, "a line is no event and is lost (ValueError: its time"),
        ({"time": float("nan")}, "a line is no event and is lost (ValueError: its time"),
        ({"time": 10**400}, "a line is no event and is lost (ValueError: its time"),
        ({"payload": [1]}, "a line is no event and is lost"),
        ({"decision": [1]}, "decision is no object; left out"),
        ({"decision": {"outcome": [1]}}, "the outcome of decision is no text; left out"),
        ({"results": "x"}, "results is no list; left out"),
        ({"results": ["x", RESULT]}, "results holds what is no result of a hook; left out"),
        ({"results": [{"hook": 5}]}, "results holds what is no result of a hook; left out"),
        ({"redacted": "x"}, "redacted is no integer; left out"),
        ({"redacted": 10**400}, "redacted is no integer; left out"),
    ],
)
def test_a_wrong_member_of_an_event_costs_no_other_event(tmp_path, fields, problem):
    write(tmp_path, record("bad") | fields, record("last"))

    with History.open(tmp_path) as history:
        (found,) = ingest(history).problems
        texts = [event.payload["tool_input"]["command"] for event in search(history, Filter())]

    assert problem in found
    assert {"first", "last"} <= set(texts)
    assert len(texts) == (2 if "is lost" in problem else 3)


@pytest.mark.parametrize("column", ["started", "duration", "exit_code"])
def test_the_store_holds_no_values_of_a_wrong_type(tmp_path, column):
    write(tmp_path)
    with History.open(tmp_path) as history:
        ingest(history)
        with pytest.raises(sqlite3.IntegrityError):
            history.connection.execute(f"UPDATE results SET {column} = 'soon'")
