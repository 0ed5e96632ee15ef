"""JSON as the agents read and write it, which is JavaScript's."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEPTH = 200
"""Levels of nesting that a repaired value keeps; the parser of no agent's hooks sees more."""

BLANKS = (
    " \t\n\r\v\f\u00a0\ufeff\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What `String.prototype.trim` removes. Python's `strip` keeps U+FEFF and takes more controls."""


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_decode = json.JSONDecoder(parse_constant=_reject_constant).decode
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def trim(text: str) -> str:
    """Strip what JavaScript strips, a byte order mark included."""
    return text.strip(BLANKS)


def parse_json(text: str) -> Any:
    """Parse JSON; of equal keys the last counts, lone surrogates pass.

    Raises:
        ValueError: If it is no JSON. `NaN` and `Infinity` are none; neither is anything nested
            too deep, or a number too long, to hold.
    """
    try:
        return _decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def dump_json(value: object) -> bytes:
    """Write compact UTF-8 JSON, non-ASCII characters as they are.

    Raises:
        TypeError: If a value is not JSON.
        ValueError: If a value contains itself, or is a number that JSON does not have.
        RecursionError: If it is nested too deep.
    """
    text = _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates; JSON can only escape them
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def repair(value: object, depth: int = DEPTH) -> Any:
    """Make JSON of anything, as JavaScript would where it can.

    Numbers that JSON does not have become `null`, other values their text; what is nested too deep,
    or inside itself, becomes `null`.

    Args:
        value: Anything.
        depth: Levels of nesting that are kept.

    Returns:
        A value that `dump_json` writes.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return _finite(value)
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {str(key): repair(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [repair(item, depth - 1) for item in value]
    return str(value)


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:  # an integer that no float holds
        return None
    return value if number - number == 0 else None  # infinity and NaN leave NaN


_TYPE_NAMES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def json_type(value: object) -> str:
    """Return what people call the type of a JSON value, with its article: `an object`."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)
