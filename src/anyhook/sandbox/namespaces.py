"""A world in namespaces of Linux: files under their own paths, no network, no other processes."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from anyhook.sandbox import system
from anyhook.sandbox.world import enter_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.sandbox.tree import SandboxTree


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

    def enter(self, directory: str) -> None:
        """Change the root of this process to the tree, and give up all capabilities."""
        os.chroot(self._tree.root)
        enter_directory(directory, self._project)
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
