"""Regular expressions that match a little more or a little less than another one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)(]*?[:=!>)]|.", re.DOTALL)
ANCHORS = frozenset({"^", "$", r"\b", r"\A", r"\Z", r"\B"})
WIDENED = {"+": "*"}
NARROWED = {"*": "+", "?": ""}
_BEFORE_QUANTIFIER = frozenset("*+?{|(^")
"""Tokens after which `?`, `+` and `*` do not repeat anything."""


def widened(pattern: str) -> Iterator[str]:
    """Yield the pattern without one of its anchors, and with `*` in the place of one `+`."""
    tokens: list[str] = _TOKEN.findall(pattern)
    for number, token in enumerate(tokens):
        if token in ANCHORS:
            yield from _valid(tokens, number, "")
        elif token in WIDENED and _is_quantifier(tokens, number):
            yield from _valid(tokens, number, WIDENED[token])


def narrowed(pattern: str) -> Iterator[str]:
    """Yield the pattern without one of its alternatives, and with one optional part required."""
    tokens: list[str] = _TOKEN.findall(pattern)
    for number, token in enumerate(tokens):
        if token in NARROWED and _is_quantifier(tokens, number):
            yield from _valid(tokens, number, NARROWED[token])
    for start, end in _alternatives(tokens):
        yield from _valid([*tokens[:start], "", *tokens[end:]], start, "")


def _is_quantifier(tokens: list[str], number: int) -> bool:
    return number > 0 and tokens[number - 1] not in _BEFORE_QUANTIFIER


def _alternatives(tokens: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the range of each alternative with one `|`, in groups and outside."""
    starts: list[list[int]] = [[0]]
    for number, token in enumerate([*tokens, ")"]):
        if token.startswith("(") and not token.endswith(")"):
            starts.append([number + 1])
        elif token == "|":  # noqa: S105 - a token of a pattern
            starts[-1].append(number + 1)
        elif token == ")" and starts:  # noqa: S105 - as above
            begins = starts.pop()
            if len(begins) == 1:
                continue
            for begin, after in zip(begins, [*begins[1:], number + 1], strict=True):
                is_last = after == number + 1
                yield (begin - 1, number) if is_last else (begin, after)


def _valid(tokens: list[str], number: int, replacement: str) -> Iterator[str]:
    """Yield the pattern with another token, if it is one."""
    pattern = "".join([*tokens[:number], replacement, *tokens[number + 1 :]])
    try:
        re.compile(pattern)
    except re.error:
        return
    yield pattern
