"""Verdicts and trouble are one rule, in functions and in statements."""

from __future__ import annotations

from collections import Counter
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyhook.cli import completion_words
from anyhook.history import denials
from anyhook.history.denials import denials_to_look_at
from anyhook.history.events import RecordedEvent, RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.hooks import RunCounts, count_runs, hook_summaries
from anyhook.history.search import newest, search
from anyhook.history.sessions import sessions
from anyhook.history.statistics import statistics
from anyhook.history.store import History
from anyhook.history.verdicts import CRASH, FAILURES, NO_VERDICT, VERDICTS, verdict_of
from anyhook.model.answers import STRENGTH, Outcome
from anyhook.model.status import Status, trouble_of

ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "outcome": st.sampled_from(["deny", "ask", "defer", "allow", "none"]),
        "stop": st.booleans(),
        "reason": st.sampled_from(["not here", ""]),
        "context": st.just(["more"]),
        "tool_input": st.just({"command": "ls"}),
        "blame": st.just({"outcome": []}),
    },
)
RESULTS = st.builds(
    RecordedResult,
    hook=st.sampled_from(["a.py", "b.py"]),
    place=st.just("/p/a.json:3"),
    status=st.sampled_from([str(status) for status in Status]),
    shadow=st.booleans(),
    exit_code=st.sampled_from([None, 0, 1, 2, 126, 127, 137]),
    signal=st.sampled_from([None, None, "SIGKILL"]),
    answer=ANSWERS,
)
EVENTS = st.builds(
    RecordedEvent,
    agent=st.just("claude"),
    session=st.sampled_from(["one", "two"]),
    event=st.just("before_tool"),
    time=st.just(1_700_000_000.0),
    payload=st.just({"session_id": "one"}),
    source=st.just("engine"),
    tool=st.just("shell"),
    decision=st.none() | ANSWERS,
    results=st.lists(RESULTS, max_size=3).map(tuple),
)


def event(**fields):
    names = {"agent": "claude", "session": "one", "event": "before_tool", "source": "engine"}
    return RecordedEvent(**{**names, "time": 1_700_000_000.0, "payload": {}, **fields})


@pytest.fixture
def history(tmp_path):
    with History.open(tmp_path) as history:
        yield history


# -- random records


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(events=st.lists(EVENTS, min_size=1, max_size=8))
def test_statements_and_functions_agree_on_random_records(events):
    with TemporaryDirectory() as directory, History.open(directory) as history:
        history.add(events)
        stored = search(history, Filter(), limit=100)

        assert Counter(event.verdict for event in stored) == Counter(e.verdict for e in events)
        check_searches(history, stored)
        check_counts(history, stored)


def check_searches(history, stored):
    def numbers(**fields):
        return {event.id for event in search(history, Filter(**fields), limit=100)}

    for verdict in (*VERDICTS, NO_VERDICT):
        expected = {event.id for event in stored if event.verdict == verdict}
        assert numbers(verdict=verdict) == expected
    failed = {event.id for event in stored if any(map(has_failed, event.results))}
    assert numbers(failed=True) == failed
    for verdict in (*VERDICTS, NO_VERDICT):
        by_a = {event.id for event in stored if verdict in verdicts_that_count(event, "a.py")}
        assert numbers(hook="a.py", verdict=verdict) == by_a


def test_a_denial_that_another_hook_overrode_is_found_by_its_hook(history):
    """In Cursor, the answer of a higher layer counts, also an allowance against a denial."""
    answers = {"a.py": {"outcome": "deny"}, "b.py": {"outcome": "allow"}}
    results = [RecordedResult(hook, answer=answer) for hook, answer in answers.items()]
    overridden = event(results=tuple(results), decision={"outcome": "allow"})
    history.add([overridden, event(decision={"outcome": "deny"})])

    def numbers(**fields):
        return [found.id for found in newest(history, Filter(**fields))]

    assert numbers(hook="a.py", verdict="deny") == [1]
    assert numbers(hook="b.py", verdict="deny") == []
    assert numbers(verdict="deny") == [2]


def check_counts(history, stored):
    counted = statistics(history)
    assert counted.outcomes == Counter(event.verdict for event in stored)
    of_sessions = Counter()
    for session in sessions(history):
        of_sessions += Counter(session.outcomes)
    assert of_sessions == Counter(event.verdict for event in stored if event.verdict != "none")
    views = [
        {name(hook): hook for hook in counted.hooks},
        {summary.name: summary for summary in hook_summaries(history).hooks},
        {key.name.label: counts for key, counts in count_runs(history).items()},
    ]
    for label in ("a.py", "b.py"):
        results = [r for event in stored for r in event.results if r.hook == label]
        expected = (
            len(results),
            Counter(r.verdict for r in results if not r.shadow and r.verdict != "none"),
            Counter(r.verdict for r in results if r.shadow and r.verdict != "none"),
            sum(map(has_failed, results)),
            sum(r.trouble == "warned" for r in results),
        )
        for view in views:
            counts = view.get(label, RunCounts())
            assert (
                counts.runs,
                Counter(counts.outcomes),
                Counter(counts.shadow_outcomes),
                counts.failures,
                counts.warnings,
            ) == expected


def name(hook):
    return hook.hook


def has_failed(result):
    return result.trouble in FAILURES


def verdicts_that_count(event, hook):
    return {r.verdict for r in event.results if r.hook == hook and not r.shadow}


# -- what views contradicted each other about


def test_a_script_that_is_not_there_is_a_failure_in_every_view(history):
    history.add([event(results=(RecordedResult("a.sh", status="warned", exit_code=127),))])

    (counted,) = statistics(history).hooks
    (on_page,) = hook_summaries(history).hooks
    (in_panel,) = count_runs(history).values()

    for counts in (counted, on_page, in_panel):
        assert (counts.failures, counts.warnings) == (1, 0)
    assert len(search(history, Filter(failed=True))) == 1


@pytest.mark.parametrize("outcome", ["ask", "allow", "defer"])
def test_a_stopped_call_is_found_whatever_weaker_verdict_it_has(history, outcome):
    stopped = event(decision={"outcome": outcome, "stop": True, "reason": "enough"})
    history.add([stopped])

    (stored,) = search(history, Filter(verdict="stop"))
    (group,) = denials_to_look_at(history)

    assert stored.reason == group.latest.reason == "enough"
    assert statistics(history).outcomes == {"stop": 1}


def test_a_hook_in_shadow_does_not_split_the_denials_of_others(history):
    stop = {"stop": True, "reason": "enough"}
    stopping = RecordedResult("a.sh", status="ran")
    shadow = RecordedResult("b.sh", status="ran", shadow=True)
    history.add([event(decision=stop, results=(stopping,))])
    history.add([event(decision=stop, results=(stopping, shadow))])

    (group,) = denials_to_look_at(history)

    assert len(group.events) == 2


def test_the_denials_to_look_at_are_the_latest_of_all_verdicts(history, monkeypatch):
    monkeypatch.setattr(denials, "MAX_DENIALS", 3)
    decisions = [{"stop": True}, {"outcome": "deny"}] * 3
    history.add([event(time=number, decision=made) for number, made in enumerate(decisions)])

    times = [event.time for group in denials_to_look_at(history) for event in group.events]

    assert sorted(times) == [3, 4, 5]


def test_a_session_counts_its_changes(history):
    history.add([event(decision={"context": ["more"]})])

    (session,) = sessions(history)

    assert session.outcomes == {"change": 1} == statistics(history).outcomes


def test_every_verdict_can_be_completed(home):
    complete = completion_words.complete(["history", "search", "--outcome", ""])

    assert {word for word, _ in complete} == {*VERDICTS, NO_VERDICT}


# -- the words


@pytest.mark.parametrize(
    ("decision", "verdict"),
    [
        (None, "none"),
        ({}, "none"),
        ({"blame": {}}, "none"),
        ({"outcome": "none", "stop": True}, "stop"),
        ({"outcome": "deny", "stop": True}, "deny"),
        ({"outcome": "defer", "stop": True}, "stop"),
        ({"outcome": "ask", "stop": True}, "stop"),
        ({"outcome": "allow", "stop": True}, "stop"),
        ({"context": ["more"]}, "change"),
        ({"outcome": "allow", "context": ["more"]}, "allow"),
    ],
)
def test_the_verdict_of_a_decision(decision, verdict):
    assert verdict_of(decision) == verdict


def test_verdicts_are_in_the_order_of_the_engine():
    stronger_first = sorted(Outcome, key=STRENGTH.__getitem__, reverse=True)

    assert [verdict for verdict in VERDICTS if verdict in stronger_first] == stronger_first[:-1]


def test_a_failure_without_a_verdict_is_a_crash():
    assert verdict_of({"system_messages": ["a.py failed"]}, has_failed=True) == CRASH
    assert verdict_of({"outcome": "deny"}, has_failed=True) == "deny"


@pytest.mark.parametrize(
    ("status", "exit_code", "signal", "trouble"),
    [
        ("ran", 0, None, ""),
        ("ran", 2, None, ""),
        ("ran", 127, None, "failed"),
        ("warned", 1, None, "warned"),
        ("warned", 126, None, "failed"),
        ("warned", None, "SIGKILL", "failed"),
        ("failed", None, None, "failed"),
        ("timed_out", None, "SIGTERM", "timed_out"),
        ("withheld", None, None, "withheld"),
        ("skipped", None, None, ""),
        ("started", None, None, ""),
    ],
)
def test_what_is_wrong_with_a_run(status, exit_code, signal, trouble):
    assert trouble_of(status, exit_code, signal) == trouble
