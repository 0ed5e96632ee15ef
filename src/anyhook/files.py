"""Reading and comparing files that users or repositories control.

Such a path may name anything: a pipe without a writer, a device, a file of a terabyte. Reading must
neither block nor exhaust the memory. Cold hooks import this module, so it imports little.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

DATA_VARIABLE = "ANYHOOK_DATA_DIR"
"""Environment variable that names another data directory."""
TICK = 20_000_000
"""Nanoseconds. The clock of file systems advances in steps of up to 10 ms, so two edits within one
step have the same time."""

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer must not block
    | getattr(os, "O_NOCTTY", 0)  # a terminal must not become the controlling one
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def opens_for_reading(flags: object = None) -> bool:
    """Return whether a process that opens a file with these flags can read what it held before.

    Args:
        flags: The third argument of Python's audit event `open`: those of `os.open`. A program can
            raise the event with other arguments.
    """
    if not isinstance(flags, int):
        return True
    is_new_or_emptied = flags & (os.O_EXCL | os.O_TRUNC)
    return not flags & os.O_WRONLY and not is_new_or_emptied


FileIdentity = tuple[int, int, int, int, int] | None
"""Device, inode, size in bytes, mtime and ctime in nanoseconds; `None` if the file does not exist.
Programs can set the mtime back (`cp -p`, `rsync --times`), but not the ctime."""


class NotReadableError(OSError):
    """The file is not a regular file, or it is too large."""


def file_stamp(path: str | os.PathLike[str]) -> FileIdentity:
    """Return a value that changes when the file is edited or replaced, without reading it."""
    try:
        status = os.stat(path)
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
    """Return whether the file may have been edited again without a change of its identity.

    Args:
        identity: Identity of a file.
        now: Time in nanoseconds at which it was taken; by default the current time.
    """
    return identity is not None and identity[4] > (time.time_ns() if now is None else now) - TICK


def read_user_file(path: str | os.PathLike[str], limit: int, *, pipes: bool = False) -> bytes:
    """Return the content of a file, without blocking.

    Args:
        path: The file; links are followed.
        limit: Maximum size in bytes.
        pipes: Read pipes, too, and wait for their end: for paths that the user typed
            (`<(command)`).

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
            if not status.st_size:  # files of /proc have no size, and reading some of them blocks
                return b""
        chunks: list[bytes] = []
        size = 0
        while chunk := os.read(descriptor, 1024 * 1024):
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:  # a pipe, or a file that grew
                raise _too_large(path, limit)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def read_json_object(path: str | os.PathLike[str], limit: int) -> dict[str, Any] | None:
    """Return the JSON object of a file of at most `limit` bytes; `None` if it cannot be read."""
    import json  # late: not every cold hook needs it

    try:
        value = json.loads(read_user_file(path, limit))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def open_regular(path: str, _flags: int = 0) -> int:
    """Open a regular file for reading, without blocking: an `opener` for `open`.

    Raises:
        NotReadableError: If it is not a regular file.
        OSError: If it cannot be opened.
    """
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        _check_regular(os.fstat(descriptor), path, sys.maxsize)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check_regular(status: os.stat_result, path: str | os.PathLike[str], limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotReadableError(errno.EINVAL, "it is not a regular file", str(path))
    if status.st_size > limit:
        raise _too_large(path, limit)


def _too_large(path: str | os.PathLike[str], limit: int) -> NotReadableError:
    return NotReadableError(errno.EFBIG, f"it is larger than {limit // 1024} KiB", str(path))


def data_directory() -> Path:
    """Return the data directory of the user: `ANYHOOK_DATA_DIR`, or the platform's."""
    from pathlib import Path

    return Path(data_path())


def record_name(path: str | os.PathLike[str]) -> str:
    """Return the name under which the data directory keeps something about a file or directory.

    All paths that lead to it give the same name.
    """
    from hashlib import sha256  # late: it takes 6 ms, and few cold hooks need it

    return sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:32]


def home_path(environ: Mapping[str, str] | None = None) -> str:
    """Return the home directory of the user; an empty `HOME` counts as an absent one.

    Args:
        environ: Environment; by default this process's.
    """
    home = (os.environ if environ is None else environ).get("HOME")
    if home:
        return home
    if os.name == "posix" and os.environ.get("HOME") == "":  # Python returns the root directory
        from pwd import getpwuid

        try:
            return getpwuid(os.getuid()).pw_dir
        except KeyError:  # a user without an entry
            pass
    return os.path.expanduser("~")


def data_path(environ: Mapping[str, str] | None = None) -> str:
    """Return the data directory of the user as a string.

    A cold hook calls it. `platformdirs`, whose import takes 24 ms, gives the same path, which a
    test checks; on other systems than Linux and macOS it is asked.

    Args:
        environ: Environment; by default this process's.
    """
    environ = os.environ if environ is None else environ
    base = environ.get(DATA_VARIABLE)
    if base:
        return base
    home = home_path(environ)
    platform: str = sys.platform
    if platform == "darwin":
        return f"{home}/Library/Application Support/anyhook"
    if platform == "linux":
        return f"{environ.get('XDG_DATA_HOME', '').strip() or f'{home}/.local/share'}/anyhook"
    from platformdirs import user_data_path

    return str(user_data_path("anyhook"))
