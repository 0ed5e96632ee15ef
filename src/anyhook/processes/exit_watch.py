"""Notice when a child process exits, without reaping it.

A child that has exited but is not reaped keeps its process ID, so that its group can be signalled
without hitting a stranger. Each watch has a descriptor that becomes readable at the exit.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class ExitWatch(Protocol):
        """Notices the exit of one child.

        Attributes:
            fd: Becomes readable when the child exits.
        """

        fd: int

        def has_exited(self) -> bool:
            """Return whether the child has exited, without waiting."""
            ...

        def close(self) -> None:
            """Release the descriptor."""
            ...


def watch_exit(pid: int) -> ExitWatch:
    """Watch a child with the best means that this system has."""
    for watch in (_PidfdWatch, _KqueueWatch):
        try:
            return watch(pid)
        except (OSError, AttributeError):
            continue  # not on this platform, or forbidden in this sandbox
    return _ThreadWatch(pid)


class _PidfdWatch:
    """Linux 5.3 and later."""

    def __init__(self, pid: int) -> None:
        self.fd = os.pidfd_open(pid)
        self._poll = select.poll()
        self._poll.register(self.fd, select.POLLIN)

    def has_exited(self) -> bool:
        return bool(self._poll.poll(0))

    def close(self) -> None:
        os.close(self.fd)


class _KqueueWatch:
    """macOS. `os.waitid`, which the thread needs, is not there before Python 3.13."""

    def __init__(self, pid: int) -> None:
        kqueue: Any = select
        self._exited = False
        self._queue = kqueue.kqueue()
        self.fd: int = self._queue.fileno()
        exit_event = kqueue.kevent(
            pid,
            filter=kqueue.KQ_FILTER_PROC,
            flags=kqueue.KQ_EV_ADD,
            fflags=kqueue.KQ_NOTE_EXIT,
        )
        try:
            self._queue.control([exit_event], 0)
        except ProcessLookupError:  # it has exited already and waits to be reaped
            self._exited = True
        except OSError:
            self._queue.close()
            raise

    def has_exited(self) -> bool:
        self._exited = self._exited or bool(self._queue.control([], 1, 0))
        return self._exited

    def close(self) -> None:
        self._queue.close()


class _ThreadWatch:
    """Linux kernels and sandboxes without pidfd."""

    def __init__(self, pid: int) -> None:
        import threading  # the shim must not load it for nothing

        self._exited = False
        self.fd, self._write_end = os.pipe()
        name = f"anyhook-wait-{pid}"
        threading.Thread(target=self._wait, args=(pid,), name=name, daemon=True).start()

    def _wait(self, pid: int) -> None:
        import contextlib

        with contextlib.suppress(ChildProcessError):  # reaped by the host
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self._exited = True
        os.close(self._write_end)

    def has_exited(self) -> bool:
        return self._exited

    def close(self) -> None:
        os.close(self.fd)


def reap(pid: int, exit_fd: int) -> int | None:
    """Take the exit status of a child that has exited.

    `Popen.wait` reports 0 when a handler of SIGCHLD in the host was faster, which would turn a
    denial into an approval.

    Return the exit code, minus the number of the signal, or `None` if the status is lost.
    """
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return _exit_code_from_pidfd(exit_fd)
    return os.waitstatus_to_exitcode(status)


PIDFD_GET_INFO = 3 << 30 | 64 << 16 | 0xFF << 8 | 11
"""`_IOWR(0xFF, 11, struct pidfd_info)`, which has 64 bytes in its first version (linux/pidfd.h)."""
PIDFD_INFO_EXIT = 1 << 3
EXIT_CODE_OFFSET = 60
"""Offset of `exit_code` in `struct pidfd_info`."""


def _exit_code_from_pidfd(exit_fd: int) -> int | None:
    """Ask Linux 6.15 or later for the exit code of a child that something else has reaped."""
    import fcntl
    import struct

    info = bytearray(64)
    struct.pack_into("Q", info, 0, PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(exit_fd, PIDFD_GET_INFO, info)
    except OSError:  # an older kernel, or no pidfd
        return None
    (answered,) = struct.unpack_from("Q", info)
    if not answered & PIDFD_INFO_EXIT:
        return None
    (status,) = struct.unpack_from("i", info, EXIT_CODE_OFFSET)
    return os.waitstatus_to_exitcode(status)
