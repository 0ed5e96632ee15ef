"""Replacing a file in one step."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def replace_file(path: Path, content: bytes, *, mode: int) -> None:
    """Give a file new content; a reader sees all of the old or all of the new.

    Args:
        path: The file; its directory must exist.
        content: The new content.
        mode: Permission bits.

    Raises:
        OSError: If it cannot be written. Then the file is as it was.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
