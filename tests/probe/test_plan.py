"""Which calls the scripted model makes."""

from __future__ import annotations

import json

import pytest

from anyhook.agents.program import get_program
from anyhook.engine.engine import Engine
from anyhook.errors import UsageError
from anyhook.probe.plan import RISKY, CallRequest, plan_steps

DENIES = "grep -q '{0}' && {{ echo no >&2; exit 2; }}; exit 0"
STOPS = """grep -q 'git push' && echo '{"continue": false, "stopReason": "enough"}'; exit 0"""


@pytest.fixture
def steps(project, home):
    """Plan the calls for hooks of Claude Code."""

    def call(hooks, *requests, seconds=30.0):
        settings = {}
        for event, matcher, command in hooks:
            handler = {"type": "command", "command": command}
            settings.setdefault(event, []).append({"matcher": matcher, "hooks": [handler]})
        path = project / ".claude" / "settings.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"hooks": settings}))
        engine = Engine.load(
            project, agent="claude", home=home, trust_once=True, on_message=lambda _text: None
        )
        calls = [CallRequest.parse(request) for request in requests]
        return plan_steps(engine, get_program("claude"), calls, seconds)

    return call


def texts(steps):
    return [step.text for step in steps]


def test_a_call_is_made_for_every_hook_and_no_more(steps):
    planned = steps([("PreToolUse", "Write", "true"), ("PostToolUse", "Read", "true")])
    assert texts(planned) == [
        "Bash echo anyhook-probe",
        "Write anyhook-probe/written.txt",
        "Read anyhook-probe/sample.txt",
    ]
    assert not any(step.decision.denied for step in planned)


def test_of_the_risky_calls_those_are_made_that_a_hook_denies(steps):
    planned = steps([("PreToolUse", "Bash", DENIES.format("rm -rf"))])
    assert [step.text for step in planned if step.decision.denied] == [
        "Bash rm -rf anyhook-probe/remove"
    ]


def test_a_guard_that_denies_in_vain_gets_the_call_that_shows_it(steps):
    planned = steps([("PreToolUse", "Bash", "grep -q 'rm -rf' && exit 1; exit 0")])
    assert texts(planned) == ["Bash echo anyhook-probe", "Bash rm -rf anyhook-probe/remove"]


def test_at_most_two_calls_are_made_that_the_same_hook_denies(steps):
    planned = steps([("PreToolUse", "*", DENIES.format("."))])
    assert sum(step.sample in RISKY for step in planned) == 2


def test_a_hook_that_hangs_is_not_waited_for_on_each_call(steps):
    planned = steps([("PreToolUse", "Bash", "sleep 600")], seconds=0.5)
    assert texts(planned) == ["Bash echo anyhook-probe"]


def test_calls_that_end_the_turn_come_last(steps):
    planned = steps([("PreToolUse", "Bash", STOPS)], 'Bash {"command": "echo last"}')
    assert [step.ends_run for step in planned] == sorted(step.ends_run for step in planned)
    assert any(step.ends_run for step in planned)


def test_calls_of_the_user_are_made_as_they_are(steps):
    hooks = [("PreToolUse", "Bash", DENIES.format("force"))]
    planned = steps(hooks, 'Bash {"command": "git push --force-with-lease"}')
    [step] = [step for step in planned if "force-with-lease" in str(step.sample.arguments)]
    assert step.decision.denied
    assert step.call(None) == ("Bash", {"command": "git push --force-with-lease"})


def test_without_hooks_on_tools_one_harmless_call_is_made(steps):
    assert texts(steps([("Stop", "", "true")])) == ["Bash echo anyhook-probe"]


def test_a_tool_without_arguments_can_be_called():
    assert CallRequest.parse("ExitPlanMode") == CallRequest("ExitPlanMode", {})


@pytest.mark.parametrize("text", ["", "Bash ls", "Bash [1]", 'Bash {"command"'])
def test_a_call_that_is_no_tool_with_an_object_is_refused(text):
    with pytest.raises(UsageError, match="is not a tool with a JSON object"):
        CallRequest.parse(text)
