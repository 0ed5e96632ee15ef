"""The types of values in payloads, replies and answers: one table, and the checks by it."""

from __future__ import annotations

from anyhook.model.answers import Answer, Outcome
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class ValueKind(Record, kw_only=False):
    """A kind of JSON value.

    Attributes:
        types: The Python types of its values; `bool` is not a number.
        label: Its name in messages: `a string`.
        neutral: A value that stands for a missing one; copied where it is mutable.
        check: Name of the function of `anyhook.model.llm` that checks the members of its values;
            empty if members are not checked.
    """

    types: tuple[type, ...]
    label: str
    neutral: Any = None
    check: str = ""


STRING = ValueKind((str,), "a string", "")
BOOLEAN = ValueKind((bool,), "true or false", False)
NUMBER = ValueKind((int, float), "a number", 0)
OBJECT = ValueKind((dict,), "an object", {})
ARRAY = ValueKind((list,), "a list", [])
NULL = ValueKind((type(None),), "null")
ANY = ValueKind((object,), "any value")
VERDICT = ValueKind((Outcome,), "a verdict")
LLM_REQUEST = OBJECT.replace(check="check_request")
LLM_RESPONSE = OBJECT.replace(check="check_response")
TOOL_CONFIG = OBJECT.replace(check="check_tool_config")

VALUE_KINDS = {
    "string": STRING,
    "boolean": BOOLEAN,
    "number": NUMBER,
    "object": OBJECT,
    "array": ARRAY,
    "any": ANY,
    "null": NULL,
    "llm_request": LLM_REQUEST,
    "llm_response": LLM_RESPONSE,
    "tool_config": TOOL_CONFIG,
}
"""Kinds by name, as fields of events (`json_kind`) and members of replies (`OutputField`) have."""

ANSWER_KINDS = {
    "outcome": VERDICT,
    **dict.fromkeys(("reason", "stop_reason", "system_message", "context"), STRING),
    **dict.fromkeys(("approve", "stop", "suppress_output", "clear_context"), BOOLEAN),
    **dict.fromkeys(("tool_input", "tail_tool_call", "extra"), OBJECT),
    "llm_request": LLM_REQUEST,
    "llm_response": LLM_RESPONSE,
    "tool_config": TOOL_CONFIG,
}
"""Field of an answer to its kind. `tool_output` can be any value."""


def has_kind(kind: ValueKind, value: object) -> bool:
    """Return whether a value is of a kind; its members are not checked."""
    return isinstance(value, kind.types) and not (kind is NUMBER and isinstance(value, bool))


def describe_value(value: object) -> str:
    """Return the type of a value for messages: `a string`, `null`; of other types the name."""
    for kind in (NULL, BOOLEAN, STRING, NUMBER, OBJECT, ARRAY):
        if has_kind(kind, value):
            return kind.label
    return type(value).__name__


def shortened_repr(value: object) -> str:
    """Return the `repr` of a value, cut to 80 characters."""
    from anyhook.model.text import cut  # a correct reply does not need it

    return cut(repr(value), 80)


def fault_in_object(value: object, members: Mapping[str, tuple[str, ...]]) -> str:
    """Return why a value is not an object with certain members; empty if it is one.

    The kinds of a member are keys of `VALUE_KINDS`.
    """
    if not isinstance(value, dict):
        return f"it must be an object with {', '.join(members)}, not {describe_value(value)}"
    for name, kinds in members.items():
        if name not in value:
            return f"{name} is missing"
        if not any(has_kind(VALUE_KINDS[kind], value[name]) for kind in kinds):
            return f"{name} must be {' or '.join(kinds)}, not {describe_value(value[name])}"
    return ""


def check_members(kind: ValueKind, value: Any) -> tuple[Any, list[str]]:
    """Drop the members of a value that have wrong types.

    The second value is what is wrong with them.
    """
    if not kind.check:
        return value, []
    from anyhook.model import llm

    usable, problems = getattr(llm, kind.check)(value)
    return usable, problems


def check_answer(
    answer: Answer, words: Mapping[str, tuple[Outcome, bool]]
) -> tuple[Answer, list[str]]:
    """Drop the fields of an answer of a hook that have wrong types; keep its verdict.

    Each of the words stands for a verdict, and for whether it approves. The second value is what is
    wrong with the fields.
    """
    problems: list[str] = []
    fields: dict[str, Any] = {}
    for name, value in answer.__dict__.items():
        kind = ANSWER_KINDS.get(name, ANY)
        if value is None or name in fields:
            continue
        if name == "outcome" and isinstance(value, str) and type(value) is not Outcome:
            if value in words:
                fields["outcome"], approves = words[value]
                fields["approve"] = answer.approve is True or approves
            else:
                problems.append(f"outcome must be a verdict, not {value!r}")
        elif not has_kind(kind, value):
            problems.append(f"{name} must be {kind.label}, not {describe_value(value)}")
        else:
            fields[name], wrong_members = check_members(kind, value)
            problems += [f"{name}: {problem}" for problem in wrong_members]
    is_right = not problems and type(answer.outcome) is Outcome
    return (answer, []) if is_right else (Answer(**fields), problems)
