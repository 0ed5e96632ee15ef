"""Events on which a hook runs into its timeout: what they cost is in the report."""

from __future__ import annotations

import json

import pytest

from anyhook.backtest.report import find_changes, new_denials, report_json
from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.history.filters import Filter
from tests.backtest.test_backtest import Recorded, before_check, shell
from tests.backtest.test_crashes import text_of
from tests.backtest.test_projects import project

HANGS = before_check("import time; event.call.command == 'hang' and time.sleep(3600)")
SLOW = before_check("import time; time.sleep(0.6)")


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


@pytest.mark.slow
def test_the_report_says_what_timeouts_cost_and_which_option_changes_it(recorded):
    recorded.add(shell(1, "hang"), shell(2, "rm -rf /"), shell(3, "hang"))

    run = recorded.run(recorded.hook(HANGS), timeout=0.4)

    assert report_json(run, None)["timeouts"] == {"events": 2, "limit": 0.4, "seconds_waited": 0.8}
    assert (
        "2 events reached the time limit of 0.4 s, which took 800 ms of this run, all processes "
        "together; for another limit: --timeout SECONDS"
    ) in text_of(run)


@pytest.mark.slow
def test_a_longer_limit_decides_what_timed_out(recorded):
    recorded.add(shell(1, "rm -rf /"))
    hook = recorded.hook(SLOW)

    short, long = [recorded.run(hook, timeout=limit) for limit in (0.1, 60)]

    assert (short.result.timeouts, short.result.outcomes()) == (1, {"crash": 1})
    assert (long.result.timeouts, long.result.outcomes()) == (0, {"deny": 1})


@pytest.mark.slow
def test_hooks_of_a_project_that_time_out_count_once_for_an_event(recorded):
    recorded.add(shell(1, "ls"), shell(2, "ls"))
    subject = project(recorded, "exec sleep 100")
    settings = recorded.root / "project" / ".claude" / "settings.json"
    hooks = [{"type": "command", "command": f"exec sleep {n}", "timeout": 0.2} for n in (100, 101)]
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": hooks}]}}))
    parts = list(parts_of_history(recorded.directory, Filter()))

    run = run_backtest(subject, parts, jobs=1)

    assert [tally.timed_out for tally in run.result.hooks.values()] == [2, 2]
    assert run.result.timeouts == 2
    assert run.progress.seconds_waited >= 0.4
    text = text_of(run)
    assert "2 events reached the timeout of a hook, which took" in text
    assert "to end events sooner than the settings do: --timeout SECONDS" in text


DENIES = HANGS.replace("Hooks()", 'Hooks(on_crash="deny", timeout=0.3)')
SWALLOWS = before_check(
    """import time
    try: event.call.command == 'hang' and time.sleep(3600)
    except BaseException: pass"""
)


@pytest.mark.slow
@pytest.mark.parametrize("timeout", [0.3, 3600])
def test_the_timeout_of_the_file_has_the_answer_that_the_file_chose(recorded, timeout):
    recorded.add(shell(1, "hang"), shell(2, "ls"))

    run = recorded.run(recorded.hook(DENIES), timeout=timeout)

    (decided,) = run.result.decided
    assert (decided.text, decided.outcome, decided.crash) == ("hang", "deny", "did not end in time")
    assert decided.decision["reason"].endswith("ran out of time; blocked, because it must not fail")
    tally = run.result.hooks["guard"]
    assert (tally.timed_out, tally.crashed, tally.outcomes) == (1, 0, {"deny": 1, "none": 1})
    assert report_json(run, None)["timeouts"]["limit"] == 0.3


@pytest.mark.slow
def test_the_report_names_the_timeout_of_the_file(recorded):
    recorded.add(shell(1, "hang"))

    run = recorded.run(recorded.hook(DENIES))

    assert (
        "1 event reached the timeout of the hook file, 0.3 s, which took 300 ms of this run, all "
        "processes together; for another one: Hooks(timeout=SECONDS)"
    ) in text_of(run)


@pytest.mark.slow
def test_a_hook_that_hangs_and_denies_then_differs_from_one_that_allows(recorded):
    recorded.add(shell(1, "hang"), shell(2, "ls"))
    allows = recorded.run(recorded.hook(DENIES.replace('"deny"', '"allow"'), "a.py")).result

    denies = recorded.run(recorded.hook(DENIES, "d.py")).result

    (change,) = find_changes(allows, denies)
    assert change.outcomes == ("crash", "deny")
    assert len(new_denials([change])) == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", ["catches", "blocks signals"])
def test_a_hook_that_goes_on_after_its_timeout_is_ended(recorded, way):
    recorded.add(shell(1, "hang"), shell(2, "rm -rf /"))
    blocks = "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])"
    hang = "event.call.command == 'hang' and time.sleep(3600)"
    text = SWALLOWS if way == "catches" else before_check(f"{blocks}; {hang}")

    result = recorded.run(recorded.hook(text), timeout=1).result

    assert result.outcomes() == {"crash": 1, "deny": 1}
    assert (result.timeouts, result.seconds_waited) == (1, 1)


@pytest.mark.slow
def test_the_answers_of_earlier_functions_count_beside_a_timeout(recorded):
    recorded.add(shell(1, "hang"))
    earlier = "@hooks.before_tool\ndef asks(event):\n    return ask('sure?')\n\n@hooks.before_tool("
    text = HANGS.replace("@hooks.before_tool(", earlier, 1).replace("deny\n", "ask, deny\n", 1)

    result = recorded.run(recorded.hook(text), timeout=1).result

    assert result.outcomes() == {"ask": 1}
    assert result.hooks["asks"].outcomes == {"ask": 1}
    assert result.hooks["guard"].timed_out == 1


@pytest.mark.slow
def test_each_decision_of_an_event_has_the_whole_limit(recorded):
    recorded.add(shell(1, "rm -rf /")._replace(reconstructed=("cwd", "permission_mode")))
    slow = before_check("import time; time.sleep(1.2)")

    result = recorded.run(recorded.hook(slow), timeout=2.2).result

    assert (result.timeouts, result.outcomes()) == (0, {"deny": 1})
