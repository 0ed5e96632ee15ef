"""How long a regular expression may take, estimated from its text.

The matching library backtracks and has no limit: `^(.*_)*delete$` takes seconds on a name of thirty
characters and years on one of sixty. The estimate is an upper bound of the steps for a subject of
`n` characters, `2**bits * n**degree * 2**(exponent * n)`. It errs towards too many steps.

All figures are logarithms to base 2, because the numbers themselves overflow.
"""

from __future__ import annotations

import math
import re

from anyhook.expressions import expression
from anyhook.model.record import Record

MAX_PATTERN_LENGTH = 2048
"""Characters. Compiling takes quadratic time and deep recursion; longer patterns crash the library
(seen with 3,000 alternatives, and with 1 MB of text)."""
MAX_SUBJECT_LENGTH = 4096
"""Characters of a subject that any expression is evaluated on."""
MAX_STEPS = 25.0
"""Steps that one evaluation may take: about 20 ms."""
BACKTRACKING_STEPS = 5.0
"""Steps of going back to a choice, which is slower than reading a character."""
_MAX_REPEATS = MAX_SUBJECT_LENGTH**2
"""A higher number in `{n}` makes no difference."""

_TOKEN = expression(
    r"\\."  # an escape
    r"|\[(?:\\.|[^\]\\])*\]?"  # a class of characters
    r"|\((?:\?(?:[:=!]|<[=!]|<\w+>))?"  # a group of any kind
    r"|(?P<quantifier>(?:[*+?]|\{(?P<least>\d+)(?P<comma>,(?P<most>\d*))?\})\??)"
    r"|.",
    re.DOTALL,
)

_COSTLY = expression(r"[({]|[*+?].*[*+?]", re.DOTALL)
"""What can be costly; most expressions have one `*` and no group, so they are not parsed."""


class _Cost(Record, kw_only=False):
    """The cost of a piece of an expression."""

    degree: int = 0
    """Pieces of the subject whose length is chosen freely."""
    bits: float = 0.0
    """Logarithm of the number of other choices."""
    exponent: float = 0.0
    """Choices for each character of the subject."""
    is_loop: bool = False
    """Whether it is one character, repeated any number of times."""
    is_anchor: bool = False
    """Whether it is the beginning of the subject."""

    @property
    def has_choices(self) -> bool:
        return bool(self.degree or self.bits or self.exponent)


def longest_safe_subject(pattern: str) -> int:
    """Return the length in characters up to which an expression may be evaluated at once.

    The pattern is an ECMAScript regular expression. The result is -1 if it must not be evaluated at
    all.
    """
    if not _COSTLY.search(pattern):
        return MAX_SUBJECT_LENGTH
    branches = _parse(pattern)
    if _steps(branches, MAX_SUBJECT_LENGTH) <= MAX_STEPS:
        return MAX_SUBJECT_LENGTH
    if _steps(branches, 1) > MAX_STEPS:
        return -1
    low, high = 1, MAX_SUBJECT_LENGTH
    while low + 1 < high:
        middle = (low + high) // 2
        if _steps(branches, middle) <= MAX_STEPS:
            low = middle
        else:
            high = middle
    return low


def _steps(branches: list[list[_Cost]], length: int) -> float:
    """Return the steps of a search in a subject."""
    most = -math.inf
    for branch in branches:
        # A loop at the end takes what is left, and nothing behind it can fail.
        ends_with_loop = bool(branch) and branch[-1].is_loop
        cost = _sequence_cost(branch[:-1] if ends_with_loop else branch)
        # Without `^`, the search begins at every character.
        is_anchored = bool(branch) and branch[0].is_anchor
        degree = cost.degree if is_anchored else cost.degree + 1
        steps = cost.bits + degree * math.log2(length)
        if cost.exponent or cost.bits > BACKTRACKING_STEPS:
            steps += cost.exponent * length + BACKTRACKING_STEPS
        most = max(most, steps)
    return most + math.log2(len(branches))


def _parse(pattern: str) -> list[list[_Cost]]:
    """Return the alternatives of an expression, each as its pieces."""
    # The alternatives of every open group, the outermost first.
    levels: list[list[list[_Cost]]] = [[[]]]
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        pieces = levels[-1][-1]
        if token["quantifier"]:
            if pieces:
                pieces[-1] = _repeated_cost(pieces[-1], token)
        elif text.startswith("("):
            levels.append([[]])
        elif text == ")" and len(levels) > 1:
            _close_group(levels)
        elif text == "|":
            levels[-1].append([])
        elif text == "^" and not pieces and len(levels) == 1:
            pieces.append(_Cost(is_anchor=True))
        else:
            pieces.append(_Cost())
    # A group that is not closed does not compile, so its cost does not matter.
    while len(levels) > 1:
        _close_group(levels)
    return levels[0]


def _close_group(levels: list[list[list[_Cost]]]) -> None:
    costs = [_sequence_cost(branch) for branch in levels.pop()]
    group = _Cost(
        degree=max(cost.degree for cost in costs),
        bits=max(cost.bits for cost in costs) + math.log2(len(costs)),
        exponent=max(cost.exponent for cost in costs),
    )
    levels[-1][-1].append(group)


def _sequence_cost(pieces: list[_Cost]) -> _Cost:
    return _Cost(
        degree=sum(piece.degree for piece in pieces),
        bits=sum(piece.bits for piece in pieces),
        exponent=sum(piece.exponent for piece in pieces),
    )


def _repeated_cost(piece: _Cost, token: re.Match[str]) -> _Cost:
    """Return the cost of a piece with a quantifier."""
    if token["quantifier"].startswith("?"):
        return piece.replace(bits=piece.bits + 1, is_loop=False)
    is_exact = token["least"] is not None and token["comma"] is None
    if is_exact or token["most"]:
        most = min(int(token["most"] or token["least"]), _MAX_REPEATS)
        return _Cost(
            degree=piece.degree * most,
            bits=piece.bits * most + math.log2(max(most, 1)),
            exponent=piece.exponent,
        )
    least = min(int(token["least"] or 1), _MAX_REPEATS)
    bits = math.log2(max(least, 1))
    # A choice in every repetition.
    if piece.has_choices:
        return _Cost(bits=piece.bits + bits, exponent=piece.exponent + max(1.0, piece.bits))
    return _Cost(degree=1, bits=bits, is_loop=True)
