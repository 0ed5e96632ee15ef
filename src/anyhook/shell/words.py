"""The words of a command line, for readers that need no certainty.

Labels, the files that a command may name and the recognition of our own commands work on any line,
also on one with a syntax error. What a line runs for certain is the business of `shell.parser`.
"""

from __future__ import annotations

import re
import shlex

MAX_LENGTH = 128 * 1024
"""Characters. Linux allows no longer argument; `shlex` takes seconds for one long word."""
# A line in which a shell only removes quotes: it expands, redirects and separates nothing. An
# escaped `$` in double quotes is left out, because `shlex` keeps its backslash and shells do not.
# The group is not possessive: Python up to 3.11.4 fails to match one with a part that backtracks.
_LITERAL = re.compile(
    r"""(?:[^\\'"$`;|&<>()#*?\[~\n]++|'[^']*+'|"(?:[^\\"$`]++|\\[^$`\n])*")*""",
)


def split_words(line: str) -> list[str] | None:
    """Split a command line at blanks and remove quotes.

    `None` if a quote is not closed, or no system runs a line of that length.
    """
    if len(line) > MAX_LENGTH:
        return None
    try:
        return shlex.split(line)
    except ValueError:
        return None


def split_literal(line: str) -> list[str] | None:
    """Split a command line in which the shell changes no word; `None` if it changes one."""
    return split_words(line) if _LITERAL.fullmatch(line) else None


def split_tokens(line: str) -> list[str]:
    """Split a command line into words without quotes, and operators.

    If a quote is not closed, or no system runs a line of that length, it is split at blanks.
    """
    if len(line) > MAX_LENGTH:
        return line.split()
    lexer = shlex.shlex(line.replace("\\\n", ""), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return line.split()
