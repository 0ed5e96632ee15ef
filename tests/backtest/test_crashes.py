"""Hooks that fail on recorded events: the verdict `crash`, and in which ways they failed."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from anyhook.agents import CODING_AGENTS
from anyhook.backtest.report import report_json
from anyhook.backtest.results import MAX_CRASHES, Crash, Result
from anyhook.cli.backtest_view import print_report
from tests.backtest.test_backtest import GUARD, Recorded, before_check, shell
from tests.backtest.test_projects import project
from tests.backtest.test_projects import run as run_project
from tests.tables import fast_for

KEY = "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"
LINE = GUARD.splitlines().index("def guard(event):") + 2


@pytest.fixture
def recorded(tmp_path):
    return Recorded(tmp_path)


def raising(condition, error):
    return before_check(f"if {condition}: raise {error}")


def text_of(run):
    out = Console(file=io.StringIO(), width=100)
    print_report(out, run, None)
    return out.file.getvalue()


@pytest.mark.slow
def test_events_on_which_a_function_raises_are_crashes_with_the_exception(recorded):
    commands = ["ls", "boom", "rm -rf /", "boom", "bang"]
    recorded.add(*[shell(n, command) for n, command in enumerate(commands)])
    hook = raising("event.call.command in ('boom', 'bang')", "KeyError(event.call.command)")

    run = recorded.run(recorded.hook(hook))

    report = report_json(run, None)
    boom, bang = f"KeyError: 'boom' (guard.py:{LINE})", f"KeyError: 'bang' (guard.py:{LINE})"
    assert {name: rate["events"] for name, rate in report["outcomes"].items()} == {
        "crash": 3,
        "deny": 1,
    }
    assert report["hooks"]["guard"]["outcomes"] == {"none": 1, "crash": 3, "deny": 1}
    assert report["crashes"] == [
        {"hook": "guard", "error": boom, "events": 2},
        {"hook": "guard", "error": bang, "events": 1},
    ]
    assert [(one["outcome"], one["crash"]) for one in report["decided"]] == [
        ("crash", boom),
        ("deny", ""),
        ("crash", boom),
        ("crash", bang),
    ]
    assert f"crash  2 events  guard: {boom}" in text_of(run)


@pytest.mark.slow
def test_a_crash_that_the_file_answers_with_a_denial_is_a_denial(recorded):
    recorded.add(shell(1, "boom"))
    text = raising("event.call.command == 'boom'", "ValueError('no')")
    hook = recorded.hook(text.replace("Hooks()", 'Hooks(on_crash="deny")'))

    result = recorded.run(hook).result

    (decided,) = result.decided
    assert (decided.outcome, decided.crash) == ("deny", f"ValueError: no (guard.py:{LINE})")
    assert result.crashes == {Crash("guard", decided.crash): 1}


@pytest.mark.slow
@pytest.mark.parametrize("crash", ["allow", "deny"])
@pytest.mark.parametrize("agent", CODING_AGENTS)
def test_a_denial_with_what_an_agent_drops_stays_though_it_is_refused(recorded, crash, agent):
    recorded.add(shell(1, "rm -rf /", agent=agent))
    text = before_check("return deny('not here', tool_input={'command': 'ls'})")
    options = f"Hooks(unsupported='refuse', on_crash={crash!r})"

    run = recorded.run(recorded.hook(text.replace("Hooks()", options)))

    assert [decided.outcome for decided in run.result.decided] == ["deny"]


@pytest.mark.slow
def test_the_text_of_an_exception_holds_no_secret_and_is_one_line(recorded):
    recorded.add(shell(1, f"curl -H {KEY}"))
    hook = recorded.hook(raising("True", r"ValueError(event.call.command + '\nmore')"))

    (crash,) = recorded.run(hook).result.crashes

    assert KEY not in crash.error
    assert crash.error.startswith("ValueError: curl -H [redacted:")
    assert "more" not in crash.error


@pytest.mark.slow
def test_crashes_are_the_same_from_several_processes(recorded):
    recorded.add(*[shell(n, "boom" if n % 2 else "ls", f"s{n}") for n in range(9)])
    hook = recorded.hook(raising("event.call.command == 'boom'", "ValueError"))

    first, again = recorded.run(hook, jobs=2), recorded.run(hook)

    assert (
        first.result.crashes
        == again.result.crashes
        == {Crash("guard", f"ValueError (guard.py:{LINE})"): 4}
    )


@pytest.mark.slow
def test_a_hook_of_a_project_that_cannot_be_run_is_a_crash(recorded):
    recorded.add(shell(1, "ls"))
    subject = project(recorded, "exit 0")
    settings = recorded.root / "project" / ".claude" / "settings.json"
    hook = {"type": "http", "url": "http://127.0.0.1:1/guard"}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))

    result = run_project(recorded, subject, 1)

    (tally,) = result.hooks.values()
    (crash,) = result.crashes
    assert result.outcomes() == tally.outcomes == {"crash": 1}
    assert next(iter(result.decided)).crash == crash.error != ""


def test_very_many_different_errors_are_counted_by_hook():
    result = Result()

    for number in range(MAX_CRASHES + 5):
        result.add_crash(Crash("guard", f"KeyError: {number}"))

    assert len(result.crashes) == MAX_CRASHES + 1
    assert result.crashes[Crash("guard", "other errors")] == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "crash"),
    fast_for(
        [
            ("no-such-command", "exit code 127: "),
            ("./not-executable", "exit code 126: "),
            ("kill -9 $$", "ended by SIGKILL"),
            ("sh -c 'kill -9 $$'; exit $?", "exit code 137"),
        ]
    ),
)
def test_a_command_that_cannot_start_or_is_killed_has_crashed(recorded, command, crash):
    recorded.add(shell(1, "ls"))
    subject = project(recorded, command)
    (recorded.root / "project" / "not-executable").write_text("")

    result = run_project(recorded, subject, 1)

    (tally,) = result.hooks.values()
    (decided,) = result.decided
    assert (tally.crashed, result.outcomes()) == (1, {"crash": 1})
    assert decided.crash.startswith(crash)
    assert [one.error for one in result.crashes] == [decided.crash]


@pytest.mark.slow
@pytest.mark.parametrize("code", fast_for([1, 3, 128, 255]))
def test_another_exit_code_of_a_command_is_no_crash(recorded, code):
    recorded.add(shell(1, "ls"))

    result = run_project(recorded, project(recorded, f"exit {code}"), 1)

    assert (result.outcomes(), result.crashes) == ({}, {})


@pytest.mark.slow
def test_a_command_that_times_out_is_a_decided_event(recorded):
    recorded.add(shell(1, "ls"))
    subject = project(recorded, "exec sleep 100")
    settings = recorded.root / "project" / ".claude" / "settings.json"
    hook = {"type": "command", "command": "exec sleep 100", "timeout": 0.2}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))

    result = run_project(recorded, subject, 1)

    (tally,) = result.hooks.values()
    (decided,) = result.decided
    assert (tally.timed_out, tally.crashed, result.outcomes()) == (1, 0, {"crash": 1})
    assert decided.crash == "did not end in time"
