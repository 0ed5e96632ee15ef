"""Whether a file changed, without reading it."""

from __future__ import annotations

import os

Stamp = tuple[int, int, int] | None
"""When a file was written last (ns), its bytes, and its number; `None` if it is not there."""


def stamp_of(path: str | os.PathLike[str]) -> Stamp:
    """Return what changes when a file does."""
    try:
        status = os.stat(path)  # noqa: PTH116 - no pathlib where every event looks
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
