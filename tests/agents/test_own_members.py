"""Kinds of members of replies that only some agents have, and members that replace others."""

from __future__ import annotations

import pytest

from anyhook.agents import get_agent
from anyhook.agents.encode import encode_answer
from anyhook.agents.output import decode_reply
from anyhook.agents.payloads import decode_event, encode_event
from anyhook.agents.spec import OutputField
from anyhook.model.answers import Answer, Outcome
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.events import BeforeTool
from anyhook.model.layers import Layer

CLAUDE = get_agent("claude")
HANDLER = HandlerSpec(kind="command", layer=Layer.USER, place=Place("hooks.json"), command="x")
WORDS = {
    "allow": (Outcome.ALLOW, True),
    "deny": (Outcome.DENY, False),
    "block": (Outcome.DENY, False),
}


def field(name, target, kind, **options):
    words = WORDS if target == "outcome" else {}
    return OutputField(tuple(name.split(".")), target, kind, words=words, **options)


FLAT = (field("reason", "reason", "text"), field("decision", "outcome", "decision"))
INNER = (
    field("inner.reason", "reason", "text", overrides=True),
    field("inner.decision", "outcome", "decision", overrides=True),
)


def read(fields, reply, event="before_tool"):
    agent = CLAUDE.replace(
        output_fields=tuple(fields), foreign_members={}, foreign_decisions={}, event_name_rule=""
    )
    spec = agent.by_canonical[event]
    answer, problems = decode_reply(agent, agent.rules(), spec, HANDLER, reply)
    return answer, [problem.code for problem in problems]


def verdict(reply):
    answer, _ = read((*FLAT, *INNER), reply)
    return answer.outcome, answer.reason


def test_an_inner_member_replaces_the_one_at_the_top():
    deny, allow = {"decision": "deny", "reason": "TOP"}, {"decision": "allow"}

    assert verdict({**deny, "inner": allow}) == (Outcome.ALLOW, "TOP")
    assert verdict({**allow, "inner": {**deny, "reason": "IN"}}) == (Outcome.DENY, "IN")
    assert verdict({**deny, "inner": {}}) == (Outcome.DENY, "TOP")
    assert verdict({**deny, "inner": {"reason": "IN"}}) == (Outcome.DENY, "IN")


def test_an_invalid_inner_member_hides_a_valid_one():
    assert verdict({"decision": "deny", "inner": {"decision": "nope"}})[0] is Outcome.NONE


@pytest.mark.parametrize(("value", "text"), [(5, "5"), (2.0, "2"), (0.5, "0.5"), ("a", "a")])
def test_a_number_can_be_a_text(value, text):
    assert read(FLAT, {"reason": value}) == (Answer(reason=text), [])


@pytest.mark.parametrize("value", [True, [], {}])
def test_other_values_are_no_text(value):
    assert read(FLAT, {"reason": value}) == (Answer(), ["output-field"])


# -- arguments

ARGUMENTS = (*FLAT, field("args", "tool_input", "arguments"))


@pytest.mark.parametrize("value", [{"a": 1}, '{"a": 1}'])
def test_arguments_are_an_object_or_its_text(value):
    assert read(ARGUMENTS, {"args": value}) == (Answer(tool_input={"a": 1}), [])


@pytest.mark.parametrize("value", [None, 3, [1], "x"])
def test_arguments_that_make_the_call_fail_deny_it(value):
    answer, codes = read(ARGUMENTS, {"args": value, "decision": "allow"})

    assert (answer.outcome, answer.tool_input, codes) == (Outcome.DENY, None, ["output-field"])
    assert read(ARGUMENTS, {"args": value, "decision": "deny", "reason": "R"})[0].reason == "R"


def test_null_can_mean_that_there_are_no_arguments():
    fields = (field("args", "tool_input", "arguments_or_null"),)

    assert read(fields, {"args": None}) == (Answer(), [])


# -- verdicts


@pytest.mark.parametrize("reason", [{}, {"reason": ""}, {"reason": None}])
def test_a_denial_can_need_a_reason(reason):
    fields = (FLAT[0], field("decision", "outcome", "explained_decision"))

    answer, codes = read(fields, {"decision": "block", **reason})
    assert (answer.outcome, codes) == (Outcome.NONE, ["output-reason"])
    assert read(fields, {"decision": "block", "reason": "R"})[0].outcome is Outcome.DENY
    assert read(fields, {"decision": "allow"})[0].outcome is Outcome.ALLOW


def test_an_interrupt_can_need_a_denial():
    fields = (*FLAT, field("interrupt", "stop", "denied_interrupt"))

    assert read(fields, {"decision": "deny", "interrupt": True})[0].stop
    assert not read(fields, {"decision": "allow", "interrupt": True})[0].stop
    assert not read(fields, {"interrupt": True})[0].stop


def test_a_prompt_is_handled_with_a_response():
    fields = (
        field("response", "extra.response_content", "string"),
        field("handled", "extra.handled", "handled"),
    )

    handled = {"response_content": "text", "handled": True}
    assert read(fields, {"handled": True, "response": "text"})[0].extra == handled
    assert read(fields, {"handled": True})[1] == ["output-field"]


# -- results of tools

RESULT = field("result", "tool_output", "result_object")


@pytest.mark.parametrize(
    ("value", "output", "codes"),
    [
        ({"textResultForLlm": "a"}, ("success", "a"), []),
        ({"resultType": "failure", "textResultForLlm": "a"}, ("failure", "a"), []),
        ({"resultType": "odd", "textResultForLlm": "a"}, ("success", "a"), []),
        ({"textResultForLlm": 5}, ("success", ""), ["output-field"]),
        ({"text_result_for_llm": "a"}, None, ["output-field"]),
        ("a", None, ["output-field"]),
    ],
)
def test_a_result_is_an_object_with_a_text(value, output, codes):
    expected = None
    if output is not None:
        expected = {"resultType": output[0], "textResultForLlm": output[1]}

    answer, problems = read((RESULT,), {"result": value}, event="after_tool")

    assert (answer.tool_output, problems) == (expected, codes)


@pytest.mark.parametrize(
    "output", ["a", {"stdout": "a"}, {"resultType": "success", "textResultForLlm": "a"}]
)
def test_a_result_of_any_form_is_written_as_such_an_object(output):
    agent = CLAUDE.replace(output_fields=(RESULT,))
    spec = agent.by_canonical["after_tool"]

    reply = encode_answer(agent, spec, Answer(tool_output=output))

    assert reply == {"result": {"resultType": "success", "textResultForLlm": "a"}}


# -- payloads


def test_an_event_can_have_members_of_its_own_and_no_name():
    spec = CLAUDE.by_canonical["before_tool"].replace(
        payload_members={"hookName": "beforeTool"}, names_itself=False
    )
    agent = CLAUDE.replace(documented=CLAUDE.documented.replace(events=(spec,)))

    payload = encode_event(agent, BeforeTool(tool_name="Bash", tool_input={}))

    assert payload["hookName"] == "beforeTool"
    assert "hook_event_name" not in payload
    event, _ = decode_event(CLAUDE, {**payload, "hook_event_name": "PreToolUse"})
    assert event.name == "before_tool"
