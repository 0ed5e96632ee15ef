"""Denials that an agent would ignore, and what it drops of them."""

from __future__ import annotations

import pytest

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.spec import Denial
from anyhook.authoring import Hooks, deny
from anyhook.authoring.degrade import UnsupportedError, fit
from anyhook.engine.engine import Engine
from anyhook.engine.sync import SyncEngine
from anyhook.model.answers import Answer, Outcome
from anyhook.testing import make_event, run_hook
from anyhook.testing.examples import run_examples

FILLER = "blocked by hook 'guard'"


def shell_call(event):
    """Return the fields that an event of a tool needs."""
    is_of_tool = event in ("before_tool", "after_tool")
    return {"tool": "shell", "input": {"command": "ls"}} if is_of_tool else {}


def hooks_on(event, answer, **options):
    hooks = Hooks(name="guard", **options)

    @getattr(hooks, event)
    def guard(_event):
        return answer

    return hooks


ENDINGS = [
    (name, event)
    for name in CODING_AGENTS
    for event in ("after_agent", "subagent_stop")
    if event in get_agent(name).by_canonical
    and get_agent(name).by_canonical[event].denial is Denial.CONTINUES
]
OTHERS = [
    ("codex", "before_tool"),
    ("codex", "after_tool"),
    ("codex", "before_prompt"),
    ("copilot", "before_prompt"),
]


@pytest.mark.parametrize("reason", ["", "  "])
@pytest.mark.parametrize(("agent", "event"), ENDINGS + OTHERS)
def test_a_denial_without_a_reason_is_not_ignored(agent, event, reason):
    run = run_hook(hooks_on(event, deny(reason)), event, agent=agent, **shell_call(event))

    assert run.outcome == "deny"
    assert run.reason.strip()
    assert run.diagnostics == ()


@pytest.mark.parametrize(
    ("agent", "event"),
    [("claude", "after_agent"), ("copilot", "after_agent"), ("copilot", "subagent_stop")],
)
def test_the_reason_is_the_one_that_the_engine_gives(project, home, agent, event):
    hooks = hooks_on(event, deny(""))
    engine = Engine.load(
        project, agent=agent, rules="documented", home=home, on_message=lambda _text: None
    )
    hooks.register(engine)
    with SyncEngine(engine) as sync:
        decision = sync.dispatch(make_event(event, agent=agent, **shell_call(event)))

    assert (
        run_hook(hooks, event, agent=agent, **shell_call(event)).reason == decision.reason == FILLER
    )


def test_an_agent_that_obeys_a_denial_without_a_reason_gets_none():
    assert (
        run_hook(
            hooks_on("before_tool", deny("")), "before_tool", **shell_call("before_tool")
        ).reason
        == ""
    )


DROPPED = [
    (name, spec.canonical)
    for name in CODING_AGENTS
    for spec in get_agent(name).events
    if "context" in spec.discarded_on_denial
]


@pytest.mark.parametrize(("agent", "event"), DROPPED)
def test_context_that_a_denial_makes_the_agent_drop_is_noted(agent, event):
    answer = Answer(outcome=Outcome.DENY, reason="WHY", context="CTX")
    fitted, notes = fit(
        get_agent(agent), make_event(event, agent=agent, **shell_call(event)), answer
    )

    assert (fitted.outcome, fitted.context) == (Outcome.DENY, None)
    assert "drops context for the agent where" in notes[0]
    with pytest.raises(UnsupportedError, match="drops context"):
        fit(
            get_agent(agent),
            make_event(event, agent=agent, **shell_call(event)),
            answer,
            refuse=True,
        )


@pytest.mark.parametrize(("expect", "status"), [("context", "failed"), ("deny", "degraded")])
def test_an_example_that_expects_the_dropped_context_fails(expect, status):
    hooks = hooks_on("before_prompt", deny("WHY", context="CTX"))
    hooks.example("before_prompt", prompt="x", expect=expect)
    [result] = run_examples(hooks, ["claude"])

    assert (result.status, result.got) == (status, "deny")
    assert "Claude Code drops context for the agent where" in result.notes[-1]


def test_what_the_agent_cannot_do_is_not_held_against_an_example():
    hooks = hooks_on("before_tool", Answer(outcome=Outcome.ASK, reason="really?"))
    hooks.example(tool="shell", input={"command": "ls"}, expect="ask")
    [result] = run_examples(hooks, ["codex"])

    assert result.status == "degraded"
