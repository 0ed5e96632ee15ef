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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.errors import UsageError
from anyhook.migrate.commands import PROGRAM
from anyhook.migrate.merge import merge_into
from anyhook.migrate.plan import SCOPES
from anyhook.model.layers import Layer
from anyhook.settings.sources import Location, config_dir, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.migrate.plan import Migration

LARGEST = 256 * 1024 * 1024
"""Bytes of a project that are copied at most."""
LINKED = frozenset({"node_modules", ".venv", "venv", ".tox"})
"""Directories of packages that hooks may need and that are too large to copy; they are linked."""
LEFT_OUT = frozenset({"__pycache__"})
HOME_LIMIT = 32 * 1024 * 1024
"""Bytes of a home directory that are copied at most."""
HOME_FILE_LIMIT = 1024 * 1024
"""Bytes of a file of a home directory that is copied; larger ones are transcripts and caches."""
HOME_FILES = (".gitconfig",)
"""Files of a home directory that commands of hooks read often."""
_CREDENTIALS = re.compile(r"credential|oauth|token|secret|\.pem\Z|\.key\Z", re.IGNORECASE)
"""Names of files that are never copied."""
SETTINGS, HOME = "settings", "home"
"""Directories beside a copy: the home with the settings that count, and the hooks' home."""
HOME_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
"""Variables that name places in a home directory; without them the places are below `HOME`."""


@contextmanager
def scratch(migration: Migration, location: Location) -> Iterator[tuple[Path, Path]]:
    """Copy the project twice, without the settings of either agent; with the migrated ones in one.

    Yields:
        The source's copy and the target's.

    Raises:
        UsageError: If the project is too large to copy.
    """
    with tempfile.TemporaryDirectory(prefix="anyhook-proof-") as root:
        copies = []
        for name in ("here", "there"):
            base = Path(os.path.realpath(root)) / name
            (base / SETTINGS).mkdir(parents=True)
            copy_home(location, base / HOME)
            copy = base / location.project.name
            if migration.scope == "project":
                _copy(location.project, copy)
            else:
                copy.mkdir()
            for agent in (migration.source, migration.target):
                for _, path in places(agent, Location(copy, base / SETTINGS, {})):
                    if path.is_relative_to(base):
                        path.unlink(missing_ok=True)
            copies.append(copy)
        here, there = copies
        own = places(migration.target, Location(there, there.parent / SETTINGS, {}))
        layers = SCOPES[migration.scope] - {Layer.LOCAL}
        path = next(path for layer, path in own if layer in layers)
        text, _ = merge_into(migration, "", str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        yield here, there


def environment(migration: Migration, location: Location, copy: Path) -> dict[str, str]:
    """Return the environment of the hooks of one side.

    Its home is the copy, and no settings but those of the copies count. Packages that are
    installed for the user alone are still found.
    """
    environ = dict(location.environ)
    for agent in (migration.source, migration.target):
        environ.pop(agent.config_variable or "", None)
        environ.pop(agent.home_variable or "", None)
        for file in agent.settings:
            if file.variable:
                environ[file.variable] = str(copy.parent / "none" / f"{file.layer}.json")
    for name in HOME_VARIABLES:
        environ.pop(name, None)
    packages = site.getuserbase()
    if os.path.isdir(packages):  # noqa: PTH112 - a text
        environ.setdefault("PYTHONUSERBASE", packages)
    if migration.is_shimmed and not shutil.which(PROGRAM[0], path=environ.get("PATH")):
        programs = _own_program(copy.parent / "bin")
        environ["PATH"] = os.pathsep.join([str(programs), environ.get("PATH") or os.defpath])
    environ["HOME"] = str(copy.parent / HOME)
    environ["ANYHOOK_WORKER"] = "off"  # a worker would outlive the copies
    return environ


def _own_program(directory: Path) -> Path:
    """Make a directory with the program that migrated hooks start, as none is installed."""
    directory.mkdir(exist_ok=True)
    program = directory / PROGRAM[0]
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m anyhook "$@"\n')
    program.chmod(0o755)
    return directory


def copied_directories(location: Location) -> list[Path]:
    """List the directories of the home that are copied: those of the agents."""
    directories = [config_dir(get_agent(name), location) for name in CODING_AGENTS]
    return [directory for directory in directories if directory.is_dir()]


def copy_home(location: Location, copy: Path) -> None:
    """Copy what hooks may need of a home directory: the agents' directories, within limits.

    Files near the top come first. Links are replaced by what they lead to, so that nothing of the
    real home is changed through them.
    """
    copy.mkdir(parents=True)
    queue = deque((path, copy / path.name) for path in copied_directories(location))
    queue.extend((location.home / name, copy / name) for name in HOME_FILES)
    seen: set[str] = set()
    total = 0
    while queue:
        path, to = queue.popleft()
        if path.is_dir():
            real = os.path.realpath(path)
            if real not in seen and path.name not in LEFT_OUT | LINKED:
                seen.add(real)
                to.mkdir(exist_ok=True)
                queue.extend((item, to / item.name) for item in _items(path))
        elif path.is_file() and not _CREDENTIALS.search(path.name):
            size = path.stat().st_size
            if size <= HOME_FILE_LIMIT and total + size <= HOME_LIMIT:
                total += size
                _copy_file(path, to)


def _items(directory: Path) -> Sequence[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:  # it is not ours to read
        return ()


def _copy_file(path: Path, to: Path) -> None:
    try:
        shutil.copy2(path, to)
    except OSError:  # it is gone, or not ours to read
        to.unlink(missing_ok=True)


def linked(project: Path) -> list[str]:
    """List the directories that the copies share with the project."""
    return sorted(name for name in LINKED if (project / name).is_dir())


def _copy(project: Path, copy: Path) -> None:
    """Copy what the project's own files are; link packages at its top."""
    total = 0
    shared = linked(project)

    def ignore(directory: str, names: list[str]) -> set[str]:
        nonlocal total
        left = {name for name in names if name in LEFT_OUT}
        for name in names:
            path = Path(directory) / name
            if (directory == str(project) and name in shared) or _leads_away(path, project):
                left.add(name)
            elif path.is_file() and not path.is_symlink():
                total += path.stat().st_size
                if total > LARGEST:
                    raise UsageError(
                        f"the project has more than {LARGEST // 1024 // 1024} MiB to copy; prove "
                        "the migration in a smaller checkout"
                    )
            elif not path.is_dir() and not path.is_symlink():
                left.add(name)  # a socket, a pipe, a device
        return left

    shutil.copytree(project, copy, symlinks=True, ignore=ignore)
    for name in shared:
        (copy / name).symlink_to(project / name)


def _leads_away(path: Path, project: Path) -> bool:
    """Tell whether writing to something of a copy would write to something of the user's."""
    if path.name == ".git" and path.is_file():
        return True  # a worktree: its repository is elsewhere
    if not path.is_symlink():
        return False
    inside = not os.path.isabs(os.readlink(path))  # noqa: PTH115, PTH117 - as it is written
    return not (inside and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project)))
