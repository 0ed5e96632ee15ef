"""Splits a matcher into its alternatives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.matching.matchers import MATCH_ALL
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

MATCHES_EVERYTHING = re.compile(r"\^?\(?(?:\.\*|\.\+)\)?\$?\Z")
NAME_LIST = re.compile(r"[\w\- ,|]*\Z")


Reasons = tuple[tuple[str, str], ...]
"""Pieces of a matcher, each with a reason."""


class Piece(Record, kw_only=False):
    """One alternative of a matcher."""

    text: str
    """The alternative without anchors."""
    start: bool
    """Whether it holds at the start of a name only."""
    end: bool
    """Whether it holds at the end of a name only."""


class TranslatedPiece(Record):
    """What one alternative becomes."""

    names: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Expressions on names of MCP tools of the target."""
    check: bool = False
    """Whether the original may cover MCP tools that are not known."""
    missing: Reasons = ()
    wider: Reasons = ()
    """Texts that cover more than the references promise."""
    lacks_server: bool = False
    """Whether the target does not name the server that the original names, so that the shim cannot
    apply the original."""


def split_matcher(text: str) -> list[Piece]:
    """Split a matcher at its alternatives, without anchors and a group around all of them."""
    if NAME_LIST.match(text):
        names = (name.strip() for name in re.split(r"[|,]", text))
        return [Piece(name, True, True) for name in names if name]
    whole = _strip_anchors(text)
    inner = whole.text[1:-1].removeprefix("?:")
    group_ends = [offset for offset, _, depth in _characters(whole.text) if depth == 0]
    is_group = whole.text.startswith("(") and group_ends[:1] == [len(whole.text) - 1]
    is_lookaround = inner.startswith("?")
    if is_group and not is_lookaround:
        # Anchors around the group hold for each of its alternatives.
        pieces: list[Piece] = []
        for part in _split_alternatives(inner):
            if part:
                piece = _strip_anchors(part)
                start, end = piece.start or whole.start, piece.end or whole.end
                pieces.append(Piece(piece.text, start, end))
        return pieces
    # Only the whole shows what a lookaround covers.
    if "(?" in text:
        return [Piece(text, False, False)]
    return [_strip_anchors(part) for part in _split_alternatives(text) if part]


def covers_same(first: str | None, second: str | None) -> bool:
    """Return whether two matchers are written the same except for order and blanks."""
    return _piece_set(first) == _piece_set(second)


def _piece_set(pattern: str | None) -> frozenset[tuple[str, bool, bool]]:
    text = (pattern or "").strip()
    if text in MATCH_ALL or MATCHES_EVERYTHING.match(text):
        return frozenset()
    return frozenset((piece.text, piece.start, piece.end) for piece in split_matcher(text))


def _strip_anchors(text: str) -> Piece:
    has_end = text.endswith("$") and not text.endswith("\\$")
    inner = text[:-1] if has_end else text
    return Piece(inner.removeprefix("^"), inner.startswith("^"), has_end)


def _split_alternatives(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for offset, char, depth in _characters(text):
        if char == "|" and depth == 0:
            parts.append(text[start:offset])
            start = offset + 1
    return [*parts, text[start:]]


def _characters(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield offset, character and depth of groups after it, without escapes and classes."""
    depth = 0
    is_in_class = False
    offset = 0
    while offset < len(text):
        char = text[offset]
        if char == "\\":
            offset += 1
        elif is_in_class:
            is_in_class = char != "]"
        elif char == "[":
            is_in_class = True
        else:
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
            yield offset, char, depth
        offset += 1
