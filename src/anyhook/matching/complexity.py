"""How long a regular expression may take, estimated from its text.

The matching library backtracks and has no limit: `^(.*_)*delete$` takes seconds on a name of thirty
characters and years on one of sixty. The estimate is an upper bound of the steps for a subject of
`n` characters, `2**bits * n**degree * 2**(exponent * n)`. It errs towards too many steps.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

LONGEST_PATTERN = 2048
"""Characters. Compiling takes quadratic time and deep recursion; longer patterns crash the library
(seen with 3,000 alternatives, and with 1 MB of text)."""
LONGEST_SUBJECT = 4096
"""Characters of a subject that any expression is evaluated on."""
STEPS = 25.0
"""Logarithm (base 2) of the steps that one evaluation may take: about 20 ms."""
BACKTRACKING = 5.0
"""Logarithm of the steps that one choice takes where there are many: it is slower than a step."""

_TOKEN = re.compile(
    r"\\."  # an escape
    r"|\[(?:\\.|[^\]\\])*\]?"  # a class of characters
    r"|\((?:\?(?:[:=!]|<[=!]|<\w+>))?"  # a group of any kind
    r"|(?P<quantifier>(?:[*+?]|\{(?P<least>\d+)(?P<comma>,(?P<most>\d*))?\})\??)"
    r"|.",
    re.DOTALL,
)

_COSTLY = re.compile(r"[({]|[*+?].*[*+?]", re.DOTALL)
"""What an expression has that can be costly: most have one `*` and no group, and need no look."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """Steps of a piece of an expression.

    Attributes:
        degree: Pieces of the subject whose length is chosen freely.
        bits: Logarithm of the number of other choices.
        exponent: Choices for each character of the subject.
        is_loop: Whether it is one character, repeated any number of times.
        is_anchor: Whether it is the beginning of the subject.
    """

    degree: int = 0
    bits: float = 0.0
    exponent: float = 0.0
    is_loop: bool = False
    is_anchor: bool = False

    @property
    def has_choices(self) -> bool:
        return bool(self.degree or self.bits or self.exponent)


def longest_safe_subject(pattern: str) -> int:
    """Return the length in characters up to which an expression may be evaluated at once.

    Args:
        pattern: An ECMAScript regular expression.

    Returns:
        The length; -1 if the expression must not be evaluated at all.
    """
    if not _COSTLY.search(pattern):
        return LONGEST_SUBJECT
    branches = _parse(pattern)
    if _steps(branches, LONGEST_SUBJECT) <= STEPS:
        return LONGEST_SUBJECT
    if _steps(branches, 1) > STEPS:
        return -1
    low, high = 1, LONGEST_SUBJECT
    while low + 1 < high:
        middle = (low + high) // 2
        if _steps(branches, middle) <= STEPS:
            low = middle
        else:
            high = middle
    return low


def _steps(branches: list[list[_Cost]], length: int) -> float:
    """Return the logarithm of the steps of a search in a subject."""
    most = max((_branch_steps(branch, length) for branch in branches), default=0.0)
    return most + math.log2(len(branches) or 1)


def _branch_steps(pieces: list[_Cost], length: int) -> float:
    starts = 0 if pieces and pieces[0].is_anchor else 1
    if pieces and pieces[-1].is_loop:  # it takes what is left, and nothing after it can fail
        pieces = pieces[:-1]
    whole = _sequence(pieces)
    steps = whole.bits + (whole.degree + starts) * math.log2(length or 1)
    if whole.exponent or whole.bits > BACKTRACKING:
        steps += whole.exponent * length + BACKTRACKING
    return steps


def _parse(pattern: str) -> list[list[_Cost]]:
    """Return the alternatives of an expression, each as its pieces."""
    outer: list[list[list[_Cost]]] = []
    branches: list[list[_Cost]] = [[]]
    for token in _TOKEN.finditer(pattern):
        text, pieces = token[0], branches[-1]
        if token["quantifier"]:
            if pieces:
                pieces[-1] = _repeated(pieces[-1], token)
        elif text.startswith("("):
            outer.append(branches)
            branches = [[]]
        elif text == ")" and outer:
            group = _alternatives(branches)
            branches = outer.pop()
            branches[-1].append(group)
        elif text == "|":
            branches.append([])
        elif text == "^" and not pieces and not outer:
            pieces.append(_Cost(is_anchor=True))
        else:
            pieces.append(_Cost())
    while outer:  # it does not compile, either
        group = _alternatives(branches)
        branches = outer.pop()
        branches[-1].append(group)
    return branches


def _sequence(pieces: list[_Cost]) -> _Cost:
    return _Cost(
        degree=sum(piece.degree for piece in pieces),
        bits=sum(piece.bits for piece in pieces),
        exponent=sum(piece.exponent for piece in pieces),
    )


def _alternatives(branches: list[list[_Cost]]) -> _Cost:
    costs = [_sequence(branch) for branch in branches]
    return _Cost(
        degree=max(cost.degree for cost in costs),
        bits=max(cost.bits for cost in costs) + math.log2(len(costs)),
        exponent=max(cost.exponent for cost in costs),
    )


def _repeated(piece: _Cost, token: re.Match[str]) -> _Cost:
    """Return the cost of a piece with a quantifier."""
    if token["quantifier"].startswith("?"):
        return replace(piece, bits=piece.bits + 1, is_loop=False)
    is_bounded = token["least"] is not None and (token["comma"] is None or token["most"])
    if is_bounded:
        most = min(int(token["most"] or token["least"]), LONGEST_SUBJECT**2)
        return _Cost(
            degree=piece.degree * most,
            bits=piece.bits * most + math.log2(max(most, 1)),
            exponent=piece.exponent,
        )
    least = min(int(token["least"] or 1), LONGEST_SUBJECT**2)
    bits = math.log2(max(least, 1))
    if piece.has_choices:  # a choice in every repetition
        return _Cost(bits=piece.bits + bits, exponent=piece.exponent + max(1.0, piece.bits))
    return _Cost(degree=1, bits=bits, is_loop=True)
