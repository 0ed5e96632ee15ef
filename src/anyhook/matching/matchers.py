"""Matchers: patterns on the subject of an event.

Absent, empty or `*` match everything. Only letters, digits, `_`, `-`, space, `,` and `|` are exact
names. Everything else is an ECMAScript regular expression that may match anywhere in the subject.
(Sources: the documents of DeepWork and Claude Code for exact names, Gemini CLI for expressions.)

That is the usual style. Some events, and some releases of agents, read a pattern in another one:
see `STYLES`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from regress import Regex, RegressError

from anyhook.matching.complexity import LONGEST_PATTERN, LONGEST_SUBJECT, longest_safe_subject

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMES_ONLY = re.compile(r"[A-Za-z0-9_\- ,|]*\Z")
_SURROGATES = re.compile("[\ud800-\udfff]")
_NARROW_NAMES_ONLY = re.compile(r"[A-Za-z0-9_|]*\Z")
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
        safe_length: Characters of a subject up to which the expression is evaluated. An expression
            can take for ever on a longer one; it counts as a match then, so that a guard runs.
    """

    pattern: str
    names: frozenset[str] | None = None
    expression: Regex | None = None
    problem: str | None = None
    safe_length: int = LONGEST_SUBJECT

    @property
    def is_never_evaluated(self) -> bool:
        """Whether the pattern is too long or too costly for any subject; it covers all of them."""
        return self.safe_length < 0

    def is_evaluated(self, subject: str | None) -> bool:
        """Return whether the answer of `matches` is exact, and no guess that it may match."""
        return subject is None or self.names is not None or len(subject) <= self.safe_length

    def matches(self, subject: str | None) -> bool:
        """Tell whether the pattern covers a subject; an event without one is always covered."""
        if subject is None or self.pattern in MATCH_ALL:
            return True
        if self.names is not None:
            return subject in self.names
        if len(subject) > self.safe_length:
            return True
        return self.expression is not None and self.expression.find(_plain(subject)) is not None


def _plain(text: str) -> str:
    """Replace lone surrogates, which the matching library refuses."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def explain_cost(matcher: Matcher) -> str:
    """Return why a matcher is not evaluated, and what to write instead: for a diagnostic."""
    shown = repr(
        matcher.pattern if len(matcher.pattern) <= SHOWN else matcher.pattern[:SHOWN] + "…"
    )
    if len(matcher.pattern) > LONGEST_PATTERN:
        why = (
            f"is longer than {LONGEST_PATTERN:,} characters, so it counts as a match on everything"
        )
    elif matcher.is_never_evaluated:
        why = "can take for ever, so it counts as a match on everything"
    else:
        why = (
            f"can take for ever on more than {matcher.safe_length} characters, so it counts as a "
            "match on them"
        )
    return f"{shown} {why}; write names (`a|b`), or one `.*` and no quantifier inside another"


SHOWN = 60
"""Characters of a pattern that are shown."""


@lru_cache(maxsize=1024)
def compile_matcher(pattern: str | None, style: str = "usual") -> Matcher:
    """Compile a pattern. Never raises; what is wrong is the matcher's `problem`.

    Args:
        pattern: As it was configured; `None` if it was not.
        style: How it is read, a key of `STYLES`.
    """
    text = (pattern or "").strip()
    return Matcher(text) if text in MATCH_ALL else STYLES[style](text)


def _usual(text: str) -> Matcher:
    if _NAMES_ONLY.match(text):
        return _names(text, _SEPARATORS.split(text))
    return _expression(text)


def _narrow(text: str) -> Matcher:
    return _names(text, text.split("|")) if _NARROW_NAMES_ONLY.match(text) else _expression(text)


def _literal(text: str) -> Matcher:
    return _names(text, text.split("|"))


def _equal(text: str) -> Matcher:
    return Matcher(text, names=frozenset({text}))


def _names(text: str, names: list[str]) -> Matcher:
    return Matcher(text, names=frozenset(name for name in map(str.strip, names) if name))


def _expression(text: str) -> Matcher:
    if len(text) > LONGEST_PATTERN:
        return Matcher(text, safe_length=-1)
    try:
        expression = Regex(_plain(text))
        return Matcher(text, expression=expression, safe_length=longest_safe_subject(text))
    except RegressError as error:
        return Matcher(text, names=frozenset({text}), problem=str(error))


STYLES: dict[str, Callable[[str], Matcher]] = {
    "usual": _usual,
    "narrow": _narrow,
    "literal": _literal,
    "expression": _expression,
    "equal": _equal,
}
"""How a pattern is read: exact names or an expression; the same with fewer characters in names and
`|` alone between them; names whatever they hold; always an expression; the whole text as it is."""
