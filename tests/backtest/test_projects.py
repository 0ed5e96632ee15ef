"""The hooks of a project on recorded events: several processes share the events of a part."""

from __future__ import annotations

import json

import pytest

from anyhook.backtest.pool import SAMPLED_SESSIONS, Slice, slices_of
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.history.filters import Filter
from tests.backtest.test_backtest import Recorded, shell

REFUSES = """read line
case $line in
    *'rm x'*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "no"}}';;
esac
"""
COUNTS = r"""read line
session=$(expr "$line" : '.*session_id": *"\([^"]*\)')
echo >>log-$session
wc -l <log-$session >&2
exit 2
"""
"""Refuses everything and says how many commands of the session have run so far."""


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def project(recorded, command):
    root = recorded.root / "project"
    settings = root / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    hook = {"type": "command", "command": command}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}}))
    return BacktestSubject(str(root), "project", agent="claude", trusted=True)


def run(recorded, subject, jobs):
    parts = list(parts_of_history(recorded.directory, Filter()))
    return run_backtest(subject, parts, jobs=jobs).result


@pytest.mark.slow
def test_several_processes_give_the_decisions_in_the_order_of_the_events(recorded):
    commands = ["rm x" if number % 3 else "ls" for number in range(40)]
    recorded.add(*[shell(n, command, f"s{n % 7}") for n, command in enumerate(commands)])
    subject = project(recorded, REFUSES)

    one, three = [run(recorded, subject, jobs) for jobs in (1, 3)]

    assert list(one.decided) == list(three.decided)
    assert [found.ref for found in three.decided] == [str(n + 1) for n in range(40) if n % 3]
    assert (one.events, one.sessions, one.verdicts) == (
        three.events,
        three.sessions,
        three.verdicts,
    )
    assert one.verdict_sessions == three.verdict_sessions
    ((label, tally),) = three.hooks.items()
    assert (tally.matched, tally.outcomes) == (40, one.hooks[label].outcomes)


@pytest.mark.slow
def test_the_events_of_a_session_stay_in_order(recorded):
    recorded.add(*[shell(n, "ls", f"s{n % 5}") for n in range(30)])

    result = run(recorded, project(recorded, COUNTS), jobs=3)

    counts = [found.decision["reason"].strip() for found in result.decided]
    assert counts == [str(n // 5 + 1) for n in range(30)]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 3])
def test_a_few_sessions_are_decided_again(recorded, jobs):
    recorded.add(*[shell(n, "ls", f"s{n % 8}") for n in range(16)])

    assert run(recorded, project(recorded, "true"), jobs).sampled == 2 * SAMPLED_SESSIONS


def test_every_session_belongs_to_one_slice():
    slices = slices_of(1, 3)

    for rank in range(100):
        assert sum(one.takes(rank) for one in slices) == 1
        assert sum(one.count_below(rank) for one in slices) == rank
    assert slices_of(100, 2) == slices_of(1, 1) == [Slice()]
