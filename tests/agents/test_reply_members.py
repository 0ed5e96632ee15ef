"""Members of replies of a kind that few agents have, read and written."""

from __future__ import annotations

import pytest

from anyhook.agents import get_agent
from anyhook.agents.encode import DEFAULT_CONTINUATION, encode_answer
from anyhook.agents.output import decode_text
from anyhook.agents.spec import OutputField
from anyhook.model.answers import Answer, Outcome
from anyhook.model.layers import Layer

DENY, ALLOW = (Outcome.DENY, False), (Outcome.ALLOW, False)
AGENT = get_agent("claude").replace(
    output_fields=(
        OutputField(
            ("continue",),
            "outcome",
            "decision",
            frozenset({"before_prompt"}),
            {False: DENY, True: ALLOW},
        ),
        OutputField(("followup",), "outcome", "continuation", frozenset({"after_agent"})),
        OutputField(
            ("permission",), "outcome", "decision", frozenset({"before_tool"}), {"deny": DENY}
        ),
        OutputField(("for_agent",), "reason", "string"),
        OutputField(("for_user",), "system_message", "shown_reason"),
    ),
    event_name_rule="",
    foreign_members={},
    decision_words={},
)


class Handler:
    label, place, layer = "hook", None, Layer.USER


def read(event, text):
    spec = AGENT.by_canonical[event]
    output = decode_text(AGENT, AGENT.documented, spec, Handler(), text)
    return output.answer, [diagnostic.code for diagnostic in output.diagnostics]


def write(event, answer):
    return encode_answer(AGENT, AGENT.by_canonical[event], answer)


@pytest.mark.parametrize(("text", "outcome"), [("false", Outcome.DENY), ("true", Outcome.ALLOW)])
def test_a_boolean_is_a_decision(text, outcome):
    answer, codes = read("before_prompt", f'{{"continue": {text}}}')

    assert (answer.outcome, codes) == (outcome, [])


@pytest.mark.parametrize("text", ['"false"', "0", "1", "[]"])
def test_another_value_is_no_boolean_decision(text):
    answer, codes = read("before_prompt", f'{{"continue": {text}}}')

    assert (answer.outcome, codes) == (Outcome.NONE, ["output-word"])


def test_a_denial_is_written_as_false():
    reply = write("before_prompt", Answer(outcome=Outcome.DENY, reason="no"))

    assert reply == {"continue": False, "for_agent": "no", "for_user": "no"}


def test_a_text_continues_the_agent():
    answer, codes = read("after_agent", '{"followup": "run the tests"}')

    assert (answer.outcome, answer.reason, codes) == (Outcome.DENY, "run the tests", [])


@pytest.mark.parametrize("text", ["", "  "])
def test_a_blank_text_does_not_continue_the_agent(text):
    answer, codes = read("after_agent", f'{{"followup": "{text}"}}')

    assert (answer.outcome, codes) == (Outcome.NONE, [])


def test_a_value_that_is_no_text_does_not_continue_the_agent():
    answer, codes = read("after_agent", '{"followup": true}')

    assert (answer.outcome, codes) == (Outcome.NONE, ["output-field"])


@pytest.mark.parametrize(
    ("reason", "text"), [("run the tests", "run the tests"), (None, DEFAULT_CONTINUATION)]
)
def test_a_denial_at_the_end_is_written_as_the_next_prompt(reason, text):
    reply = write("after_agent", Answer(outcome=Outcome.DENY, reason=reason))

    assert reply["followup"] == text


def test_an_allowance_does_not_continue_the_agent():
    assert write("after_agent", Answer(outcome=Outcome.ALLOW)) == {}


@pytest.mark.parametrize(
    ("reply", "reason", "message"),
    [
        ('"for_agent": "a", "for_user": "u"', "a", "u"),
        ('"for_agent": "a", "for_user": "a"', "a", None),
        ('"for_agent": "a"', "a", None),
        ('"for_user": "u"', "u", None),
    ],
)
def test_the_text_for_the_user_is_the_reason_if_there_is_no_other(reply, reason, message):
    answer, codes = read("before_tool", f'{{"permission": "deny", {reply}}}')

    assert (answer.reason, answer.system_message, codes) == (reason, message, [])


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (Answer(outcome=Outcome.DENY, reason="a"), {"for_agent": "a", "for_user": "a"}),
        (
            Answer(outcome=Outcome.DENY, reason="a", system_message="u"),
            {"for_agent": "a", "for_user": "u"},
        ),
    ],
)
def test_the_user_gets_the_reason_unless_there_is_a_message(answer, reply):
    assert write("before_tool", answer) == {"permission": "deny", **reply}
