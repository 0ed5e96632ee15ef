"""Samples of several things taken in turns, so that all of them see the same machine."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Samples:
    """Seconds that something took, many times.

    Attributes:
        name: What.
        values: Seconds, in the order of the runs.
    """

    name: str
    values: list[float] = field(default_factory=list)

    def quantile(self, share: float) -> float:
        """Return the value below which a share of the samples lies."""
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        """The value that one run in twenty exceeds."""
        return self.quantile(0.95)

    @property
    def p99(self) -> float:
        """The value that one run in a hundred exceeds."""
        return self.quantile(0.99)


BLOCK = 10
"""Samples of one thing in a row. In turns of one, each would mostly measure how cold the others
left the caches, which no agent does; in longer blocks the machine would change between them."""


def in_turns(rounds: int, warmup: int, **runs: Callable[[], float]) -> dict[str, Samples]:
    """Take samples of several things in turns, a block of each at a time.

    Args:
        rounds: Samples of each.
        warmup: Samples of each that are thrown away first.
        runs: Name to a call that does the thing once and returns the seconds it took.

    Returns:
        Name to samples.
    """
    found = {name: Samples(name) for name in runs}
    for run in runs.values():
        for _ in range(warmup):
            run()
    for start in range(0, rounds, BLOCK):
        for name, run in runs.items():
            found[name].values += [run() for _ in range(min(BLOCK, rounds - start))]
    return found


def timed(call: Callable[[], object]) -> float:
    """Do something once and return the seconds it took."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
