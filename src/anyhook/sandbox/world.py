"""What hooks see of the user's files in a sandbox, and how a process enters it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Places:
    """The directories that hooks may change in a sandbox, as absolute paths."""

    project: str
    home: str
    others: tuple[str, ...] = ()
    """Further ones: directories of agents outside of the home, working directories."""

    def all(self) -> tuple[str, ...]:
        """Return all of them without links in their paths."""
        return tuple(os.path.realpath(path) for path in (self.project, self.home, *self.others))


class World(Protocol):
    """The files of a sandbox."""

    paths: Sequence[tuple[str, str]]
    """Each directory that has another path inside, the deepest first: real path, path inside."""
    limits: Sequence[str]
    """What hooks could reach although they are in it, for people."""

    def renew(self) -> None:
        """Discard what was written."""
        ...

    def enter(self) -> None:
        """Let this process, and all that it starts, see nothing else, and work in the project."""
        ...

    def end_processes(self) -> None:
        """Kill all processes that were started in it."""
        ...

    def close(self) -> None:
        """Remove it."""
        ...


def move_paths(value: Any, paths: Sequence[tuple[str, str]]) -> Any:
    """Return a JSON value in which paths of one side are paths of the other side.

    Names that only begin with one of the paths stay.
    """
    if not paths:
        return value
    if isinstance(value, str):
        for before, after in paths:
            if before in value:
                # Not in /home/me/project2, if the directory is /home/me/project.
                pattern = rf"{re.escape(before)}(?![\w.-])"
                value = re.sub(pattern, after.replace("\\", r"\\"), value)
        return value
    if isinstance(value, dict):
        return {move_paths(key, paths): move_paths(item, paths) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(move_paths(item, paths) for item in value)
    return value


def move_variables(environ: Mapping[str, str], paths: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return variables whose paths lead inside; those with lists of programs and modules stay."""
    moved: dict[str, str] = {}
    for name, value in environ.items():
        moved[name] = value if name.endswith("PATH") else move_paths(value, paths)
    return moved


def enter_directory(directory: str) -> None:
    """Change to a directory, or to the root if it cannot be entered."""
    try:
        os.chdir(directory)
    except OSError:
        os.chdir("/")
