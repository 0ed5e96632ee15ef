"""Long lists outside of memory: compressed in blocks, and on disk above a limit.

A hook that denies every one of ten million events gives ten million decisions. The standard library
has no list on disk; `shelve` and SQLite take ten times as long for one that is only appended to.
"""

from __future__ import annotations

import json
import struct
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Protocol, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BLOCK = 1024
"""Items of a block."""
HELD_BYTES = 32 * 1024**2
"""Bytes of blocks that are held in memory; further ones are written to a temporary file."""
_HEAD = struct.Struct(">QQ")


class Item(Protocol):
    """What a list may hold."""

    def to_json(self) -> list[Any]:
        """Return it as JSON values."""
        ...

    @classmethod
    def from_json(cls, value: Iterable[Any]) -> Self:
        """Return what `to_json` made."""
        ...


T = TypeVar("T", bound=Item)


@dataclass(slots=True)
class _Block:
    """Some items.

    Attributes:
        count: How many.
        size: Bytes of the content.
        content: The content, compressed; `None` if it is in the file.
        offset: Its position in the file.
    """

    count: int
    size: int
    content: bytes | None
    offset: int = 0


class BlockList(Sequence[T]):
    """A list of items that takes little memory.

    Args:
        kind: Class of the items.
        items: The first ones.
    """

    def __init__(self, kind: type[T], items: Iterable[T] = ()) -> None:
        self._kind = kind
        self._segments: dict[int, list[_Block]] = {}
        self._own: list[_Block] = []
        self._open: list[T] = []
        self._count = 0
        self._held = 0
        self._file: IO[bytes] | None = None
        for item in items:
            self.append(item)

    def append(self, item: T) -> None:
        """Append an item."""
        self._open.append(item)
        self._count += 1
        if len(self._open) >= BLOCK:
            self._close_block()

    def add_segment(self, number: int, other: BlockList[T]) -> None:
        """Add all items of another list.

        Args:
            number: Its position among the segments; they may come in any order.
            other: The list.
        """
        other._close_block()
        segment = self._segments.setdefault(number, [])
        for block in other._blocks():
            self._add(_Block(block.count, block.size, other._content_of(block)), segment)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the segments, in order."""
        return sorted(self._segments)

    def segment(self, number: int) -> list[T]:
        """Return the items of a segment."""
        return [item for block in self._segments[number] for item in self._items_of(block)]

    def pack(self) -> bytes:
        """Return the items as bytes."""
        self._close_block()
        parts: list[bytes] = []
        for block in self._blocks():
            parts += [_HEAD.pack(block.count, block.size), self._content_of(block)]
        return b"".join(parts)

    @classmethod
    def unpack(cls, kind: type[T], data: bytes) -> BlockList[T]:
        """Return the list of what `pack` made.

        Raises:
            struct.error, ValueError: If it is damaged.
        """
        found = cls(kind)
        position = 0
        while position < len(data):
            count, size = _HEAD.unpack_from(data, position)
            position += _HEAD.size
            content = data[position : position + size]
            if len(content) != size:
                raise ValueError("a block was cut")
            found._add(_Block(count, size, content), found._own)
            position += size
        return found

    # -- what a list does

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        for block in self._blocks():
            yield from self._items_of(block)
        yield from self._open

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            return list(islice(self, start, stop, step)) if step > 0 else list(self)[index]
        position = index + self._count if index < 0 else index
        if not 0 <= position < self._count:
            raise IndexError(index)
        for block in self._blocks():
            if position < block.count:
                return self._items_of(block)[position]
            position -= block.count
        return self._open[position]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        if len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment] # as of every list

    def __repr__(self) -> str:
        return f"<{self._count} items>"

    # -- blocks

    def _blocks(self) -> Iterator[_Block]:
        for number in self.numbers:
            yield from self._segments[number]
        yield from self._own

    def _close_block(self) -> None:
        if not self._open:
            return
        text = json.dumps([item.to_json() for item in self._open], default=str)
        content = zlib.compress(text.encode(), 1)
        self._count -= len(self._open)
        self._add(_Block(len(self._open), len(content), content), self._own)
        self._open = []

    def _add(self, block: _Block, segment: list[_Block]) -> None:
        content = block.content
        if content is not None and self._held + block.size > HELD_BYTES:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="anyhook-backtest-")  # noqa: SIM115 - as long as the list
            block.offset = self._file.seek(0, 2)
            self._file.write(content)
            block.content = None
        else:
            self._held += block.size
        self._count += block.count
        segment.append(block)

    def _content_of(self, block: _Block) -> bytes:
        if block.content is not None or self._file is None:
            return block.content or b""
        self._file.seek(block.offset)
        return self._file.read(block.size)

    def _items_of(self, block: _Block) -> list[T]:
        values = json.loads(zlib.decompress(self._content_of(block)))
        return [self._kind.from_json(value) for value in values]
