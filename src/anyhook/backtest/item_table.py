"""Long lists outside of memory: a hook that denies ten million events gives ten million decisions.

SQLite holds a table of a database without a name in memory as long as it is small, and then in a
temporary file that it removes itself.
"""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar, overload
from weakref import finalize

T = TypeVar("T")
SEGMENT = 2**40
"""Items that a segment may have."""


class ItemTable(Sequence[T]):
    """A list of items that takes little memory."""

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._connection = sqlite3.connect("", check_same_thread=False)
        finalize(self, self._connection.close)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("CREATE TABLE items (number INTEGER PRIMARY KEY, value BLOB)")
        self._counts: dict[int, int] = {}
        for item in items:
            self.append(item)

    def append(self, item: T) -> None:
        """Append an item to the first segment."""
        self.extend((item,))

    def extend(self, items: Iterable[T], segment: int = 0) -> None:
        """Append items to a segment, after those of all segments with smaller numbers."""
        before = number = segment * SEGMENT + self._counts.get(segment, 0)
        for item in items:
            self._connection.execute(
                "INSERT INTO items VALUES (?, ?)", (number, pickle.dumps(item))
            )
            number += 1
        self._counts[segment] = self._counts.get(segment, 0) + number - before

    @property
    def segments(self) -> list[int]:
        """The numbers of the segments to which something was added, in order."""
        return sorted(self._counts)

    def segment(self, number: int) -> Iterator[T]:
        """Yield the items of a segment."""
        return self._select(number * SEGMENT, (number + 1) * SEGMENT)

    def _select(self, first: int, end: int) -> Iterator[T]:
        rows = self._connection.execute(
            "SELECT value FROM items WHERE number >= ? AND number < ? ORDER BY number", (first, end)
        )
        for (value,) in rows:
            yield pickle.loads(value)  # noqa: S301 - this process wrote it

    # -- what a list does

    def __len__(self) -> int:
        return sum(self._counts.values())

    def __iter__(self) -> Iterator[T]:
        return self._select(0, 2**63 - 1)

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
