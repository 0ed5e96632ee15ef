"""Byte code that may be older than its source.

Python keeps the byte code of a module in `__pycache__` with the time of the source in whole seconds
and with its size. After an edit within the same second that keeps the size, it loads the former
code, and no later run notices that (seen in all releases up to 3.14).
"""

from __future__ import annotations

import contextlib
import os
import time
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source

from anyhook.files import TICK
from anyhook.trust.loaded_code import is_installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SECOND = 1_000_000_000
_path_stats = SourceFileLoader.path_stats


def ignore_doubtful_byte_code() -> None:
    """Let this process and its children import modules that were edited just now from their source.

    Byte code that may be older is removed, so that cold runs do not load it either.
    """
    # `SourceLoader.get_code` neither reads nor writes byte code if this method raises.
    # It is a method, so that mypy does not accept an assignment.
    SourceFileLoader.path_stats = _settled_path_stats  # type: ignore[assignment]


def _settled_path_stats(loader: SourceFileLoader, path: str) -> Mapping[str, float]:
    """Return the time and size of a source; see `importlib.abc.SourceLoader.path_stats`.

    Raises:
        OSError: If its byte code must not be used, or if the source does not exist.
    """
    if remove_doubtful_byte_code(path):
        raise OSError(f"{path} was edited in the second in which its byte code was written")
    return _path_stats(loader, path)


def remove_doubtful_byte_code(source: str) -> bool:
    """Remove the byte code of a source if it may be that of a former content.

    Returns:
        Whether it may be, or would be if it were written now.
    """
    if is_installed(source):
        return False
    try:
        second_after_edit = (os.stat(source).st_mtime_ns // _SECOND + 1) * _SECOND
        byte_code = cache_from_source(source)
    except (OSError, NotImplementedError):
        return False
    try:
        written = os.stat(byte_code).st_mtime_ns
    except OSError:
        return time.time_ns() < second_after_edit + TICK
    if written >= second_after_edit:
        return False
    with contextlib.suppress(OSError):  # in a read-only directory, only this process ignores it
        os.unlink(byte_code)
    return True
