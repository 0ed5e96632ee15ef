r"""Globs in which only `*` is special, for any characters, and `\*` is a star.

Rules of permission, URLs and hosts, tools and programs: both sides may come from strangers, so
nothing here backtracks. Globs of a shell or of file names also have `?` and `[…]`; they are not
these.
"""

from __future__ import annotations

import re
from functools import lru_cache

_STARS = re.compile(r"(?<!\\)\*+")


@lru_cache(maxsize=1024)
def _literals(pattern: str) -> tuple[str, ...]:
    return tuple(literal.replace("\\*", "*") for literal in _STARS.split(pattern))


def matches_glob(pattern: str, text: str) -> bool:
    """Return whether a glob matches a whole text; each literal is searched for once."""
    first, *rest = _literals(pattern)
    # Without a star there is one literal.
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    position = len(first)
    for literal in middle:
        position = text.find(literal, position)
        if position < 0:
            return False
        position += len(literal)
    return len(text) - position >= len(last) and text.endswith(last)
