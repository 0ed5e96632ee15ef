"""Command lines that are recorded: the command stands in a here-document behind `tap.py`.

The agent still finds its variables in it, and the shell leaves all of it alone.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "/anyhook/history/tap.py"
"""End of the path of the program that records."""
TAP = str(Path(__file__).parents[2]) + PROGRAM
"""Path of that program in this installation."""
OPTIONS = ("-I", "-S")
"""Options of its interpreter."""
HISTORY = "history"
"""The sink of a command that is recorded."""
SHADOW = "shadow"
"""The sink of a command whose output is discarded."""
TAPPED_SHADOW = "tapped-shadow"
"""The sink of a shadow that was recorded before, and is again when it decides."""
SHADOW_OPTION = "--shadow"
"""Option of hook files."""
LAUNCHERS = ("anyhook run ", "anyhook' run ")
"""Parts of command lines that start hook files; the path of the program may be quoted."""
_LINE = re.compile(
    r"exec (?P<start>[^\n]+) \"\$0\" 9<<'(?P<mark>ANYHOOK_\w+)'\n(?P<line>.*)\n(?P=mark)\n",
    re.DOTALL,
)


class TappedCommand(NamedTuple):
    """A command that is recorded: a program with its arguments, or a command line."""

    sink: str
    """`history`, `shadow`, `tapped-shadow` or `files`."""
    words: tuple[str, ...] = ()
    line: str = ""

    @property
    def is_shadow(self) -> bool:
        """Whether its output is discarded."""
        return self.sink in (SHADOW, TAPPED_SHADOW)


def tap_words(*sink: str) -> tuple[str, ...]:
    """Return the words that start the program which records in a sink."""
    return (sys.executable, *OPTIONS, TAP, *sink)


def write_tapped(start: Sequence[str], line: str, mark: str) -> str:
    """Return the command line that records another one; no line of that may be the mark."""
    return f"exec {shlex.join(start)} \"$0\" 9<<'{mark}'\n{line}\n{mark}\n"


def read_tapped_line(command: str) -> TappedCommand | None:
    """Read a command line; `None` if it records no other one."""
    if not command.startswith("exec ") or PROGRAM not in command:
        return None
    match = _LINE.fullmatch(command)
    if match is None:
        return None
    try:
        sink = _sink(shlex.split(match["start"]))
    except ValueError:
        return None
    return None if sink is None else TappedCommand(sink, line=match["line"])


def read_tapped_words(words: Sequence[str]) -> TappedCommand | None:
    """Read a program with its arguments; `None` if it records no other one."""
    sink = _sink(words)
    if sink is None or "--" not in words:
        return None
    inner = tuple(words[[*words].index("--") + 1 :])
    return TappedCommand(sink, words=inner) if inner else None


def _sink(words: Sequence[str]) -> str | None:
    """Return the sink that the words of a start name; `None` if they start something else."""
    if len(words) < 5 or tuple(words[1:3]) != OPTIONS or not words[3].endswith(PROGRAM):
        return None
    return words[4]


def read_recorded(
    command: str | tuple[str, ...] | None,
) -> tuple[str | tuple[str, ...] | None, bool]:
    """Return the command of a hook without what records it, and whether it is a shadow."""
    if isinstance(command, str):
        tapped = read_tapped_line(command)
        line = command if tapped is None else tapped.line
        plain = without_shadow(line)
        is_shadow = plain is not None or (tapped is not None and tapped.is_shadow)
        return (line if plain is None else plain), is_shadow
    tapped = read_tapped_words(command or ())
    if tapped is None:
        return command, False
    return tapped.words, tapped.is_shadow


def without_shadow(line: str) -> str | None:
    """Return the command line of a hook file without `--shadow`; `None` if it has none."""
    if not line.endswith(f" {SHADOW_OPTION}"):
        return None
    plain = line.removesuffix(f" {SHADOW_OPTION}")
    starts_hook_file = any(mark in plain for mark in LAUNCHERS)
    return plain if starts_hook_file else None
