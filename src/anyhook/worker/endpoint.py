"""Where a server listens, and what it reports about itself."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.worker.client import LOCK, SOCKET, STOP, take_lock
from anyhook.worker.control import NoReplyError, ask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LOCK_FD = 3
"""The descriptor on which a client passes its lock."""
BACKLOG = 512
MAX_SERVERS = 32
"""Servers of one runtime directory."""
MAX_REASONS = 50
"""Reasons of cold runs that are kept for `anyhook worker doctor`."""
SOCKET_UMASK = 0o077


@dataclass
class Endpoint:
    """Where a server listens, and what it reports about itself.

    Attributes:
        base: The path of its socket and lock, without their suffixes.
        hook_file: The hook file.
        directory: The directory in which the file was loaded.
        idle: Seconds without an event after which it ends.
        reason: Why the hook file cannot be warm; empty if it is.
        cold: Events that were not answered warm: hook, reason and time.
    """

    base: str
    hook_file: str
    directory: str
    idle: float
    reason: str = ""
    cold: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_REASONS))
    started_at: float = field(default_factory=time.time)

    def listen(self) -> socket.socket:
        """Make room for one more server, and listen.

        Raises:
            OSError: If the path is too long, or the directory cannot be written.
        """
        os.umask(SOCKET_UMASK)
        directory = os.open(os.path.dirname(self.base), os.O_RDONLY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)  # or two servers would count each other
            make_room(os.path.dirname(self.base))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.base + SOCKET)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(self.base + SOCKET)
            listener.listen(BACKLOG)
        finally:
            os.close(directory)
        listener.setblocking(False)
        with contextlib.suppress(OSError):
            os.ftruncate(LOCK_FD, 0)  # it has started: when it ends, the next one may start at once
        return listener

    def close(self, listener: socket.socket) -> None:
        """Stop listening, and allow the next server to start."""
        with contextlib.suppress(OSError):
            os.unlink(self.base + SOCKET)
        listener.close()
        with contextlib.suppress(OSError):
            os.close(LOCK_FD)

    def note_cold(self, reason: str) -> None:
        """Keep the reason of a cold run."""
        self.cold.append({"hook": self.hook_file, "reason": reason, "at": time.time()})

    def status(
        self, pid: int, *, warm: int, cold: int, running: Sequence[int], is_ending: bool
    ) -> dict[str, Any]:
        """Return what `anyhook worker status` shows; nothing of any event is in it."""
        from anyhook import __version__

        sizes = [memory(process) for process in {pid, os.getpid()}]
        return {
            "version": __version__,
            "pid": pid,
            "python": sys.executable,
            "hook": self.hook_file,
            "directory": self.directory,
            "address": self.base,
            "since": self.started_at,
            "ends_after_idle_seconds": self.idle,
            "stopping": is_ending,
            "reason": self.reason or None,
            "memory_kib": sum(size or 0 for size in sizes) or None,
            "events": {"warm": warm, "cold": cold},
            "running": list(running),
            "cold": list(self.cold),
        }


def holds_lock(base: str) -> bool:
    """Return whether the lock is on its descriptor: inherited, or taken now."""
    try:
        inherited, named = os.fstat(LOCK_FD), os.stat(base + LOCK)
        if (inherited.st_dev, inherited.st_ino) == (named.st_dev, named.st_ino):
            return True
    except OSError:
        pass
    lock = take_lock(base)
    if lock is None:
        return False
    if lock != LOCK_FD:
        os.dup2(lock, LOCK_FD)
        os.close(lock)
    return True


def make_room(directory: str) -> None:
    """Ask the servers that have been idle longest to end, until one more may start.

    An agent that runs each hook in a sandbox of its own would start a server for each.
    """
    servers = []
    for name in os.listdir(directory):
        base = f"{directory}/{name.removesuffix(SOCKET)}"
        if name.endswith(SOCKET) and not _remove_stale(base):
            with contextlib.suppress(OSError):
                servers.append((os.stat(base + SOCKET).st_mtime, base))
    for _, base in sorted(servers)[: max(0, len(servers) + 1 - MAX_SERVERS)]:
        with contextlib.suppress(NoReplyError):
            ask(base, STOP)


def _remove_stale(base: str) -> bool:
    """Remove the socket of a server that is gone; return whether it was."""
    try:
        lock = os.open(base + LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(base + SOCKET)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def memory(pid: int) -> int | None:
    """Return the KiB that a process adds to the others: what it shares counts in parts."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1])
    except OSError:
        pass
    return None


def log_traceback(base: str) -> None:
    """Write where this package failed; nothing of an event is in that."""
    import traceback

    with contextlib.suppress(OSError), open(base + ".log", "w", encoding="utf-8") as file:
        traceback.print_exc(file=file)
