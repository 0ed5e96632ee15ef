"""Command patterns of permission rules: `Bash(git *)` covers any command of the line.

It may stand behind `&&`, in `$(...)`, after `A=1` or behind `timeout 5`. A line that cannot be read
with certainty is covered by every pattern.
"""

from __future__ import annotations

import re

from anyhook.matching.globs import matches_command
from anyhook.model.globs import matches_glob
from anyhook.shell.parser import UnreadableError, parse_command_line
from anyhook.shell.wrappers import runs_text, unwrap

MAX_COMMAND_LENGTH = 64 * 1024
"""Characters; a longer command is covered unread, because reading it would block the host."""
_PROGRAM_ONLY = re.compile(r"[^\s*]+(?:\*| \*)?")
"""Patterns of a program's name alone: an expansion among the arguments cannot complete them."""
_OPERATOR = re.compile(r"[;&|\n]")
_POWERSHELL_SYNTAX = re.compile(r"[`{}(@\u2018-\u201e]|<#|\\(?![\w.\\*-])")
"""What PowerShell reads in another way than a POSIX shell."""


def covers_command(pattern: str, command: str) -> bool:
    """Return whether a pattern covers a command of a line for a POSIX shell."""
    if len(command) > MAX_COMMAND_LENGTH:
        return True
    try:
        line = parse_command_line(command)
        # `git push` may be completed by what `$X` holds.
        if line.expansions and not _PROGRAM_ONLY.fullmatch(pattern):
            return True
        # A pattern with an operator covers several commands of the line at once.
        if _OPERATOR.search(pattern) and matches_glob(f"*{pattern}*", command):
            return True
        for simple in line.commands:
            inner = unwrap(simple.words)
            if simple.words[0].is_vague or runs_text(inner):
                return True
            texts = {
                simple.source,
                simple.full_source,
                " ".join(word.text for word in simple.words),
                " ".join(word.text for word in inner),
            }
            if any(matches_command(pattern, text) for text in texts):
                return True
    except UnreadableError:
        return True
    return False


def covers_powershell(pattern: str, command: str) -> bool:
    """Return whether a pattern covers a command of a line for PowerShell."""
    command = command.lower().replace("\r\n", "\n")
    if _POWERSHELL_SYNTAX.search(command):
        return True
    return covers_command(pattern.lower(), command)
