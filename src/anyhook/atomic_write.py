"""Atomic replacement of a file."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


NAME_PART = "anyhook"
"""Part of the names of temporary files."""
HEX_DIGITS = 16


def replace_file(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Replace the content of a file atomically: a reader sees the old or the new content.

    An existing file keeps its permissions, with access control lists, its extended attributes, and
    its owner where that is allowed. Hard links to it keep the old content.

    Args:
        path: The file; its directory must exist.
        content: The new content.
        mode: Permission bits of a new file; by default 0666 without the user's mask.

    Raises:
        OSError: If it cannot be written. Then the file is unchanged.
    """
    temporary = temporary_beside(path)
    try:
        with open(temporary, "xb", opener=lambda p, f: os.open(p, f, 0o666)) as stream:
            if path.exists():
                _copy_permissions(stream.fileno(), path)
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

    For files that are written piece by piece. What is not a regular file, like a pipe, is written
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
    temporary = temporary_beside(path)
    try:
        yield temporary
        if path.exists():
            with temporary.open("rb") as stream:
                _copy_permissions(stream.fileno(), path)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def temporary_beside(path: Path) -> Path:
    """Return an unused name next to a file, which `remove_leftovers` recognizes."""
    return path.with_name(f".{path.name}.{NAME_PART}-{os.urandom(HEX_DIGITS // 2).hex()}")


def remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they replaced a file have left next to it.

    The caller excludes that another process replaces the file now. Files of other programs and of
    other users stay.

    Args:
        path: The file.
    """
    # A backup of the file is written in the same way.
    mark = rf"\.{NAME_PART}-[0-9a-f]{{{HEX_DIGITS}}}"
    pattern = re.compile(rf"\.{re.escape(path.name)}(?:\.bak\d*)?{mark}")
    with contextlib.suppress(OSError):  # one that stays does no harm
        for entry in os.scandir(path.parent):
            if not pattern.fullmatch(entry.name) or not entry.is_file(follow_symlinks=False):
                continue
            is_own = not hasattr(os, "geteuid") or entry.stat().st_uid == os.geteuid()
            if is_own:
                (path.parent / entry.name).unlink()


def _copy_permissions(descriptor: int, path: Path) -> None:
    status = path.stat()
    for owner in (status.st_uid, -1):  # only an administrator may give files away
        with contextlib.suppress(OSError):
            os.fchown(descriptor, owner, status.st_gid)
            break
    os.fchmod(descriptor, status.st_mode & 0o7777)
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):  # a file system without attributes
        for name in os.listxattr(path):
            # Those of the system can only be set by an administrator; access control lists by all.
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(path, name))
