"""What was found, and how it is told."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.table import Table

from anyhook import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from benchmarks.measure import Samples

REACHED = {True: "[green]reached[/]", False: "[red]missed[/]", None: ""}


@dataclass
class Row:
    """One line of a table.

    Attributes:
        what: What was measured.
        ours: Samples of it.
        unit: Seconds in one unit of the figures.
        floor: Samples of what it is held against.
        peer: Samples of somebody else's.
        goal: What to reach, in words.
        reached: Whether it was.
    """

    what: str
    ours: Samples
    unit: float = 1e-3
    floor: Samples | None = None
    peer: Samples | None = None
    goal: str = ""
    reached: bool | None = None


@dataclass
class Fact:
    """A figure that is no time.

    Attributes:
        what: What was measured.
        value: In the unit that `told` names.
        told: The value in words.
        goal: What to reach, in words.
        reached: Whether it was.
    """

    what: str
    value: float
    told: str
    goal: str = ""
    reached: bool | None = None


@dataclass
class Section:
    """A table and what is said below it.

    Attributes:
        title: What it is about.
        rows: Its lines.
        floor: Name of what the rows are held against; empty if they are not.
        peer: Name of the others.
        facts: What is no time.
        notes: What a reader should know.
    """

    title: str
    rows: list[Row] = field(default_factory=list)
    floor: str = ""
    peer: str = ""
    facts: list[Fact] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def print(self, out: Console) -> None:
        """Show it."""
        if self.rows:
            out.print(self._table())
        for fact in self.facts:
            goal = f" (goal: {fact.goal}) {REACHED[fact.reached]}" if fact.goal else ""
            out.print(f"{fact.what}: {fact.told}{goal}", highlight=False)
        for note in self.notes:
            out.print(note, highlight=False)
        out.print()

    def _table(self) -> Table:
        table = Table(title=self.title, title_justify="left")
        table.add_column("what")
        for name in ("p50", "p95", "p99", *self._others()):
            table.add_column(name, justify="right")
        table.add_column("goal")
        table.add_column("")
        for row in self.rows:
            table.add_row(*self._cells(row))
        return table

    def _others(self) -> list[str]:
        floor = [self.floor, "÷ p50", "÷ p99"] if self.floor else []
        return floor + ([self.peer, "÷"] if self.peer else [])

    def _cells(self, row: Row) -> list[str]:
        ours, floor, peer = row.ours, row.floor, row.peer
        cells = [row.what, *(show(s, row.unit) for s in (ours.p50, ours.p95, ours.p99))]
        if self.floor and floor:
            ratios = ours.p50 / floor.p50, ours.p99 / floor.p99
            cells += [show(floor.p50, row.unit), *(f"{ratio:.2f}" for ratio in ratios)]
        elif self.floor:
            cells += ["", "", ""]
        if self.peer and peer:
            cells += [show(peer.p50, row.unit), f"{ours.p50 / peer.p50:.2f}"]
        elif self.peer:
            cells += ["", ""]
        return [*cells, row.goal, REACHED[row.reached]]

    def as_json(self) -> dict[str, Any]:
        """Return all of it, every sample included."""
        return {
            "title": self.title,
            "rows": [
                {
                    "what": row.what,
                    "seconds": row.ours.values,
                    "floor": row.floor.values if row.floor else None,
                    "peer": row.peer.values if row.peer else None,
                    "goal": row.goal,
                    "reached": row.reached,
                }
                for row in self.rows
            ],
            "facts": [vars(fact) for fact in self.facts],
        }


def show(seconds: float, unit: float) -> str:
    """Tell a time in its unit."""
    return f"{seconds / unit:.1f} {'µs' if unit == 1e-6 else 'ms'}"


def machine() -> str:
    """Tell what the figures are of."""
    return (
        f"anyhook {__version__}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    )
