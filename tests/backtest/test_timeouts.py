"""Events on which a hook runs into its timeout: what they cost is in the report."""

from __future__ import annotations

import json

import pytest

from anyhook.backtest.report import report_json
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import Selection, parts_of_history
from tests.backtest.test_backtest import Recorded, before_check, shell
from tests.backtest.test_crashes import text_of
from tests.backtest.test_projects import project

HANGS = before_check("import time; event.call.command == 'hang' and time.sleep(3600)")
SLOW = before_check("import time; time.sleep(0.6)")


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def test_the_report_says_what_timeouts_cost_and_which_option_changes_it(recorded):
    recorded.add(shell(1, "hang"), shell(2, "rm -rf /"), shell(3, "hang"))

    run = recorded.run(recorded.hook(HANGS), timeout=0.4)

    assert report_json(run, None)["timeouts"] == {"events": 2, "limit": 0.4, "seconds_waited": 0.8}
    assert (
        "2 events reached the time limit of 0.4 s, which took 800 ms of this run, all processes "
        "together; for another limit: --timeout SECONDS"
    ) in text_of(run)


def test_timeouts_of_an_earlier_run_cost_nothing(recorded):
    recorded.add(shell(1, "hang"))
    hook = recorded.hook(HANGS)
    recorded.run(hook, timeout=0.4)

    again = recorded.run(hook, timeout=0.4)

    assert again.progress.kept == again.progress.parts
    assert report_json(again, None)["timeouts"]["seconds_waited"] == 0
    assert "1 event reached the time limit of 0.4 s; for another limit" in text_of(again)


def test_a_longer_limit_evaluates_again_what_timed_out(recorded):
    recorded.add(shell(1, "rm -rf /"))
    hook = recorded.hook(SLOW)

    short, long = [recorded.run(hook, timeout=limit) for limit in (0.1, 60)]

    assert (short.result.timeouts, short.result.outcomes()) == (1, {})
    assert (long.result.timeouts, long.result.outcomes()) == (0, {"deny": 1})
    assert recorded.run(hook, timeout=50).progress.kept == 1


def test_hooks_of_a_project_that_time_out_count_once_for_an_event(recorded):
    recorded.add(shell(1, "ls"), shell(2, "ls"))
    subject = project(recorded, "exec sleep 100")
    settings = recorded.root / "project" / ".claude" / "settings.json"
    hooks = [{"type": "command", "command": f"exec sleep {n}", "timeout": 0.2} for n in (100, 101)]
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": hooks}]}}))
    parts = list(parts_of_history(recorded.directory, Selection()))

    run = run_backtest(subject, parts, recorded.directory, jobs=1)

    assert [tally.timed_out for tally in run.result.hooks.values()] == [2, 2]
    assert run.result.timeouts == 2
    assert run.progress.seconds_waited >= 0.4
    text = text_of(run)
    assert "2 events reached the timeout of a hook, which took" in text
    assert "to end events sooner than the settings do: --timeout SECONDS" in text
