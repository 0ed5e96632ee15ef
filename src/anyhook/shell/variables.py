"""Variables of the environment that change what a shell does with a command line.

They have a module of their own because the shim of migrated hooks imports it on every event.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# `SHELLOPTS=noexec` runs nothing, `BASH_ENV` and `ENV` are files that are run first, and programs
# that match `EXECIGNORE` are not found.
CONTROLS = frozenset({"SHELLOPTS", "BASHOPTS", "BASH_ENV", "ENV", "EXECIGNORE"})
MAX_VALUE = 100_000
"""Bytes of a value; the system starts no command with a longer variable (Linux: 128 KiB)."""
FUNCTION = "BASH_FUNC_"
"""Prefix of exported functions; `BASH_FUNC_exit%%` replaces `exit`."""


def controls_shell(name: str) -> bool:
    """Return whether a variable changes the shell that reads it, so that no command may get it."""
    return name in CONTROLS or name.startswith(FUNCTION)


def controlling(names: Iterable[str]) -> list[str]:
    """Return the variables that change the shell, sorted."""
    return sorted(filter(controls_shell, names))


def fit_value(value: str) -> str:
    """Return a valid value: without NUL characters, and cut where the system would refuse it."""
    if "\0" not in value and len(value) <= MAX_VALUE:
        try:
            if value.isascii() or len(os.fsencode(value)) <= MAX_VALUE:
                return value
        except UnicodeEncodeError:  # half of a surrogate pair
            pass
    content = value.replace("\0", "").encode("utf-8", "replace")
    return content[:MAX_VALUE].decode("utf-8", "ignore")
