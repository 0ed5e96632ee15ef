"""What the command lines that anyhook writes start, without the words that only anyhook reads."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from anyhook.shell.words import split_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "anyhook"
SAFE_PATH = frozenset({"-P", "-I"})
"""Options of Python with which `-m anyhook` is never a file of the working directory."""
_OPERATORS = frozenset("();<>|&")


class Launch(NamedTuple):
    """What a command line of anyhook is made of.

    Attributes:
        words: Its words that may be files: the program, the variables that the shim sets, and the
            hook file or command that is started, with its arguments.
        line: A command line that starts the same.
    """

    words: list[str]
    line: str


def launched_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command line; of one that anyhook writes only what may be files."""
    launch = _read(words)
    return [*words] if launch is None else launch.words


def launched_line(line: str) -> str:
    """Return the command line that a command line of anyhook starts; else the line itself."""
    tokens = split_tokens(line)
    launch = _read(tokens)
    if launch is None or any(set(token) <= _OPERATORS for token in tokens):
        return line
    return launch.line


def _read(words: Sequence[str]) -> Launch | None:
    """Read a command line; `None` if it is not one that runs a hook through anyhook.

    `run` is the name of a subcommand, and the options of the shim name events and tools: none is a
    file. The interpreter behind `--python` may be one.
    """
    match [*words]:
        case [program, subcommand, *rest] if program.rpartition("/")[2] == PROGRAM:
            front = [program]
        case [python, option, "-m", "anyhook", subcommand, *rest] if option in SAFE_PATH:
            front = [python]
        case [python, "-m", "anyhook", subcommand, *rest]:
            front = [python, "-m", PROGRAM]
        case _:
            return None
    if subcommand == "run" and rest:
        program, *options = front
        # A path of an installation does not lead into the project.
        name = program.rpartition("/")[2] if program.startswith("/") else program
        return Launch([*front, *rest], shlex.join([name, *options, *rest]))
    if subcommand != "shim" or "--" not in rest[:-1]:
        return None
    end = rest.index("--")
    variables, command = _variables(rest[:end]), rest[end + 1 :]
    line = command[0] if len(command) == 1 else shlex.join(command)
    return Launch([*front, *variables, *command], "\n".join([*variables, line]))


def _variables(options: Sequence[str]) -> list[str]:
    variables = [option[6:] for option in options if option.startswith("--env=")]
    for option, value in pairwise(options):
        if option == "--env":
            variables.append(value)
    return variables
