"""Slices of a part: the events of some of its sessions, so that several processes share a part.

An event of a project takes as long as its commands, a thousand times as long as a function, and a
few thousand events are one part. The events of a session stay together and in order, because hooks
may set variables for the later hooks of their session. Each process has its own copy of the
project, so that commands that run at the same time do not meet in it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from anyhook.backtest.results import Decided, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

SLICES_OF_PROCESS = 8
"""Slices for each process, if there are not as many parts: sessions are of different lengths."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Which sessions of a part."""

    number: int = 0
    count: int = 1

    def takes(self, rank: int) -> bool:
        """Return whether a session belongs to the slice, by its rank among those of the part."""
        return rank % self.count == self.number

    def count_below(self, rank: int) -> int:
        """Return how many sessions before a rank belong to the slice."""
        return len(range(self.number, rank, self.count))


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The results on a part or a slice of it."""

    result: Result
    """The first slice counts all events of the part."""
    positions: Sequence[int] = ()
    """Position in the part of each event on which hooks had an opinion."""


def slices_of(parts: int, processes: int) -> list[Slice]:
    """Return the slices of each part."""
    count = -(-processes * SLICES_OF_PROCESS // parts) if processes > 1 else 1
    return [Slice(number, count) for number in range(count)]


def leave_counts_to_first(result: Result) -> None:
    """Remove from the result of a further slice what the first one counts for the whole part."""
    result.events = Counter()
    result.sessions = set()
    result.split_sessions = 0
    result.unseen = 0


def merge_slices(slices: Sequence[Evaluated]) -> Evaluated:
    """Return the results on a part from those of all its slices."""
    merged = Result()
    decided: list[tuple[int, Decided]] = []
    for piece in slices:
        merged.add(piece.result)
        decided += zip(piece.positions, piece.result.decided, strict=True)
    decided.sort(key=itemgetter(0))
    merged.decided = [item for _, item in decided]
    return Evaluated(merged)
