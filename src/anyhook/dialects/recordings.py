"""Recorded payloads: one JSON object, a list of them, or one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.dialects import KNOWN
from anyhook.errors import EventError
from anyhook.model.json import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = "stdin"
"""Member that holds the payload as text, where a recorder has wrapped it."""
_EVENT_KEYS = frozenset(known.event_key for known in KNOWN.values())


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
    try:
        whole = parse_json(text)
    except ValueError:
        for number, line in enumerate(text.split("\n"), 1):  # not at U+2028, which JSON may hold
            if line.strip():
                yield number, _parsed(line, f"{name}:{number}: this is")
        return
    yield from enumerate(whole if isinstance(whole, list) else [whole], 1)


def _parsed(text: str, where: str) -> Any:
    try:
        return parse_json(text)
    except ValueError as error:
        raise EventError(f"{where} no JSON: {error}") from None
