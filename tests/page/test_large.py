"""A store of many events: every view does the same work in a small and in a large one.

The work is what SQLite executes, in instructions of its virtual machine, so it is the same on every
machine. Limits of the page are lowered, so that a store of some thousand events exceeds them.
"""

from __future__ import annotations

import re
import threading
from itertools import combinations
from urllib.parse import urlencode

import pytest

from anyhook.history import denials, rows, spans
from anyhook.history import hooks as hook_history
from anyhook.history import search as search_module
from anyhook.history import sessions as session_history
from anyhook.history.events import RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.search import TimedSearch, search, search_in_time
from anyhook.history.store import History
from anyhook.page import past_views
from tests.page.serving import NOW, PLACE, event, store, text_of

SMALL, LARGE = 500, 4000
"""Events of the stores that are compared."""
LIVE_THREAD = "anyhook-live"
"""The thread of the page that reads the history apart from the requests."""
FILTERS = {
    "q": "word7",
    "outcome": "deny",
    "tool": "shell",
    "event": "before_tool",
    "agent": "gemini",
    "hook": "guard.py",
    "session": "session-3",
    "since": "1d",
    "until": "1h",
}
RARE = {
    "q": "nothing",
    "outcome": "ask",
    "tool": "web_search",
    "event": "stop",
    "agent": "claude",
    "hook": "other.py",
    "since": "1h",
    "until": "300d",
}
"""Values that few events or none have."""
PATHS = [
    "/",
    "/sessions",
    "/sessions?agent=gemini",
    "/sessions?agent=claude",
    "/sessions?since=1d",
    "/session?agent=gemini&id=session-3",
    "/session?agent=gemini&id=session-3&at=400",
    "/session?agent=gemini&id=session-3&end=1",
    "/session?id=session-3",
    "/session?id=last",
    "/event/1",
    "/event/400",
    "/denials",
    "/hooks",
    "/hook?" + urlencode({"name": "guard.py", "place": PLACE}),
]
SCANS = re.compile(r"SCAN (events|bodies|results|sessions)(?! USING (COVERING )?INDEX)")


def many(count):
    """Return events of sessions of equal length, which several versions of a hook have decided."""
    for number in range(count):
        outcome = "deny" if number % 10 == 0 else "none"
        results = (
            RecordedResult(
                "guard.py",
                PLACE,
                answer={"outcome": outcome},
                duration=0.01,
                digest="ab"[number % 2],
            ),
        )
        yield event(
            f"word{number % 50}",
            outcome=outcome,
            session=f"session-{number // 100}",
            number=number - LARGE,
            results=results,
        )


@pytest.fixture
def lower_limits(monkeypatch):
    """Lower the limits of the page."""
    for module, name, value in (
        (hook_history, "MAX_RUNS", 50),
        (hook_history, "MAX_ROWS", 200),
        (denials, "MAX_DENIALS", 20),
        (session_history, "MAX_SORTED_SESSIONS", 3),
        (past_views, "PAGE", 4),
        (search_module, "MIN_PART", 16),
        (rows, "NUMBERS_PER_SPAN", 512),
        (spans, "NUMBERS_PER_SPAN", 512),
        (search_module, "FIRST_PART", 64),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def executed(monkeypatch):
    """Collect what the requests let SQLite execute: instructions and statements."""
    found = Executed()
    open_history = History.open

    def open_observed(directory=None):
        history = open_history(directory)
        if threading.current_thread().name != LIVE_THREAD:
            history.connection.set_progress_handler(found.count, 1)
            history.connection.set_trace_callback(found.statements.append)
        return history

    monkeypatch.setattr(History, "open", open_observed)
    return found


class Executed:
    """What SQLite has executed."""

    def __init__(self):
        self.instructions = 0
        self.statements = []

    def count(self):
        """Count an instruction."""
        self.instructions += 1

    def of(self, page, path):
        """Return how many instructions a view takes."""
        page.get(path)
        self.instructions = 0
        page.get(path)
        return self.instructions


def searches():
    """Return the addresses of searches: each filter alone and in pairs, common and rare."""
    found = ["/search"]
    for values in (FILTERS, RARE, {**FILTERS, "q": "nothing"}):
        for size in (1, 2):
            found += [
                "/search?" + urlencode({name: values[name] for name in names})
                for names in combinations(values, size)
            ]
    return sorted(set(found))


@pytest.mark.slow
def test_every_view_does_as_much_in_a_large_store_as_in_a_small_one(
    serve, executed, lower_limits, monkeypatch
):
    monkeypatch.setattr(search_module, "SECONDS", 3600.0)
    page = serve().open()
    paths = [*PATHS, *searches()]
    store(*many(SMALL))
    small = {path: executed.of(page, path) for path in paths}
    store(*list(many(LARGE))[SMALL:])
    large = {path: executed.of(page, path) for path in paths}

    # A search for what is rare takes some parts more, whose sizes grow.
    grown = {path: (small[path], large[path]) for path in paths if large[path] > small[path] + 800}
    assert grown == {}
    assert min(large.values()) > 0


@pytest.mark.slow
def test_no_view_sorts_or_reads_a_whole_table(serve, executed, lower_limits):
    store(*many(SMALL))
    page = serve().open()
    for path in (*PATHS, *searches()):
        page.get(path)

    with History.open() as history:
        statements = {text for text in executed.statements if text.startswith(("SELECT", "WITH"))}
        history.connection.set_trace_callback(None)
        plans = {text: plan_of(history, text) for text in statements}
    assert len(plans) > 100
    for statement, plan in plans.items():
        is_limited = " LIMIT " in statement and re.search(r"ORDER BY \S*id DESC", statement)
        scans = [step for step in plan if SCANS.match(step)]
        assert is_limited or not scans, (statement, plan)
        assert not any("TEMP B-TREE FOR ORDER BY" in step for step in plan if is_limited), statement


def plan_of(history, statement):
    rows = history.connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    return [row[3] for row in rows]


# -- searches that end in time


@pytest.fixture
def history(lower_limits):
    store(*many(SMALL))
    with History.open() as opened:
        yield opened


@pytest.mark.parametrize(
    "wanted",
    [
        Filter(),
        Filter(text="word7"),
        Filter(verdict="deny", hook="guard.py"),
        Filter(text="nothing"),
        Filter(since=NOW - 3600 - LARGE + 100),
        Filter(until=NOW - 3600 - LARGE + 100),
        Filter(text="word7", since=NOW - 3600 - LARGE + 90, until=NOW - 3600 - LARGE + 333),
    ],
)
@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_search_in_parts_finds_what_a_search_of_everything_finds(history, wanted, seconds):
    found, rounds, before = [], 0, 0
    while rounds == 0 or before:
        one = search_in_time(history, wanted, limit=7, before=before, seconds=seconds)
        found += one.events
        before = one.before
        rounds += 1

    assert [e.id for e in found] == [e.id for e in search(history, wanted, limit=10_000)]


def test_a_search_without_time_ends_after_its_first_part(history):
    found = search_in_time(history, Filter(text="nothing"), limit=9, seconds=0.0)

    assert found.events == ()
    assert found.is_partial
    assert found.before == SMALL + 1 - 64
    assert found.reached == search(history, Filter(), limit=1, before=found.before + 1)[0].time


def test_events_that_were_imported_later_are_found_by_their_time(history):
    store(*[event("of last year", time=NOW - 400 * 86400 + n) for n in range(40)])
    store(*[event("of today", time=NOW - 60 + n) for n in range(40)])

    found = search_in_time(history, Filter(until=NOW - 300 * 86400), limit=99, seconds=60.0)

    assert len(found.events) == 40
    assert found.before == 0


def test_numbers_that_are_given_again_are_found_by_their_new_time(history):
    wanted = Filter(since=NOW - 60)
    assert search_in_time(history, wanted, limit=9, seconds=60.0) == TimedSearch()
    with history.transaction():
        history.connection.execute("DELETE FROM events WHERE id > 100")
    store(*[event("again", time=NOW) for _ in range(600)])

    assert len(search_in_time(history, wanted, limit=900, seconds=60.0).events) == 600


def test_a_search_that_ends_early_is_announced_and_continues(serve, lower_limits, monkeypatch):
    monkeypatch.setattr(search_module, "SECONDS", 0.0)
    store(event("needle"), *many(SMALL))
    page = serve().open()
    path, rounds = "/search?q=needle", 0
    while "event-1" not in (shown := page.get(path)):
        assert "searched back to" in text_of(shown)
        path = re.search(r'href="(/search\?[^"]*before=\d+)" rel="next"', shown)[1].replace(
            "&amp;", "&"
        )
        rounds += 1

    assert rounds > 3


def test_the_instructions_of_sqlite_are_counted(executed):
    store(*many(50))
    executed.instructions = 0
    with History.open() as history:
        history.connection.execute("SELECT sum(time) FROM events").fetchone()
    assert executed.instructions > 50
