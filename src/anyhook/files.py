"""One way to read, compare and lock the files of a user.

A path may name anything: a pipe without a writer, a device, a file of a terabyte. Whoever reads a
file that users or repositories control reads it here, so that nothing waits and nothing fills the
memory. Modules on the way of every event import this one, so it imports little.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATA_VARIABLE = "ANYHOOK_DATA_DIR"
"""Environment variable that names another data directory."""
LOCK_SECONDS = 10.0
"""Seconds to wait for a lock that another process holds."""
TICK = 20_000_000
"""Nanoseconds. File systems take times from a clock that advances in steps of up to 10 ms, so two
edits within one step cannot be distinguished by their times."""

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer
    | getattr(os, "O_NOCTTY", 0)  # a terminal must not become ours
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

FileIdentity = tuple[int, int, int, int, int] | None
"""Device, inode, size in bytes, and times of the last modification and of the last change of
content or attributes, both in nanoseconds; `None` if there is no such file. A program can set the
time of modification back (`cp -p`, `rsync --times`), but not the time of change."""


class NotReadableError(OSError):
    """A file that exists and is not read: it is not a regular file, or it is too large."""


def identity_of(path: str | os.PathLike[str]) -> FileIdentity:
    """Return what changes when a file is edited or replaced, without reading it."""
    try:
        status = os.stat(path)  # noqa: PTH116 - no pathlib where every event passes
    except (OSError, ValueError):
        return None
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def changed_within_tick(identity: FileIdentity, now: int | None = None) -> bool:
    """Return whether a later edit could have left this identity as it is.

    Args:
        identity: Identity of a file.
        now: Nanoseconds since the epoch when it was taken; by default the present.
    """
    return identity is not None and identity[4] > (time.time_ns() if now is None else now) - TICK


def read_user_file(path: str | os.PathLike[str], limit: int, *, pipes: bool = False) -> bytes:
    """Read a file that users or repositories control, without waiting.

    Args:
        path: The file; links are followed.
        limit: Bytes that it may hold at most.
        pipes: Read pipes, too, up to their end: for paths that the user typed (`<(command)`).

    Returns:
        Its content.

    Raises:
        NotReadableError: If it is not a regular file, or larger than the limit.
        OSError: If it cannot be opened or read.
    """
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        if pipes and stat.S_ISFIFO(status.st_mode):
            os.set_blocking(descriptor, True)
        else:
            _check_regular(status, path, limit)
            if not status.st_size:  # also the files of /proc, some of which wait for more
                return b""
        return _read_at_most(descriptor, path, limit)
    finally:
        os.close(descriptor)


def _check_regular(status: os.stat_result, path: str | os.PathLike[str], limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotReadableError(errno.EINVAL, "it is no regular file", str(path))
    if status.st_size > limit:
        raise _too_large(path, limit)


def _read_at_most(descriptor: int, path: str | os.PathLike[str], limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, 1024 * 1024):
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:  # it grew while it was read
            raise _too_large(path, limit)
    return b"".join(chunks)


def _too_large(path: str | os.PathLike[str], limit: int) -> NotReadableError:
    return NotReadableError(errno.EFBIG, f"it is larger than {limit // 1024} KiB", str(path))


def data_directory() -> Path:
    """Return the directory of what anyhook keeps for the user; `ANYHOOK_DATA_DIR` overrides it."""
    from pathlib import Path

    from platformdirs import user_data_path

    base = os.environ.get(DATA_VARIABLE)
    return Path(base) if base else user_data_path("anyhook")


@contextmanager
def locked(path: str | os.PathLike[str], *, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of a file among all processes of anyhook of this user.

    The system releases the lock when the process ends, however it ends. The lock is a file in the
    data directory, so that nothing appears beside the user's file.

    Args:
        path: The file; it need not exist. All names of a file share a lock.
        timeout: Seconds to wait.

    Raises:
        TimeoutError: If another process holds the lock for longer than that.
        OSError: If the data directory cannot be written.
    """
    from hashlib import sha256

    from filelock import FileLock, Timeout

    real = os.path.realpath(path).encode("utf-8", "surrogateescape")
    directory = data_directory() / "locks"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(directory / f"{sha256(real).hexdigest()[:32]}.lock", timeout=timeout)
    try:
        lock.acquire()
    except Timeout:
        text = "another process of anyhook is editing it"
        raise TimeoutError(errno.EWOULDBLOCK, text, str(path)) from None
    try:
        yield
    finally:
        lock.release()
