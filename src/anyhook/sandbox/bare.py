"""A world for command lines: programs to choose, empty directories, and nothing of the user's.

Whatever a line names by its absolute path is what was chosen: `/bin` and `/usr/bin` hold no other
programs. Real programs and libraries are shown read-only, what is written is in memory, and there
is no network and no other process.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.sandbox.tree import ROOT, SandboxTree

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "/.host"
"""Where the directories of the real system are shown, read-only."""
HOST_DIRECTORIES = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_SHOWN_BELOW_USR = ("lib", "lib32", "lib64", "libexec", "libx32", "local", "share")
_PROGRAMS = "bin"
_WRITABLE = ("etc", "home", "opt", "root", "srv", "tmp", "var")
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
    """The root directory of a bare world, in the namespaces of this process.

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
        for name in dict.fromkeys((*_WRITABLE, *tops)):
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
