"""A store of many events: no query reads a whole table, and times end a search early."""

from __future__ import annotations

import re

import pytest

from anyhook.history import spans
from anyhook.history.events import RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.search import iterate, search
from anyhook.history.sessions import events_of, find_session, sessions
from anyhook.history.statistics import statistics
from anyhook.history.store import History
from tests.history.test_faults import NOW, event

SCAN = re.compile(r"SCAN (events|bodies|results|sessions|hooks)\b(?! USING (COVERING )?INDEX)")
FIRST = 2 * spans.NUMBERS_PER_SPAN
"""Number of events of the store."""
LATE = 1000
"""Events with an older time that were stored last, as an import does."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Return the directory of a store whose last events are older than the others."""
    path = tmp_path_factory.mktemp("large")
    guard = (RecordedResult("guard.py", place="settings.json:3"),)
    recorded = [event(100_000 + number, session=f"s{number // 90}") for number in range(FIRST)]
    imported = [
        event(number, session=f"old{number // 90}", results=guard) for number in range(LATE)
    ]
    with History.open(path) as history:
        history.add([*recorded, *imported])
    return path


FILTERS = [
    Filter(),
    Filter(text="echo"),
    Filter(tool="shell"),
    Filter(verdict="deny", text="echo"),
    Filter(hook="guard.py"),
    Filter(session="old1", event="before_tool"),
    Filter(since=NOW + 100_500),
    Filter(until=NOW + 500),
    Filter(text="echo", since=NOW + 10, until=NOW + 100_500),
    Filter(agent="gemini", text="echo", since=NOW + 1e9),
]


def ask_everything(history):
    """Ask the history for everything that commands and the page show of it."""
    for wanted in FILTERS:
        search(history, wanted, limit=5)
        search(history, wanted, limit=5, before=400)
        list(iterate(history, Filter(text="500", since=wanted.since, until=wanted.until)))
    sessions(history)
    sessions(history, since=NOW)
    for name in ("s12", "old1", "old10"):
        events_of(history, find_session(history, name), limit=5)
    find_session(history, "old10", "gemini")
    statistics(history, since=NOW + 5)


@pytest.mark.slow
def test_no_query_reads_a_whole_table(directory):
    statements = {}
    with History.open(directory) as history:
        history.connection.set_trace_callback(statements.setdefault)
        ask_everything(history)
        history.connection.set_trace_callback(None)
        for statement in statements:
            if not statement.startswith(("SELECT", "WITH")):
                continue
            rows = history.connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            plan = [row[3] for row in rows]
            is_limited = "ORDER BY events.id" in statement and " LIMIT " in statement
            scans = [step for step in plan if SCAN.match(step)]
            assert is_limited or not scans, (statement, plan)
            if is_limited:  # in the order in which they are read
                assert not any("TEMP B-TREE" in step for step in plan), (statement, plan)


def test_failures_are_found_without_reading_the_other_results(directory):
    statements = []
    with History.open(directory) as history:
        history.connection.set_trace_callback(statements.append)
        list(iterate(history, Filter(failed=True)))
        list(iterate(history, Filter(failed=True, since=NOW + 500)))
        search(history, Filter(failed=True), before=FIRST, after=5)
        history.connection.set_trace_callback(None)
        searches = [statement for statement in statements if "SELECT event_id" in statement]
        assert searches
        for statement in searches:
            rows = history.connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            plan = " ".join(row[3] for row in rows)
            assert "results_failed" in plan
            # Neither are the events read that have no failure.
            assert "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)" in plan


@pytest.mark.slow
@pytest.mark.parametrize("wanted", FILTERS)
def test_a_search_finds_what_reading_everything_finds(directory, wanted):
    with History.open(directory) as history:
        everything = list(iterate(history, Filter()))
        expected = [
            found
            for found in everything
            if (wanted.text in found.payload["tool_input"]["command"])
            and wanted.agent in ("", found.agent)
            and wanted.session in ("", found.session)
            and wanted.verdict in ("", found.verdict)
            and wanted.hook in ("", *[result.hook for result in found.results])
            and wanted.since <= found.time
            and not (wanted.until and found.time >= wanted.until)
        ]

        assert len(everything) == FIRST + LATE
        assert list(iterate(history, wanted)) == expected
        assert search(history, wanted, limit=len(everything)) == expected[::-1]


def test_a_search_for_a_time_reads_only_the_numbers_of_that_time(directory):
    with History.open(directory) as history:

        def numbers(since=0.0, until=0.0):
            return spans.numbers_between(history.connection, since, until)

        assert numbers() == (1, FIRST + LATE + 1)
        assert numbers(since=NOW + 100_000 + spans.NUMBERS_PER_SPAN) == (
            spans.NUMBERS_PER_SPAN,
            FIRST + LATE + 1,
        )
        assert numbers(until=NOW + 5) == (FIRST, FIRST + LATE + 1)
        assert numbers(since=NOW + 1e9) == (1, 1)
        assert numbers(until=NOW - 5) == (1, 1)


@pytest.mark.slow
def test_removing_events_keeps_sessions_that_have_others(tmp_path):
    with History.open(tmp_path) as history:
        history.add([event(number, session=f"s{number // 1500}") for number in range(6000)])

        removed = history.prune(days=1, size=0, now=NOW + 86400 + 5000)

        assert removed == 5000
        rows = history.connection.execute("SELECT session, events FROM sessions").fetchall()
        assert rows == [("s3", 1000)]
        assert history.connection.execute("SELECT number FROM spans").fetchall() == [(1,)]
        history.connection.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")
        history.prune(days=1, size=0, now=NOW + 1e9)
        assert history.connection.execute("SELECT * FROM spans").fetchall() == []
        history.add([event(1)])
        assert len(search(history, Filter(since=NOW))) == 1


def test_the_last_run_of_a_hook_is_the_one_of_its_newest_event(tmp_path):
    guard = (RecordedResult("guard.py"),)
    times = "SELECT first, last FROM hooks"
    with History.open(tmp_path) as history:
        history.add([event(5, results=guard), event(9, results=guard)])
        assert history.connection.execute(times).fetchone() == (NOW + 5, NOW + 9)
        history.add([event(11, results=guard), event(2, results=guard)])
        assert history.connection.execute(times).fetchone() == (NOW + 2, NOW + 11)
