"""Every cell of the table of what agents can do: it says what really happens to an answer."""

from __future__ import annotations

import pytest

from anyhook.agents import AGENTS, get_agent
from anyhook.agents.capabilities import (
    ABILITIES,
    Support,
    abilities_of,
    shows_stderr,
    stderr_message,
    support,
)
from anyhook.agents.encode import encode_answer
from anyhook.agents.output import decode_reply
from anyhook.authoring.degrade import FALLBACKS, NAMES, UnsupportedError, fit
from anyhook.model.answers import Answer, Outcome
from anyhook.testing import make_event
from tests.properties.strategies import handler
from tests.tables import each

ANSWERS = {
    "deny": Answer(outcome=Outcome.DENY, reason="why"),
    "ask": Answer(outcome=Outcome.ASK, reason="why"),
    "defer": Answer(outcome=Outcome.DEFER),
    "approve": Answer(outcome=Outcome.ALLOW, approve=True),
    "stop": Answer(stop=True, stop_reason="why"),
    "rewrite": Answer(tool_input={"command": "true"}),
    "replace_result": Answer(tool_output="other"),
    "context": Answer(context="note"),
    "message": Answer(system_message="hello"),
    "change_request": Answer(llm_request={"model": "other"}),
    "respond": Answer(
        llm_response={"candidates": [{"content": {"role": "model", "parts": ["x"]}}]}
    ),
    "filter_tools": Answer(tool_config={"mode": "ANY", "allowedFunctionNames": ["a"]}),
    "clear_context": Answer(clear_context=True),
    "tail_call": Answer(tail_tool_call={"name": "a", "args": {}}),
}
CELLS = [
    (name, spec.canonical, ability)
    for name in AGENTS
    for spec in get_agent(name).events
    for ability in ABILITIES
]


def event_of(agent, event):
    tool = {"tool": "shell", "input": {"command": "ls"}}
    needs_tool = (
        "tool_name"
        in type(
            make_event(event, agent=agent.name, **tool)
            if agent.by_canonical[event].subject == "tool_name"
            else make_event(event, agent=agent.name)
        ).record_fields
    )
    return make_event(event, agent=agent.name, **(tool if needs_tool else {}))


@pytest.mark.slow
@each("name, event, ability", CELLS)
def test_a_cell_says_what_happens(name, event, ability):
    agent = get_agent(name)
    spec = agent.by_canonical[event]
    happened = event_of(agent, event)
    how = support(agent, event, ability)
    fitted, notes = fit(agent, happened, ANSWERS[ability])
    reply = encode_answer(agent, spec, fitted)
    understood, problems = decode_reply(agent, agent.documented, spec, handler(1), reply)

    if how is Support.NO and ability == "message" and shows_stderr(agent, event):
        assert stderr_message(agent, event, ANSWERS[ability]) == ANSWERS[ability].system_message
        assert notes == []
    elif how is Support.YES:
        assert notes == []
        assert ability in abilities_of(understood)
        assert [p for p in problems if p.code != "output-no-effect"] == []
    elif how in (Support.NO, Support.PROMISED):
        assert len(notes) >= 1
        assert NAMES[ability] in notes[0]
        assert agent.title in notes[0]
        with pytest.raises(UnsupportedError):
            fit(agent, happened, ANSWERS[ability], refuse=True)
        if how is Support.NO:
            assert ability not in abilities_of(understood)


def test_every_ability_has_a_way_out_and_a_name():
    assert set(FALLBACKS) == set(NAMES) == set(ABILITIES) == set(ANSWERS)


@each("ability", ABILITIES)
def test_an_answer_shows_its_abilities(ability):
    assert abilities_of(ANSWERS[ability])[0] == ability


@each(
    "name, event, ability, how",
    [
        ("claude", "before_tool", "deny", Support.YES),
        ("claude", "before_tool", "rewrite", Support.YES),
        ("claude", "before_tool", "defer", Support.YES),
        ("claude", "before_model", "deny", Support.NO),
        ("claude", "after_tool", "replace_result", Support.YES),
        ("claude", "session_start", "deny", Support.NO),
        ("claude", "after_agent", "ask", Support.NO),
        ("gemini", "before_tool", "ask", Support.YES),
        ("gemini", "before_tool", "context", Support.PROMISED),
        ("gemini", "before_tool", "defer", Support.NO),
        ("gemini", "before_tool", "rewrite", Support.YES),
        ("gemini", "before_model", "respond", Support.YES),
        ("gemini", "after_agent", "clear_context", Support.YES),
        ("terminai", "before_tool", "deny", Support.YES),
        ("terminai", "before_tool", "ask", Support.PROMISED),
        ("terminai", "before_tool", "rewrite", Support.NO),
        ("terminai", "after_tool", "deny", Support.PROMISED),
        ("terminai", "after_agent", "stop", Support.PROMISED),
        ("terminai", "session_start", "context", Support.PROMISED),
    ],
)
def test_what_is_known_of_agents(name, event, ability, how):
    assert support(get_agent(name), event, ability) is how
