r"""What the words of a command become: expansions that are known without running anything.

A shell replaces variables, substitutions, braces and `~`. What the text alone decides is replaced
here (`X=rm; $X`, `$HOME`, `{a,b}`, `$'\x72m'`, `$(printf rm)`); the rest stays as it is written,
and the value says that only the running shell knows it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.expressions import expression
from anyhook.shell.values import LITERAL, PATTERN, VAGUE, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.shell.parser import Word
    from anyhook.shell.scope import Scope

SEPARATORS = " \t\n"
"""The value of `IFS`, at which shells split what they have replaced."""
_MAX_LENGTH = 4096
"""Characters of a variable's value that is followed: `X=$X$X` doubles it each time."""
_MAX_WORDS = 64
"""Words that braces may make of one; `{a,b}{a,b}…` doubles their number each time."""
_MAX_BRACES = 12
_PROGRAMS = "/usr/bin/"
"""Stands for the directory of the `PATH` in which `$(which NAME)` finds a program."""

_PLAIN, _QUOTED, _KNOWN, _UNKNOWN, _UNKNOWN_SPLIT = range(5)
"""Kinds of parts: unquoted, quoted, an unquoted expansion that is known, and unknown ones."""
Part = tuple[str, int]

_PIECE = expression(
    r"""(?P<joined>\\\n)|\\(?P<escape>.)|'(?P<single>[^']*)'|\$'(?P<ansi>(?:[^'\\]|\\.)*)'"""
    r"""|(?P<double>\$?")|(?P<plain>[^\\'"$]+|.)""",
    re.DOTALL,
)
_PIECE_IN_QUOTES = expression(
    r"""\\(?P<joined>\n)|\\(?P<escape>[\\"$`])|(?P<double>")|(?P<plain>[^\\"]+|.)""", re.DOTALL
)
_VARIABLE = expression(
    r"\$(?:(?P<bare>[A-Za-z_]\w*|[0-9@*])"
    r"|\{(?P<braced>[A-Za-z_]\w*|[0-9@*])(?P<if_empty>:?[-=?][^${}`'\"\\]*)?\})"
)
_NUMBER = expression(r"\$[#?$!]|\$\(\(.*\)\)|\$\{#\w+\}", re.DOTALL)
_PRINTED = expression(r"(?:\$\(|`)\s*(?P<program>echo|printf)\s+(?P<text>[^`$\\;&|<>()]*?)\s*[)`]")
_PRINTED_WORD = expression(r"'([^'%]*)'|\"([^\"%]*)\"|([^\s'\"%*?\[{~#]+)")
_LOCATED = expression(
    r"(?:\$\(|`)\s*(?P<by>which|command\s+-v|type\s+-[pP]|realpath)\s+(?P<name>[\w./+-]+)\s*[)`]"
)
_TEMPORARY = expression(r"(?:\$\(|`)\s*mktemp(?:\s+(?:-[dq]+|--directory))*\s*[)`]")
_OTHER_HOME = expression(r"~[\w+-][\w.-]*(?:/|$)")
_FILE_PATTERN = expression(r"[*?\[]|[+@!]\(")
_ANSI_ESCAPE = expression(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = dict(zip("abefnrtvE", "\a\b\x1b\f\n\r\t\v\x1b", strict=True))
_CURRENT_BRANCH = expression(
    r'"?(?:\$\(|`)\s*git (?:branch --show-current|rev-parse --abbrev-ref HEAD)\s*[)`]"?'
)
_RANGE = expression(r"(-?\d{1,5})\.\.(-?\d{1,5})(?:\.\.-?(\d{1,5}))?|([A-Za-z])\.\.([A-Za-z])")


def _ansi_character(match: re.Match[str]) -> str:
    two, four, eight, octal, control, letter = match.groups()
    if control:
        return chr(ord(control) & 31)
    if letter:
        return _ANSI_LETTERS.get(letter, letter if letter in "\\'\"?" else match[0])
    code = int(octal, 8) & 255 if octal else int(two or four or eight, 16)
    return chr(code) if code < 0x110000 else ""


def expand_words(words: Sequence[Word], scope: Scope) -> list[Value]:
    """Return what the words of a command become."""
    values: list[Value] = []
    for word in words:
        is_branch = words[0].text == "git" and _CURRENT_BRANCH.fullmatch(word.source)
        if is_branch and not scope.redefines(word.source):
            values.append(Value("HEAD"))  # its name is neither an option nor a forced refspec
        elif scope.placeholder and scope.placeholder in word.text:
            values.append(Value(word.text, VAGUE, may_split=True))
        elif word.is_vague or word.source[:1] == "~":
            values += expand(word, scope)
        else:
            values.append(Value(word.text))
    return values


def expand(word: Word, scope: Scope) -> list[Value]:
    """Return what a word of a command becomes."""
    home = scope.home
    source = word.source
    if not word.is_vague:
        return [_with_home(Value(word.text), source, home)]
    parts = list(_parts(word, scope))
    if "{" in source:
        alternatives = _expand_braces(parts)
        if alternatives is None:
            return [Value(word.text, VAGUE)]
    else:
        alternatives = [parts]
    values: list[Value] = []
    for alternative in alternatives:
        fields = _fields(alternative)
        if fields and alternative[0][1] == _PLAIN:
            fields[0] = _with_home(fields[0], alternative[0][0], home)
        values += fields
    return values


def expand_assignment(word: Word, scope: Scope) -> tuple[str, str | None]:
    """Return the name that an assignment sets and its value; `None` if it is not known."""
    source = word.source
    name, _, _ = source.partition("=")
    start = len(name) + 1
    if name.endswith(("+", "]")) or source[start : start + 1] == "(":
        return name.rstrip("+").partition("[")[0], None
    text = ""
    for part, kind in _parts(word, scope, start):
        if kind >= _UNKNOWN:
            return name, None
        text += part
    if len(text) > _MAX_LENGTH:
        return name, None
    return name, _expand_home(text, scope.home) if source[start : start + 1] == "~" else text


def expand_text(word: Word, scope: Scope) -> str | None:
    """Return the text of a word that is not split, such as a here-string; `None` if unknown."""
    text = ""
    for part, kind in _parts(word, scope):
        if kind >= _UNKNOWN:
            return None
        text += part
    return text


def _with_home(value: Value, plain: str, home: str | None) -> Value:
    """Return a word with the directory that `~` in front of it stands for.

    `plain` is how it begins, as far as that is not quoted. The home of another user (`~root`) is
    not known.
    """
    if _OTHER_HOME.match(plain):
        return value._replace(kind=VAGUE)
    return value._replace(text=_expand_home(value.text, home)) if plain[:1] == "~" else value


def _expand_home(text: str, home: str | None) -> str:
    is_own = text == "~" or text.startswith("~/")
    return home + text[1:] if is_own and home is not None else text


def _parts(word: Word, scope: Scope, start: int = 0) -> Iterator[Part]:
    source = word.source
    position = start
    is_quoted = False
    for first, end in (*word.expansions, (len(source), len(source))):
        while position < first:
            pattern = _PIECE_IN_QUOTES if is_quoted else _PIECE
            piece = pattern.match(source, position, first)
            # A piece that the parser has read in another way; it cannot happen.
            if piece is None:
                yield source[position:first], _UNKNOWN
                break
            position = piece.end()
            kind = piece.lastgroup
            if kind == "double":
                is_quoted = not is_quoted
                yield "", _QUOTED
            elif kind == "ansi":
                yield _ANSI_ESCAPE.sub(_ansi_character, piece["ansi"]), _QUOTED
            elif kind == "plain":
                yield piece["plain"], _QUOTED if is_quoted else _PLAIN
            elif kind != "joined":
                yield piece[kind or "plain"], _QUOTED
        position = max(position, end)
        if first < end:
            yield from _expansion(source[first:end], is_quoted, scope)


def _expansion(source: str, is_quoted: bool, scope: Scope) -> Iterator[Part]:
    variables, home, directory = scope.variables, scope.home, scope.directory
    variable = _VARIABLE.fullmatch(source)
    text: str | None = None
    if variable:
        name = variable["bare"] or variable["braced"]
        defaults = {
            "HOME": "~" if home is None else home,
            "PWD": directory or None,
            "IFS": SEPARATORS,
        }
        text = variables[name] if name in variables else defaults.get(name)
        if variable["if_empty"] and not text:
            text = None
        if not is_quoted and variables.get("IFS", SEPARATORS) != SEPARATORS:
            text = None
        if name == "@":
            is_quoted = False
    elif source[:2] in {"<(", ">("}:
        yield "/dev/fd/63", _QUOTED
        return
    elif _NUMBER.fullmatch(source):
        yield source, _UNKNOWN
        return
    elif source[:2] == "$(" or source[0] == "`":
        if scope.redefines(source):
            text = None
        elif _TEMPORARY.fullmatch(source) and "TMPDIR" not in variables:
            text = "/tmp/tmp.XXXXXXXXXX"  # noqa: S108 - what `mktemp` makes of it is new
        else:
            text = _printed_text(source, directory)
    if text is None:
        yield source, _UNKNOWN if is_quoted else _UNKNOWN_SPLIT
    else:
        yield text, _QUOTED if is_quoted else _KNOWN


def _printed_text(source: str, directory: str | None) -> str | None:
    """Return what a substitution prints, if its text decides it."""
    if directory and source.strip("$()` \t\n") == "pwd":
        return directory
    located = _LOCATED.fullmatch(source)
    if located:
        name = located["name"]
        is_searched = located["by"] != "realpath" and "/" not in name
        return _PROGRAMS + name if is_searched else name
    printed = _PRINTED.fullmatch(source)
    if printed is None:
        return None
    texts = printed["text"]
    words: list[str] = []
    position = 0
    while position < len(texts):
        word = _PRINTED_WORD.match(texts, position)
        if word is None:
            return None
        following = texts[word.end() : word.end() + 1]
        if following and not following.isspace():
            return None
        words.append(word[1] or word[2] or word[3] or "")
        position = word.end()
        while texts[position : position + 1].isspace():
            position += 1
    if words and words[0].startswith("-"):
        return None
    # `printf a b` prints its format alone.
    return words[0] if printed["program"] == "printf" and words else " ".join(words)


def _fields(parts: Sequence[Part]) -> list[Value]:
    """Split the parts of a word into words, as shells do with what they have replaced."""
    values: list[Value] = []
    text = ""
    kind = LITERAL
    is_present = False
    may_split = False
    for part, part_kind in parts:
        pieces = [part]
        if part_kind == _KNOWN:
            pieces = re.split(f"[{SEPARATORS}]+", part)
            is_present = is_present or bool(pieces[0])
        for index, piece in enumerate(pieces):
            if index:
                if is_present:
                    values.append(Value(text, kind, may_split))
                text, kind, is_present, may_split = "", LITERAL, bool(piece), False
            text += piece
            if part_kind >= _UNKNOWN:
                kind = VAGUE
                may_split = may_split or part_kind == _UNKNOWN_SPLIT
            elif part_kind != _QUOTED and kind == LITERAL and _FILE_PATTERN.search(piece):
                kind = PATTERN
        is_present = is_present or part_kind != _KNOWN
    if is_present:
        values.append(Value(text, kind, may_split))
    return values


def _expand_braces(parts: list[Part]) -> list[list[Part]] | None:
    """Return the words that the braces of a word make; `None` if there are too many."""
    items: list[Part] = []
    for text, kind in parts:
        if kind == _PLAIN:
            items += [(character, _PLAIN) for character in text]
        else:
            items.append((text, kind))
    if sum(item == ("{", _PLAIN) for item in items) > _MAX_BRACES:
        return None
    results = [items]
    # Each round opens the first braces of every word, until there are none.
    for _ in range(_MAX_BRACES + 1):
        opened: list[list[Part]] = []
        for result in results:
            opened += _open_braces(result)
        if len(opened) > _MAX_WORDS:
            return None
        if opened == results:
            return [_join_plain(result) for result in opened]
        results = opened
    return None


def _join_plain(items: list[Part]) -> list[Part]:
    joined: list[Part] = []
    for text, kind in items:
        if joined and kind == _PLAIN and joined[-1][1] == _PLAIN:
            joined[-1] = (joined[-1][0] + text, _PLAIN)
        else:
            joined.append((text, kind))
    return joined


def _open_braces(items: list[Part]) -> list[list[Part]]:
    """Return the words that the first braces with alternatives make of a word."""
    for start, item in enumerate(items):
        if item != ("{", _PLAIN):
            continue
        alternatives, end = _alternatives(items, start)
        if alternatives:
            before, after = items[:start], items[end:]
            return [
                [*before, *alternative, *after] for alternative in alternatives[: _MAX_WORDS + 1]
            ]
    return [items]


def _alternatives(items: list[Part], start: int) -> tuple[list[list[Part]], int]:
    """Return the alternatives of the braces at a position, and where they end."""
    depth = 0
    alternatives: list[list[Part]] = [[]]
    for index in range(start + 1, len(items)):
        item = items[index]
        if item == ("}", _PLAIN) and not depth:
            if len(alternatives) > 1:
                return alternatives, index + 1
            texts = "".join([text for text, _ in alternatives[0]])
            range_of = _RANGE.fullmatch(texts)
            return (_range(range_of) if range_of else []), index + 1
        if item == (",", _PLAIN) and not depth:
            alternatives.append([])
            continue
        if item[1] == _PLAIN and item[0] in "{}":
            depth += 1 if item[0] == "{" else -1
        alternatives[-1].append(item)
    return [], start


def _range(match: re.Match[str]) -> list[list[Part]]:
    if match[4]:
        first, last = ord(match[4]), ord(match[5])
        step = 1 if last >= first else -1
        return [[(chr(code), _PLAIN)] for code in range(first, last + step, step)]
    first, last = int(match[1]), int(match[2])
    step = max(int(match[3] or 1), 1) * (1 if last >= first else -1)
    numbers = range(first, last + (1 if step > 0 else -1), step)[: _MAX_WORDS + 1]
    return [[(str(number), _PLAIN)] for number in numbers]
