"""What the probe concludes from what hooks did."""

from __future__ import annotations

import json

import pytest

from anyhook.checks.rules import check_hooks
from anyhook.engine.engine import Engine
from anyhook.probe.configured import Taps, find_configured, misplaced_files
from anyhook.probe.evidence import TrialObservation
from anyhook.probe.report import Circumstances, ProbeVerdict, judge

COMMAND = {"type": "command", "command": "true", "timeout": 7}
GUARD = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [COMMAND]}]}}
RAN = TrialObservation("PreToolUse", "Bash ls", fired=True, exit_code=0)


@pytest.fixture
def report(project, home, tmp_path):
    """Judge the only hook of settings of Claude Code by what was observed."""

    def call(settings, *observations, silent=False):
        path = project / ".claude" / "settings.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(settings))
        engine = load(project, home)
        taps = Taps(engine.agent, tmp_path, lambda text: text)
        [hook] = find_configured(engine, taps, {path})
        files = frozenset({path} if silent else ())
        around = Circumstances(engine, tuple(check_hooks(engine)), (), files)
        return judge(hook, observations, around)

    return call


def load(project, home):
    return Engine.load(
        project, agent="claude", home=home, trust_once=True, on_message=lambda _text: None
    )


def test_a_hook_that_ran_everywhere_works(report):
    result = report(GUARD, RAN, TrialObservation("PreToolUse", "Bash rm", fired=True, denied=True,
                                            held=True, exit_code=2))  # fmt: skip
    assert (result.verdict, result.reasons) == (ProbeVerdict.WORKS, ())
    assert (result.fired, result.held(), result.context) == (True, True, None)


@pytest.mark.parametrize(
    ("observation", "text"),
    [
        (TrialObservation("PreToolUse", "Bash rm"), "it did not run on 'Bash rm'"),
        (TrialObservation("PreToolUse", "Bash rm", denied=True), "which it would deny"),
        (
            TrialObservation("PreToolUse", "Bash rm", fired=True, denied=True, held=False),
            "Claude Code did not obey its denial on 'Bash rm'",
        ),
        (
            TrialObservation("PreToolUse", "Bash rm", True, fired=True, denied=True, held=False),
            "a subagent did not obey its denial",
        ),
        (
            TrialObservation("PreToolUse", "Bash rm", fired=True, context=False),
            "its text for the model did not reach the model",
        ),
        (
            TrialObservation("PreToolUse", "Bash rm", fired=True, killed=True),
            "killed it on 'Bash rm': its timeout is 7 s (the settings count in seconds)",
        ),
        (
            TrialObservation(
                "PreToolUse", "Bash rm", fired=True, exit_code=127, stderr="no such file"
            ),
            "its command is not there: no such file",
        ),
        (
            TrialObservation(
                "PreToolUse", "Bash rm", fired=True, exit_code=126, denied=True, held=True
            ),
            "may not be executed: ; Claude Code denies every call for that",
        ),
    ],
)
def test_what_goes_wrong_is_the_reason(report, observation, text):
    result = report(GUARD, RAN, observation)
    assert result.verdict is ProbeVerdict.BROKEN
    assert text in "\n".join(result.reasons)


def test_a_hook_that_runs_in_the_session_only_differs_from_one_that_never_runs(report):
    result = report(GUARD, RAN, TrialObservation("PreToolUse", "Bash ls", True))
    assert "it does not run for calls of a subagent (Bash ls)" in result.reasons
    assert result.fired_in_subagent is False


def test_a_file_of_which_no_hook_ran_was_dropped(report):
    result = report(GUARD, TrialObservation("PreToolUse", "Bash ls"), silent=True)
    assert "drops the whole file for a wrong entry" in result.reasons[0]


def test_a_hook_that_is_switched_off_is_no_problem(report):
    result = report({**GUARD, "disableAllHooks": True})
    assert result.verdict is ProbeVerdict.OFF
    assert "it is switched off by" in result.reasons[0]


def test_a_hook_without_an_event_was_not_tested(report):
    result = report({"hooks": {"Notification": [{"hooks": [COMMAND]}]}})
    assert (result.verdict, result.reasons) == (
        ProbeVerdict.UNTESTED,
        ("the probe leads to no Notification",),
    )


def test_a_matcher_of_no_tool_is_a_mistake(report):
    result = report({"hooks": {"PreToolUse": [{"matcher": "Bsh", "hooks": [COMMAND]}]}})
    assert result.verdict is ProbeVerdict.BROKEN
    assert "did you mean 'Bash'" in result.reasons[0]


def test_an_unknown_event_is_a_mistake(report):
    result = report({"hooks": {"PreTool": [{"hooks": [COMMAND]}]}})
    assert result.verdict is ProbeVerdict.BROKEN
    assert "Claude Code has no event 'PreTool'" in result.reasons[0]


def test_a_hook_that_runs_no_command_was_not_tested(report):
    hook = {"type": "http", "url": "http://127.0.0.1:9/"}
    result = report({"hooks": {"PreToolUse": [{"hooks": [hook]}]}})
    assert result.verdict is ProbeVerdict.UNTESTED
    assert "it is of type http" in result.reasons[0]


def test_hooks_beside_the_settings_are_found(project, home):
    directory = project / ".claude"
    (directory / "hooks").mkdir(parents=True)
    (directory / "settings.json").write_text("{}")
    for name in ("hooks.json", "hooks/settings.json"):
        (directory / name).write_text(json.dumps(GUARD))
    (directory / "other.json").write_text('{"hooks": {"other": []}}')
    (directory / "broken.json").write_text("{")
    engine = load(project, home)
    found = {
        path.relative_to(directory).as_posix() for path in misplaced_files(engine.agent, engine)
    }
    assert found == {"hooks.json", "hooks/settings.json"}
