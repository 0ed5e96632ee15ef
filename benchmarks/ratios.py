"""The ratios of a run, kept in a file, and what got worse since another run.

Seconds depend on the machine and on what else it does. A ratio is the time of something divided by
that of its lower bound, both taken in turns; where there is no lower bound, by the time of a loop
in Python.
"""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from benchmarks.measure import BLOCK, Samples, timed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.table import Row, Section

MIN_CHANGE = 1.05
"""A ratio that grew by less than a twentieth is not reported, however certain it is."""
NORMAL_95 = 1.96
LOOPS = 100_000
REFERENCE_RUNS = 30


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio, and the interval in which its median lies with a probability of 95 %.

    Attributes:
        value: The median.
        low: Start of the interval.
        high: Its end.
    """

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Ratio:
        """Return the median of some ratios with its interval, which the order of them gives."""
        ordered = sorted(values)
        count = len(ordered)
        margin = NORMAL_95 * math.sqrt(count) / 2
        low = max(0, math.floor(count / 2 - margin))
        high = min(count - 1, math.ceil(count / 2 + margin) - 1)
        return cls(statistics.median(ordered), ordered[low], ordered[max(low, high)])


def reference() -> Samples:
    """Return samples of a loop in Python: the speed of this machine now."""
    return Samples("loop", [timed(lambda: sum(range(LOOPS))) for _ in range(REFERENCE_RUNS)])


def ratios_of(section: Section) -> dict[str, Ratio]:
    """Return the ratio of each row of a section.

    Args:
        section: The section, right after it was measured.
    """
    loop = reference()
    return {f"{section.title}: {row.what}": _ratio(row, loop) for row in section.rows}


def _ratio(row: Row, loop: Samples) -> Ratio:
    if row.floor is None:
        return Ratio.of([value / loop.p50 for value in row.ours.values])
    # Blocks were taken in turns: a load on the machine is in both, and cancels out.
    blocks = zip(_medians(row.ours), _medians(row.floor), strict=False)
    return Ratio.of([ours / floor for ours, floor in blocks])


def _medians(samples: Samples) -> list[float]:
    values = samples.values
    starts = range(0, len(values), BLOCK)
    return [statistics.median(values[start : start + BLOCK]) for start in starts]


def write(path: Path, ratios: Mapping[str, Ratio]) -> None:
    """Write ratios to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({what: asdict(ratio) for what, ratio in ratios.items()}, indent=1))


def read(path: Path) -> dict[str, Ratio]:
    """Read the ratios of another run."""
    return {what: Ratio(**ratio) for what, ratio in json.loads(path.read_text()).items()}


def worse(before: Mapping[str, Ratio], now: Mapping[str, Ratio]) -> list[str]:
    """Return a line for each ratio that got worse by more than the noise of both runs."""
    lines = []
    for what, ratio in now.items():
        former = before.get(what)
        if former is None:
            continue
        is_certain = ratio.low > former.high
        if is_certain and ratio.value > former.value * MIN_CHANGE:
            change = ratio.value / former.value
            lines.append(f"{what}: {former.value:.2f} → {ratio.value:.2f}, {change:.2f} times")
    return lines
