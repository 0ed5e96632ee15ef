r"""Globs of commands, and of sequences like the parts of a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.model.globs import matches_glob

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ARGUMENTS = (" *", ":*")
"""Endings of a pattern that stand for arguments, of which there may be none."""


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
