"""Locks of files against other processes of anyhook. Cold hooks take none."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyhook.file_errors import explain_error
from anyhook.files import data_directory, record_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

LOCK_SECONDS = 10.0
"""Seconds to wait for a lock that another process holds."""


@contextmanager
def locked(path: str | os.PathLike[str], *, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Lock a file against all other anyhook processes of this user.

    The system releases the lock when the process ends in any way. The lock file is in the data
    directory, not in the directory of the user's file.

    Args:
        path: The file, which need not exist. All links to a file share a lock.
        timeout: Seconds to wait.

    Raises:
        TimeoutError: If another process holds the lock for longer.
        OSError: If the data directory cannot be written.
    """
    from filelock import FileLock, Timeout

    directory = data_directory() / "locks"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        cause = explain_error(directory, error, "change")
        text = f"the data directory of anyhook cannot be written: {cause}"
        raise OSError(error.errno, text, str(directory)) from error
    lock = FileLock(directory / f"{record_name(path)}.lock", timeout=timeout)
    try:
        lock.acquire()
    except Timeout:
        text = "another process of anyhook is editing it"
        raise TimeoutError(errno.EWOULDBLOCK, text, str(path)) from None
    try:
        yield
    finally:
        lock.release()
