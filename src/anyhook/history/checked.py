"""Recorded values of a wrong type: they are left out, so that what shows them need not check them.

A line of the journal or a row of an export may have been written by another program.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyhook.history.events import RecordedResult

LARGEST = 2**53
"""Numbers above are of no use, and SQLite stores none above 2^63."""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_optional_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def is_seconds(value: object) -> bool:
    """Return whether a value is a time or a duration."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < LARGEST


def _is_optional_seconds(value: object) -> bool:
    return value is None or is_seconds(value)


def is_integer(value: object) -> bool:
    """Return whether a value is an integer that the store can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_optional_integer(value: object) -> bool:
    return value is None or is_integer(value)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


_RESULT_FIELDS: dict[str, tuple[Callable[[object], bool], str, Any]] = {
    "hook": (_is_text, "text", "a hook"),
    "place": (_is_text, "text", ""),
    "kind": (_is_text, "text", "command"),
    "status": (_is_text, "text", "ran"),
    "shadow": (_is_flag, "true or false", False),
    "started": (is_seconds, "number of seconds", 0.0),
    "duration": (_is_optional_seconds, "number of seconds", None),
    "exit_code": (_is_optional_integer, "integer", None),
    "signal": (_is_optional_text, "text", None),
    "answer": (_is_object, "object", {}),
    "stdout": (_is_text, "text", ""),
    "stderr": (_is_text, "text", ""),
    "truncated": (_is_flag, "true or false", False),
    "error": (_is_optional_text, "text", None),
    "version": (_is_object, "object", {}),
    "digest": (_is_optional_text, "text", None),
}
"""Field of a result to the check of its values, what they are, and what stands for a wrong one."""


def check_result(
    result: RecordedResult, report: Callable[[str], object] = lambda _problem: None
) -> RecordedResult:
    """Return a result without the values of a wrong type.

    Args:
        result: The result.
        report: Receives each problem: `started is no number of seconds; left out`.
    """
    changes: dict[str, Any] = {}
    for name, (is_right, kind, default) in _RESULT_FIELDS.items():
        if not is_right(getattr(result, name)):
            changes[name] = default
            report(f"{name} is no {kind}; left out")
    outcome = result.answer.get("outcome", "none") if "answer" not in changes else "none"
    if not isinstance(outcome, str):
        changes["answer"] = {k: v for k, v in result.answer.items() if k != "outcome"}
        report("the outcome of answer is no text; left out")
    return replace(result, **changes) if changes else result


def check_decision(
    decision: Any, report: Callable[[str], object] = lambda _problem: None
) -> dict[str, Any] | None:
    """Return a decision without an outcome of a wrong type; `None` if it is no object.

    Args:
        decision: The decision; `None` if it is not known.
        report: Receives each problem.
    """
    if decision is None:
        return None
    if not isinstance(decision, dict):
        report("decision is no object; left out")
        return None
    if not isinstance(decision.get("outcome", "none"), str):
        report("the outcome of decision is no text; left out")
        return {name: value for name, value in decision.items() if name != "outcome"}
    return decision
