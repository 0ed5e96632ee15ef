"""JSON as the agents read and write it, which is JavaScript's."""

from __future__ import annotations

import json
from typing import Any

BLANKS = (
    " \t\n\r\v\f\u00a0\ufeff\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What `String.prototype.trim` removes. Python's `strip` keeps U+FEFF and takes more controls."""


def trim(text: str) -> str:
    """Strip what JavaScript strips, a byte order mark included."""
    return text.strip(BLANKS)


def parse_json(text: str) -> Any:
    """Parse JSON; of equal keys the last counts, lone surrogates pass.

    Raises:
        ValueError: If it is no JSON. `NaN` and `Infinity` are none; neither is anything nested
            too deep to hold.
    """
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None


def dump_json(value: object) -> bytes:
    """Write compact UTF-8 JSON, non-ASCII characters as they are.

    Raises:
        TypeError: If a value is not JSON.
        ValueError: If a value contains itself, or is `NaN` or infinite.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates; JSON can only escape them
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _reject_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")
