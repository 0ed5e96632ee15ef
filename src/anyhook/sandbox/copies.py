"""Copies of a project and of a home directory, where the system has no namespaces."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.errors import UsageError
from anyhook.sandbox import system
from anyhook.sandbox.world import enter_directory, move_variables
from anyhook.settings.sources import Location, config_dir

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anyhook.sandbox.world import Places

MAX_PROJECT_SIZE = 256 * 1024 * 1024
"""Bytes of a project that is copied."""
MAX_HOME_SIZE = 32 * 1024 * 1024
"""Bytes of a home directory that are copied."""
MAX_HOME_FILE_SIZE = 1024 * 1024
"""Bytes of a file of a home directory that is copied; larger ones are transcripts and caches."""
LINKED_DIRECTORIES = frozenset({"node_modules", ".venv", "venv", ".tox"})
"""Directories of packages, which hooks may need and which are large."""
SKIPPED_DIRECTORIES = frozenset({"__pycache__"})
HOME_FILES = (".gitconfig",)
"""Files of a home directory that commands of hooks often read."""
XDG_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
"""Variables that name directories outside of `HOME`; without them they are inside."""
WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/shm")
_CREDENTIALS = re.compile(
    r"credential|oauth|auth\.json\Z|token|secret|\.pem\Z|\.key\Z", re.IGNORECASE
)

ALWAYS_POSSIBLE = (
    "files outside of the project and the home, by their absolute paths",
    "files that links of the project or the home lead to",
    "the network",
    "sockets of other programs (docker, ssh-agent, D-Bus)",
    "other processes of yours, by signals",
)
"""What hooks can reach in copies alone."""
POSSIBLE_WITH_LANDLOCK = ("the network, over UDP", "sockets of other programs that are files")
"""What they can reach with the newest version of Landlock."""


class Copies:
    """A world of copies, for systems without namespaces."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._root = Path(os.path.realpath(tempfile.mkdtemp(prefix="anyhook-sandbox-")))
        self._project = self._root / "project" / (Path(places.project).name or "root")
        self._home = self._root / "home"
        self._originals: dict[str, tuple[int, ...]] = {}
        copies = {places.project: str(self._project), places.home: str(self._home)}
        real = {os.path.realpath(path): copy for path, copy in copies.items()}
        self.paths: Sequence[tuple[str, str]] = tuple(
            sorted({**copies, **real}.items(), reverse=True)
        )
        self._landlock = system.landlock_version() if sys.platform == "linux" else 0
        self.limits: Sequence[str] = ALWAYS_POSSIBLE
        if self._landlock:
            network, *others = POSSIBLE_WITH_LANDLOCK
            if self._landlock < 4:
                network = "the network"
            if self._landlock < 6:
                others.append("other processes of yours, by signals")
            self.limits = (network, *others)
        if sys.platform == "linux":  # processes in the background become children of this one
            system.prctl(system.PR_SET_CHILD_SUBREAPER, 1)
        self.renew()

    def renew(self) -> None:
        """Copy the originals again, if a copy has changed."""
        if self._originals and self._identities() == self._originals:
            return
        for name in ("project", "home", "tmp"):
            shutil.rmtree(self._root / name, ignore_errors=True)
        self._project.parent.mkdir(parents=True)
        location = Location.of(self._places.project, home=self._places.home)
        copy_home(location, self._home)
        copy_project(location.project, self._project, links_packages=self._landlock > 0)
        (self._root / "tmp").mkdir()
        self._originals = self._identities()

    def _identities(self) -> dict[str, tuple[int, ...]]:
        identities: dict[str, tuple[int, ...]] = {}
        for directory, _, names in os.walk(self._root):
            for path in (directory, *[os.path.join(directory, name) for name in names]):
                status = os.lstat(path)
                identities[path] = (status.st_ino, status.st_mode, status.st_ctime_ns)
        return identities

    def enter(self) -> None:
        """Change to the copies, and let Landlock forbid to write anywhere else."""
        os.environ.update(move_variables(os.environ, self.paths))
        os.environ["HOME"] = str(self._home)
        os.environ["TMPDIR"] = str(self._root / "tmp")
        for name in XDG_VARIABLES:
            os.environ.pop(name, None)
        enter_directory(str(self._project))
        if self._landlock:
            copies = [str(self._root / name) for name in ("project", "home", "tmp")]
            system.allow_writes([*copies, *filter(os.path.exists, WRITABLE_DEVICES)])

    def end_processes(self) -> None:
        """Kill the children of this process, and theirs."""
        listing = Path(f"/proc/self/task/{os.getpid()}/children")
        if not listing.exists():  # only Linux can list them
            return
        while children := listing.read_text(encoding="ascii").split():
            for process in children:
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            for _ in children:
                with suppress(ChildProcessError):
                    os.waitpid(-1, 0)

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self._root, ignore_errors=True)


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
    copied_location = location._replace(home=copy, environ={})
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
                try:
                    shutil.copy2(path, destination)
                except OSError:  # it is gone, or the user may not read it
                    destination.unlink(missing_ok=True)


# -- the project


def copy_project(
    project: Path, copy: Path, *, without: Collection[str] = (), links_packages: bool
) -> None:
    """Copy the files of a project.

    Names in `without` are not copied from its top directory. There packages may be linked in place
    of copying them: for places where nothing can be written through a link.

    Raises:
        UsageError: If the project is too large to copy.
    """
    total = 0
    linked: list[str] = []
    if links_packages:
        linked = sorted(name for name in LINKED_DIRECTORIES if (project / name).is_dir())

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
                if total > MAX_PROJECT_SIZE:
                    raise UsageError(
                        f"the project has more than {MAX_PROJECT_SIZE // 1024 // 1024} MiB to copy;"
                        " use a smaller checkout"
                    )
            else:
                ignored.add(name)  # a socket, a pipe, a device
        return ignored

    shutil.copytree(project, copy, symlinks=True, ignore=ignore)
    for name in linked:
        (copy / name).symlink_to(project / name)


def _leads_outside(path: Path, project: Path) -> bool:
    """Return whether writing to the copy of a path would write to something of the user's."""
    if path.name == ".git" and path.is_file():
        return True  # a worktree: its repository is elsewhere
    if not path.is_symlink():
        return False
    if path.readlink().is_absolute():
        return True
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(project))
