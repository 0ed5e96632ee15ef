"""Recorded payloads: one JSON object, a list of them, or one a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.agents import AGENTS
from anyhook.errors import EventError
from anyhook.model.json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = "stdin"
"""Member that holds the payload as text, where a recorder has wrapped it."""
_EVENT_KEYS = frozenset(known.event_key for known in AGENTS.values())


def read_payloads(text: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read recorded payloads, also such as recorders wrap (`{"stdin": "PAYLOAD", …}`).

    Args:
        text: The file.
        name: What it is called, for messages.

    Yields:
        `NAME:LINE` (or the number in a list), and the payload.

    Raises:
        EventError: If something in it is no JSON object.
    """
    for number, value in _values(text, name):
        where = f"{name}:{number}"
        payload = value
        if isinstance(value, dict) and _EVENT_KEYS.isdisjoint(value):
            recorded = value.get(RECORDED)
            if isinstance(recorded, str):
                payload = _parsed(recorded, f"{where}: {RECORDED} holds")
        if not isinstance(payload, dict):
            raise EventError(f"{where}: an event is a JSON object")
        yield where, payload


def _values(text: str, name: str) -> Iterator[tuple[int, Any]]:
    """Read one value, or one a line; comments are allowed, as references print payloads."""
    from anyhook.settings.jsonc import JsonSyntaxError, strip_comments

    try:
        whole = parse_json(text)
    except ValueError:
        try:
            text = strip_comments(text)
        except JsonSyntaxError as error:
            at = text.count("\n", 0, error.offset) + 1
            raise EventError(f"{name}:{at}: this is no JSON: {error}") from None
        lines = [(number, line) for number, line in _lines(text) if line.strip()]
        if len(lines) == 1 or (lines and _is_json(lines[0][1])):
            for number, line in lines:
                yield number, _parsed(line, f"{name}:{number}: this is")
            return
        whole = _whole(text, name)
    yield from enumerate(whole if isinstance(whole, list) else [whole], 1)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.split("\n"), 1)  # not at U+2028, which JSON may hold


def _is_json(line: str) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _whole(text: str, name: str) -> Any:
    """Parse a value of several lines; a mistake is reported in its own line."""
    try:
        return parse_json(text) if text.strip() else []
    except json.JSONDecodeError as error:
        where = f"{name}:{error.lineno}:{error.colno}"
        raise EventError(f"{where}: this is no JSON: {error.msg}") from None
    except ValueError as error:
        raise EventError(f"{name}: this is no JSON: {error}") from None


def _parsed(text: str, where: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise EventError(f"{where} no JSON: {error}") from None
