"""JSON as the agents read and write it: as JavaScript does."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEPTH = 200
"""Levels of nesting that are kept, so that recursive functions of hooks do not fail on a value."""

BLANKS = (
    " \t\n\r\v\f\u00a0\ufeff\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that `String.prototype.trim` removes. Python's `strip` keeps U+FEFF and removes
more control characters."""


def reject_constant(word: str) -> Any:
    """Refuse `NaN` and `Infinity`, which Python's decoder accepts."""
    raise ValueError(f"{word} is not JSON")


def _read_integer(digits: str) -> float:
    """Parse an integer; one with too many digits for Python is infinite, as in JavaScript."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


class RepeatedKeys(dict):  # type: ignore[type-arg]
    """An object in which a key occurs twice; its last value counts. `pairs` has all members."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else RepeatedKeys(pairs)


_Decode = tuple["Callable[[str], Any]", "Callable[[str], Any]"]
"""A fast decoder, and one for numbers of any length."""
_STRICT: _Decode = (
    json.JSONDecoder(parse_constant=reject_constant).decode,
    json.JSONDecoder(parse_constant=reject_constant, parse_int=_read_integer).decode,
)
_REPLY: _Decode = (
    json.JSONDecoder(parse_constant=reject_constant, object_pairs_hook=_make_object).decode,
    json.JSONDecoder(
        parse_constant=reject_constant, object_pairs_hook=_make_object, parse_int=_read_integer
    ).decode,
)
_LENIENT: _Decode = (json.JSONDecoder().decode, json.JSONDecoder(parse_int=_read_integer).decode)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def trim(text: str) -> str:
    """Strip the blanks of JavaScript, which include the byte order mark."""
    return text.strip(BLANKS)


def parse_json(text: str) -> Any:
    """Parse JSON as JavaScript does: the last of equal keys counts, lone surrogates are allowed.

    Any depth and integers of any length are read: a value that is nested deeper than `DEPTH`
    becomes a string with its JSON text, an integer that is too long for Python infinity.

    Raises:
        ValueError: If the text is not JSON, which has neither `NaN` nor `Infinity`.
    """
    return _parse(text, _STRICT)[0]


def parse_reply(text: str) -> Any:
    """Parse the reply of a hook like `parse_json`; objects with equal keys are `RepeatedKeys`.

    Raises:
        ValueError: If the text is not JSON.
    """
    return _parse(text, _REPLY)[0]


def parse_event(text: str) -> tuple[Any, str | None]:
    """Parse an event like `parse_json`, and accept the constants that Python writes.

    Every event that the agent's own parser accepts is accepted: otherwise an argument that is
    nested very deep would disable a guard. The second value is a note on what was changed; `None`
    if nothing was.

    Raises:
        ValueError: If the text is not JSON.
    """
    value, is_cut = _parse(text, _LENIENT)
    if is_cut:
        return value, f"values nested deeper than {DEPTH} levels are shown as their JSON text"
    return value, None


def _parse(text: str, decoders: _Decode) -> tuple[Any, bool]:
    """Return the value, and whether a part of it was nested too deep."""
    decode, decode_long = decoders
    try:
        value = decode(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError):  # a long number, a constant, or deep nesting
        is_deep = True
    else:
        is_deep = text.count("[") + text.count("{") > DEPTH and _is_deep(value)
    if not is_deep:
        return value, False
    shallow = _cut_nesting(text)
    try:
        return decode_long(shallow), shallow != text
    except json.JSONDecodeError:
        if shallow == text:
            raise
        raise ValueError("it is not JSON, and nested too deep to show where") from None


def _is_deep(value: object) -> bool:
    """Return whether a value is nested deeper than `DEPTH`."""
    level: list[Any] = [value]
    for _ in range(DEPTH):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        if not inner:
            return False
        level = inner
    return any(isinstance(item, dict | list) for item in level)


_PIECES = r'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]|[^"\[\]{}]+|"'


def _cut_nesting(text: str) -> str:
    """Replace values that are nested deeper than `DEPTH` by strings with their JSON text.

    A guard that searches the text of an event still finds it there.
    """
    import re

    kept: list[str] = []
    cut: list[str] = []
    depth = 0
    for match in re.finditer(_PIECES, text):
        piece = match[0]
        if piece in ("[", "{"):
            depth += 1
        (kept if depth <= DEPTH else cut).append(piece)
        if piece in ("]", "}"):
            depth -= 1
            if depth == DEPTH and cut:
                kept.append(json.dumps("".join(cut)))
                cut.clear()
    return "".join(kept)


def dump_json(value: object) -> bytes:
    """Return a value as compact UTF-8 JSON, with non-ASCII characters as they are.

    Raises:
        TypeError: If a value has no JSON form.
        ValueError: If a value contains itself, or is a number that JSON does not have.
        RecursionError: If it is nested too deep.
    """
    text = _encode(value)
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form and must be escaped
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def repair(value: object, depth: int = DEPTH) -> Any:
    """Return a value that `dump_json` accepts, as JavaScript would convert it.

    Numbers that JSON does not have, and values that are nested too deep or contain themselves,
    become `null`; values of other types become their text. `depth` levels of nesting are kept.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:  # an integer that no float holds
            return None
        return value if number - number == 0 else None  # NaN for infinity and NaN
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {str(key): repair(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [repair(item, depth - 1) for item in value]
    return str(value)
