"""How each kind of member of a reply is read into the fields of an answer."""

from __future__ import annotations

import re

from anyhook.agents.values import (
    BOOLEAN,
    NUMBER,
    VALUE_KINDS,
    check_members,
    describe_value,
    has_kind,
)
from anyhook.model.answers import STRENGTH, Outcome
from anyhook.model.json import parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from anyhook.agents.output_context import OutputContext
    from anyhook.agents.spec import OutputField

    Fields = dict[str, Any]
    MemberReader = Callable[[OutputContext, OutputField, Any, Fields], None]

RESULT_TEXT = "textResultForLlm"
RESULT_TYPE = "resultType"
"""Members of a value of the kind `result_object`."""
ACTIONS = ("accept", "decline", "cancel")
_TERMINAL = r"(?:\x07|\x1b\](?:0|1|2|9|99|777);[^\x00-\x1f\x7f]*(?:\x07|\x1b\\))+\Z"


def report_wrong_type(
    context: OutputContext, item: OutputField, value: object, expected: str
) -> None:
    """Report a member of a wrong type.

    Args:
        context: The context of the output.
        item: The member.
        value: Its value.
        expected: What it has to be: `a string`.
    """
    message = f"{'.'.join(item.path)} must be {expected}, not {describe_value(value)}; left out"
    context.report("output-field", message)


def show_word(word: str | bool) -> str:
    """Return a decision word as JSON shows it: `deny`, `false`."""
    return str(word).lower() if isinstance(word, bool) else word


def shorten(value: object) -> str:
    """Return the `repr` of a value, cut to 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _read_value(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    """Read a member whose value is the field, if its type is right."""
    kind = VALUE_KINDS[item.kind]
    if not has_kind(kind, value):
        report_wrong_type(context, item, value, kind.label)
        return
    if not kind.check:
        fields[item.field] = value
        return
    path = ".".join(item.path)
    value, mistyped = _drop_mistyped(item.kind, value)
    for problem in mistyped:
        context.report("output-unknown", f"{path}: {problem}")
    usable, problems = check_members(kind, value)
    for problem in problems:
        context.report("output-field", f"{path}: {problem}; left out")
    if usable:
        fields[item.field] = usable


def _drop_mistyped(kind: str, value: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    from anyhook.model import llm

    if kind == "llm_request":
        return llm.drop_mistyped(value, llm.REQUEST_MEMBERS)
    if kind == "llm_response":
        return llm.drop_mistyped(value, llm.RESPONSE_MEMBERS)
    return value, []


def _read_not_boolean(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read a member that sets a field if it is false."""
    if has_kind(BOOLEAN, value):
        fields[item.field] = fields.get(item.field, False) or not value
    else:
        report_wrong_type(context, item, value, BOOLEAN.label)


def _read_false_denies(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read a member that denies if it is false; `true` is not a verdict."""
    if not has_kind(BOOLEAN, value):
        report_wrong_type(context, item, value, BOOLEAN.label)
    elif value is False:
        _set_verdict(context, item, fields, Outcome.DENY, False)


def _read_stop_that_denies(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read a member that denies if it is false, with the reasons that were read before it."""
    stop_reason = fields.pop("stop_reason", None)
    _read_false_denies(context, item, value, fields)
    if value is False:
        default = f"{context.spec.wire} hook stopped execution"
        fields["reason"] = fields.get("reason") or stop_reason or default


def _read_any_input(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    """Read arguments; a value that is not an object counts as arguments without members."""
    if not isinstance(value, dict):
        name = ".".join(item.path)
        context.report("ignored-output", f"{name} must be an object, not {describe_value(value)}")
        value = {}
    fields[item.field] = value


def _read_interrupt(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    if has_kind(BOOLEAN, value):
        fields[item.field] = fields.get(item.field, False) or value
    else:
        report_wrong_type(context, item, value, BOOLEAN.label)


def _read_decision(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    words: Mapping[Any, tuple[Outcome, bool]] = item.words or context.agent.decision_words
    names = [show_word(word) for word in words]
    takes_booleans = True in words or False in words
    if not isinstance(value, bool if takes_booleans else str):
        hint = f"write one of {', '.join(names)}"
        context.report("output-word", f"{shorten(value)} is not a decision; {hint}")
        return
    if value in words:
        _set_verdict(context, item, fields, *words[value])
    elif value in context.rules.accepted_decisions.get(item.path[-1], ()):
        context.report("output-no-effect", f"{shorten(value)} has no effect on this event")
    elif str(value) in context.agent.foreign_decisions:
        outcome, approves = context.agent.foreign_decisions[str(value)]
        _set_verdict(context, item, fields, outcome, approves)
        context.report(
            "output-word",
            f"{shorten(value)} is not a decision of {context.agent.title} here; it is read as "
            f"{outcome}. Write {' or '.join(map(repr, names))}",
        )
    else:
        from anyhook.model.suggest import closest

        suggestion = closest(str(value), names)
        hint = f"write one of {', '.join(names)}"
        if suggestion is not None:
            hint = f"did you mean {suggestion!r}?"
        context.report("output-word", f"{shorten(value)} is not a decision; {hint}")


def _read_continuation(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read a text with which the agent continues: a denial whose reason it is."""
    if not isinstance(value, str):
        report_wrong_type(context, item, value, "a string")
    elif value.strip():
        _set_verdict(context, item, fields, Outcome.DENY, False)
        fields["reason"] = value


def _read_shown_reason(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read the reason for the user, next to one for the agent if that is there."""
    if not isinstance(value, str):
        report_wrong_type(context, item, value, "a string")
    elif "reason" not in fields:
        fields["reason"] = value
    elif fields["reason"] != value:
        fields[item.field] = value


def _set_verdict(
    context: OutputContext, item: OutputField, fields: Fields, outcome: Outcome, approves: bool
) -> None:
    """Set the verdict; of two in one reply the stronger one counts."""
    if STRENGTH[outcome] >= STRENGTH[fields.get("outcome", Outcome.NONE)]:
        fields["outcome"], fields["approve"] = outcome, approves
        context.verdict_parent = item.path[:-1]


def _read_explained_decision(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read a decision of which a denial needs a reason, which was read before it."""
    words = item.words or context.agent.decision_words
    is_denial = isinstance(value, str) and words.get(value, (None,))[0] is Outcome.DENY
    if not is_denial or fields.get("reason"):
        _read_decision(context, item, value, fields)
        return
    context.report(
        "output-reason",
        f"{shorten(value)} without a reason has no effect; write the reason beside it",
    )


def _read_text(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    """Read a text; a number is read as it is written."""
    if has_kind(NUMBER, value):
        value = str(int(value)) if value == int(value) else str(value)
    if isinstance(value, str):
        fields[item.field] = value
    else:
        report_wrong_type(context, item, value, "a string")


def _read_arguments(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    """Read arguments of a tool, also as a JSON text; with anything else the call fails."""
    arguments = value
    if isinstance(value, str):
        try:  # no `contextlib`, which the shim would have to load
            arguments = parse_json(value)
        except ValueError:
            arguments = None
    if isinstance(arguments, dict):
        fields[item.field] = arguments
        return
    report_wrong_type(context, item, value, "an object, so the call fails")
    if fields.get("outcome") is not Outcome.DENY:
        _set_verdict(context, item, fields, Outcome.DENY, False)
        fields["reason"] = f"invalid input: {'.'.join(item.path)} is {describe_value(value)}"


def _read_result_object(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read a result of a tool with its text; a text of another type counts as empty."""
    if not isinstance(value, dict) or RESULT_TEXT not in value:
        report_wrong_type(context, item, value, f'an object with "{RESULT_TEXT}"')
        return
    text = value[RESULT_TEXT]
    if not isinstance(text, str):
        report_wrong_type(context, item, text, f'an object with a text as "{RESULT_TEXT}"')
    failed = value.get(RESULT_TYPE) == "failure"
    fields[item.field] = result_object(text if isinstance(text, str) else "", failed=failed)


def result_object(text: str, *, failed: bool = False) -> dict[str, str]:
    """Return the result of a tool as a member of the kind `result_object` holds it."""
    return {RESULT_TYPE: "failure" if failed else "success", RESULT_TEXT: text}


def _read_denied_interrupt(
    context: OutputContext, item: OutputField, value: Any, fields: Fields
) -> None:
    """Read a member that ends the run together with a denial, which was read before it."""
    if not has_kind(BOOLEAN, value):
        report_wrong_type(context, item, value, BOOLEAN.label)
    elif value and fields.get("outcome") is Outcome.DENY:
        fields[item.field] = True


def _read_handled(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    """Read a member that has an effect next to a response, which was read before it."""
    if not has_kind(BOOLEAN, value):
        report_wrong_type(context, item, value, BOOLEAN.label)
    elif value and "extra.response_content" in fields:
        fields[item.field] = True
    elif value:
        context.report("output-field", f"{'.'.join(item.path)} needs a response beside it")


def _read_action(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    if not isinstance(value, str) or value not in ACTIONS:
        report_wrong_type(context, item, value, "accept, decline or cancel")
        return
    fields[item.field] = value
    if value == "decline":
        _set_verdict(context, item, fields, Outcome.DENY, False)


def _read_content(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    if not isinstance(value, dict):
        report_wrong_type(context, item, value, "an object")
    elif "extra.action" in fields:
        fields[item.field] = value
    else:
        context.report("output-field", f"{'.'.join(item.path)} needs an action beside it; left out")


def _read_terminal(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    if not isinstance(value, str):
        report_wrong_type(context, item, value, "a string")
    elif re.fullmatch(_TERMINAL, value):
        fields[item.field] = value
    else:
        # Not an error of the reply as a whole: the agent itself only drops this member.
        context.report(
            "ignored-output",
            f"{'.'.join(item.path)} may hold BEL and OSC 0, 1, 2, 9, 99 and 777; left out",
        )


def _read_tool_call(context: OutputContext, item: OutputField, value: Any, fields: Fields) -> None:
    is_object = isinstance(value, dict)
    name = value.get("name") if is_object else None
    args = value.get("args", {}) if is_object else None
    if isinstance(name, str) and name and isinstance(args, dict):
        fields[item.field] = {**value, "args": args}
    else:
        expected = 'an object like {"name": "tool", "args": {…}}'
        report_wrong_type(context, item, value, expected)


MEMBER_READERS: dict[str, MemberReader] = {
    **dict.fromkeys(VALUE_KINDS, _read_value),
    "decision": _read_decision,
    "not_boolean": _read_not_boolean,
    "false_denies": _read_false_denies,
    "interrupt": _read_interrupt,
    "any_input": _read_any_input,
    "stop_that_denies": _read_stop_that_denies,
    "action": _read_action,
    "content": _read_content,
    "terminal": _read_terminal,
    "explained_decision": _read_explained_decision,
    "text": _read_text,
    "arguments": _read_arguments,
    "arguments_or_null": _read_arguments,
    "result_object": _read_result_object,
    "denied_interrupt": _read_denied_interrupt,
    "handled": _read_handled,
    "tool_call": _read_tool_call,
    "continuation": _read_continuation,
    "shown_reason": _read_shown_reason,
}
"""`OutputField.kind` to its reader."""

NULL_KINDS = frozenset({"arguments"})
"""Kinds of members of which `null` is a value; others are not there then."""
CUMULATIVE_KINDS = frozenset(
    {
        "decision",
        "explained_decision",
        "not_boolean",
        "false_denies",
        "interrupt",
    }
)
"""Kinds of members of which the strongest value counts, if a reply has a key several times."""
