"""Changed arguments that the agent refuses: what engine, `check`, `test` and `fire` say."""

from __future__ import annotations

import json
import shlex

import pytest

from anyhook import Engine
from anyhook.agents import get_agent
from anyhook.authoring import Answer, Hooks
from anyhook.checks.rules import check_settings
from anyhook.engine.sync import SyncEngine
from anyhook.model.answers import Outcome
from anyhook.model.events import BeforeTool
from anyhook.testing.examples import run_example


def engine_that_changes(project, changed, *, tool="Read", rules="documented"):
    reply = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": changed}}
    command = f"cat > /dev/null; printf %s {shlex.quote(json.dumps(reply))}"
    hook = {"matcher": tool, "hooks": [{"type": "command", "command": command}]}
    path = project / ".claude/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [hook]}}))
    return Engine.load(
        project, agent="claude", rules=rules, trust_once=True, on_message=lambda _text: None
    )


def decide(engine, **arguments):
    with SyncEngine(engine) as sync:
        return sync.dispatch(BeforeTool(tool_name="Read", tool_input=arguments))


@pytest.mark.parametrize("changed", [{"path": "x"}, {"file_path": 5}, {}])
def test_the_agent_refuses_changed_arguments_that_lack_a_text(project, changed):
    by_reference = decide(engine_that_changes(project, changed), file_path="/a")
    assert [d.code for d in by_reference.diagnostics] == ["output-field"]
    assert "file_path" in by_reference.diagnostics[0].message
    engine = engine_that_changes(project, changed, rules="observed")
    observed = decide(engine, file_path="/a")
    assert (observed.outcome, observed.tool_input) == (Outcome.DENY, None)
    assert "failed schema validation" in observed.reason
    assert [d.code for d in check_settings(engine)].count("output-field") == 1


def test_complete_arguments_are_not_refused(project):
    engine = engine_that_changes(project, {"file_path": "/b", "limit": 3}, rules="observed")
    assert decide(engine, file_path="/a").tool_input == {"file_path": "/b", "limit": 3}
    assert "output-field" not in [d.code for d in check_settings(engine)]


def test_arguments_of_a_tool_that_a_program_made_are_its_own(project):
    """A tool of a program may have the name of one of the agent, and other arguments."""
    engine = engine_that_changes(project, {"path": "/b"}, rules="observed")
    assert decide(engine, path="/a").tool_input == {"path": "/b"}


def test_an_example_that_expects_changed_arguments_fails_if_the_agent_refuses_them():
    hooks = Hooks()

    @hooks.before_tool("read_file")
    def change(_event):
        return Answer(tool_input={"file_path": 5})

    hooks.example(tool="read_file", input={"file_path": "x"}, expect="rewrite")
    for agent in ("claude", "gemini"):
        result = run_example(hooks, hooks.examples[0], agent)
        assert result.status == "failed"
        assert get_agent(agent).vocabulary.name("read_file") in result.notes[-1]
