"""Replacing a file in one step."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Give a file new content; a reader sees all of the old or all of the new.

    A file that is there keeps its permissions, and its owner where that is allowed. Other names of
    the same file (hard links) keep the old content.

    Args:
        path: The file; its directory must exist.
        content: The new content.
        mode: Permission bits of a new file; by default what the user's mask leaves of 0666.

    Raises:
        OSError: If it cannot be written. Then the file is as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb", opener=lambda p, f: os.open(p, f, 0o666)) as stream:
            if path.exists():
                _take_over(stream.fileno(), path.stat())
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


def _take_over(descriptor: int, status: os.stat_result) -> None:
    with contextlib.suppress(OSError):  # only an administrator may give files away
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o7777)
