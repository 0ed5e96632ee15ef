"""JSON with comments and trailing commas, with the position of every value.

Comments and trailing commas are replaced by blanks, so that every offset stays valid, and the
standard library's parser does the rest: it is strict, fast, and reports where it stopped. Positions
of values are computed on demand.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.model.diagnostics import Place
from anyhook.model.json import reject_constant
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

JsonPath = tuple[str | int, ...]
"""Keys of objects and indexes of lists, from the root."""

_COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
# Atomic: a comment must end at its own end and not, by backtracking, at that of a later one.
_BLANK = rf"(?>\s+|{_COMMENT})*+"
# Strings are matched first, in one step even if the closing quote is missing, so that comment
# marks and commas inside of them are skipped.
TOKENS = re.compile(
    r'"(?:[^"\\\n]|\\.)*+"?'
    rf"|(?P<comment>{_COMMENT})"
    rf"|(?P<comma>,)(?={_BLANK}[}}\]])",
    re.DOTALL,
)
# Text without a match has neither comments nor trailing commas.
_MAY_NEED_BLANKING = re.compile(r"//|/\*|,\s*[}\]]")
_CLOSED_COMMENT = re.compile(r"/\*.*?\*/\Z", re.DOTALL)
_NOT_LINE_BREAK = re.compile(r"[^\n\r]")
_SEPARATOR = re.compile(r"[\s,:]*")
"""What may be between the keys and values of valid JSON."""
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
"""Message of the standard library's parser to what it means for the author of the file."""

# Every level is decoded again to find repeated keys, so the cost grows with the depth.
MAX_REPEATED_KEY_DEPTH = 20


class SettingsSyntaxError(Exception):
    """Text that the format of a settings file does not allow.

    Attributes:
        offset: Where the parser stopped, in characters.
        line: 1-based line of the offset.
        column: 1-based column of the offset, in characters.
    """

    def __init__(self, message: str, text: str, offset: int) -> None:
        self.offset = offset
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - text.rfind("\n", 0, offset)
        super().__init__(message)


class JsonSyntaxError(SettingsSyntaxError):
    """Text that is not JSON with comments."""


class Span(NamedTuple):
    """Offsets of a member of an object or of an item of a list.

    Attributes:
        key: Offset of its key; of its value if it has none.
        start: Offset of its value.
        end: Offset after its value.
    """

    step: str | int
    key: int
    start: int
    end: int


class SettingsDocument(Record, kw_only=False):
    """A parsed settings file.

    Attributes:
        file: Its path, for places.
        text: The text as it is.
        value: The parsed value: JSON.
        repeated: Whether an object has the same key twice.
    """

    file: str
    text: str
    value: Any
    repeated: bool = False

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place_at(self, offset: int) -> Place:
        """Return the line and column of an offset."""
        line = bisect_right(self._line_starts, offset)
        return Place(self.file, line, offset - self._line_starts[line - 1] + 1)

    def place(self, path: JsonPath) -> Place:
        """Return the place of the value at a path, or of its deepest container that exists."""
        raise NotImplementedError

    def repeated_keys(self) -> Iterator[tuple[str, Place]]:
        """Yield every key that its object has twice, with the place of the later one."""
        return iter(())


class Document(SettingsDocument, kw_only=False):
    """A text of JSON with comments.

    Attributes:
        plain: The text without comments and trailing commas, every offset unchanged.
    """

    plain: str = ""

    @cached_property
    def _spans(self) -> dict[int, list[Span]]:
        return {}

    @cached_property
    def _starts(self) -> dict[int, dict[str | int, int]]:
        return {}

    def place(self, path: JsonPath) -> Place:
        """Return the place of the value at a path, or of its deepest container that exists."""
        offset, _ = self.locate(path)
        return self.place_at(offset)

    def locate(self, path: JsonPath) -> tuple[int, JsonPath]:
        """Follow a path as far as it exists; of repeated keys the last one counts.

        Returns the offset of the last value on the path, and the steps that are missing.
        """
        offset = _skip_separator(self.plain, 0)
        for depth, step in enumerate(path):
            if offset not in self._starts:
                starts = {span.step: span.start for span in self.children(offset)}
                self._starts[offset] = starts
            start = self._starts[offset].get(step)
            if start is None:
                return offset, path[depth:]
            offset = start
        return offset, ()

    def children(self, container: int) -> list[Span]:
        """Return the members or items of the value that starts at an offset."""
        if container not in self._spans:
            self._spans[container] = list(_iter_children(self.plain, container))
        return self._spans[container]

    def repeated_keys(self) -> Iterator[tuple[str, Place]]:
        """Yield every key that its object has twice, with the place of the later one."""
        pending = [(_skip_separator(self.plain, 0), 0)]
        while pending:
            container, depth = pending.pop()
            keys: set[str | int] = set()
            for span in _iter_children(self.plain, container):
                if span.step in keys:
                    yield str(span.step), self.place_at(span.key)
                keys.add(span.step)
                is_container = self.plain[span.start] in "{["
                if is_container and depth < MAX_REPEATED_KEY_DEPTH:
                    pending.append((span.start, depth + 1))


def parse(text: str, file: str = "<text>") -> Document:
    """Parse JSON with comments and trailing commas; a byte order mark is allowed.

    Raises:
        JsonSyntaxError: If it is anything else.
    """
    plain = strip_comments(text)
    repeated = False

    def make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeated
        members = dict(pairs)
        repeated = repeated or len(members) != len(pairs)
        return members

    if not plain.strip():
        raise JsonSyntaxError("the file is empty; write {} for no settings", text, 0)
    try:
        value = json.loads(plain, object_pairs_hook=make_object, parse_constant=reject_constant)
    except json.JSONDecodeError as error:
        advice = _ADVICE.get(error.msg, error.msg)
        if plain.startswith("'", error.pos):
            advice = "strings are written in double quotes"
        raise JsonSyntaxError(advice, text, error.pos) from None
    except RecursionError:
        raise JsonSyntaxError("nested too deep", text, 0) from None
    # An integer of thousands of digits, or a constant like NaN.
    except ValueError as error:
        raise JsonSyntaxError(str(error), text, 0) from None
    return Document(file, text, value, repeated, plain)


def strip_comments(text: str) -> str:
    """Replace comments and trailing commas by blanks; every offset and line break stays.

    Raises:
        JsonSyntaxError: If a comment has no end.
    """
    plain = TOKENS.sub(_blank, text) if _MAY_NEED_BLANKING.search(text) else text
    return " " + plain[1:] if plain.startswith("\ufeff") else plain


def _blank(match: re.Match[str]) -> str:
    comment = match["comment"]
    if comment is None:
        return match[0] if match["comma"] is None else " "
    if comment.startswith("/*") and not _CLOSED_COMMENT.match(comment):
        message = "the comment that starts here has no end"
        raise JsonSyntaxError(message, match.string, match.start())
    return _NOT_LINE_BREAK.sub(" ", comment)


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path of keys and indexes; `None` if there is none."""
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def dict_at(value: Any, path: Sequence[str | int]) -> dict[str, Any]:
    """Return the object at a path of keys; an empty one if there is none."""
    member = value_at(value, path)
    return member if isinstance(member, dict) else {}


def list_at(value: Any, path: Sequence[str | int]) -> list[Any]:
    """Return the list at a path of keys; an empty one if there is none."""
    member = value_at(value, path)
    return member if isinstance(member, list) else []


def _iter_children(plain: str, container: int) -> Iterator[Span]:
    opening = plain[container : container + 1]
    if opening not in ("{", "["):
        return
    decode = _DECODER.raw_decode
    index = 0
    at = _skip_separator(plain, container + 1)
    while plain[at] not in "}]":
        key_start = at
        step: str | int = index
        if opening == "{":
            step, at = decode(plain, at)
            at = _skip_separator(plain, at)
        _, end = decode(plain, at)
        yield Span(step, key_start, at, end)
        at = _skip_separator(plain, end)
        index += 1


def _skip_separator(plain: str, offset: int) -> int:
    match = _SEPARATOR.match(plain, offset)
    return match.end() if match else offset
