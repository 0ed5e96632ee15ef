"""Matchers: patterns on the subject of an event.

An absent or empty pattern and `*` match everything. A pattern of letters, digits, `_`, `-`, space,
`,` and `|` is a list of exact names. Everything else is an ECMAScript regular expression that may
match anywhere in the subject. (Sources: the documents of DeepWork and Claude Code for exact names,
Gemini CLI for expressions.)

That is the usual style. Some events, and some releases of agents, read patterns in another one: see
`STYLES`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from regress import Regex, RegressError

from anyhook.matching.complexity import LONGEST_PATTERN, LONGEST_SUBJECT, longest_safe_subject

if TYPE_CHECKING:
    from collections.abc import Callable

MATCH_ALL = frozenset({"", "*"})
SHOWN_CHARACTERS = 60
"""Characters of a pattern that are shown in a message."""
_NAMES_ONLY = re.compile(r"[A-Za-z0-9_\- ,|]*")
_NARROW_NAMES_ONLY = re.compile(r"[A-Za-z0-9_|]*")
_SEPARATORS = re.compile(r"[,|]")
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled pattern.

    Attributes:
        pattern: As it was written, without surrounding blanks.
        names: The exact names, if it consists of names.
        expression: The compiled expression, if it is one.
        problem: Why it does not compile; then it matches its own text only, or nothing.
        safe_length: Characters of a subject up to which the expression is evaluated. On a longer
            one it may take too long, so it counts as a match and the guard runs.
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

    @property
    def matches_nothing(self) -> bool:
        """Whether the agent leaves out hooks with the pattern, because it does not compile."""
        return self.problem is not None and not self.names

    def is_evaluated(self, subject: str | None) -> bool:
        """Return whether `matches` evaluates the pattern instead of assuming a match."""
        return subject is None or self.names is not None or len(subject) <= self.safe_length

    def matches(self, subject: str | None) -> bool:
        """Return whether the pattern covers a subject; an event without one is always covered."""
        if subject is None or self.pattern in MATCH_ALL:
            return True
        if self.names is not None:
            return subject in self.names
        if len(subject) > self.safe_length:
            return True
        if self.expression is None:
            return False
        return self.expression.find(_replace_surrogates(subject)) is not None


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which the matching library refuses."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def explain_cost(matcher: Matcher) -> str:
    """Return why a matcher is not evaluated, and what to write instead: for a diagnostic."""
    pattern = matcher.pattern
    shown = pattern
    if len(pattern) > SHOWN_CHARACTERS:
        shown = f"{pattern[:SHOWN_CHARACTERS]}…"
    if len(pattern) > LONGEST_PATTERN:
        problem = f"is longer than {LONGEST_PATTERN:,} characters"
        effect = "counts as a match on everything"
    elif matcher.is_never_evaluated:
        problem = "can take for ever"
        effect = "counts as a match on everything"
    else:
        problem = f"can take for ever on more than {matcher.safe_length} characters"
        effect = "counts as a match on them"
    remedy = "write names (`a|b`), or one `.*` and no quantifier inside another"
    return f"{shown!r} {problem}, so it {effect}; {remedy}"


@lru_cache(maxsize=1024)
def compile_matcher(pattern: str | None, style: str = "usual") -> Matcher:
    """Compile a pattern. Never raises; what is wrong is the matcher's `problem`.

    Args:
        pattern: As it was configured; `None` if it was not.
        style: How it is read, a key of `STYLES`.
    """
    text = pattern or ""
    if style not in UNSTRIPPED:
        text = text.strip()
    return Matcher(text) if text in MATCH_ALL else STYLES[style](text)


def _compile_usual(text: str) -> Matcher:
    if _NAMES_ONLY.fullmatch(text):
        return _compile_names(text, _SEPARATORS.split(text))
    return _compile_expression(text)


def _compile_narrow(text: str) -> Matcher:
    if _NARROW_NAMES_ONLY.fullmatch(text):
        return _compile_literal(text)
    return _compile_expression(text)


def _compile_literal(text: str) -> Matcher:
    return _compile_names(text, text.split("|"))


def _compile_equal(text: str) -> Matcher:
    return Matcher(text, names=frozenset({text}))


def _compile_names(text: str, names: list[str]) -> Matcher:
    stripped = {name.strip() for name in names}
    return Matcher(text, names=frozenset(stripped - {""}))


def _compile_rust(text: str) -> Matcher:
    if _NARROW_NAMES_ONLY.fullmatch(text):
        return _compile_literal(text)
    from anyhook.matching.rust_regex import to_ecmascript

    translation = to_ecmascript(text)
    if translation.problem is not None:
        return Matcher(text, names=frozenset(), problem=translation.problem)
    if translation.expression is None:
        return Matcher(text, safe_length=-1)
    compiled = _compile_expression(translation.expression)
    if compiled.problem is not None:
        return Matcher(text, names=frozenset(), problem=compiled.problem)
    return replace(compiled, pattern=text)


def _compile_expression(text: str) -> Matcher:
    if len(text) > LONGEST_PATTERN:
        return Matcher(text, safe_length=-1)
    try:
        expression = Regex(_replace_surrogates(text))
    except RegressError as error:
        return Matcher(text, names=frozenset({text}), problem=str(error))
    return Matcher(text, expression=expression, safe_length=longest_safe_subject(text))


STYLES: dict[str, Callable[[str], Matcher]] = {
    # Exact names, separated by `,` or `|`, or else an expression.
    "usual": _compile_usual,
    # The same with fewer characters in names, and `|` as the only separator.
    "narrow": _compile_narrow,
    # Names separated by `|`, with any characters.
    "literal": _compile_literal,
    # Always an expression.
    "expression": _compile_expression,
    # One name: the whole text.
    "equal": _compile_equal,
    # Like `narrow`, with expressions of Rust; hooks with an invalid one are left out.
    "rust": _compile_rust,
}
"""How a pattern is read."""
UNSTRIPPED = frozenset({"rust"})
"""Styles in which blanks around a pattern belong to it."""
