"""Counts of the history, over several spans of events."""

from __future__ import annotations

from anyhook.history import hooks
from anyhook.history import statistics as module
from anyhook.history.events import RecordedResult
from anyhook.history.filters import Filter
from anyhook.history.search import search
from anyhook.history.statistics import statistics
from anyhook.history.store import History
from tests.history.test_faults import NOW, event


def results(outcome="none", duration=1.0, status="ran"):
    answer = {} if outcome == "none" else {"outcome": outcome}
    guard = RecordedResult("guard", duration=duration, status=status, answer=answer)
    return (guard, RecordedResult("anyhook recorder", kind="recorder"))


def test_counts_are_the_same_however_many_events_a_query_counts(tmp_path, monkeypatch):
    deny = {"outcome": "deny"}
    with History.open(tmp_path) as history:
        history.add(
            [
                event(1, results=results()),
                event(2, results=results("deny", 3.0), decision=deny),
                event(3, session="s2", decision=deny),
                event(4, session="s2", decision={"stop": True}, results=results(status="failed")),
                event(5, session="s3"),
            ]
        )
        counted = statistics(history)
        shares = []
        monkeypatch.setattr(module, "EVENTS_PER_QUERY", 2)
        monkeypatch.setattr(hooks, "EVENTS_PER_QUERY", 2)
        assert statistics(history, on_progress=shares.append) == counted
        assert shares == [0.2, 0.4, 0.5, 0.7, 0.9, 1.0]
        since = statistics(history, since=NOW + 4)
        other_agent = statistics(history, agent="claude")

    assert (counted.sessions, counted.events) == (3, {"before_tool": 5})
    assert counted.outcomes == {"none": 2, "deny": 2, "stop": 1}
    assert counted.sessions_with == {"none": 2, "deny": 2, "stop": 1}
    assert (counted.tools, counted.sources) == ({"shell": 5}, {"engine": 5})
    (hook,) = counted.hooks
    assert (hook.runs, hook.outcomes, hook.failures) == (3, {"deny": 1}, 1)
    assert (hook.seconds, hook.slowest, hook.last) == (5 / 3, 3.0, NOW + 4)
    assert (since.sessions, since.outcomes) == (2, {"stop": 1, "none": 1})
    assert (other_agent.sessions, other_agent.hooks) == (0, ())


def test_an_empty_history_has_no_counts(tmp_path):
    with History.open(tmp_path) as history:
        assert statistics(history).sessions == 0


def test_a_search_until_a_time_finds_events_in_any_order_of_storing(tmp_path):
    with History.open(tmp_path) as history:
        history.add([event(3), event(1), event(5), event(2)])
        found = search(history, Filter(until=NOW + 3))
        assert [one.time - NOW for one in found] == [2, 1]
        assert search(history, Filter(until=NOW)) == []


def test_a_percentile_is_the_value_that_a_share_does_not_exceed():
    values = [float(number) for number in range(1, 21)]

    assert hooks.percentile(values, 0.95) == 19
    assert hooks.percentile([2.0, 1.0], 0.5) == 1
    assert hooks.percentile([3.0], 0.0) == 3
    assert hooks.percentile([], 0.5) is None


def test_the_result_of_a_run_is_that_of_its_version(tmp_path):
    other, own = (
        RecordedResult("jq", digest=digest, answer={"outcome": outcome})
        for digest, outcome in (("a", "allow"), ("b", "deny"))
    )
    with History.open(tmp_path) as history:
        history.add([event(1, results=(other, own))])
        versions = [hook for hook in hooks.recorded_hooks(history) if hook.digest == "b"]
        runs = hooks.hook_runs(history, [version.number for version in versions])

        ((_event, result),) = hooks.latest_results(history, versions, runs, 10)

    assert result.answer == {"outcome": "deny"}


def test_runs_of_a_project_are_those_of_its_events(tmp_path):
    with History.open(tmp_path) as history:
        history.add(
            [
                event(1, session="s1", project="/srv/a", results=results()),
                event(2, session="s2", project="/srv/ab", results=results()),
            ]
        )
        numbers = list(hooks.hook_versions(history, "guard", ""))
        for project, count in (("/", 2), ("/srv", 2), ("/srv/a", 1), ("", 2), ("/sr", 0)):
            assert len(hooks.hook_runs(history, numbers, project=project)) == count
            if project:
                assert len(search(history, Filter(project=project))) == count
