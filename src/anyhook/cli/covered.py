"""`anyhook test --coverage`: which lines and rules of a hook file decide anything."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from anyhook.backtest.sources import EventRow, parts_of_history
from anyhook.cli import OK
from anyhook.cli.colors import BAD, CAUTION, GOOD, QUIET
from anyhook.cli.open_history import open_history
from anyhook.cli.output import console, print_json
from anyhook.cli.render import make_table
from anyhook.errors import MissingLibraryError
from anyhook.history.filters import Filter
from anyhook.journal.lines import history_directory
from anyhook.manage.paths import show_path
from anyhook.model.text import count_of, printable
from anyhook.redteam.covered import SOURCES, Coverage, cover, read_report
from anyhook.redteam.trials import example_of
from anyhook.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from anyhook.testing.cases import Case

WORDS = {"examples": "examples", "cases": "cases", "history": "past events"}
MAX_EVENTS = 5000
"""Events of the history that are tried: the latest."""


def cover_hook_file(
    file: Path,
    agents: Sequence[str],
    cases: Sequence[Case],
    *,
    with_history: bool,
    as_json: bool,
) -> int:
    """Show which lines and rules of a hook file decide anything.

    The agents are those for examples that name none. Returns the exit code.

    Raises:
        UsageError: If it is not a hook file, or `coverage` is not installed.
    """
    if find_spec("coverage") is None:
        raise MissingLibraryError("--coverage", "coverage", "coverage")
    path = file.resolve()
    rows: list[EventRow] = []
    if with_history:
        with open_history():
            parts = list(parts_of_history(history_directory(), Filter()))
        while parts and len(rows) < MAX_EVENTS:
            rows = [*parts.pop().read(None).rows, *rows]
    history = [(row.agent, row.read_payload()) for row in rows[-MAX_EVENTS:]]
    more = [example for case in cases if (example := example_of(case)) is not None]
    with Sandbox.for_project(Path(), discards_output=True) as sandbox:
        inside = sandbox.inside(str(path))
        measured = sandbox.run(cover, inside, list(agents), more, sandbox.inside(history))
    source = path.read_text(encoding="utf-8")
    coverage = read_report(source, *measured)
    if as_json:
        left_out = len(cases) - len(more)
        print_json({"file": str(path), "cases_left_out": left_out, **coverage.to_json()})
    else:
        _print(console(), file, source, coverage)
    return OK


def _print(out: Console, file: Path, source: str, coverage: Coverage) -> None:
    used = [name for name in SOURCES if coverage.events[name]]
    events = {name: f"{coverage.events[name]:,} {WORDS[name]}" for name in used}
    tried = ", ".join(events.values()) or "no event"
    heading = Text(printable(show_path(str(file))), style="bold")
    out.print(heading.append(f"  on {tried}", "default"))
    for name in used:
        if coverage.failed[name]:
            out.print(f"it failed on {coverage.failed[name]:,} of {events[name]}", style=BAD)
    table = make_table("line", "rule", "function", *used, no_wrap=("line",))
    for rule in coverage.rules:
        counts = coverage.decided(rule)
        never = Text("never", style=BAD)
        cells = [Text(f"{counts[name]:,}") if counts[name] else never for name in used]
        table.add_row(str(rule.line), Text(printable(rule.text)), rule.function, *cells)
    out.print(table)
    out.print()
    _print_listing(out, source, coverage, used)
    idle = [rule for rule in coverage.rules if not any(coverage.decided(rule).values())]
    reached = sum(bool(counts) for counts in coverage.lines.values())
    out.print(
        f"\n{reached} of {count_of(len(coverage.lines), 'line')} ran; "
        f"branches never taken: {len(coverage.branches)}; "
        f"{len(idle)} of {count_of(len(coverage.rules), 'rule')} never decided anything",
        style=CAUTION if idle or coverage.branches else GOOD,
    )


def _print_listing(out: Console, source: str, coverage: Coverage, used: Sequence[str]) -> None:
    """Print the functions with the number of events that reached each line."""
    ends: dict[int, list[str]] = {}
    for start, end in coverage.branches:
        ends.setdefault(start, []).append(f"line {end}" if end > 0 else "the end")
    width = max(chain([5], (len(name) for name in used)))
    out.print(Text("".join(f"{name:>{width}}  " for name in used), style=QUIET))
    for number, line in enumerate(source.splitlines(), 1):
        counts = coverage.lines.get(number)
        cells = ["" if counts is None else f"{counts[name] or '-'}" for name in used]
        style = BAD if counts is not None and not counts else ""
        text = Text("".join(f"{cell:>{width}}  " for cell in cells), style=QUIET)
        text.append(f"{number:>4} {printable(line)}", style)
        if number in ends and counts:
            text.append(f"   never to {' and '.join(ends[number])}", CAUTION)
        out.print(text, soft_wrap=True)
