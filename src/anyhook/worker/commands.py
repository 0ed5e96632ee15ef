"""The command lines that run a hook file through a worker: written, and read again."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from anyhook.shell.words import split_words
from anyhook.worker import client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NATIVE = "anyhook-run"
"""The native client: it takes an interpreter, a hook file and arguments."""
PROGRAM = ("anyhook", "run")
"""What reaches a worker wherever anyhook is installed, at the price of an interpreter."""
BARE = "-IS"
"""Makes an interpreter start fast: without `site`, and so without installed packages."""
CLIENT = "/worker/client.py"
SHEBANG = b"#!"
IMPORT = "from anyhook._entry_point import main"
CALL = "sys.exit(main())"
INSTALLED_LINES = frozenset(
    f"""
# -*- coding: utf-8 -*-
import re
import sys
{IMPORT}
if __name__ == "__main__":
sys.argv[0] = re.sub(r"(-script\\.pyw|\\.exe)?$", "", sys.argv[0])
sys.argv[0] = re.sub(r"(-script\\.pyw?|\\.exe)?$", "", sys.argv[0])
sys.argv[0] = sys.argv[0].removesuffix(".exe")
if sys.argv[0].endswith("-script.pyw"):
sys.argv[0] = sys.argv[0][:-11]
elif sys.argv[0].endswith(".exe"):
sys.argv[0] = sys.argv[0][:-4]
{CALL}
""".splitlines()
)
"""Lines of the program `anyhook` as pip, uv and conda install it, with double quotes. A program
that has any other line may decide by itself, under any name and with any imports."""


class HookCommand(NamedTuple):
    """A command line that runs a hook file through a worker.

    Attributes:
        program: The client that it starts.
        python: The interpreter that it names; `None` for the one that the program runs in.
        words: The hook file and its arguments.
    """

    program: str
    python: str | None
    words: tuple[str, ...]

    def interpreter(self, environ: Mapping[str, str]) -> str | None:
        """Return the absolute path of the interpreter; `None` if it cannot be determined.

        Args:
            environ: The variables that the command is started with.
        """
        program = _find_program(self.program, environ)
        # Something else of that name may decide by itself: it must run.
        if program is None or not _is_client(program):
            return None
        if self.python is None:
            return _interpreter_of(program)
        return _find_program(self.python, environ)


def native_client() -> str | None:
    """Return the path of the native client; `None` if none was built."""
    path = os.path.join(os.path.dirname(client.__file__), NATIVE)
    return path if os.access(path, os.X_OK) else None


def prefix(python: str) -> tuple[str, ...]:
    """Return the words in front of a hook file that run it through the fastest client there is.

    Args:
        python: Absolute path of an interpreter that has anyhook.
    """
    native = native_client()
    if native is not None:
        return (native, python)
    return (python, BARE, client.__file__, python)


def read_command(argv: Sequence[str]) -> HookCommand | None:
    """Read a command line; `None` if it runs no hook file through a worker.

    Args:
        argv: Its words.
    """
    match [*argv]:
        case [program, "run", *words] if _name(program) == PROGRAM[0]:
            return _command(program, None, words)
        case [program, python, *words] if _name(program) == NATIVE:
            return _command(program, python, words)
        case [_, flags, file, python, *words] if flags == BARE and file.endswith(CLIENT):
            return _command(file, python, words)
        case _:
            return None


def read_line(line: str) -> HookCommand | None:
    """Read a command line that a shell has still to split; variables in it stay as they are."""
    words = split_words(line)
    if words is None:
        return None
    return read_command(words)


def _command(program: str, python: str | None, words: Sequence[str]) -> HookCommand | None:
    if not words or words[0].startswith("-"):
        return None
    return HookCommand(program=program, python=python, words=tuple(words))


def _name(program: str) -> str:
    return program.rpartition("/")[2]


def _find_program(program: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of a program; `None` if it depends on the working directory."""
    if program.startswith("/"):
        return program
    if "/" in program:
        return None
    directories = (environ.get("PATH") or "").split(":")
    if not all(directory.startswith("/") for directory in directories):
        return None
    path = client.which(program, environ)
    return path if path.startswith("/") else None


def _is_client(program: str) -> bool:
    """Return whether a program is a client of this package; its name is not enough."""
    try:
        status = os.stat(program)
    except OSError:
        return False
    # Opening a pipe would wait for its other end.
    if not stat.S_ISREG(status.st_mode):
        return False
    version = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)
    return _has_content_of_client(program, version)


@lru_cache(maxsize=32)
def _has_content_of_client(program: str, _version: tuple[int, ...]) -> bool:
    """Return whether a file is a client, by its content.

    Args:
        program: The file.
        _version: Changes with the file, so that a changed one is read again.
    """
    name = _name(program)
    try:
        with open(program, "rb") as file:
            content = file.read()
        if name == PROGRAM[0]:
            return _is_entry_point(content.decode("utf-8", "replace"))
        own = native_client() if name == NATIVE else client.__file__
        if own is None:
            return False
        with open(own, "rb") as file:
            return file.read() == content
    except OSError:
        return False


def _is_entry_point(text: str) -> bool:
    """Return whether a program is the one that an installer writes, and does nothing else."""
    after_shebang = text.splitlines()[1:]
    lines = [line.strip().replace("'", '"') for line in after_shebang]
    is_complete = IMPORT in lines and lines[-1] == CALL
    return is_complete and INSTALLED_LINES.issuperset(lines)


def _interpreter_of(script: str) -> str | None:
    """Return the interpreter in the first line of an installed program; `None` if it is unclear."""
    try:
        with open(script, "rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    if not line.startswith(SHEBANG):
        return None
    words = line[len(SHEBANG) :].split()
    # `/usr/bin/env python` finds another interpreter with each `PATH`.
    if len(words) != 1 or b"python" not in words[0]:
        return None
    return os.fsdecode(words[0])
