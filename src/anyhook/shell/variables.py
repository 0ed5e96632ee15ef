"""Variables by which an environment changes what a shell does with a command line.

Apart from the rest, because the shim imports it on every event.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

CONTROLS = frozenset({"SHELLOPTS", "BASHOPTS", "BASH_ENV", "ENV", "EXECIGNORE"})
"""Options of the shell (`SHELLOPTS=noexec` runs nothing), files that it reads first, and programs
that it does not find."""
FUNCTION = "BASH_FUNC_"
"""What the names of exported functions begin with; `BASH_FUNC_exit%%` replaces `exit`."""


def controls_shell(name: str) -> bool:
    """Return whether a variable changes the shell that reads it: no command gets it."""
    return name in CONTROLS or name.startswith(FUNCTION)


def controlling(names: Iterable[str]) -> list[str]:
    """List the variables that change the shell that reads them, sorted."""
    return sorted(filter(controls_shell, names))
