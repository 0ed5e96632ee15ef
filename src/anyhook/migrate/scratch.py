"""Copies of a project and of a home directory, in which a proof runs hooks."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import site
import sys
import tempfile
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.errors import UsageError
from anyhook.migrate.commands import PROGRAM
from anyhook.migrate.merge import merge_into
from anyhook.migrate.plan import SCOPES
from anyhook.model.layers import Layer
from anyhook.settings.sources import Location, config_dir, places, written_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.migrate.plan import Migration

MAX_PROJECT_SIZE = 256 * 1024 * 1024
# Bytes of a home directory. Files above the second limit are transcripts and caches.
MAX_HOME_SIZE = 32 * 1024 * 1024
MAX_HOME_FILE_SIZE = 1024 * 1024
LINKED_DIRECTORIES = frozenset({"node_modules", ".venv", "venv", ".tox"})
"""Directories of packages, which hooks may need and which are too large to copy."""
SKIPPED_DIRECTORIES = frozenset({"__pycache__"})
HOME_FILES = (".gitconfig",)
"""Files of a home directory that commands of hooks often read."""
_CREDENTIALS = re.compile(r"credential|oauth|token|secret|\.pem\Z|\.key\Z", re.IGNORECASE)
SETTINGS, HOME = "settings", "home"
"""Directories beside a copy: the home with the settings that count, and the hooks' home."""
XDG_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
"""Variables that name directories outside of `HOME`; without them they are inside."""


@dataclass(frozen=True, slots=True)
class ScratchCopies:
    """The copies of a project in which the two sides of a proof run."""

    source: Path
    target: Path


@contextmanager
def scratch_copies(migration: Migration, location: Location) -> Iterator[ScratchCopies]:
    """Copy the project twice without the agents' settings; the target's has the migrated ones.

    Raises:
        UsageError: If the project is too large to copy.
    """
    with tempfile.TemporaryDirectory(prefix="anyhook-proof-") as directory:
        root = Path(os.path.realpath(directory))
        source = _make_side(migration, location, root / "here")
        target = _make_side(migration, location, root / "there")
        _write_migrated_settings(migration, target)
        yield ScratchCopies(source, target)


def _make_side(migration: Migration, location: Location, base: Path) -> Path:
    (base / SETTINGS).mkdir(parents=True)
    _copy_home(location, base / HOME)
    copy = base / location.project.name
    if migration.scope == "project":
        _copy_project(location.project, copy)
    else:
        copy.mkdir()
    for agent in (migration.source, migration.target):
        for _, path in places(agent, Location(copy, base / SETTINGS, {})):
            if path.is_relative_to(base):
                path.unlink(missing_ok=True)
    return copy


def _write_migrated_settings(migration: Migration, copy: Path) -> None:
    layers = SCOPES[migration.scope] - {Layer.LOCAL}
    location = Location(copy, copy.parent / SETTINGS, {})
    for layer in migration.target.layer_order:
        path = written_file(migration.target, location, layer) if layer in layers else None
        if path is not None:
            text, _ = merge_into(migration, "", str(path))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return


def environment(migration: Migration, location: Location, copy: Path) -> dict[str, str]:
    """Return the environment of the hooks of one side.

    Its home is the copy, and only the settings in the copies are used. Packages that are installed
    for the user alone are still found.
    """
    environ = dict(location.environ)
    for agent in (migration.source, migration.target):
        environ.pop(agent.config_variable or "", None)
        environ.pop(agent.home_variable or "", None)
        for file in agent.settings:
            if file.variable:
                environ[file.variable] = str(copy.parent / "none" / f"{file.layer}.json")
    for name in XDG_VARIABLES:
        environ.pop(name, None)
    user_packages = site.getuserbase()
    if Path(user_packages).is_dir():
        environ.setdefault("PYTHONUSERBASE", user_packages)
    if migration.is_shimmed and not shutil.which(PROGRAM[0], path=environ.get("PATH")):
        programs = _write_program(copy.parent / "bin")
        environ["PATH"] = os.pathsep.join([str(programs), environ.get("PATH") or os.defpath])
    environ["HOME"] = str(copy.parent / HOME)
    environ["ANYHOOK_WORKER"] = "off"  # a worker would outlive the copies
    return environ


def _write_program(directory: Path) -> Path:
    """Create a directory with the program that migrated hooks start, as none is installed."""
    directory.mkdir(exist_ok=True)
    program = directory / PROGRAM[0]
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m anyhook "$@"\n')
    program.chmod(0o755)
    return directory


# -- the home directory


def copied_directories(location: Location) -> list[Path]:
    """List the directories of the home that are copied: those of the agents."""
    directories = [config_dir(get_agent(name), location) for name in CODING_AGENTS]
    return [directory for directory in directories if directory.is_dir()]


def _copy_home(location: Location, copy: Path) -> None:
    """Copy the agents' directories of a home directory, within limits and without credentials.

    Files near the top come first. Links are replaced by what they lead to, so that nothing of the
    real home is changed through them.
    """
    copy.mkdir(parents=True)
    queue = deque((path, copy / path.name) for path in copied_directories(location))
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
            destination.mkdir(exist_ok=True)
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


def _copy_project(project: Path, copy: Path) -> None:
    """Copy the project's own files; link the packages in its top directory."""
    total = 0
    linked = linked_directories(project)

    def ignore(directory: str, names: list[str]) -> set[str]:
        nonlocal total
        ignored: set[str] = set()
        for name in names:
            path = Path(directory) / name
            is_linked = directory == str(project) and name in linked
            if name in SKIPPED_DIRECTORIES or is_linked or _leads_outside(path, project):
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
            f"the project has more than {MAX_PROJECT_SIZE // 1024 // 1024} MiB to copy; prove "
            "the migration in a smaller checkout"
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
