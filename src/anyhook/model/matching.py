"""Matchers: patterns on the subject of an event.

Absent, empty or `*` match everything. Only letters, digits, `_`, `-`, space, `,` and `|` are exact
names. Everything else is an ECMAScript regular expression that may match anywhere in the subject.
(Sources: the documents of DeepWork and Claude Code for exact names, Gemini CLI for expressions.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from regress import Regex, RegressError

_NAMES_ONLY = re.compile(r"[A-Za-z0-9_\- ,|]*\Z")
_SURROGATES = re.compile("[\ud800-\udfff]")
_SEPARATORS = re.compile(r"[,|]")
MATCH_ALL = frozenset({"", "*"})


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern.

    Attributes:
        pattern: As it was written, without surrounding blanks.
        names: The exact names, if it consists of names.
        expression: The compiled expression, if it is one.
        problem: Why it does not compile; then it matches its own text only.
    """

    pattern: str
    names: frozenset[str] | None = None
    expression: Regex | None = None
    problem: str | None = None

    def matches(self, subject: str | None) -> bool:
        """Tell whether the pattern covers a subject; an event without one is always covered."""
        if subject is None or self.pattern in MATCH_ALL:
            return True
        if self.names is not None:
            return subject in self.names
        return self.expression is not None and self.expression.find(_plain(subject)) is not None


def _plain(text: str) -> str:
    """Replace lone surrogates, which the matching library refuses."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


@lru_cache(maxsize=1024)
def compile_matcher(pattern: str | None) -> Matcher:
    """Compile a pattern. Never raises; what is wrong is the matcher's `problem`."""
    text = (pattern or "").strip()
    if text in MATCH_ALL:
        return Matcher(text)
    if _NAMES_ONLY.match(text):
        names = (name.strip() for name in _SEPARATORS.split(text))
        return Matcher(text, names=frozenset(name for name in names if name))
    try:
        return Matcher(text, expression=Regex(_plain(text)))
    except RegressError as error:
        return Matcher(text, names=frozenset({text}), problem=str(error))
