"""Memory that a server shares with its children.

A child has its answer in it as soon as the functions of the hook have returned. So the server can
deliver it however the child ends, also if the hook has closed every descriptor of the child.
"""

from __future__ import annotations

import mmap
import time

from anyhook.worker.client import HEAD
from anyhook.worker.protocol import Reply, pack_reply, unpack_reply

MAX_ANSWER = 1 << 16
"""Bytes of an answer, packed, that a slot takes."""
_PID, _DEADLINE, _SIZE = range(3)
_FIELDS = 3
_SENDING = -1
"""In place of a size: the child sends the answer itself, and the server must not send it too."""


class Slots:
    """The slots of all children.

    Args:
        count: Number of slots.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._numbers = memoryview(mmap.mmap(-1, 8 * _FIELDS * count)).cast("q")
        self._answers = mmap.mmap(-1, MAX_ANSWER * count)

    def __getitem__(self, index: int) -> Slot:
        return Slot(self._numbers[_FIELDS * index : _FIELDS * (index + 1)], self._answers, index)

    def running(self) -> list[int]:
        """Return the processes that run a hook."""
        pids = [self._numbers[_FIELDS * index + _PID] for index in range(self._count)]
        return [pid for pid in pids if pid]


class Slot:
    """What one child and its server share."""

    def __init__(self, numbers: memoryview, answers: mmap.mmap, index: int) -> None:
        self._numbers = numbers
        self._answers = answers
        self._offset = MAX_ANSWER * index

    def clear(self) -> None:
        """Prepare the slot for the next child."""
        for field in range(_FIELDS):
            self._numbers[field] = 0

    def begin(self, pid: int) -> None:
        """Note that a process runs a hook."""
        self._numbers[_PID] = pid

    def finish(self) -> None:
        """Note that the process runs no hook any more."""
        self._numbers[_PID] = 0

    def end_in(self, seconds: float | None) -> None:
        """Set when the server ends the child if it has not ended; `None` for never."""
        deadline = 0 if seconds is None else time.monotonic_ns() + int(seconds * 1e9)
        self._numbers[_DEADLINE] = deadline

    def seconds_left(self) -> float | None:
        """Return the seconds until the server ends the child; `None` if it does not."""
        deadline: int = self._numbers[_DEADLINE]
        return (deadline - time.monotonic_ns()) / 1e9 if deadline else None

    def fix(self, answer: Reply) -> bool:
        """Keep the answer; return whether there is room for it."""
        packed = pack_reply(answer)[HEAD:]
        if len(packed) > MAX_ANSWER:
            return False
        self._answers[self._offset : self._offset + len(packed)] = packed
        self._numbers[_SIZE] = len(packed)
        return True

    def begin_sending(self) -> None:
        """Note that the child sends the answer itself."""
        self._numbers[_SIZE] = _SENDING

    @property
    def is_sending(self) -> bool:
        """Whether the child sends the answer itself."""
        is_sending: bool = self._numbers[_SIZE] == _SENDING
        return is_sending

    def answer(self) -> Reply | None:
        """Return the answer, if the child has one that it does not send itself."""
        size = self._numbers[_SIZE]
        if size <= 0:
            return None
        return unpack_reply(self._answers[self._offset : self._offset + size])
