"""Where a program is: the same place for every part of anyhook, and for its native client."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PATH = "/usr/bin:/bin"
"""The directories of programs where an environment has no `PATH`."""


def find_program(program: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of a program; `None` if no directory has it.

    Args:
        program: Its name, which is looked up, or a path, which is returned as it is.
        environ: The environment whose `PATH` counts, as for `execvp`. This process may have
            another one.
    """
    if "/" in program:
        return program
    for directory in (environ.get("PATH") or DEFAULT_PATH).split(":"):
        path = f"{directory or os.getcwd()}/{program}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    return None
