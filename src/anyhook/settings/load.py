"""Reads one settings file: from bytes to what it says, and never twice."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Diagnostic, Place, diagnose
from anyhook.model.stamps import stamp_of
from anyhook.settings.jsonc import JsonSyntaxError, line_starts, parse
from anyhook.settings.reader import LoadedFile, read_document

if TYPE_CHECKING:
    from pathlib import Path

    from anyhook.dialects.base import Dialect
    from anyhook.settings.sources import Source

SIZE_LIMIT = 1024 * 1024
"""Bytes; settings are written by people, and a repository must not fill the memory."""


def load_file(dialect: Dialect, source: Source) -> LoadedFile:
    """Read a file; a file that did not change since the last time is not parsed again.

    Args:
        dialect: Whose settings they are.
        source: The file and its layer.

    Returns:
        What it says. Never raises for what a file holds.
    """
    key = (
        dialect.name,
        source.layer,
        str(source.path),
        stamp_of(source.path),
        source.origin,
        tuple(source.path_variables.items()),
        tuple(source.env.items()),
        tuple(source.placeholders.items()),
    )
    found = _CACHE.get(key)
    if found is None:
        if len(_CACHE) >= _CACHE_SIZE:
            _CACHE.pop(next(iter(_CACHE)))  # the oldest
        found = _CACHE[key] = _load(dialect, source)
    return found


_CACHE: dict[tuple[object, ...], LoadedFile] = {}
_CACHE_SIZE = 256


def _load(dialect: Dialect, source: Source) -> LoadedFile:
    file = str(source.path)
    try:
        text = read_limited(source.path).decode()
    except FileNotFoundError:
        return LoadedFile(source)
    except NotReadableError as error:
        return _broken(source, diagnose("settings-unreadable", str(error), Place(file)))
    except OSError as error:
        return _broken(source, diagnose("settings-unreadable", str(error.strerror), Place(file)))
    except UnicodeDecodeError as error:
        return _broken(
            source,
            diagnose("settings-unreadable", f"not UTF-8 at byte {error.start}", Place(file)),
        )
    try:
        document = parse(text, file)
    except JsonSyntaxError as problem:
        starts = [s for s in line_starts(text) if s <= problem.offset]
        place = Place(file, len(starts), problem.offset - starts[-1] + 1)
        return _broken(
            source, diagnose("settings-syntax", f"{problem}; no hook of this file runs", place)
        )
    try:
        return read_document(dialect, source, document)
    except RecursionError:
        told = diagnose(
            "settings-syntax", "nested too deep; no hook of this file runs", Place(file)
        )
        return _broken(source, told)


class NotReadableError(Exception):
    """A file that is there and must not be read."""


def read_limited(path: Path) -> bytes:
    """Read a file that people have written, without waiting for anything.

    Raises:
        OSError: If it cannot be opened.
        NotReadableError: If it is no regular file, or larger than `SIZE_LIMIT`.
    """
    with open(path, "rb", opener=_open_without_waiting) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise NotReadableError("it is no regular file")
        if status.st_size > SIZE_LIMIT:
            raise NotReadableError(f"it is larger than {SIZE_LIMIT:,} bytes")
        return stream.read(SIZE_LIMIT)


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to must not hold the host."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _broken(source: Source, diagnostic: Diagnostic) -> LoadedFile:
    return LoadedFile(source, exists=True, diagnostics=(diagnostic,))
