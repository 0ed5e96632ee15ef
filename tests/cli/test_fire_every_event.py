"""`anyhook fire` shows every event of every agent, in every form of output."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import AGENTS, get_agent
from anyhook.agents.spec import Denial
from anyhook.cli import main
from anyhook.manage.agent_effect import EFFECTS
from anyhook.model.events import event_class
from anyhook.settings.changes import settings_file
from anyhook.settings.entries import add_definitions

FORMS = [
    ("40", "documented", ()),
    ("200", "observed", ()),
    ("80", "observed", ("--json",)),
]
"""Columns of the terminal, rules, and options."""
REPLIES = {
    "a denial": "echo no >&2; exit 2",
    "the end of the turn": """echo '{"continue": false, "stopReason": "enough"}'""",
}
EVENTS = [(name, spec) for name in AGENTS for spec in get_agent(name).events]
QUICK = frozenset({"before_tool", "session_start"})
"""The events that are fired in each run of the tests."""
CASES = [
    pytest.param(
        name,
        spec.wire,
        reply,
        marks=() if spec.canonical in QUICK else pytest.mark.slow,
    )
    for reply in REPLIES
    for name, spec in EVENTS
]


def configure(agent, project, event, command):
    """Configure a command as the hook of the project on one event."""
    path = settings_file(agent, project, "project")
    definition = {"hooks": [{"type": "command", "command": command}]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(add_definitions(agent, "", str(path), {event: [definition]}))


@pytest.mark.parametrize(("name", "event", "reply"), CASES)
def test_every_form_shows_what_the_agent_does(world, monkeypatch, capsys, name, event, reply):
    agent = get_agent(name)
    configure(agent, world.project, event, REPLIES[reply])
    has_tool = "tool_name" in event_class(agent.event(event).canonical).record_fields
    tool = ["--tool", agent.tools[0]] if has_tool else []

    for form in FORMS:
        columns, rules, options = form
        if rules not in agent.rule_sets:
            rules = "documented"
        monkeypatch.setenv("COLUMNS", columns)
        words = ["fire", event, "--agent", name, *tool, "--rules", rules, "--trust-once"]
        code = main([*words, *options])
        done = capsys.readouterr()
        assert code == 0, (form, done.err)
        if "--json" in options:
            result = json.loads(done.out)
            assert [handler["status"] for handler in result["handlers"]] != [], form
            assert result["verdicts"][0]["effect"].startswith(agent.title), form
        else:
            assert agent.title in " ".join(done.out.split()), form


def test_every_effect_of_a_denial_has_words():
    assert EFFECTS.keys() == set(Denial)
