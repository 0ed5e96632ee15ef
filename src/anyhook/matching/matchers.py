"""Matchers: patterns on the subject of an event.

An absent or empty pattern and `*` match everything. A pattern of letters, digits, `_`, `-`, space,
`,` and `|` is a list of exact names. Everything else is an ECMAScript regular expression that may
match anywhere in the subject. (Sources: the documents of DeepWork and Claude Code for exact names,
Gemini CLI for expressions.)

That is the usual style. Some events, and some releases of agents, read patterns in another one: see
`STYLES`.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from regress import Regex, RegressError

from anyhook.matching.complexity import MAX_PATTERN_LENGTH, MAX_SUBJECT_LENGTH, longest_safe_subject
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MATCH_ALL = frozenset({"", "*"})
MATCH_ALL_TOOLS = frozenset({"*", "**"})
EMPTY_PATTERN = "it is empty"
MATCH_ALL_OR_ANY = frozenset({"", "*", ".*"})
SHOWN_CHARACTERS = 60
"""Characters of a pattern that are shown in a message."""
_NAMES_ONLY = re.compile(r"[A-Za-z0-9_\- ,|]*")
_NARROW_NAMES_ONLY = re.compile(r"[A-Za-z0-9_|]*")
_SEPARATORS = re.compile(r"[,|]")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Matcher(Record, kw_only=False):
    """A compiled pattern.

    With both names and an expression, a subject matches if it is one of the names, or if the
    expression covers it; an alias of a subject matches only as one of the names.
    """

    pattern: str
    """As it was written, without surrounding blanks."""
    names: frozenset[str] | None = None
    """The exact names, if it consists of names."""
    expression: Regex | None = None
    problem: str | None = None
    """Why it does not compile; then it matches its own text only, or nothing."""
    safe_length: int = MAX_SUBJECT_LENGTH
    """Characters of a subject up to which the expression is evaluated. On a longer one it may take
    too long, so it counts as a match and the guard runs."""

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
        is_short = subject is None or len(subject) <= self.safe_length
        return is_short or (self.names is not None and self.expression is None)

    def matches_any(self, names: Sequence[str | None]) -> bool:
        """Return whether the pattern covers a subject by one of its names.

        The names are that of the subject, then its aliases; none if it cannot match.
        """
        if not names:
            return False
        subject, *aliases = names
        if self.matches(subject):
            return True
        if self.names is not None:
            return any(alias in self.names for alias in aliases)
        return any(self.matches(alias) for alias in aliases)

    def matches(self, subject: str | None) -> bool:
        """Return whether the pattern covers a subject; an event without one is always covered."""
        if subject is None:
            return True
        if self.names is not None and subject in self.names:
            return True
        if self.names is not None and self.expression is None:
            return False
        if self.pattern in MATCH_ALL:
            return True
        if len(subject) > self.safe_length:
            return True
        if self.expression is None:
            return False
        return self.expression.find(_replace_surrogates(subject)) is not None


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which the matching library refuses."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def explain_matcher(matcher: object) -> str:
    """Return what to write in place of a matcher in settings that is not a string."""
    if matcher is None:
        return "matcher must be a string; leave it out for all tools"
    text = 'matcher must be one string, like "write_file|replace"'
    names = matcher if isinstance(matcher, list) else []
    if names and all(isinstance(name, str) for name in names):
        return f"{text}; write {json.dumps('|'.join(names), ensure_ascii=False)}"
    return text


def explain_cost(matcher: Matcher) -> str:
    """Return why a matcher is not evaluated, and what to write instead: for a diagnostic."""
    pattern = matcher.pattern
    shown = pattern
    if len(pattern) > SHOWN_CHARACTERS:
        shown = f"{pattern[:SHOWN_CHARACTERS]}…"
    if len(pattern) > MAX_PATTERN_LENGTH:
        problem = f"is longer than {MAX_PATTERN_LENGTH:,} characters"
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

    The style is how it is read, a key of `STYLES` or `WHOLE_STYLES`.
    """
    if pattern is not None and style in WHOLE_STYLES:
        return WHOLE_STYLES[style](pattern)
    text = pattern or ""
    if style not in UNSTRIPPED:
        text = _strip_unescaped(text)
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


def _compile_names(text: str, names: list[str]) -> Matcher:
    stripped = {name.strip() for name in names}
    return Matcher(text, names=frozenset(stripped - {""}))


def _compile_rust(text: str) -> Matcher:
    if _NARROW_NAMES_ONLY.fullmatch(text):
        return _compile_literal(text)
    return _compile_rust_expression(text)


def _compile_rust_expression(text: str) -> Matcher:
    from anyhook.matching.rust_regex import to_ecmascript

    translation = to_ecmascript(text)
    if translation.problem is not None:
        return Matcher(text, names=frozenset(), problem=translation.problem)
    if translation.expression is None:
        return Matcher(text, safe_length=-1)
    compiled = _compile_expression(translation.expression)
    if compiled.problem is not None:
        return Matcher(text, names=frozenset(), problem=compiled.problem)
    return compiled.replace(pattern=text)


def _compile_listed(text: str) -> Matcher:
    """Compile alternatives that are names first; what is not a name is an expression.

    Source: Qwen Code 0.24.4, `hook-matcher.ts`.
    """
    if text in MATCH_ALL_OR_ANY:
        return Matcher("*")
    if "|" not in text or text.startswith(("^", "(")):
        return _with_names(text, frozenset({text}))
    entries = [_strip_unescaped(entry) for entry in _split_alternatives(text)]
    names = frozenset(entry for entry in entries if entry)
    if not names:
        return Matcher(text, names=frozenset())
    if not names.isdisjoint(MATCH_ALL_OR_ANY):
        return Matcher("*")
    return _with_names("|".join(entry for entry in entries if entry), names)


def _with_names(expression: str, names: frozenset[str]) -> Matcher:
    compiled = _compile_expression(expression)
    if compiled.expression is None and compiled.problem is None:
        return compiled
    return compiled.replace(names=names)


def _split_alternatives(text: str) -> list[str]:
    """Split a pattern at each `|` outside of brackets, groups and escapes."""
    entries: list[str] = []
    current = ""
    depth = 0
    is_escaped = in_class = False
    for char in text:
        if char == "|" and not (is_escaped or in_class or depth):
            entries.append(current)
            current = ""
            continue
        current += char
        if is_escaped:
            is_escaped = False
        elif char == "\\":
            is_escaped = True
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
    return [*entries, current]


def _strip_unescaped(text: str) -> str:
    """Remove blanks at both ends, but not one at the end that a backslash escapes."""
    stripped = text.strip()
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    is_escaped = backslashes % 2 == 1 and len(text.lstrip()) > len(stripped)
    return text.lstrip()[: len(stripped) + 1] if is_escaped else stripped


def _compile_whole(text: str) -> Matcher:
    """Compile an expression that has to cover the whole subject; an invalid one matches nothing."""
    if not text:
        return Matcher(text, names=frozenset(), problem=EMPTY_PATTERN)
    compiled = _compile_expression(f"^(?:{text})$")
    if compiled.problem is not None:
        return Matcher(text, names=frozenset(), problem=compiled.problem)
    return compiled.replace(pattern=text)


def _compile_names_or_whole(text: str) -> Matcher:
    """Compile names separated by `|`, or an expression on the first name of the subject."""
    if text in MATCH_ALL_TOOLS:
        return Matcher("*")
    names = frozenset(text.strip().split("|"))
    compiled = _compile_whole(text)
    return compiled if compiled.problem is not None else compiled.replace(names=names)


def _compile_expression(text: str) -> Matcher:
    if len(text) > MAX_PATTERN_LENGTH:
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
    # Always an expression, with the blanks around it.
    "untrimmed": _compile_expression,
    # One name: the whole text.
    "equal": lambda text: Matcher(text, names=frozenset({text})),
    # Like `narrow`, with expressions of Rust; hooks with an invalid one are left out.
    "rust": _compile_rust,
    "rust_expression": _compile_rust_expression,
    # Names separated by `|`, and an expression that is made of them.
    "listed": _compile_listed,
}
"""How a pattern is read."""
UNSTRIPPED = frozenset({"rust", "rust_expression", "untrimmed"})
"""Styles in which blanks around a pattern belong to it."""
WHOLE_STYLES: dict[str, Callable[[str], Matcher]] = {
    # An expression that has to cover the whole subject.
    "whole": _compile_whole,
    # `*`, names separated by `|`, or such an expression.
    "names_or_whole": _compile_names_or_whole,
    # The same; an empty pattern matches everything.
    "names_whole_or_all": lambda text: _compile_names_or_whole(text or "*"),
    # Any pattern, which the agent ignores.
    "ignored": lambda _text: Matcher("*"),
}
"""How a pattern is read whose blanks belong to it, and of which an invalid one matches nothing."""

EXPRESSION_STYLES = frozenset({"expression", "untrimmed"})
"""Styles in which every pattern is an expression."""
SEARCHING_STYLES = frozenset({"expression", "untrimmed", "listed"})
"""Styles in which a plain name also covers every subject that contains it."""
