"""Atomic replacement of a file."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
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


def _copy_permissions(descriptor: int, status: os.stat_result) -> None:
    with contextlib.suppress(OSError):  # only an administrator may give files away
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o7777)
