"""The files that hooks see in namespaces of Linux: everything under its own path, and nothing real.

Each directory is an overlay (overlayfs): it shows the real files, and keeps in memory what is
written. Directories that hooks may change are overlays that can be written; all others are
read-only. An overlay also cuts off the sockets and pipes of other programs, because it has inodes
of its own. Devices, `/proc`, `/run` and `/sys` are made anew.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.sandbox import system
from anyhook.sandbox.world import enter_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


BASE = "/proc"
"""Where the tree is built: nothing of the user is below it, and hooks get another `/proc`."""
ROOT = f"{BASE}/root"
MADE_ANEW = frozenset({"dev", "proc", "run", "sys"})
"""Directories of the root that hold no files of the user."""
DEVICES = ("null", "zero", "full", "random", "urandom")
DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
MAX_COPIED_SIZE = 1024 * 1024
"""Bytes of a file that is copied where its directory cannot be an overlay; larger ones are linked
to the real file, which cannot be written."""
_READ_ONLY = system.MS_RDONLY | system.MS_NOSUID | system.MS_NODEV
_WRITABLE = system.MS_NOSUID | system.MS_NODEV


class SandboxTree:
    """A root directory for hooks, in the namespaces of this process, which need to be new ones.

    The writable directories have no links in their paths.

    Raises:
        OSError: If the system does not allow it, for example because it has no overlayfs.
    """

    root = ROOT
    """The directory to which a process with hooks changes its root."""
    options = "mode=755"
    """Options of the file system in memory."""

    def __init__(self, writable: Iterable[str]) -> None:
        self._writable = outermost(path for path in writable if os.path.isdir(path))
        self._mount_points: set[str] = set()
        """The directories and files of this namespace at which something is mounted."""
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
            for line in stream:
                # Blanks and the like are written as octal numbers.
                point = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), line.split()[4])
                self._mount_points.add(point)
        self._changing: dict[str, int] = {}
        self._count = 0
        system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
        self._build()

    def renew(self) -> None:
        """Discard what was written since the tree was made."""
        for path, mode in self._changing.items():
            if os.listdir(path) or os.stat(path).st_mode != mode:
                system.unmount(BASE)
                self._build()
                return

    def _build(self) -> None:
        self._changing.clear()
        self._count = 0
        system.mount("tmpfs", BASE, "tmpfs", options=self.options)
        os.mkdir(f"{BASE}/empty")
        os.mkdir(ROOT)
        # A mount of its own, so that it can be read-only when everything is in place.
        system.mount(ROOT, ROOT, flags=system.MS_BIND)
        self._show_system()
        devices = f"{ROOT}/dev"
        os.mkdir(devices)
        for name in DEVICES:
            _bind(f"/dev/{name}", f"{devices}/{name}")
        for name, link in DEVICE_LINKS.items():
            os.symlink(link, f"{devices}/{name}")
        os.mkdir(f"{devices}/pts")
        options = "newinstance,ptmxmode=0666,mode=620"
        system.mount("devpts", f"{devices}/pts", "devpts", system.MS_NOSUID, options)
        os.mkdir(f"{devices}/shm")
        self._mount_scratch(f"{devices}/shm", "/dev/shm")
        for name in ("proc", "run", "sys"):
            os.mkdir(f"{ROOT}/{name}")
        # Read-only: root could change the settings of the machine below /proc/sys.
        system.mount("proc", f"{ROOT}/proc", "proc", _READ_ONLY)
        with suppress(OSError):
            system.mount("sysfs", f"{ROOT}/sys", "sysfs", _READ_ONLY)
        self._mount_scratch(f"{ROOT}/run", "/run")
        self._show_writable()
        system.mount("none", ROOT, flags=system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY)

    def _show_system(self) -> None:
        for entry in os.scandir("/"):
            if entry.name not in MADE_ANEW:
                self._show_entry(entry, ROOT, is_writable="/" in self._writable)

    def _show_writable(self) -> None:
        for path in self._writable:
            if path != "/":
                target = f"{ROOT}{path}"
                os.makedirs(target, exist_ok=True)
                self._show_directory(path, target, is_writable=True)

    def _show_directory(self, path: str, target: str, *, is_writable: bool) -> None:
        """Show a directory at an empty directory of the tree."""
        prefix = path.rstrip("/") + "/"
        if any(point.startswith(prefix) for point in self._mount_points):
            # The kernel shows no directory without the mounts below it that other users made. So
            # each entry is shown on its own.
            if is_writable:
                own = self._make_directory(path)
                system.mount(own, target, flags=system.MS_BIND)
                # It is never empty, so that the tree is always made anew.
                self._changing[own] = 0
            with suppress(PermissionError):
                for entry in os.scandir(path):
                    self._show_entry(entry, target, is_writable=is_writable)
        elif is_writable:
            upper, work = self._make_directory(path), self._make_directory(path)
            layers = f"lowerdir={_escape(path)},upperdir={upper},workdir={work}"
            try:
                # Without it, no directory can be made in the place of a removed one.
                system.mount("overlay", target, "overlay", _WRITABLE, f"userxattr,{layers}")
            except OSError:
                system.mount("overlay", target, "overlay", _WRITABLE, layers)
            self._changing[upper] = os.stat(upper).st_mode
        else:
            with suppress(OSError):  # a file system that overlays cannot show: it stays empty
                layers = f"lowerdir={_escape(path)}:{BASE}/empty"
                system.mount("overlay", target, "overlay", _READ_ONLY, layers)

    def _make_directory(self, like: str) -> str:
        """Return a new directory of the file system in memory, with the mode of another one."""
        self._count += 1
        path = f"{BASE}/{self._count}"
        os.mkdir(path)
        os.chmod(path, os.stat(like).st_mode & 0o7777)
        return path

    def _show_entry(self, entry: os.DirEntry[str], directory: str, *, is_writable: bool) -> None:
        target = f"{directory}/{entry.name}"
        with suppress(PermissionError):
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), target)
            elif entry.is_dir():
                os.mkdir(target)
                self._show_directory(entry.path, target, is_writable=is_writable)
            elif entry.is_file() and entry.stat().st_size <= MAX_COPIED_SIZE:
                shutil.copy2(entry.path, target)
            elif entry.is_file():
                _bind(entry.path, target)

    def _mount_scratch(self, target: str, path: str) -> None:
        """Mount an empty directory of the file system in memory in the place of a real one."""
        if not os.path.isdir(path):
            path = "/"
        own = self._make_directory(path)
        system.mount(own, target, flags=system.MS_BIND)
        self._changing[own] = os.stat(own).st_mode


class Namespaces:
    """The world of the first process in new namespaces (`system.enter_namespaces`).

    That process runs no hooks. The kernel lets no other process of the namespaces signal, trace or
    read it, and ends all of them when it ends.

    Raises:
        OSError: If the system does not allow it.
    """

    paths: Sequence[tuple[str, str]] = ()
    limits: Sequence[str] = ()

    def __init__(self, project: str, make_tree: Callable[[], SandboxTree]) -> None:
        system.prctl(system.PR_SET_DUMPABLE, 0)
        system.set_up_loopback()
        self._project = project
        self._tree = make_tree()

    def renew(self) -> None:
        """Discard what was written."""
        self._tree.renew()

    def enter(self) -> None:
        """Change the root of this process to the tree, and give up all capabilities."""
        os.chroot(self._tree.root)
        enter_directory(self._project)
        system.drop_capabilities()
        system.prctl(system.PR_SET_DUMPABLE, 1)

    def end_processes(self) -> None:
        """Kill all other processes of the namespace."""
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return

    def close(self) -> None:
        """Do nothing: the kernel removes it with its last process."""


def outermost(directories: Iterable[str]) -> list[str]:
    """Return those of several directories that are not below another one, without repetitions."""
    chosen: list[str] = []
    for path in sorted(set(directories)):
        if not any(is_below(path, other) for other in chosen):
            chosen.append(path)
    return chosen


def is_below(path: str, directory: str) -> bool:
    """Return whether a path is a directory or below it, by their names alone."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _bind(path: str, target: str) -> None:
    """Show a single file; it cannot be written, unless it is a device."""
    with open(target, "wb"):
        pass
    try:
        system.mount(path, target, flags=system.MS_BIND)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOENT):
            raise
        return
    if not path.startswith("/dev/"):
        flags = system.MS_REMOUNT | system.MS_BIND | system.MS_RDONLY
        system.mount("none", target, flags=flags)


def _escape(path: str) -> str:
    """Return a path as an option of overlayfs, where some characters separate paths."""
    return re.sub(r"([\\:,])", r"\\\1", path)


# -- a world for command lines

HOST = "/.host"
"""Where the directories of the real system are shown, read-only."""
HOST_DIRECTORIES = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SHOWN_BELOW_USR = ("lib", "lib32", "lib64", "libexec", "libx32", "local", "share")
_PROGRAMS = "bin"
_WRITABLE_ROOTS = ("etc", "home", "opt", "root", "srv", "tmp", "var")
MAX_SIZE = "64m"
"""Memory for all files that are written."""


@dataclass(frozen=True, slots=True)
class BarePrograms:
    """What a bare world holds."""

    links: Mapping[str, str]
    """Path of a link to its target. Real programs are below `HOST`."""
    files: Mapping[str, str]
    """Path of a program to its text, which begins with `#!`."""
    directories: tuple[str, ...] = ()
    """Directories that can be written, in addition to `/tmp` and the like."""


class BareTree(SandboxTree):
    """The root directory of a bare world: programs to choose, and nothing of the user's.

    Whatever a line names by its absolute path is what was chosen: `/bin` and `/usr/bin` hold no
    other programs. Real programs and libraries are shown read-only, and what is written is in
    memory.

    Raises:
        OSError: If the system does not allow it.
    """

    options = f"mode=755,size={MAX_SIZE}"

    def __init__(self, programs: BarePrograms) -> None:
        self._programs = programs
        super().__init__(())

    def _show_system(self) -> None:
        os.mkdir(f"{ROOT}{HOST}")
        for name in HOST_DIRECTORIES:
            self._show_host(f"/{name}", f"{ROOT}{HOST}/{name}")
            if name.startswith("lib"):
                self._show_host(f"/{name}", f"{ROOT}/{name}")
        os.mkdir(f"{ROOT}/usr")
        for name in _SHOWN_BELOW_USR:
            self._show_host(f"/usr/{name}", f"{ROOT}/usr/{name}")
        os.mkdir(f"{ROOT}/usr/{_PROGRAMS}")
        os.symlink(_PROGRAMS, f"{ROOT}/usr/sbin")
        for name in ("bin", "sbin"):
            os.symlink(f"usr/{_PROGRAMS}", f"{ROOT}/{name}")
        for path, text in self._programs.files.items():
            os.makedirs(os.path.dirname(f"{ROOT}{path}"), exist_ok=True)
            with open(f"{ROOT}{path}", "w", encoding="utf-8") as stream:
                stream.write(text)
            os.chmod(f"{ROOT}{path}", 0o755)  # noqa: S103 - a program
        for path, target in self._programs.links.items():
            os.makedirs(os.path.dirname(f"{ROOT}{path}"), exist_ok=True)
            os.symlink(target, f"{ROOT}{path}")

    def _show_writable(self) -> None:
        tops = [path.strip("/").split("/")[0] for path in self._programs.directories]
        for name in dict.fromkeys((*_WRITABLE_ROOTS, *tops)):
            os.makedirs(f"{ROOT}/{name}", exist_ok=True)
            self._mount_scratch(f"{ROOT}/{name}", "/")
        for path in self._programs.directories:
            os.makedirs(f"{ROOT}{path}", exist_ok=True)

    def _show_host(self, path: str, target: str) -> None:
        """Show a directory of the real system, or the link that it is."""
        if os.path.islink(path):
            os.symlink(os.readlink(path), target)
        elif os.path.isdir(path):
            os.mkdir(target)
            self._show_directory(path, target, is_writable=False)
