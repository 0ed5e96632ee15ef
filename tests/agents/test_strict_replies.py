"""Replies that an agent drops as a whole: wrong members, and combinations that it does not have."""

from __future__ import annotations

import json

import pytest

from anyhook.agents import get_agent
from anyhook.agents.codex.faults import Fault, first_fault
from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.spec import ExitRule, ExitRules, OutputAction, OutputField
from anyhook.model.answers import Outcome
from anyhook.model.layers import Layer
from tests.tables import each

CLAUDE = get_agent("claude")
SPECIFIC = "hookSpecificOutput"
DECISION = f"{SPECIFIC}.permissionDecision"
STDERR_DENIES = ExitRule(
    OutputAction.DENY_TEXT,
    OutputAction.DENY_TEXT,
    OutputAction.DENY_TEXT,
    OutputAction.WARN,
    streams=("stderr",),
    parses_json=False,
)
READS = ExitRule(OutputAction.APPLY, OutputAction.WARN, OutputAction.WARN, OutputAction.NOTHING)
AGENT = CLAUDE.replace(
    event_name_rule="any",
    output_fields=(
        OutputField(
            ("decision",),
            "outcome",
            "decision",
            words={"block": (Outcome.DENY, False)},
            hidden_by=((SPECIFIC, "permissionDecision"),),
        ),
        OutputField(("reason",), "reason", "string", hidden_by=((SPECIFIC, "permissionDecision"),)),
        OutputField(("systemMessage",), "system_message", "string"),
        OutputField(("stopReason",), "stop_reason", "string"),
        OutputField(
            ("continue",), "outcome", "stop_that_denies", frozenset({"after_tool"}), legacy=True
        ),
        OutputField(("continue",), "stop", "not_boolean", frozenset({"before_tool"})),
        OutputField((SPECIFIC, "permissionDecision"), "outcome", "decision"),
        OutputField((SPECIFIC, "permissionDecisionReason"), "reason", "string"),
        OutputField((SPECIFIC, "updatedInput"), "tool_input", "object"),
    ),
)
RULES = CLAUDE.documented.replace(
    exit_rules={"*": ExitRules({0: READS, 2: STDERR_DENIES}, other=READS, signal=READS)},
    output_form="anyhook.agents.codex.output:classify",
    strict=frozenset({"wrong", "unknown"}),
    find_fault=f"{__name__}:find_fault",
    correct_fields="anyhook.agents.codex.faults:trim_reason",
)
FAULTS = (
    Fault({DECISION: "=deny", f"{DECISION}Reason": "blank"}, "a denial needs a reason"),
    Fault({DECISION: "=allow", f"{SPECIFIC}.updatedInput": "unset"}, "allow changes the input"),
    Fault({DECISION: "!=allow", f"{SPECIFIC}.updatedInput": "set"}, "write allow beside it"),
    Fault({"continue": "false"}, "the turn cannot be stopped"),
)


def find_fault(event, reply):
    return first_fault(FAULTS, reply) if event == "before_tool" else None


class Handler:
    label = "h"
    place = None
    layer = Layer.USER


def read(stdout, event="PreToolUse", **end):
    text = stdout if isinstance(stdout, str) else json.dumps(stdout)
    spec = AGENT.event(event)
    return decode_exit(
        AGENT, RULES, spec, Handler(), ProcessExit(**{"code": 0, **end}, stdout=text)
    )


def specific(**members):
    return {SPECIFIC: {"hookEventName": "PreToolUse", **members}}


def deny(**members):
    return specific(permissionDecision="deny", permissionDecisionReason=" no ", **members)


def test_a_denial_has_its_reason_without_blanks():
    output = read(deny())

    assert (output.answer.outcome, output.answer.reason) == (Outcome.DENY, "no")
    assert output.diagnostics == ()


@each(
    "reply",
    [
        {**deny(), "foo": None},
        deny(foo=1),
        {**deny(), "continue": None},
        {**deny(), "continue": "false"},
        {**deny(), "systemMessage": 5},
        specific(permissionDecision="DENY", permissionDecisionReason="r"),
        {SPECIFIC: {**deny()[SPECIFIC], "hookEventName": "pretooluse"}},
        {SPECIFIC: {"permissionDecision": "deny", "permissionDecisionReason": "r"}},
        {SPECIFIC: "x", "decision": "block", "reason": "r"},
        f"{json.dumps(deny())}\nbye",
        f"{json.dumps(deny())}{json.dumps(deny())}",
        f"[{json.dumps(deny())}]",
        '{"decision": NaN}',
        '{"decision": "block", "reason": "\\ud800"}',
        "text",
    ],
)
def test_a_wrong_reply_has_no_effect(reply):
    output = read(reply)

    assert output.answer.outcome is Outcome.NONE
    assert output.failed
    assert str(output.status) == "warned"
    assert output.diagnostics


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"decision": "block", "reason": "r", SPECIFIC: None}, "r"),
        ({"decision": "block", "reason": "r", "systemMessage": None}, "r"),
        ({SPECIFIC: {**deny()[SPECIFIC], "hookEventName": "Stop"}}, "no"),
        ({"decision": "block", "reason": "r", **deny()}, "no"),
        ('{"decision":"x","decision":"block","reason":"\\ud83d\\ude00"}', "\U0001f600"),
    ],
)
def test_a_reply_that_the_agent_accepts_counts(reply, reason):
    rules = RULES.replace(last_duplicate_wins=True)
    text = reply if isinstance(reply, str) else json.dumps(reply)
    spec = AGENT.event("PreToolUse")

    output = decode_exit(AGENT, rules, spec, Handler(), ProcessExit(0, stdout=text))

    assert (output.answer.outcome, output.answer.reason) == (Outcome.DENY, reason)


def test_a_member_hides_the_older_one():
    reply = specific(permissionDecision="allow", updatedInput={"command": "x"})

    output = read({"decision": "block", "reason": "r", **reply})

    assert output.answer.outcome is Outcome.ALLOW
    assert output.answer.tool_input == {"command": "x"}


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (specific(permissionDecision="deny"), "a denial needs a reason"),
        (specific(permissionDecision="deny", permissionDecisionReason=" \n"), "needs a reason"),
        (specific(permissionDecision="deny", permissionDecisionReason=None), "needs a reason"),
        (specific(permissionDecision="allow"), "allow changes the input"),
        (specific(permissionDecision="allow", updatedInput=None), "allow changes the input"),
        (specific(updatedInput={"command": "x"}), "write allow beside it"),
        (deny(updatedInput={"command": "x"}), "write allow beside it"),
        ({**deny(), "continue": False}, "the turn cannot be stopped"),
    ],
)
def test_a_combination_that_the_agent_does_not_have_drops_all_but_the_message(reply, problem):
    output = read({**reply, "systemMessage": "shown"})

    assert output.answer.outcome is Outcome.NONE
    assert output.answer.tool_input is None
    assert output.answer.system_message == "shown"
    assert output.failed
    (dropped,) = output.diagnostics
    assert dropped.code == "reply-dropped"
    assert problem in dropped.message


@pytest.mark.parametrize(
    "text", ["null", "5", '"deny"', "true", "hello\n{}", '\ufeff{"decision":"block","reason":"r"}']
)
def test_what_begins_without_a_bracket_is_text(text):
    rules = RULES.replace(
        exit_rules={
            "*": RULES.exit_rules["*"].replace(codes={0: READS.replace(text=OutputAction.TEXT)})
        }
    )
    spec = AGENT.event("UserPromptSubmit")

    output = decode_exit(AGENT, rules, spec, Handler(), ProcessExit(0, stdout=text))

    assert str(output.status) == "ran"
    assert output.answer.outcome is Outcome.NONE


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "PostToolUse hook stopped execution"),
        ({"stopReason": "stop"}, "stop"),
        ({"stopReason": "stop", "reason": "why"}, "why"),
    ],
)
def test_a_false_member_can_be_a_denial(members, reason):
    output = read({"continue": False, **members}, event="PostToolUse")

    assert (output.answer.outcome, output.answer.reason) == (Outcome.DENY, reason)
    assert not output.answer.stop
    assert output.answer.stop_reason is None


def test_exit_code_2_denies_with_standard_error_alone():
    output = read(deny(), code=2, stderr="\n why \n")
    silent = read(deny(), code=2, stderr=" \n")

    assert (output.answer.outcome, output.answer.reason) == (Outcome.DENY, "why")
    assert silent.answer.outcome is Outcome.NONE
    assert silent.failed
    assert "handler-exit" in [problem.code for problem in silent.diagnostics]
