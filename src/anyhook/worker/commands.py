"""The command lines that run a hook file through a worker: written, and read again."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from anyhook.shell.words import split_words
from anyhook.worker import client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAM = ("anyhook", "run")
"""The words in front of a hook file wherever anyhook is installed."""
SIBLING = "anyhook-python"
"""The script next to the native program: its first line names the interpreter."""
PYTHON = "--python"
"""Option of `anyhook run`: another interpreter."""
SHEBANG = b"#!"
MAX_LINKS = 40


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
        if program is None or not is_native(program):
            return None
        if self.python is None:
            return _interpreter_of(program)
        return _find_program(self.python, environ)


def native_client() -> str | None:
    """Return the path of the native program in this package; `None` if none was built.

    It has no `anyhook-python` next to it, so it must be given an interpreter.
    """
    path = os.path.join(os.path.dirname(client.__file__), PROGRAM[0])
    return path if os.access(path, os.X_OK) else None


def prefix(python: str) -> tuple[str, ...]:
    """Return the words in front of a hook file that run it warm, with absolute paths.

    Args:
        python: Absolute path of an interpreter that has anyhook. If there is no native program, it
            is the only word, and the hook runs cold.
    """
    native = native_client()
    if native is None:
        return (python,)
    import sysconfig

    # Where an installer may have put the program of this package.
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    directories = [sysconfig.get_path("scripts", scheme) for scheme in schemes]
    directories.insert(0, os.path.dirname(sys.executable))
    paths = [os.path.join(directory, PROGRAM[0]) for directory in directories]
    on_path = shutil.which(PROGRAM[0])
    if on_path is not None and os.path.isabs(on_path):
        paths.append(on_path)
    programs = [path for path in paths if is_native(path)]
    program = programs[0] if programs else native
    own = _interpreter_of(program)
    # `python` and `python3` of one environment are one interpreter.
    if (
        own is not None
        and os.path.dirname(own) == os.path.dirname(python)
        and os.path.realpath(own) == os.path.realpath(python)
    ):
        return (program, PROGRAM[1])
    return (program, PROGRAM[1], PYTHON, python)


def read_command(argv: Sequence[str]) -> HookCommand | None:
    """Read a command line; `None` if it runs no hook file through a worker.

    Args:
        argv: Its words.
    """
    match [*argv]:
        case [program, "run", "--python", python, *words] if _name(program) == PROGRAM[0]:
            return _command(program, python, words)
        case [program, "run", option, *words] if _name(program) == PROGRAM[0]:
            if not option.startswith(f"{PYTHON}="):
                return _command(program, None, [option, *words])
            return _command(program, option.removeprefix(f"{PYTHON}="), words)
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


def is_native(program: str) -> bool:
    """Return whether a file is the native program of this package; its name is not enough."""
    version = _version_of(program)
    return version is not None and _has_native_content(program, version)


def _version_of(path: str) -> tuple[int, ...] | None:
    """Return what changes with a file, so that a changed one is read again.

    `None` if it is not a regular file: opening a pipe would wait for its other end.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)


@lru_cache(maxsize=32)
def _has_native_content(program: str, _version: tuple[int, ...]) -> bool:
    """Return whether a file has the content of the native program."""
    native = native_client()
    if native is None:
        return False
    try:
        with open(program, "rb") as file, open(native, "rb") as own:
            return file.read() == own.read()
    except OSError:
        return False


def _interpreter_of(program: str) -> str | None:
    """Return the interpreter that the native program uses (`client.c`); `None` if it is unclear."""
    # The script stands next to the program, or next to one of the links that lead to it.
    paths = [os.path.realpath(program), program]
    for _ in range(MAX_LINKS):
        try:
            target = os.readlink(paths[-1])
        except OSError:
            break
        paths.append(os.path.join(os.path.dirname(paths[-1]), target))
    for path in paths:
        script = os.path.join(os.path.dirname(path), SIBLING)
        if os.path.exists(script):
            version = _version_of(script)
            return None if version is None else _interpreter_in(script, version)
    return None


@lru_cache(maxsize=32)
def _interpreter_in(script: str, _version: tuple[int, ...]) -> str | None:
    """Return the interpreter in the first line of a script; `None` if it is unclear."""
    try:
        with open(script, "rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    words = line.removeprefix(SHEBANG).split()
    if not line.startswith(SHEBANG) or not line.endswith(b"\n") or not words:
        return None
    # `/usr/bin/env python` finds another interpreter with each `PATH`.
    python = os.fsdecode(words[0])
    return python if python.startswith("/") and "python" in _name(python) else None
