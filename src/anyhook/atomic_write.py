"""Atomic replacement of a file."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace the content of a file atomically: a reader sees the old or the new content.

    An existing file keeps its permissions, and its owner where that is allowed. Hard links to it
    keep the old content.

    Args:
        path: The file; its directory must exist.
        content: The new content.
        mode: Permission bits of a new file; by default 0666 without the user's mask.

    Raises:
        OSError: If it cannot be written. Then the file is unchanged.
    """
    temporary = _temporary_beside(path)
    try:
        with open(temporary, "xb", opener=lambda p, f: os.open(p, f, 0o666)) as stream:
            if path.exists():
                _copy_permissions(stream.fileno(), path.stat())
            elif mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a new file that replaces another one in the end, unless there is an error.

    For files that are written piece by piece. What is no regular file, like a pipe, is written
    itself.

    Args:
        path: The file; its directory must exist.

    Raises:
        OSError: If it cannot be replaced. Then it is unchanged.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    path = path.resolve()
    temporary = _temporary_beside(path)
    try:
        yield temporary
        if path.exists():
            with temporary.open("rb") as stream:
                _copy_permissions(stream.fileno(), path.stat())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _temporary_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def _copy_permissions(descriptor: int, status: os.stat_result) -> None:
    with contextlib.suppress(OSError):  # only an administrator may give files away
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o7777)
