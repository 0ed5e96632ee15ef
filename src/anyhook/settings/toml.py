"""TOML settings files, with the position of every value.

The standard library parses the text. It reports no positions, so a second pass over the text, which
only has to be right for valid TOML, finds them when they are asked for.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anyhook.settings.jsonc import SettingsDocument, SettingsSyntaxError

if TYPE_CHECKING:
    from anyhook.model.diagnostics import Place
    from anyhook.settings.jsonc import JsonPath

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*+")
_SPACES = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# Python up to 3.11.4 fails to match a possessive group with a part that backtracks: `('{1,2}x)*+`.
_STRING = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!")|""(?!"))*"{3,5}'
    r"|'''(?:[^']++|'(?!')|''(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")
_PROBLEM = re.compile(r"(?P<message>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|.*)\)")


class TomlSyntaxError(SettingsSyntaxError):
    """Text that is not TOML."""


@dataclass(slots=True)
class TomlSpan:
    """Offsets of a value.

    Attributes:
        start: Offset of its value; of its header if it has one.
        end: Offset after its value; of a table with a header, after its last member.
        has_header: Whether it is a table that a header begins.
    """

    start: int
    end: int
    has_header: bool = False


@dataclass(slots=True)
class TomlSection:
    """A header with the members below it.

    Attributes:
        start: Offset of the header.
        end: Offset after the last member; after the header if it has none.
    """

    path: JsonPath
    start: int
    end: int


class TomlDocument(SettingsDocument, kw_only=False):
    """A parsed TOML file.

    In its value, dates and infinite numbers are objects, which no member of a hook may be.
    """

    @cached_property
    def spans(self) -> dict[JsonPath, TomlSpan]:
        """The spans of all values by their paths, in the order of the text."""
        return self._scanned.spans

    @property
    def sections(self) -> list[TomlSection]:
        """The parts of the text that headers begin, in its order."""
        return self._scanned.sections

    @cached_property
    def _scanned(self) -> _Scanner:
        scanner = _Scanner(self.text)
        scanner.scan()
        return scanner

    def place(self, path: JsonPath) -> Place:
        """Return the place of a value."""
        for depth in range(len(path), 0, -1):
            span = self.spans.get(path[:depth])
            if span is not None:
                return self.place_at(span.start)
        return self.place_at(0)


def parse_toml(text: str, file: str = "text.toml") -> TomlDocument:
    """Parse TOML.

    Raises:
        TomlSyntaxError: If it is anything else.
    """
    try:
        value = tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        match = _PROBLEM.fullmatch(str(error))
        if match is None:
            raise TomlSyntaxError(str(error), text, 0) from None
        if match["line"] is None:
            raise TomlSyntaxError(match["message"], text, len(text)) from None
        start = 0
        for _ in range(int(match["line"]) - 1):
            start = text.index("\n", start) + 1
        offset = start + int(match["column"]) - 1
        raise TomlSyntaxError(match["message"], text, offset) from None
    except RecursionError:
        raise TomlSyntaxError("nested too deep", text, 0) from None
    # An integer of thousands of digits.
    except ValueError as error:
        raise TomlSyntaxError(str(error), text, 0) from None
    return TomlDocument(file, text, _to_json(value))


def _to_json(value: Any) -> Any:
    """Return a value with objects in place of what JSON does not have."""
    if isinstance(value, dict):
        return {key: _to_json(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if isinstance(value, datetime.date | datetime.time):
        return {"date": value.isoformat()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


class _Scanner:
    """Finds the spans of all values of a valid TOML text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.spans: dict[JsonPath, TomlSpan] = {}
        self.sections: list[TomlSection] = []
        self.lengths: dict[JsonPath, int] = {}
        """Path of a list of tables with headers to the number of its tables so far."""

    def scan(self) -> None:
        """Fill `spans` and `sections`."""
        table: JsonPath = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._scan_header()
            else:
                self._scan_member(table)
                self._extend(table)
            self._skip(_BLANK)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()

    def _scan_header(self) -> JsonPath:
        """Scan `[a.b]` or `[[a.b]]`; return the path of the table that it begins."""
        start = self.at
        is_item = self.text.startswith("[[", start)
        self.at += 2 if is_item else 1
        keys = self._scan_key()
        self.at += 2 if is_item else 1
        path: JsonPath = ()
        for key in keys[:-1]:
            path = (*path, key)
            if path in self.lengths:  # of a list of tables, the last one
                path = (*path, self.lengths[path] - 1)
        path = (*path, keys[-1])
        if is_item:
            index = self.lengths.get(path, 0)
            self.lengths[path] = index + 1
            self.spans.setdefault(path, TomlSpan(start, self.at, has_header=True))
            path = (*path, index)
        self.spans[path] = TomlSpan(start, self.at, has_header=True)
        self.sections.append(TomlSection(path, start, self.at))
        self._extend(path)
        return path

    def _extend(self, path: JsonPath) -> None:
        """Let the section, and the tables that contain it, end after what was scanned last."""
        if self.sections:
            self.sections[-1].end = self.at
        for depth in range(len(path), 0, -1):
            span = self.spans.get(path[:depth])
            if span is not None and span.has_header:
                span.end = self.at

    def _scan_key(self) -> list[str]:
        """Scan a key with its dots, and the blanks around it."""
        keys: list[str] = []
        while True:
            self._skip(_SPACES)
            bare = _BARE_KEY.match(self.text, self.at)
            string = None if bare else _STRING.match(self.text, self.at)
            match = bare or string
            if match is None:
                return keys
            self.at = match.end()
            if bare:
                keys.append(match[0])
            else:
                keys += tomllib.loads(f"{match[0]} = 0")
            self._skip(_SPACES)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _scan_member(self, table: JsonPath) -> None:
        """Scan `key = value`."""
        path = (*table, *self._scan_key())
        self.at += 1
        self._skip(_SPACES)
        self._scan_value(path)

    def _scan_value(self, path: JsonPath) -> None:
        start = self.at
        opening = self.text[start : start + 1]
        # Set before the values inside, so that the order is that of the text.
        span = self.spans[path] = TomlSpan(start, start)
        if opening == "[":
            self.at += 1
            index = 0
            self._skip(_BLANK)
            while not self.text.startswith("]", self.at):
                self._scan_value((*path, index))
                index += 1
                self._skip_comma()
            self.at += 1
        elif opening == "{":
            self.at += 1
            self._skip(_BLANK)
            while not self.text.startswith("}", self.at):
                self._scan_member(path)
                self._skip_comma()
            self.at += 1
        else:
            self._skip(_STRING if opening in ('"', "'") else _SCALAR)
        span.end = self.at = start + len(self.text[start : self.at].rstrip())

    def _skip_comma(self) -> None:
        self._skip(_BLANK)
        if self.text.startswith(",", self.at):
            self.at += 1
            self._skip(_BLANK)
