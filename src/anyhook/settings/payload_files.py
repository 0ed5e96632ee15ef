"""Recorded payloads: one JSON object, a list of them, or one a line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.agents import AGENTS
from anyhook.errors import EventError
from anyhook.model.json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

PAYLOAD_MEMBER = "stdin"
"""Member that holds the payload as text, where a recorder wraps it."""
_EVENT_KEYS = frozenset(agent.event_key for agent in AGENTS.values())


def read_payloads(text: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read recorded payloads, also those that a recorder wraps (`{"stdin": "PAYLOAD", …}`).

    Yields `NAME:LINE` (or the number in a list), and the payload.

    Raises:
        EventError: If a payload is not a JSON object.
    """
    for number, value in _numbered_values(text, name):
        place = f"{name}:{number}"
        payload = value
        if isinstance(value, dict) and _EVENT_KEYS.isdisjoint(value):
            recorded = value.get(PAYLOAD_MEMBER)
            if isinstance(recorded, str):
                payload = _parse(recorded, f"{place}: {PAYLOAD_MEMBER} holds")
        if not isinstance(payload, dict):
            raise EventError(f"{place}: an event is a JSON object")
        yield place, payload


def _numbered_values(text: str, name: str) -> Iterator[tuple[int, Any]]:
    """Read one value, or one a line; comments are allowed, as references print payloads."""
    from anyhook.settings.jsonc import JsonSyntaxError, strip_comments

    try:
        whole = parse_json(text)
    except ValueError:
        try:
            text = strip_comments(text)
        except JsonSyntaxError as error:
            raise EventError(f"{name}:{error.line}: this is not JSON: {error}") from None
        # `splitlines` would split at U+2028 too, which a JSON string may hold.
        numbered = enumerate(text.split("\n"), 1)
        lines = [(number, line) for number, line in numbered if line.strip()]
        if len(lines) == 1 or (lines and _is_json(lines[0][1])):
            for number, line in lines:
                yield number, _parse(line, f"{name}:{number}: this is")
            return
        whole = _parse_whole(text, name)
    yield from enumerate(whole if isinstance(whole, list) else [whole], 1)


def _is_json(line: str) -> bool:
    try:
        parse_json(line)
    except ValueError:
        return False
    return True


def _parse_whole(text: str, name: str) -> Any:
    """Parse a value of several lines; an error is reported with its line."""
    try:
        return parse_json(text) if text.strip() else []
    except json.JSONDecodeError as error:
        place = f"{name}:{error.lineno}:{error.colno}"
        raise EventError(f"{place}: this is not JSON: {error.msg}") from None
    except ValueError as error:
        raise EventError(f"{name}: this is not JSON: {error}") from None


def _parse(text: str, subject: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise EventError(f"{subject} no JSON: {error}") from None
