"""Command lines that a warm worker can run instead of a shell.

Only words whose meaning is the same in every shell are read: literal text, quotes and variables.
Everything else is run by the shell itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from anyhook.worker.commands import PROGRAM, read_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.handlers.context import HookContext
    from anyhook.model.definitions import HandlerSpec
    from anyhook.worker.commands import HookCommand

_LITERAL = r"[A-Za-z0-9_./:,+@%=-]"
_VARIABLE = r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"
_PART = re.compile(
    rf"""(?P<blank>[ \t]+)
    |(?P<bare>(?:{_LITERAL}|{_VARIABLE})+)
    |'(?P<single>[^'\x00-\x1f]*)'
    |"(?P<double>(?:[^"\\`$!\x00-\x1f]|{_VARIABLE})*)"
    """,
    re.VERBOSE | re.ASCII,
)
_USE = re.compile(_VARIABLE, re.ASCII)
_SET_BY_SHELLS = frozenset("_ EUID LINENO OLDPWD PPID PWD RANDOM SECONDS SHLVL UID".split())
"""Variables whose value in a shell is not the inherited one."""
_UNSPLIT = re.compile(f"{_LITERAL}+")
"""Values that no shell splits or expands outside quotes."""


def find_hook_command(
    context: HookContext, handler: HandlerSpec, argv: list[str], env: Mapping[str, str]
) -> HookCommand | None:
    """Return the hook file that a command runs; `None` if a worker cannot run it.

    `argv` are its program and arguments: for a command line, a shell with `-c` and the line.
    """
    if not context.services.is_warm:
        return None
    if handler.argv is not None:
        return read_command(argv)
    line = argv[-1]
    if len(argv) != 3 or argv[1] != "-c" or PROGRAM[0] not in line:
        return None
    words = split_plain_line(line, env)
    return read_command(words) if words else None


def split_plain_line(line: str, variables: Mapping[str, str]) -> list[str] | None:
    """Split a command line that is one program with literal arguments.

    Return its words, or `None` if only a shell can say what they are. The line may use the
    variables.
    """
    words: list[str] = []
    position, is_word_open = 0, False
    while position < len(line):
        part = _PART.match(line, position)
        if part is None:
            return None
        position = part.end()
        if part.lastgroup == "blank":
            is_word_open = False
            continue
        text = _resolve(part, variables)
        if text is None:
            return None
        if is_word_open:
            words[-1] += text
        else:
            words.append(text)
        is_word_open = True
    # An assignment, or an option of the shell.
    if words and ("=" in words[0] or words[0].startswith(("-", "+"))):
        return None
    return words


def _resolve(part: re.Match[str], variables: Mapping[str, str]) -> str | None:
    """Return the text of a part of a word; `None` if a variable of it is not known."""
    if part["single"] is not None:
        return part["single"]
    is_quoted = part["double"] is not None
    text = part["double"] if is_quoted else part["bare"]
    for use in _USE.finditer(text):
        name = use[1] or use[2]
        value = variables.get(name)
        if value is None or name in _SET_BY_SHELLS:
            return None
        if not is_quoted and not _UNSPLIT.fullmatch(value):
            return None
    return _USE.sub(lambda use: variables[use[1] or use[2]], text)
