"""The words of a command that may name files, found without running it.

Every part of the text counts: words, values of variables, and command lines inside words. A word
too many does no harm, because only files that exist are bound. The text comes from strangers, so
its length, the number of words and the depth are limited.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from anyhook.expressions import expression
from anyhook.shell.launched import launched_words
from anyhook.shell.words import split_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from anyhook.model.definitions import HandlerSpec

MAX_COMMAND_LENGTH = 16 * 1024
"""Characters; a longer command is not split, and shown as unclear."""
MAX_WORDS = 500
"""Different words of a command that are looked into."""
MAX_DEPTH = 3
"""Command lines inside command lines that are split."""
MAX_ALTERNATIVES = 64
"""Words that braces are expanded to."""

VARIABLE = expression(r"\$(?:\{(?P<braced>\w+)(?::?-(?P<default>[^}$]*))?\}|(?P<bare>\w+))")
SEPARATORS = expression(r"[\s;|&<>()\"'`,=:]+")
LITERAL_DOLLAR = "\ue000"
"""Stands for a `$` that the shell does not expand: of the value of a variable, or in quotes."""
QUOTED_DOLLAR = "\ue001"
"""The same in a text that may be a command line itself, in which it may expand a variable."""
CHANGES_DIRECTORY = frozenset({"cd", "pushd", "-C", "--directory", "--prefix", "--chdir", "--cwd"})
_PWD = expression(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`")
_CWD = expression(r"\$\(\s*pwd\s*\)|`\s*pwd\s*`|\$PWD\b|\$\{PWD\}|~\+(?=/|\Z)")
REPOSITORY = "ANYHOOK_REPOSITORY"
"""The variable that `name_directories` writes; its value is the top of the Git repository."""
_REPOSITORY = expression(
    r"\$\(\s*git rev-parse --show-toplevel(?: 2> ?/dev/null)?(?: \|\| pwd)?\s*\)"
)
_QUOTED = expression(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
_ESCAPED = expression(r"\\(.)", re.DOTALL)
_OPERATORS = frozenset("();<>|&\n")
_BRACES = expression(r"(?P<before>[^{}]*)\{(?P<inside>[^{}]*)\}(?P<after>.*)", re.DOTALL)


class ContextWord(NamedTuple):
    """A word of a command and where it stands.

    Attributes:
        source: As it is written.
        text: With known variables expanded.
        previous: The expanded word in front of it, options left out.
    """

    source: str
    text: str
    previous: str


def is_too_long(handler: HandlerSpec) -> bool:
    """Return whether the command of a handler is too long to be split."""
    texts = (handler.command or "", *(handler.argv or ()), *handler.env.values())
    return sum(map(len, texts)) > MAX_COMMAND_LENGTH


def command_words(handler: HandlerSpec) -> tuple[str, ...]:
    """Return the words of a command and of its environment, and the words inside of them."""
    if is_too_long(handler):
        return ()
    return _split(handler.command or "", handler.argv or (), tuple(handler.env.values()))


def pieces_of(word: str) -> list[str]:
    """Return the parts of a word that `command_words` also takes for words, with the word itself.

    Quotes, commas and other separators in the name of a file make such parts.
    """
    pieces: list[str] = []
    _add_word(word, pieces, MAX_DEPTH)
    return pieces


def name_directories(line: str) -> str:
    """Write variables where a command line asks for the top of the repository, or where it is."""
    return _PWD.sub("${PWD}", _REPOSITORY.sub(f"${{{REPOSITORY}}}", line))


@lru_cache(maxsize=512)
def _split(command: str, argv: tuple[str, ...], env: tuple[str, ...]) -> tuple[str, ...]:
    line = name_directories(command)
    outer = launched_words(argv)
    previous = ""
    for token in launched_words(split_tokens(line)):
        # A file that the command writes does not count; if it also runs it, it is named again.
        if not previous.startswith(">"):
            outer.append(token)
        previous = token
    # A quoted `$` may be that of the name of a file, or of a variable in a quoted command line.
    read = frozenset(outer)
    previous = ""
    for token in launched_words(split_tokens(_with_literal_signs(line))):
        if token not in read and not previous.startswith(">"):
            if previous in CHANGES_DIRECTORY:
                outer.append(previous)
            is_line = SEPARATORS.search(token) is not None
            outer.append(token.replace(LITERAL_DOLLAR, QUOTED_DOLLAR) if is_line else token)
        previous = token
    outer += [word.replace("$", QUOTED_DOLLAR) for word in argv if "$" in word]
    outer += env
    seen: set[str] = set()
    words: list[str] = []
    for word in outer:
        if len(seen) > 2 * MAX_WORDS:
            break
        # A repeated word counts for what stands behind it, but is not split again.
        if word in seen:
            words.append(word)
            continue
        inner: list[str] = []
        _add_word(word, inner, MAX_DEPTH)
        seen.update(inner)
        words += inner[: 2 * MAX_WORDS]
    return tuple(words)


def _with_literal_signs(line: str) -> str:
    """Return a command line with each `$` as `LITERAL_DOLLAR` that the shell does not expand.

    In double quotes, `shlex` keeps the backslashes of these and of backquotes, and shells do not.
    """

    def unescape(match: re.Match[str]) -> str:
        return {"$": LITERAL_DOLLAR, "`": "`"}.get(match[1], match[0])

    def replace(match: re.Match[str]) -> str:
        if match[0].startswith("'"):
            return match[0].replace("$", LITERAL_DOLLAR)
        return _ESCAPED.sub(unescape, match[0])

    return _QUOTED.sub(replace, line)


def _add_word(word: str, words: list[str], depth: int) -> None:
    """Add a word, its brace expansion, and the words of a command line inside of it."""
    if set(word) <= _OPERATORS or len(words) > 2 * MAX_WORDS:
        return
    words += _expand_braces(word)
    text = _CWD.sub(".", word)
    if depth == 0 or not SEPARATORS.search(text):
        return
    pieces = SEPARATORS.split(text)
    # Only with blanks or quotes can it be a command line by itself.
    if not {" ", "'", '"'}.isdisjoint(text):
        pieces = [*split_tokens(text), *pieces]
    for piece in dict.fromkeys(pieces):
        if piece and piece != word:
            _add_word(piece, words, depth - 1)


def _expand_braces(word: str) -> list[str]:
    expanded = [word]
    waiting = [word]
    while waiting and len(expanded) < MAX_ALTERNATIVES:
        braces = _BRACES.fullmatch(waiting.pop())
        if braces is None or "," not in braces["inside"] or braces["before"].endswith("$"):
            continue
        choices = braces["inside"].split(",")
        alternatives = [f"{braces['before']}{choice}{braces['after']}" for choice in choices]
        expanded += alternatives[:MAX_ALTERNATIVES]
        waiting += alternatives
    return expanded


def expand_variables(word: str, variables: Mapping[str, str], cwd: Path) -> str:
    """Replace the working directory and known variables in a word.

    A `$` in the directory or in a value becomes `LITERAL_DOLLAR`.
    """
    directory = str(cwd).replace("$", LITERAL_DOLLAR)

    def replace(match: re.Match[str]) -> str:
        value = variables.get(match["braced"] or match["bare"])
        if value is not None:
            return value.replace("$", LITERAL_DOLLAR)
        return match[0] if match["default"] is None else match["default"]

    return VARIABLE.sub(replace, _CWD.sub(lambda _match: directory, word))


def words_in_context(
    words: Iterable[str], variables: Mapping[str, str], cwd: Path
) -> Iterator[ContextWord]:
    """Yield every word with its expansion and the word in front of it."""
    previous = ""
    for word in words:
        text = expand_variables(word, variables, cwd)
        yield ContextWord(word, text, previous)
        # `cd -P dir` changes to `dir`, so most options do not count as the word in front.
        is_mere_option = word.startswith("-") and word not in CHANGES_DIRECTORY and word != "-m"
        if not is_mere_option:
            previous = text
