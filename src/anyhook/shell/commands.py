"""The commands that a command line runs in the end, for guards.

`rm` is found behind `sudo`, `xargs`, `sh -c "…"`, `eval`, `find -exec`, `ssh`, `docker exec`, in
`$(…)`, and as `X=rm; $X`. What the text does not decide is uncertain, and only that: an unknown
argument leaves the program certain. Nothing is run and no file is read, so a script that a line
starts is a program like any other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from anyhook.shell.builtins import BUILTIN_HANDLERS
from anyhook.shell.interpreters import INTERPRETER_HANDLERS
from anyhook.shell.programs import POSIX_SHELLS
from anyhook.shell.reader import Reader
from anyhook.shell.scope import Scope
from anyhook.shell.walk import walk
from anyhook.shell.wrapped import WRAPPER_HANDLERS

if TYPE_CHECKING:
    from anyhook.shell.command import Command

_HANDLERS = {**WRAPPER_HANDLERS, **INTERPRETER_HANDLERS, **BUILTIN_HANDLERS}


def read_commands(
    text: str, *, home: str | None = None, cwd: str | None = None, shell: str | None = "bash"
) -> tuple[Command, ...]:
    """Return the commands that a command line runs, in the order of the text.

    Never raises: text that cannot be read is one command with `certain=False`.

    Args:
        text: The command line.
        home: The absolute path that `~` stands for; without it, paths keep their `~`.
        cwd: The absolute path in which the line runs; without it, paths stay relative.
        shell: `bash`, `dash`, `sh` or `zsh`; `None` if it may be any of them. Any other shell has
            its own syntax, and its text is one command with `certain=False`.
    """
    return _read(text, home, cwd or "", shell)


def forget_commands() -> None:
    """Forget the command lines that were read, so that each is read again."""
    _read.cache_clear()


# The sentences of one event ask for the same commands.
@lru_cache(maxsize=16)
def _read(text: str, home: str | None, cwd: str, shell: str | None) -> tuple[Command, ...]:
    reader = Reader(len(text), walk, _HANDLERS, reads_zsh=shell in {None, "zsh"})
    scope = Scope(home, cwd)
    scope.variables = dict.fromkeys("@*", "")  # an agent's shell is started without arguments
    if shell is None or shell in POSIX_SHELLS:
        reader.read_text(text, scope, ())
    else:
        reader.add_uncertain(text, scope, ())
    return tuple(reader.commands)
