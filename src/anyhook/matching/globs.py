r"""Globs of permission rules in which only `*` is special and `\*` is a star.

Both sides may come from strangers, so nothing here backtracks without a limit.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_STARS = re.compile(r"(?<!\\)\*+")
_ARGUMENTS = (" *", ":*")
"""Endings of a pattern that stand for arguments, of which there may be none."""


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


def matches_command(pattern: str, text: str) -> bool:
    """Return whether a glob matches a command; `git *` and `git:*` also match `git` alone."""
    if not pattern.endswith(_ARGUMENTS):
        return matches_glob(pattern, text)
    program = pattern[:-2]
    return matches_glob(program, text) or matches_glob(f"{program} *", text)


def matches_sequence(
    pattern: Sequence[str],
    subject: Sequence[str],
    wildcard: str,
    matches_item: Callable[[str, str], bool],
) -> bool:
    """Match item by item with two pointers, in O(n*m).

    After a mismatch only the last wildcard is retried, with one more item.

    The wildcard is the item of a pattern that stands for any number of items.
    """
    step = 0
    position = 0
    last_wildcard = -1
    retry_position = 0
    while position < len(subject):
        if step < len(pattern) and pattern[step] == wildcard:
            last_wildcard = step
            retry_position = position
            step += 1
        elif step < len(pattern) and matches_item(pattern[step], subject[position]):
            step += 1
            position += 1
        elif last_wildcard >= 0:
            retry_position += 1
            position = retry_position
            step = last_wildcard + 1
        else:
            return False
    return all(item == wildcard for item in pattern[step:])
