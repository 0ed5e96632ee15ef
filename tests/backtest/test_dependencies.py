"""Hooks whose answers depend on more than the event: backtests are right, or say so."""

from __future__ import annotations

import datetime
import itertools
from contextlib import closing

import pytest

from anyhook.backtest import pool
from anyhook.backtest import runner as runner_module
from anyhook.backtest.files import parts_of_files
from anyhook.backtest.pool import evaluate_part
from anyhook.backtest.report import dependencies_of
from anyhook.backtest.run import run_backtest
from anyhook.backtest.runner import SessionRunner
from anyhook.backtest.session import SessionEvents
from anyhook.backtest.sources import parts_of_history
from anyhook.errors import UsageError
from anyhook.history.export import export_jsonl
from anyhook.history.filters import Filter
from anyhook.history.search import iterate
from anyhook.history.store import History
from tests.backtest.test_backtest import GUARD, Recorded, shell
from tests.tables import fast_for

HEAD = "from anyhook.authoring import Hooks, deny\nhooks = Hooks()\n"
COUNTS = (
    HEAD
    + """
calls = 0

@hooks.before_tool
def guard(event):
    global calls
    calls += 1
    return deny(f"call {calls}") if calls % 5 == 0 else None
"""
)
COUNTS_IN_A_FILE = (
    HEAD
    + """
from pathlib import Path

@hooks.before_tool
def guard(event):
    log = Path.home() / ".calls"
    calls = len(log.read_text()) + 1 if log.exists() else 1
    log.write_text("x" * calls)
    return deny(f"call {calls}") if calls % 5 == 0 else None
"""
)
MEMORIES = {"a variable": COUNTS, "a file in the home": COUNTS_IN_A_FILE}
EVENTS, SESSIONS = 120, 7


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Recorded(tmp_path)


def add_interleaved(recorded, **changes):
    events = [shell(n, f"ls {n}", f"s{n % SESSIONS}") for n in range(EVENTS)]
    recorded.add(*[event._replace(**changes) for event in events])


def expected_refs():
    """Return the numbers of every fifth event of each session."""
    refs = []
    for session in range(SESSIONS):
        refs += [str(n + 1) for n in range(session, EVENTS, SESSIONS)][4::5]
    return sorted(refs)


def refs_of(run):
    return sorted(decided.ref for decided in run.result.decided)


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "jobs"), fast_for(itertools.product(MEMORIES, [1, 3])))
def test_a_hook_remembers_the_earlier_events_of_its_session_only(recorded, memory, jobs):
    add_interleaved(recorded)

    run = recorded.run(recorded.hook(MEMORIES[memory]), jobs=jobs)

    assert refs_of(run) == expected_refs()
    assert not (recorded.root / "home" / ".calls").exists()


@pytest.mark.slow
@pytest.mark.parametrize("memory", fast_for(MEMORIES))
def test_members_that_were_not_recorded_do_not_change_what_a_hook_remembers(recorded, memory):
    add_interleaved(recorded, reconstructed=("permission_mode", "cwd"))

    run = recorded.run(recorded.hook(MEMORIES[memory]))

    assert refs_of(run) == expected_refs()
    assert {decided.reconstructed for decided in run.result.decided} == {()}


@pytest.mark.slow
def test_events_after_the_last_decision_are_decided_once(recorded, monkeypatch):
    commands = ["ls", "ls", "rm -rf x", *["ls"] * 9]
    events = [shell(number, command) for number, command in enumerate(commands)]
    recorded.add(*[event._replace(reconstructed=("permission_mode",)) for event in events])
    (part,) = parts_of_history(recorded.directory, Filter())
    decided = []

    def session_events(rows, *arguments):
        decided.append(len(rows))
        return SessionEvents(rows, *arguments)

    monkeypatch.setattr(runner_module, "SessionEvents", session_events)
    with closing(SessionRunner(recorded.hook(GUARD), 60.0)) as runner:
        runner.load()
        evaluate_part(runner, part, is_sampled=False)

    assert decided == [12, 3]


DEPENDENT = {
    "chance": ("import random", "random.random() < 0.5"),
    "the time": ("from datetime import date", "date.today().year == YEAR"),
    "earlier events of the session": ("seen = []", "seen.append(1) or len(seen) < 3"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", fast_for(DEPENDENT))
def test_a_sample_shows_on_what_decisions_depend(recorded, what):
    recorded.add(*[shell(n, f"ls {n}", "s1") for n in range(40)])
    line, condition = DEPENDENT[what]
    year = f"YEAR = {datetime.datetime.now(datetime.UTC).year}"
    text = f"{HEAD}{line}\n{year}\n\n@hooks.before_tool\ndef guard(event):\n"
    text += f"    return deny('no') if {condition} else None\n"

    run = recorded.run(recorded.hook(text))

    found = dependencies_of(run.result)
    assert list(found.on) == [what]
    assert found.sampled == 40
    assert what in found.texts()[0]


@pytest.mark.slow
def test_a_hook_that_depends_on_the_event_alone_has_no_dependencies(recorded):
    add_interleaved(recorded)

    found = dependencies_of(recorded.run(recorded.hook(GUARD)).result)

    assert (found.on, found.variables, found.files, found.texts()) == ({}, [], [], [])


READS_FLAG = (
    HEAD
    + """
import os

@hooks.before_tool
def guard(event):
    return deny("no") if os.environ.get("FLAG") == "1" else None
"""
)
READS_ALL = READS_FLAG.replace('os.environ.get("FLAG")', 'dict(os.environ).get("FLAG")')


READS_BY_FUNCTION = READS_FLAG.replace("environ.get", "getenv")


@pytest.mark.slow
@pytest.mark.parametrize("text", fast_for([READS_FLAG, READS_ALL, READS_BY_FUNCTION]))
def test_variables_that_a_hook_reads_are_named(recorded, monkeypatch, text):
    monkeypatch.setenv("FLAG", "1")
    monkeypatch.setenv("OTHER", "1")
    recorded.add(shell(1, "ls"))

    result = recorded.run(recorded.hook(text)).result

    assert result.outcomes()["deny"] == 1
    assert dependencies_of(result).variables in (["FLAG"], ["*"])


@pytest.mark.slow
def test_sessions_that_are_in_several_parts_of_a_file_are_reported(recorded, monkeypatch):
    add_interleaved(recorded)
    monkeypatch.setattr("anyhook.backtest.files.PART_BYTES", 40_000)
    file = recorded.root / "events.jsonl"
    with History.open(recorded.directory) as history, file.open("w") as stream:
        export_jsonl(iterate(history, Filter()), stream)
    parts = list(parts_of_files([str(file)], Filter()))

    run = run_backtest(recorded.hook(COUNTS), parts, jobs=1)

    found = dependencies_of(run.result)
    assert len(parts) > 1
    assert found.split_sessions >= SESSIONS
    assert "anyhook history import" in found.texts()[-1]


@pytest.mark.slow
def test_a_part_that_is_too_large_to_hold_is_decided_in_pieces(recorded, monkeypatch):
    add_interleaved(recorded)
    subject = recorded.hook(GUARD.replace('"rm -rf" in', '"1" in'))
    (part,) = parts_of_history(recorded.directory, Filter())
    runner = SessionRunner(subject, 60.0)
    with closing(runner):
        runner.load()
        whole = evaluate_part(runner, part).result
        monkeypatch.setattr(pool, "MAX_HELD_SIZE", 5_000)
        pieces = evaluate_part(runner, part).result

    assert list(pieces.decided) == list(whole.decided)
    assert (whole.split_sessions, pieces.split_sessions > 0) == (0, True)


SLOW_IMPORT = "import time\ntime.sleep(60)\n" + GUARD


@pytest.mark.slow
def test_the_time_limit_holds_while_a_file_is_loaded(recorded):
    recorded.add(shell(1, "ls"))

    with pytest.raises(UsageError, match=r"was not loaded within 0\.5 s"):
        recorded.run(recorded.hook(SLOW_IMPORT), timeout=0.5)
