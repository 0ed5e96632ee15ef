"""Path variables in a command line, quoted as the place they stand in needs it.

Extensions write `${extensionPath}/check.sh`, in double quotes, in single quotes or in none, and
mean the path in all of them. Pasting the path in would break at the first blank and run what a
directory name says. So the variable goes into the environment, and the command line refers to it.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


_USE = r"\$\{(\w+)\}|\$(\w+)"
_NEXT = {
    "": re.compile(
        rf"""\\.|['"`)]|\$\(|(?:(?<=\s)|^)\#[^\n]*|<<|\bcase\b|{_USE}""",
        re.DOTALL | re.MULTILINE,
    ),
    '"': re.compile(rf"""\\.|["`]|\$\(|{_USE}""", re.DOTALL),
    "'": re.compile(rf"'|{_USE}"),
}
"""What counts next, by the quotes that the scan is in."""
_BY_QUOTE = {"": '"${{{}}}"', '"': "${{{}}}", "'": "'\"${{{}}}\"'"}


@lru_cache(maxsize=64)
def find_shell(
    candidates: tuple[tuple[str, ...], ...], *paths: str | None
) -> tuple[str, ...] | None:
    """Find a shell.

    Args:
        candidates: Names of programs, each with its options, the best first.
        paths: Values of `PATH` to search, in this order; `None` for the system's own. Relative
            entries are left out: they lead into whatever directory this program runs in.

    Returns:
        The absolute path of the first that is there, with its options.
    """
    for path in paths:
        if path is not None:
            path = os.pathsep.join(filter(os.path.isabs, path.split(os.pathsep)))  # noqa: PLW2901
        for program, *options in candidates:
            found = shutil.which(program, path=path)
            if found:
                return (found, *options)
    return None


def quote_path_variables(command: str, names: Collection[str]) -> str:
    """Rewrite `${name}` for a POSIX shell so that it stands for one word's part everywhere.

    Args:
        command: A command line.
        names: The variables that hold paths.

    Returns:
        The command line; variables with other names are untouched, and so is everything from a
        here-document on, where the shell needs no quotes.
    """
    if not any(f"${{{name}}}" in command for name in names):
        return command
    rewritten, done = [], 0
    for match, quote in uses(command):
        if match[1] in names:
            rewritten += [command[done : match.start()], _BY_QUOTE[quote].format(match[1])]
            done = match.end()
    return "".join([*rewritten, command[done:]])


def unquoted(command: str, names: Collection[str]) -> list[str]:
    """List the variables that a command line uses outside quotes, where the shell splits them.

    Args:
        command: A command line.
        names: The variables to look for, as `$name` or `${name}`.

    Returns:
        Their names, in order.
    """
    found = (match[1] or match[2] for match, quote in uses(command) if not quote)
    return [name for name in found if name in names]


def uses(command: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield every variable of a command line with the quotes that it stands in: none, " or '."""
    quotes = [""]  # one for the command line, and one for each `$(` inside
    at = 0
    while match := _NEXT[quotes[-1]].search(command, at):
        piece, quote, at = match[0], quotes[-1], match.end()
        if match[1] or match[2]:
            yield match, quote
        elif piece in ("'", '"'):
            quotes[-1] = "" if quote else piece
        elif piece == "$(":
            quotes.append("")
        elif piece == ")" and len(quotes) > 1:
            quotes.pop()
        elif piece in ("<<", "`", "case"):  # quotes inside have rules of their own
            return
