"""What commands print, as Codex CLI reads it."""

from __future__ import annotations

from anyhook.agents.printed import PrintedOutput
from anyhook.model.json import parse_json, parse_reply, trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def classify(printed: str) -> PrintedOutput:
    """Return the form of a stream that is JSON if it begins with a bracket.

    It must be an object then. A byte order mark is not removed, so what follows it is text.
    """
    text = trim(printed)
    if printed.lstrip().startswith("\ufeff"):
        return PrintedOutput("text", text)
    if not text.startswith(("{", "[")):
        return PrintedOutput("text" if text else "empty", text)
    try:
        value = parse_reply(text)
    except ValueError as error:
        return PrintedOutput("malformed", text, error=str(error))
    if "\\u" in text:
        try:
            _encode_all(parse_json(text))
        except UnicodeEncodeError:
            return PrintedOutput("malformed", text, error="half of a character")
    if isinstance(value, dict):
        return PrintedOutput("json", text, value)
    return PrintedOutput("malformed", text, error="a list, not an object")


def _encode_all(value: Any) -> None:
    """Encode all texts of a value.

    Raises:
        UnicodeEncodeError: If one holds half of a character.
    """
    if isinstance(value, str):
        value.encode()
    elif isinstance(value, list):
        for item in value:
            _encode_all(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            key.encode()
            _encode_all(item)
