"""The report of a decision."""

from __future__ import annotations

import asyncio

from anyhook import Answer, BeforeTool, Decision, HandlerSpec, Layer, Outcome, Place, deny
from anyhook.model.decisions import HandlerResult, Status
from anyhook.model.text import shorten
from tests.world import World, command

EVENT = BeforeTool(tool_name="t", tool_input={"a": 1})


def test_every_field_has_a_handler_a_place_and_what_it_overrode(tmp_path):
    world = World(tmp_path)
    says = [
        {"stdout": {"decision": "allow", "hookSpecificOutput": {"tool_input": {"a": 2}}}},
        {
            "stdout": {
                "decision": "deny",
                "reason": "no",
                "hookSpecificOutput": {"tool_input": {"a": 3}},
            }
        },
        {"exit": 1},
    ]
    hooks = [
        {"type": "command", "name": f"h{i}", "command": command({"record": "/dev/null", **said})}
        for i, said in enumerate(says, 1)
    ]
    world.settings("user", {"hooks": {"BeforeTool": [{"hooks": hooks}]}})
    engine = world.load()
    lines = [handler.place.line for d in engine.definitions for handler in d.handlers]

    text = asyncio.run(engine.dispatch(EVENT)).explain()

    file = world.files["user"]
    first, second, third = (f"'h{i}' ({file}:{line})" for i, line in enumerate(lines, 1))
    assert text.startswith("deny: no\n")
    assert f"  deny   set by {second}\n    overrode allow of {first}\n" in text
    assert (
        f"tool_input.a:\n  3   set by {second}\n"
        f"    overrode 1 of the event itself\n    overrode 2 of {first}\n"
    ) in text
    assert f"without effect:\n  {third} ended with exit 1, which is a warning\n" in text
    assert "diagnostics:\n" in text
    assert "warning[conflict]" in text


def test_handlers_without_effect_are_listed_with_the_cause():
    handler = HandlerSpec("command", Layer.USER, Place("s.json", 3), name="h", timeout=5)
    descriptions = {
        Status.FAILED: "failed: it broke",
        Status.TIMED_OUT: "ran into its timeout of 5 s",
        Status.WITHHELD: "was not run: the project is not trusted",
        Status.SKIPPED: "was not run: a hook before it in its sequence denied or stopped",
        Status.WARNED: "ended with SIGKILL, which is a warning",
    }
    for status, text in descriptions.items():
        result = HandlerResult(handler, status, error="it broke", signal="SIGKILL")
        assert text in Decision(results=(result,)).explain()


def test_an_empty_decision_says_so():
    assert Decision().explain() == "none"
    assert Decision(stop=True, reason="halt").explain() == "stop: halt"
    assert Decision(stop=True, outcome=Outcome.DENY).explain() == "stop + deny"


def test_values_are_shown_on_one_line():
    assert shorten("plain text") == "plain text"
    assert shorten("two\nlines") == '"two\\nlines"'
    assert shorten({"a": [1]}) == '{"a": [1]}'
    assert len(shorten("x" * 500)) == 100


def test_constructors_of_answers():
    assert deny("x") == Answer(outcome=Outcome.DENY, reason="x")


def test_labels_are_short_and_have_no_line_breaks():
    def label(**fields):
        return HandlerSpec("command", Layer.USER, Place("s"), **fields).label

    assert label(name="two\n  words") == "two words"
    assert len(label(command="x" * 200)) == 60
    assert label(argv=("a", "b")) == "a"
    assert label(function=len) == "len"
