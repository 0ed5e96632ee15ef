"""Results on parts of the history that are kept, and every change that makes them outdated."""

from __future__ import annotations

import pytest

from anyhook.backtest.sources import parts_of_history, store_stamp
from anyhook.history.events import RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.merge import Merger
from anyhook.history.store import History, Limits
from tests.backtest.test_backtest import GUARD, Recorded, shell
from tests.waiting import until

QUOTES = GUARD.replace('deny("no")', "deny(event.text)")
"""A guard whose decisions quote the command."""


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


class Settled(Recorded):
    """A history whose files are old enough to say by their times whether it has changed."""

    def run(self, subject, *selection, **options):
        until(lambda: store_stamp(self.directory))
        return super().run(subject, *selection, **options)


@pytest.fixture(params=[Recorded, Settled])
def any_age(request, tmp_path):
    """Return a history that was changed just now, or some time ago."""
    return request.param(tmp_path)


def result(hook, **fields):
    return RecordedResult(hook, f"/settings.json:{len(hook)}", duration=0.1, **fields)


def live(event, hook, **fields):
    """Return an event as a hook has recorded it."""
    return event._replace(source="hook", results=(result(hook, **fields),), decision={})


def merge(recorded, *events):
    with History.open(recorded.directory) as history, history.transaction():
        Merger(history).add(events)


def test_a_store_that_has_not_changed_is_not_read(tmp_path):
    recorded = Settled(tmp_path)
    recorded.add(*[shell(n, "rm -rf /" if n % 2 else "ls") for n in range(10)])
    subject = recorded.hook(GUARD)
    first = recorded.run(subject)
    parts = list(parts_of_history(recorded.directory, Filter()))
    with History.open(recorded.directory) as history:
        history.connection.execute("UPDATE events SET identity = x'00'")

    # The parts have the stamp from before the change, so that a reader would be found.
    again = recorded.run(subject, parts=parts)

    assert (again.progress.kept, again.result) == (1, first.result)
    assert recorded.run(subject).progress.kept == 0


def test_a_store_that_was_changed_just_now_has_no_stamp(recorded):
    recorded.add(shell(1, "ls"))

    assert store_stamp(recorded.directory) == ""


def test_events_that_were_removed_no_longer_count(any_age):
    any_age.add(*[shell(n, "rm -rf /") for n in range(6)])
    subject = any_age.hook(GUARD)
    assert any_age.run(subject).result.total == 6
    with History.open(any_age.directory) as history:
        history.prune(Limits(days=1.0, size=0), now=1_700_000_003.0 + 86400)

    run = any_age.run(subject)

    assert (run.result.total, run.result.outcomes()["deny"]) == (3, 3)


def test_a_late_result_of_another_hook_does_not_change_what_is_decided(any_age):
    event = shell(1, "rm -rf /")
    merge(any_age, live(event, "first"))
    subject = any_age.hook(GUARD)
    first = any_age.run(subject)

    merge(any_age, live(event, "second", answer={"outcome": "deny"}, status="ran"))
    again = any_age.run(subject)

    assert again.result == first.result
    assert again.progress.kept == 1


def test_a_late_result_with_a_secret_changes_the_marks(any_age):
    event = shell(1, "rm -rf / [redacted:aws-key]")
    merge(any_age, live(event, "first"))
    subject = any_age.hook(QUOTES)
    (first,) = any_age.run(subject).result.decided
    assert first.reconstructed == ()

    merge(any_age, live(event, "second")._replace(redacted=1))
    (again,) = any_age.run(subject).result.decided

    assert again.reconstructed == ("secrets",)


def test_an_event_that_was_removed_and_imported_again_is_another_one(any_age):
    event = shell(1, "rm -rf /")
    any_age.add(event)
    subject = any_age.hook(GUARD)
    assert any_age.run(subject).result.sessions == {"claude/s1"}
    with History.open(any_age.directory) as history:
        history.prune(Limits(days=1.0, size=0), now=event.time + 2 * 86400)
    # The same payload gets the same number.
    any_age.add(event._replace(session="s2", reconstructed=("tool_input",)))

    found = any_age.run(subject).result

    assert found.sessions == {"claude/s2"}
    assert [decided.reconstructed for decided in found.decided] == [("tool_input",)]


def test_changes_in_quick_succession_are_all_seen(any_age):
    subject = any_age.hook(GUARD)
    totals = []
    for number in range(8):
        any_age.add(shell(number, "ls"))
        totals.append(any_age.run(subject).result.total)

    assert totals == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_selection_that_leaves_out_nothing_reads_what_is_kept(recorded):
    recorded.add(shell(1, "ls"), shell(2, "rm -rf /"))
    subject = recorded.hook(GUARD)
    recorded.run(subject)

    assert recorded.run(subject, Filter(tool="shell")).progress.kept == 1
    assert recorded.run(subject, Filter(since=1_700_000_002.0)).progress.kept == 0
