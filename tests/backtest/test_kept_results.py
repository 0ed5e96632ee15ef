"""Results on parts of the history that are kept, and every change that makes them outdated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anyhook.backtest import sources
from anyhook.backtest.sources import Selection, parts_of_history
from anyhook.history.events import RecordedResult
from anyhook.history.merge import Merger
from anyhook.history.store import History, Limits
from tests.backtest.test_backtest import GUARD, Recorded, shell

QUOTES = GUARD.replace('deny("no")', "deny('[redacted:api-key]')")
"""A guard whose decisions quote what replaces a secret."""


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


@pytest.fixture(params=["settled", "just changed"])
def clock(request, monkeypatch):
    """Let the times of the store's files say whether it has changed, or not."""
    if request.param == "settled":
        monkeypatch.setattr(sources, "SETTLED", 0.0)


def result(hook, **fields):
    return RecordedResult(hook, f"/settings.json:{len(hook)}", duration=0.1, **fields)


def live(event, hook, **fields):
    """Return an event as a hook has recorded it."""
    return replace(event, source="hook", results=(result(hook, **fields),), decision={})


def merge(recorded, *events):
    with History.open(recorded.directory) as history, history.transaction():
        Merger(history).add(events)


def test_a_store_that_has_not_changed_is_not_read(recorded, monkeypatch):
    monkeypatch.setattr(sources, "SETTLED", 0.0)
    recorded.add(*[shell(n, "rm -rf /" if n % 2 else "ls") for n in range(10)])
    subject = recorded.hook(GUARD)
    first = recorded.run(subject)
    parts = list(parts_of_history(recorded.directory, Selection()))
    with History.open(recorded.directory) as history:
        history.connection.execute("UPDATE events SET identity = x'00'")

    # The parts have the stamp from before the change, so that a reader would be found.
    again = recorded.run(subject, parts=parts)

    assert (again.progress.kept, again.result) == (1, first.result)
    assert recorded.run(subject).progress.kept == 0


def test_a_store_that_was_changed_just_now_has_no_stamp(recorded):
    recorded.add(shell(1, "ls"))

    assert sources.store_stamp(recorded.directory) == ""


@pytest.mark.usefixtures("clock")
def test_events_that_were_removed_no_longer_count(recorded):
    recorded.add(*[shell(n, "rm -rf /") for n in range(6)])
    subject = recorded.hook(GUARD)
    assert recorded.run(subject).result.total == 6
    with History.open(recorded.directory) as history:
        history.prune(Limits(days=1.0, size=0), now=1_700_000_003.0 + 86400)

    run = recorded.run(subject)

    assert (run.result.total, run.result.outcomes()["deny"]) == (3, 3)


@pytest.mark.usefixtures("clock")
def test_a_late_result_of_another_hook_does_not_change_what_is_decided(recorded):
    event = shell(1, "rm -rf /")
    merge(recorded, live(event, "first"))
    subject = recorded.hook(GUARD)
    first = recorded.run(subject)

    merge(recorded, live(event, "second", outcome="deny", status="ran"))
    again = recorded.run(subject)

    assert again.result == first.result
    assert again.progress.kept == 1


@pytest.mark.usefixtures("clock")
def test_a_late_result_with_a_secret_changes_the_marks(recorded):
    event = shell(1, "rm -rf /")
    merge(recorded, live(event, "first"))
    subject = recorded.hook(QUOTES)
    (first,) = recorded.run(subject).result.decided
    assert first.reconstructed == ()

    merge(recorded, replace(live(event, "second"), redacted=1))
    (again,) = recorded.run(subject).result.decided

    assert again.reconstructed == ("secrets",)


@pytest.mark.usefixtures("clock")
def test_an_event_that_was_removed_and_imported_again_is_another_one(recorded):
    event = shell(1, "rm -rf /")
    recorded.add(event)
    subject = recorded.hook(GUARD)
    assert recorded.run(subject).result.sessions == {"claude/s1"}
    with History.open(recorded.directory) as history:
        history.prune(Limits(days=1.0, size=0), now=event.time + 2 * 86400)
    # The same payload gets the same number.
    recorded.add(replace(event, session="s2", reconstructed=("tool_input",)))

    found = recorded.run(subject).result

    assert found.sessions == {"claude/s2"}
    assert [decided.reconstructed for decided in found.decided] == [("tool_input",)]


@pytest.mark.usefixtures("clock")
def test_changes_in_quick_succession_are_all_seen(recorded):
    subject = recorded.hook(GUARD)
    totals = []
    for number in range(8):
        recorded.add(shell(number, "ls"))
        totals.append(recorded.run(subject).result.total)

    assert totals == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_selection_that_leaves_out_nothing_reads_what_is_kept(recorded):
    recorded.add(shell(1, "ls"), shell(2, "rm -rf /"))
    subject = recorded.hook(GUARD)
    recorded.run(subject)

    assert recorded.run(subject, Selection(tool="shell")).progress.kept == 1
    assert recorded.run(subject, Selection(since=1_700_000_002.0)).progress.kept == 0
