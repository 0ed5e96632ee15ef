r"""Regular expressions of Rust's `regex` crate, written as ECMAScript ones.

Both search anywhere in a subject. Rust has no look-around and no back references, rejects unknown
escapes and a `{` that begins no quantifier, and has inline flags: `(?i)bash`. `\d`, `\w`, `\s` and
`\b` know all of Unicode in Rust and only ASCII here, which tool names are made of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LOOK_AROUND = "look-around, including look-ahead and look-behind, is not supported"
_TOKEN = re.compile(
    r"\\(?P<escape>x\{\w*\}|[pPuU]\{?\w*\}?|b\{|.?)"
    r"|\[(?P<negated>\^?)(?P<first>\]?)(?P<members>(?:\\.|[^\]\\])*)(?P<closed>\]?)"
    r"|\((?P<group>\?(?:P?<(?![=!])|<[=!]|[=!:]|[a-zA-Z-]*[:)]|.?))?"
    r"|(?P<quantifier>[*+?]|\{\s*\d+\s*(?:,\s*\d*\s*)?\})(?P<more>[*+?{]*)"
    r"|.",
    re.DOTALL,
)
_ANCHORS = {"A": "^", "z": "$", "a": r"\x07"}
_LETTERS = frozenset("fnrtvbBdDsSwWx")
"""Letters with the same meaning after a backslash in both."""
_SET_OPERATORS = ("[", "&&", "--", "~~")
_FLAGS = frozenset("imsu-")
"""Inline flags that both have; `u` is the default of Rust and changes nothing here."""


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated expression."""

    expression: str | None = None
    """The expression in ECMAScript; `None` if there is none with the same meaning."""
    problem: str | None = None
    """Why it is not valid in Rust; `None` if it is."""


class _InvalidError(Exception):
    """The expression is not valid in Rust."""


class _UntranslatableError(Exception):
    """The expression is valid and has no counterpart."""


def to_ecmascript(pattern: str) -> Translation:
    """Translate an expression. Never raises."""
    try:
        return Translation(_Translator(pattern).translate())
    except _InvalidError as error:
        return Translation(problem=str(error))
    except _UntranslatableError:
        return Translation()


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.parts: list[str] = []
        self.extra_groups = [0]
        """For every open group the number of groups that inline flags opened in it."""

    def translate(self) -> str:
        for token in _TOKEN.finditer(self.pattern):
            text = token[0]
            if token["escape"] is not None:
                self.parts.append(_translate_escape(token["escape"]))
            elif text.startswith("["):
                self.parts.append(_translate_class(token))
            elif text.startswith("("):
                self._open_group(token["group"] or "", token.end())
            elif token["quantifier"]:
                self.parts.append(_translate_quantifier(token))
            elif text == "{":
                raise _InvalidError("repetition quantifier expects a valid decimal")
            elif text == ")":
                if len(self.extra_groups) == 1:
                    raise _InvalidError("unopened group")
                self.parts.append(")" * (self.extra_groups.pop() + 1))
            else:
                self.parts.append(text)
        if len(self.extra_groups) > 1:
            raise _InvalidError("unclosed group")
        return "".join(self.parts) + ")" * self.extra_groups[0]

    def _open_group(self, kind: str, end: int) -> None:
        if kind in ("?=", "?!", "?<=", "?<!"):
            raise _InvalidError(LOOK_AROUND)
        if kind in ("", "?:", "?<", "?P<"):
            self.parts.append(f"({kind.replace('P', '')}")
            self.extra_groups.append(0)
            return
        flags = kind[1:-1]
        if not flags or kind[-1] not in ":)" or not all(map(str.isalpha, flags.replace("-", ""))):
            raise _InvalidError("unrecognized flag")
        if not _FLAGS.issuperset(flags):
            raise _UntranslatableError
        group = f"(?{flags.replace('u', '').rstrip('-')}:"
        if kind.endswith(":"):
            self.parts.append(group)
            self.extra_groups.append(0)
            return
        # The flags hold for the rest of the group, also behind a `|`.
        is_first = not self.parts or self.parts[-1].startswith("(")
        if not is_first and "|" in self.pattern[end:]:
            raise _UntranslatableError
        self.parts.append(group)
        self.extra_groups[-1] += 1


def _translate_escape(escape: str) -> str:
    first = escape[:1]
    if not escape:
        raise _InvalidError("incomplete escape sequence")
    if first in "pPuU" or escape.startswith(("x{", "b{")):
        raise _UntranslatableError
    if first.isdigit():
        raise _InvalidError("backreferences are not supported")
    if first in _ANCHORS:
        return _ANCHORS[first]
    if first.isascii() and first.isalpha() and first not in _LETTERS:
        raise _InvalidError("unrecognized escape sequence")
    return f"\\{escape}"


def _translate_class(token: re.Match[str]) -> str:
    if not token["closed"]:
        raise _InvalidError("unclosed character class")
    if any(operator in token["members"] for operator in _SET_OPERATORS):
        raise _UntranslatableError
    first = r"\]" if token["first"] else ""
    return f"[{token['negated']}{first}{token['members']}]"


def _translate_quantifier(token: re.Match[str]) -> str:
    """Translate a quantifier with the ones behind it: `**` is valid in Rust."""
    quantifier, more = re.sub(r"\s", "", token["quantifier"]), token["more"]
    if more in ("", "?"):
        return quantifier + more
    if quantifier in "*+" and set(more) <= {"*", "+"}:
        return "+" if set(quantifier + more) == {"+"} else "*"
    raise _UntranslatableError
