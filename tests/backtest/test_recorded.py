"""What was decided when the events happened, as a baseline."""

from __future__ import annotations

import pytest

from anyhook.backtest.evaluation import RECORDED, evaluate
from anyhook.history.events import RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.store import History
from anyhook.trust.approvals import offer_of
from tests.backtest.test_backtest import GUARD, Recorded, shell
from tests.backtest.test_projects import REFUSES, project

DENIED = {"outcome": "deny", "reason": "no"}


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def result_of(hook, answer=None, *, file=None, **fields):
    version = {"file": str(file), "size": 1, "mtime": 1} if file else {}
    return RecordedResult(hook, answer=answer or {}, version=version, **fields)


def event(number, command, decision, *results):
    return shell(number, command)._replace(
        decision=decision, results=tuple(results), source="engine"
    )


def compare(recorded, subject):
    with History.open(recorded.directory) as history:
        return evaluate(history, subject, RECORDED, Filter(), recorded.run).comparison


@pytest.mark.slow
def test_a_hook_file_is_compared_with_its_own_answers(recorded):
    guard = recorded.hook(GUARD)
    other = result_of("other", DENIED, file="/hooks/other.py")
    recorded.add(
        event(1, "curl x", DENIED, result_of("guard.py", file=guard.path), other),
        event(2, "rm -rf /", DENIED, result_of("guard.py", DENIED, file=guard.path), other),
    )

    comparison = compare(recorded, guard)

    assert list(comparison.changes) == []
    assert comparison.title == "what guard.py answered when it was recorded, on 2 of these events"


@pytest.mark.slow
def test_a_changed_hook_file_differs_from_its_own_answers(recorded):
    guard = recorded.hook(GUARD)
    recorded.add(
        event(1, "rm -rf /", {}, result_of("guard.py", file=guard.path)),
        event(2, "ls", DENIED, result_of("guard.py", DENIED, file=guard.path)),
    )

    comparison = compare(recorded, guard)

    assert [change.outcomes for change in comparison.changes] == [
        ("none", "deny"),
        ("deny", "none"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["place", "moved"])
def test_a_hook_file_is_known_by_its_place_and_by_its_name_if_it_was_moved(recorded, where):
    guard = recorded.hook(GUARD)
    place = guard.path if where == "place" else "/gone/guard.py"
    other = result_of("other", DENIED, file="/hooks/other.py")
    recorded.add(event(1, "curl x", DENIED, result_of("guard.py", place=place), other))

    assert "answered" in compare(recorded, guard).title


@pytest.mark.slow
def test_another_hook_of_the_same_name_is_not_taken_for_the_file(recorded):
    guard = recorded.hook(GUARD)
    (recorded.root / "other").mkdir()
    other = recorded.hook(GUARD, "other/guard.py")
    recorded.add(event(1, "curl x", DENIED, result_of("guard.py", DENIED, file=other.path)))

    comparison = compare(recorded, guard)

    assert comparison.title == ("all hooks together, because guard.py was never recorded")
    assert [change.outcomes for change in comparison.changes] == [("deny", "none")]


@pytest.mark.slow
def test_a_project_is_compared_with_the_decisions_of_all_hooks(recorded):
    recorded.add(event(1, "rm x", DENIED, result_of("other", DENIED)))

    comparison = compare(recorded, project(recorded, REFUSES))

    assert list(comparison.changes) == []
    assert comparison.title == "what was recorded"


@pytest.mark.slow
def test_the_stop_of_a_hook_is_the_stop_of_a_project(recorded):
    stops = """echo '{"continue": false, "stopReason": "halt"}'"""
    answer = {"stop": True, "stop_reason": "halt"}
    recorded.add(event(1, "ls", answer, result_of("guard.py", answer)))

    comparison = compare(recorded, project(recorded, stops))

    assert list(comparison.changes) == []


@pytest.mark.slow
def test_the_offer_to_allow_a_call_once_is_no_difference(recorded):
    answer = {**DENIED, "system_messages": [offer_of("other", "ABCDEF")]}
    recorded.add(event(1, "rm x", answer, result_of("other", answer)))

    comparison = compare(recorded, project(recorded, REFUSES))

    assert list(comparison.changes) == []


@pytest.mark.slow
@pytest.mark.parametrize("is_own", [True, False])
def test_a_recorded_failure_is_a_crash(recorded, is_own):
    guard = recorded.hook(GUARD)
    file = guard.path if is_own else "/hooks/other.py"
    failed = result_of("guard", file=file, status="failed", error="KeyError")
    recorded.add(event(1, "ls", {}, failed))

    (change,) = compare(recorded, guard).changes

    assert (change.outcomes, change.fields) == (("crash", "none"), ("crash",))
    assert change.before.crash == "KeyError"


@pytest.mark.slow
def test_the_strongest_of_several_answers_of_a_file_counts(recorded):
    guard = recorded.hook(GUARD)
    answers = [{"outcome": "deny", "reason": "no"}, {"outcome": "allow", "context": ["c"]}]
    results = [result_of(f"one{n}", one, file=guard.path) for n, one in enumerate(answers)]
    recorded.add(event(1, "ls", DENIED, *results))

    (change,) = compare(recorded, guard).changes

    assert change.before.decision == {**DENIED, "context": ["c"]}
