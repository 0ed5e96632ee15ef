"""Words of commands after the expansions."""

from __future__ import annotations

from typing import NamedTuple

LITERAL, PATTERN, VAGUE = 0, 1, 2
"""Kinds of values: a text, a pattern that the shell replaces by names of files, and unknown."""


class Value(NamedTuple):
    """A word of a command after the expansions."""

    text: str
    """The word; an expansion that is not known as it is written."""
    kind: int = LITERAL
    """`LITERAL`, `PATTERN` or `VAGUE`."""
    may_split: bool = False
    """Whether it may become several words or none."""
