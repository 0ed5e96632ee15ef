"""JSON with comments and trailing commas, with the position of every value.

Comments and trailing commas are blanked out, so that every offset stays, and the standard
library's parser does the rest: it is strict, fast, and says where it stopped. Positions are found
when they are asked for.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anyhook.model.diagnostics import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_BLANK = rf"(?>\s+|{_COMMENT})*+"
"""Atomic: a comment that begins ends at its own end, not at that of a later one."""
_TOKENS = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"?'  # strings are passed over, in one go also if they have no end
    rf"|(?P<comment>{_COMMENT})"
    rf"|(?P<comma>,)(?={_BLANK}[}}\]])",
    re.DOTALL,
)
_SOMETHING = re.compile(r"//|/\*|,\s*[}\]]")
"""Text without any of these, wherever they stand, has nothing that is blanked out."""
_CLOSED = re.compile(r"/\*.*?\*/\Z", re.DOTALL)
_SPACE = re.compile(r"\s*")
_BLANKS = frozenset(" \t\n\r\f\v")
_DECODER = json.JSONDecoder()

_ADVICE = {
    "Expecting ',' delimiter": "a comma is missing before this",
    "Expecting ':' delimiter": "a colon is missing between the key and its value",
    "Expecting property name enclosed in double quotes": "a key in double quotes belongs here",
    "Illegal trailing comma before end of object": "a key in double quotes belongs here",
    "Illegal trailing comma before end of array": "a value belongs here",
    "Expecting value": "a value belongs here (text in double quotes, a number, true, false, null, "
    "an object or a list)",
    "Invalid control character at": "a string goes over the end of its line; write \\n for a break",
    "Unterminated string starting at": "the string that starts here has no closing quote",
    "Invalid \\escape": "write \\\\ for a backslash",
    "Invalid \\uXXXX escape": "four hexadecimal digits belong after \\u",
    "Extra data": "the JSON ends before this; only one object is allowed",
}

Path = tuple[str | int, ...]
DEEPEST = 20
"""Levels below which repeated keys are not looked for."""


class JsonSyntaxError(Exception):
    """Text that is no JSON with comments.

    Attributes:
        offset: Where the parser stopped, in characters.
    """

    def __init__(self, message: str, offset: int) -> None:
        self.offset = offset
        super().__init__(message)


@dataclass(frozen=True)
class Document:
    """A parsed text.

    Attributes:
        file: Its path, for places.
        text: The text as it is.
        plain: The text without comments and trailing commas, every offset unchanged.
        value: What it says.
        repeated: Whether some object has the same key twice.
    """

    file: str
    text: str
    plain: str
    value: Any
    repeated: bool
    _spans: dict[int, list[Span]] = field(default_factory=dict, repr=False, compare=False)
    _starts: dict[int, dict[str | int, int]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self.text)

    def place_at(self, offset: int) -> Place:
        """Return the line and column of an offset."""
        line = bisect_right(self._line_starts, offset)
        return Place(self.file, line, offset - self._line_starts[line - 1] + 1)

    def place(self, path: Path) -> Place:
        """Return the place of the value at a path, or of the deepest container on the way there."""
        return self.place_at(self.offset(path))

    def offset(self, path: Path) -> int:
        """Return the offset of the value at a path, or of the deepest container on the way."""
        at = _skip(self.plain, 0)
        for step in path:
            start = self._starts_in(at).get(step)
            if start is None:
                return at
            at = start
        return at

    def _starts_in(self, at: int) -> dict[str | int, int]:
        """Return the offsets of the values inside of one; of the same key the last one counts."""
        if at not in self._starts:
            self._starts[at] = {span.step: span.start for span in self.children(at)}
        return self._starts[at]

    def children(self, at: int) -> list[Span]:
        """Return the members of the object, or the items of the list, that starts at an offset."""
        if at not in self._spans:
            self._spans[at] = list(_iter_children(self.plain, at))
        return self._spans[at]

    def repeated_keys(self) -> Iterator[tuple[str, Place]]:
        """Find every key that its object has twice, with the place of the later one.

        Every level is decoded anew, so what is nested deeper than `DEEPEST` is not looked at.
        """
        waiting = [(_skip(self.plain, 0), 0)]
        while waiting:
            at, depth = waiting.pop()
            seen: set[str | int] = set()
            for span in _iter_children(self.plain, at):
                if span.step in seen:
                    yield str(span.step), self.place_at(span.key)
                seen.add(span.step)
                if self.plain[span.start] in "{[" and depth < DEEPEST:
                    waiting.append((span.start, depth + 1))


@dataclass(frozen=True, slots=True)
class Span:
    """A member or an item.

    Attributes:
        step: Its key or index.
        key: Offset of its key; of its value if it has none.
        start: Offset of its value.
        end: Offset after its value.
    """

    step: str | int
    key: int
    start: int
    end: int


def parse(text: str, file: str = "<text>") -> Document:
    """Parse JSON with comments and trailing commas.

    Args:
        text: The text; a byte order mark is allowed.
        file: Its path, for places.

    Returns:
        The document.

    Raises:
        JsonSyntaxError: If it is anything else.
    """
    plain = strip_comments(text)
    repeated = False

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        members = dict(pairs)
        repeated = repeated or len(members) != len(pairs)
        return members

    if not plain.strip():
        raise JsonSyntaxError("the file is empty; write {} for no settings", 0)
    try:
        value = json.loads(plain, object_pairs_hook=collect, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise JsonSyntaxError(_advice(plain, error), error.pos) from None
    except RecursionError:
        raise JsonSyntaxError("nested too deep", 0) from None
    except ValueError as error:  # an integer of thousands of digits
        raise JsonSyntaxError(str(error), 0) from None
    return Document(file, text, plain, value, repeated)


def strip_comments(text: str) -> str:
    """Blank out comments and trailing commas; every offset and line break stays.

    Raises:
        JsonSyntaxError: If a comment has no end.
    """
    open_comment = None

    def blank(match: re.Match[str]) -> str:
        nonlocal open_comment
        found = match["comment"]
        if found is not None and found.startswith("/*") and not _CLOSED.match(found):
            open_comment = match.start()
        return _blank(match)

    plain = _TOKENS.sub(blank, text) if _SOMETHING.search(text) else text
    if open_comment is not None:
        raise JsonSyntaxError("the comment that starts here has no end", open_comment)
    return " " + plain[1:] if plain.startswith("\ufeff") else plain


def line_starts(text: str) -> list[int]:
    """Return the offsets at which lines start."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


def comma_after(document: Document, start: int, stop: int) -> int | None:
    """Return the offset of the first comma between two offsets that is in no comment or string."""
    for match in _TOKENS.finditer(document.text, start, len(document.text)):
        if match["comma"] is not None and match.start() < stop:
            return match.start()
        if match.start() >= stop:
            break
    found = document.plain.find(",", start, stop)
    return found if found >= 0 else None


def end_of_line_comment(document: Document, at: int) -> int:
    """Return the offset after a comment that follows on the same line, or `at` if there is none."""
    match = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n]*?\*/)").match(document.text, at)
    return match.end() if match else at


def _blank(match: re.Match[str]) -> str:
    if match["comment"] is not None:
        return re.sub(r"[^\n\r]", " ", match[0])
    return " " if match["comma"] is not None else match[0]


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _advice(plain: str, error: json.JSONDecodeError) -> str:
    rest = plain[error.pos : error.pos + 2]
    if rest[:1] == "'":
        return "strings are written in double quotes"
    return _ADVICE.get(error.msg, error.msg)


def _skip(plain: str, at: int) -> int:
    if plain[at : at + 1] not in _BLANKS:
        return at  # mostly, there is nothing to skip
    match = _SPACE.match(plain, at)
    return match.end() if match else at


def _iter_children(plain: str, at: int) -> Iterator[Span]:
    opening = plain[at : at + 1]
    if opening not in ("{", "["):
        return
    decode = _DECODER.raw_decode
    index = 0
    at = _skip(plain, at + 1)
    while plain[at] not in "}]":
        key_at = at
        step: str | int = index
        if opening == "{":
            step, at = decode(plain, at)
            at = _skip(plain, _skip(plain, at) + 1)
        _, end = decode(plain, at)
        yield Span(step, key_at, at, end)
        at = _skip(plain, end)
        if plain[at] == ",":
            at = _skip(plain, at + 1)
        index += 1
