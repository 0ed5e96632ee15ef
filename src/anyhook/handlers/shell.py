"""Path variables in a command line, quoted as the place they stand in needs it.

Extensions write `${extensionPath}/check.sh`, in double quotes, in single quotes or in none, and
mean the path in all of them. Pasting the path in would break at the first blank and run what a
directory name says. So the variable goes into the environment, and the command line refers to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_PIECES = re.compile(r"\\.|'|\"|\$\{(\w+)\}", re.DOTALL)
_USES = re.compile(r"\\.|'|\"|\$(?:\{(\w+)\}|(\w+))", re.DOTALL)
_BY_QUOTE = {"": '"${{{}}}"', '"': "${{{}}}", "'": "'\"${{{}}}\"'"}


def refer(command: str, names: Collection[str]) -> str:
    """Rewrite `${name}` for a POSIX shell so that it stands for one word's part everywhere.

    Args:
        command: A command line.
        names: The variables that hold paths.

    Returns:
        The command line; variables with other names are untouched.
    """
    return "".join(_rewrite(command, names)) if names else command


def unquoted(command: str, names: Collection[str]) -> list[str]:
    """List the variables that a command line uses outside quotes, where the shell splits them.

    Args:
        command: A command line.
        names: The variables to look for, as `$name` or `${name}`.

    Returns:
        Their names, in order.
    """
    quote, found = "", []
    for match in _USES.finditer(command):
        piece, name = match[0], match[1] or match[2]
        if piece in ("'", '"') and quote in ("", piece):
            quote = "" if quote else piece
        elif name in names and not quote:
            found.append(name)
    return found


def _rewrite(command: str, names: Collection[str]) -> Iterator[str]:
    quote, done = "", 0
    for match in _PIECES.finditer(command):
        piece = match[0]
        if piece in ("'", '"') and quote in ("", piece):
            quote = "" if quote else piece
        elif match[1] in names:
            yield command[done : match.start()]
            yield _BY_QUOTE[quote].format(match[1])
            done = match.end()
        elif piece.startswith("\\") and quote == "'" and piece[1] == "'":
            quote = ""  # a backslash means nothing here; the quote ends
    yield command[done:]
