"""Files on this machine and in object stores, as a source of events.

`pyarrow.fs` reads every URI: it knows the credentials of each store, and reads ranges of files.
"""

from __future__ import annotations

import gzip
import os
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlsplit, urlunsplit
from urllib.request import url2pathname

from anyhook.errors import MissingLibraryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".parquet", ".traj"})
"""Endings of the files that are read of a directory."""
COMPRESSED = (".jsonl.gz", ".ndjson.gz")
"""Endings of files that are decompressed, and cannot be read in parts."""
UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading raises; a compressed file may be damaged or cut."""
BLOCK = 1024**2
"""Bytes that are read at once where lines are searched."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that holds events."""

    name: str
    """Its path or URI for messages, without credentials."""
    path: str
    size: int
    """Bytes."""
    store: str = ""
    """A URI of the store; empty for a file of this machine."""
    is_named: bool = False

    @property
    def is_compressed(self) -> bool:
        """Whether it is decompressed while it is read."""
        return self.name.endswith(COMPRESSED)

    @contextmanager
    def open_content(self) -> Iterator[BinaryIO]:
        """Open it for reading from its start, and decompress it if it is compressed.

        Raises:
            UsageError: If it cannot be read.
        """
        with closing(self.open()) as stream:
            if self.is_compressed:
                with gzip.open(stream) as content:
                    yield cast("BinaryIO", content)
            else:
                yield stream

    def open(self) -> BinaryIO:
        """Open it for reading at any position.

        Raises:
            UsageError: If it cannot be read.
        """
        try:
            if self.store:
                stream = _open_store(self.store)[0].open_input_file(self.path)
                return cast("BinaryIO", stream)
            return Path(self.path).open("rb")
        except OSError as error:
            raise unreadable(self.name, error) from error


def unreadable(name: str, error: Exception) -> UsageError:
    """Return the error for a file that cannot be read."""
    return UsageError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}")


def _is_read(name: str) -> bool:
    """Return whether a file of a directory is read."""
    return os.path.splitext(name)[1] in SUFFIXES or name.endswith(COMPRESSED)  # noqa: PTH122 - it may be in a store


def find_files(place: str) -> Iterator[StoredFile]:
    """Yield the files of a path or URI; of a directory those with a known suffix.

    Raises:
        UsageError: If the file does not exist or cannot be read.
    """
    scheme, separator, _ = place.partition("://")
    if separator and scheme != "file":
        try:
            yield from _find_in_store(place)
        except OSError as error:
            raise unreadable(_without_credentials(place), error) from error
        return
    if separator:
        place = url2pathname(urlsplit(place).path)
    path = Path(place).expanduser()
    try:
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                if _is_read(file.name) and file.is_file():
                    yield _local_file(file, is_named=False)
        else:
            yield _local_file(path, is_named=True)
    except OSError as error:
        raise unreadable(str(path), error) from error


def _local_file(path: Path, *, is_named: bool) -> StoredFile:
    absolute = os.path.abspath(path)  # noqa: PTH100 - links stay as they are
    return StoredFile(str(path), absolute, path.stat().st_size, is_named=is_named)


def _find_in_store(uri: str) -> Iterator[StoredFile]:
    from pyarrow import fs

    name = _without_credentials(uri).rstrip("/")
    store, path = _open_store(uri)
    info = store.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        raise UsageError(f"there is no {name}")
    if info.type == fs.FileType.File:
        yield StoredFile(name, info.path, info.size, store=uri, is_named=True)
        return
    inner = store.get_file_info(fs.FileSelector(path, recursive=True))
    for file in sorted(inner, key=lambda file: file.path):
        if file.type == fs.FileType.File and _is_read(file.path):
            rest = file.path[len(path.rstrip("/")) :]
            yield StoredFile(name + rest, file.path, file.size, store=uri)


@lru_cache(maxsize=16)
def _open_store(uri: str) -> tuple[Any, str]:
    """Return the store of a URI, and the path in it."""
    name = _without_credentials(uri)
    try:
        from pyarrow import ArrowException, fs
    except ImportError as error:
        raise MissingLibraryError(name, "pyarrow", "parquet") from error
    try:
        store, path = fs.FileSystem.from_uri(uri)
    except (OSError, ArrowException) as error:
        raise UsageError(f"{name}: {str(error).replace(uri, name)}") from None
    return store, path


def _without_credentials(uri: str) -> str:
    """Return a URI without its user, password and options."""
    parts = urlsplit(uri)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


# -- lines


def read_range(file: StoredFile, first: int, end: int) -> tuple[int, bytes]:
    """Return the lines that begin in a range of bytes, and the position of the first one."""
    with closing(file.open()) as stream:
        # The byte before shows whether the range begins with a line.
        before = 1 if first else 0
        stream.seek(first - before)
        data = stream.read(end - first + before)
        if first:
            newline = data.find(b"\n")
            if newline < 0:
                return end, b""
            data = data[newline + 1 :]
            first += newline
        if not data:
            return first, b""
        parts = [data]
        while not parts[-1].endswith(b"\n"):
            more = stream.read(BLOCK)
            if not more:
                break
            parts.append(more[: more.find(b"\n") + 1] or more)
        return first, b"".join(parts)


def count_lines(file: StoredFile, end: int) -> int:
    """Return the number of lines that begin before a line that begins at or after a byte."""
    count = 0
    with closing(file.open()) as stream:
        position = 0
        while position < end:
            data = stream.read(min(BLOCK, end - position))
            if not data:
                break
            count += data.count(b"\n")
            position += len(data)
            is_cut = not data.endswith(b"\n")
    if end and is_cut:
        count += 1
    return count
