"""Which files the author of a project's hooks can change.

Paths are texts here: thousands are looked up for one command, and `Path` takes ten times as long.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class TrustScope:
    """The project, and the directory `start` outside of it in which a command runs.

    Modes of files are kept in `modes`, which commands that are looked up at the same time share.
    """

    def __init__(
        self, project: Path, start: Path | None, modes: dict[str, int] | None = None
    ) -> None:
        self._modes = {} if modes is None else modes
        self.project = str(project)
        self._real_project = os.path.realpath(project)
        is_outside = start is not None and not start.is_relative_to(project)
        self._start = str(start) if is_outside else None

    def contains(self, path: str) -> bool:
        """Return whether a path, or what it links to, is inside."""
        if _is_inside(path, self.project):
            return True
        if self._start is not None and _is_inside(path, self._start):
            return True
        try:
            real_path = os.path.realpath(path)
        except OSError:  # a link of another user, like /proc/1/root
            return False
        return _is_inside(real_path, self._real_project)

    def is_inner_directory(self, path: str) -> bool:
        """Return whether a path is a directory in the project, and not the project itself."""
        is_below = path != self.project and _is_inside(path, self.project)
        return is_below and stat.S_ISDIR(self.mode_of(path))

    def mode_of(self, path: str) -> int:
        """Return the mode of a file; 0 if there is none."""
        mode = self._modes.get(path)
        if mode is None:
            try:
                mode = os.stat(path).st_mode
            except (OSError, ValueError):
                mode = 0
            self._modes[path] = mode
        return mode


def _is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")
