"""Long lists outside of memory: a hook may deny ten million events."""

from __future__ import annotations

import os
import pickle
import threading
import weakref
from collections.abc import Sequence
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")
MAX_MEMORY = 1024**2
"""Bytes from which the items are in a temporary file."""


class ItemTable(Sequence[T]):
    """A list of items that takes little memory."""

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._file = SpooledTemporaryFile(MAX_MEMORY)  # noqa: SIM115 - it is closed with the table
        weakref.finalize(self, self._file.close)
        # Threads that read share the position in the file.
        self._lock = threading.Lock()
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        self._count = 0
        for item in items:
            self.append(item)

    def append(self, item: T) -> None:
        """Append an item to the first segment."""
        self.extend((item,))

    def extend(self, items: Iterable[T], segment: int = 0) -> None:
        """Append items to a segment, after those of all segments with smaller numbers."""
        with self._lock:
            start = self._file.seek(0, os.SEEK_END)
            for item in items:
                pickle.dump(item, self._file)
                self._count += 1
            end = self._file.tell()
        ranges = self._ranges.setdefault(segment, [])
        if ranges and ranges[-1][1] == start:
            start, _ = ranges.pop()
        ranges.append((start, end))

    @property
    def segments(self) -> list[int]:
        """The numbers of the segments to which something was added, in order."""
        return sorted(self._ranges)

    def segment(self, number: int) -> Iterator[T]:
        """Yield the items of a segment."""
        for start, end in self._ranges[number]:
            position = start
            while position < end:
                with self._lock:
                    self._file.seek(position)
                    item: T = pickle.load(self._file)  # noqa: S301 - this process wrote it
                    position = self._file.tell()
                yield item

    # -- what a list does

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for number in self.segments:
            yield from self.segment(number)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return list(islice(self, start, stop, step))
        position = range(len(self))[index]
        return next(islice(self, position, None))
