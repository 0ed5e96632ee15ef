"""A store of many events: every view reads a bounded part of it, through an index."""

from __future__ import annotations

import re

import pytest

from anyhook.history.queries import Filter, find_session, search
from anyhook.history.store import History
from anyhook.page import queries
from tests.page.serving import NOW, PLACE, event, store

SCANS = re.compile(r"SCAN (events|bodies|results)(?! USING (COVERING )?INDEX| VIRTUAL)")


@pytest.fixture
def plans():
    """Collect the plans of the queries of a store."""
    store(*[event(f"word{n}", session=f"s{n % 9}", number=n) for n in range(99)])
    with History.open() as history:
        found = {}

        def collect(statement):
            if statement.startswith(("SELECT", "WITH")):
                found[statement] = None

        history.connection.set_trace_callback(collect)
        yield history, found
        history.connection.set_trace_callback(None)


def plan_of(history, statement):
    history.connection.set_trace_callback(None)
    rows = history.connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    return [row[3] for row in rows]


def test_no_view_of_one_thing_reads_a_whole_table(plans):
    history, found = plans
    one = search(history, Filter(), limit=1)[0]
    session = find_session(history, "s1")
    queries.neighbours(history, one)
    queries.same_event_elsewhere(history, one)
    queries.position_before(history, session, one.id, 5)
    queries.hook_runs(history, queries.hook_versions(history, "guard.py", PLACE))
    queries.denials_to_look_at(history, NOW)
    search(history, Filter(text="word1"), limit=9)

    for statement in list(found):
        plan = plan_of(history, statement)
        is_limited = " LIMIT " in statement and "ORDER BY events.id DESC" in statement
        scans = [step for step in plan if SCANS.match(step)]
        assert is_limited or not scans, (statement, plan)
        assert not any("TEMP B-TREE FOR ORDER BY" in step for step in plan if is_limited)
