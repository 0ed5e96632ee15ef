"""Content hashes of hooks: which content of a hook ran."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from anyhook.files import read_user_file

if TYPE_CHECKING:
    from anyhook.history.events import RecordedResult

DIGEST_SIZE = 16
"""Bytes of a content hash."""


def hook_digest(result: RecordedResult) -> str | None:
    """Return the content hash of the hook of a result; `None` if its file changed since it ran."""
    if result.digest:
        return result.digest
    version = result.version
    file, command = version.get("file"), str(version.get("command", ""))
    if not isinstance(file, str):
        return content_digest(command.encode("utf-8", "replace")) if command else None
    content = _file_digest(file, version.get("size", -1), version.get("mtime", -1))
    if content is None:
        return None
    return content_digest(f"{command}\0{content}".encode("utf-8", "replace"))


def content_digest(content: bytes) -> str:
    """Return the hash of a content."""
    import hashlib  # late: to read events needs no hash

    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(file: str, size: int, mtime: int) -> str | None:
    """Return the hash of a file that has this size and this time; `None` if it has others."""
    try:
        status = os.stat(file)  # noqa: PTH116 - the name may be no path at all
        if (status.st_size, status.st_mtime_ns) != (size, mtime):
            return None
        return content_digest(read_user_file(file, size))
    except (OSError, ValueError):
        return None
