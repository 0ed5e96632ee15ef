"""Copies of a project and of a home directory, so that hooks do not change the originals."""

from __future__ import annotations

import os
import re
import shutil
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.errors import UsageError
from anyhook.settings.sources import Location, config_dir

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_PROJECT_SIZE = 256 * 1024 * 1024
# Bytes of a home directory. Files above the second limit are transcripts and caches.
MAX_HOME_SIZE = 32 * 1024 * 1024
MAX_HOME_FILE_SIZE = 1024 * 1024
LINKED_DIRECTORIES = frozenset({"node_modules", ".venv", "venv", ".tox"})
"""Directories of packages, which hooks may need and which are too large to copy."""
SKIPPED_DIRECTORIES = frozenset({"__pycache__"})
HOME_FILES = (".gitconfig",)
"""Files of a home directory that commands of hooks often read."""
_CREDENTIALS = re.compile(
    r"credential|oauth|auth\.json\Z|token|secret|\.pem\Z|\.key\Z", re.IGNORECASE
)


# -- the home directory


def copied_directories(location: Location) -> list[Path]:
    """List the directories of the home that are copied: those of the agents."""
    directories = [config_dir(get_agent(name), location) for name in CODING_AGENTS]
    return [directory for directory in directories if directory.is_dir()]


def copy_home(location: Location, copy: Path) -> None:
    """Copy the agents' directories of a home directory, within limits and without credentials.

    Files near the top come first. Links are replaced by what they lead to, so that nothing of the
    real home is changed through them.
    """
    copy.mkdir(parents=True)
    queue: deque[tuple[Path, Path]] = deque()
    # Where a variable named another directory: the copy is used without it.
    copied_location = replace(location, home=copy, environ={})
    for agent in map(get_agent, CODING_AGENTS):
        queue.append((config_dir(agent, location), config_dir(agent, copied_location)))
    queue.extend((location.home / name, copy / name) for name in HOME_FILES)
    copied: set[str] = set()
    total = 0
    while queue:
        path, destination = queue.popleft()
        if path.is_dir():
            real_path = os.path.realpath(path)
            is_skipped = path.name in SKIPPED_DIRECTORIES | LINKED_DIRECTORIES
            if real_path in copied or is_skipped:
                continue
            copied.add(real_path)
            destination.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # the user may not read it
                queue.extend((item, destination / item.name) for item in sorted(path.iterdir()))
        elif path.is_file() and not _CREDENTIALS.search(path.name):
            size = path.stat().st_size
            if size <= MAX_HOME_FILE_SIZE and total + size <= MAX_HOME_SIZE:
                total += size
                _copy_file(path, destination)


def _copy_file(path: Path, destination: Path) -> None:
    try:
        shutil.copy2(path, destination)
    except OSError:  # it is gone, or the user may not read it
        destination.unlink(missing_ok=True)


# -- the project


def linked_directories(project: Path) -> list[str]:
    """List the directories that the copies share with the project."""
    return sorted(name for name in LINKED_DIRECTORIES if (project / name).is_dir())


def copy_project(project: Path, copy: Path, *, without: Collection[str] = ()) -> None:
    """Copy the project's own files; link the packages in its top directory.

    Args:
        project: Directory of the project.
        copy: The copy, which does not exist yet.
        without: Names in the top directory that are not copied.

    Raises:
        UsageError: If the project is too large to copy.
    """
    total = 0
    linked = linked_directories(project)

    def ignore(directory: str, names: list[str]) -> set[str]:
        nonlocal total
        ignored: set[str] = set()
        for name in names:
            path = Path(directory) / name
            is_left_out = directory == str(project) and (name in linked or name in without)
            if name in SKIPPED_DIRECTORIES or is_left_out or _leads_outside(path, project):
                ignored.add(name)
            elif path.is_symlink() or path.is_dir():
                continue
            elif path.is_file():
                total += path.stat().st_size
                _check_size(total)
            else:
                ignored.add(name)  # a socket, a pipe, a device
        return ignored

    shutil.copytree(project, copy, symlinks=True, ignore=ignore)
    for name in linked:
        (copy / name).symlink_to(project / name)


def _check_size(total: int) -> None:
    if total > MAX_PROJECT_SIZE:
        raise UsageError(
            f"the project has more than {MAX_PROJECT_SIZE // 1024 // 1024} MiB to copy; use "
            "a smaller checkout"
        )


def _leads_outside(path: Path, project: Path) -> bool:
    """Return whether writing to the copy of a path would write to something of the user's."""
    if path.name == ".git" and path.is_file():
        return True  # a worktree: its repository is elsewhere
    if not path.is_symlink():
        return False
    if path.readlink().is_absolute():
        return True
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project))
