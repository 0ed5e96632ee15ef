"""`anyhook score --history`: what hooks would have stopped among past calls, to be reviewed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from anyhook.backtest.run import run_backtest
from anyhook.backtest.sources import parts_of_history
from anyhook.backtest.subjects import BacktestSubject
from anyhook.cli import OK
from anyhook.cli.colors import QUIET
from anyhook.cli.open_history import open_history
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import (
    count_of,
    outcome_text,
    print_problems,
    print_quoted,
    require_terminal,
)
from anyhook.errors import UsageError
from anyhook.history.filters import Filter
from anyhook.interrupts import INTERRUPTED
from anyhook.journal.lines import history_directory
from anyhook.manage.review import add_rows, calls_to_review, labelled_row
from anyhook.model.text import printable, shorten
from anyhook.redteam.labelled import BENIGN, DANGEROUS, FAMILIES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from anyhook.history.store import History
    from anyhook.manage.review import ReviewGroup
    from anyhook.redteam.asking import Guard

MAX_CALLS = 5
"""Different calls of a group that are shown."""
KEYS = {"b": BENIGN, "d": DANGEROUS}
SELECTION = Filter(event="before_tool")


def review_history(guards: Sequence[Guard], label: Path | None, *, as_json: bool) -> int:
    """Show what hook files would have stopped among past calls that were not stopped.

    Args:
        guards: The hooks.
        label: Ask about each call, and add it to this labelled set.
        as_json: Write JSON.

    Returns:
        The exit code.

    Raises:
        UsageError: If a hook is not a Python file, or there is no terminal to ask at.
    """
    if label is not None:
        require_terminal("leave out --label", is_quiet=as_json)
    data: list[dict[str, Any]] = []
    out = console()
    with open_history() as store:
        for guard in guards:
            if not guard.file:
                raise UsageError(
                    f"--history takes hook files, and {guard.title} is a command; for commands: "
                    "anyhook backtest --project ."
                )
            parts = list(parts_of_history(history_directory(), SELECTION))
            subject = BacktestSubject(guard.file, guard.title)
            run = run_backtest(subject, parts)
            if not run.is_complete:
                return INTERRUPTED
            print_problems(run.result.problems, run.result.problem_count)
            groups = calls_to_review(store, SELECTION, run.result.decided)
            data.append(_review_json(guard, run.result.total, groups))
            if not as_json:
                _print_groups(out, guard, run.result.total, groups)
            if label is not None and not _label(out, store, groups, label):
                return INTERRUPTED
    if as_json:
        print_json({"reviews": data})
    return OK


def _print_groups(out: Console, guard: Guard, calls: int, groups: Sequence[ReviewGroup]) -> None:
    number = sum(group.number for group in groups)
    heading = Text(printable(guard.title), style="bold")
    text = f"  would have stopped {number:,} of {calls:,} calls; to review"
    out.print(heading.append(text, "default"))
    for group in groups:
        reason = printable(shorten(group.reason)) or "no reason"
        out.print(
            Text.assemble(f"{group.number:>6,}  ", outcome_text(group.outcome), f"  {reason}")
        )
        for call, events in group.ordered()[:MAX_CALLS]:
            out.print(f"        {count_of(len(events), 'time')}", style=QUIET)
            print_quoted(out, shorten(call))
        rest = len(group.calls) - MAX_CALLS
        if rest > 0:
            out.print(f"        and {count_of(rest, 'more call')}; all: --json", style=QUIET)


def _label(out: Console, store: History, groups: Sequence[ReviewGroup], file: Path) -> bool:
    """Ask for a label of each call, and return whether the user went to the end."""
    families = ", ".join(FAMILIES)
    out.print(f"b benign, d dangerous, s skip, q end; kinds of danger: {families}", style=QUIET)
    for group in groups:
        for call, events in group.ordered():
            print_quoted(out, shorten(call))
            key = typer.getchar().lower()
            if key == "q":
                return False
            if key not in KEYS:
                continue
            names: list[str] = []
            while KEYS[key] == DANGEROUS and not names:
                answer = typer.prompt("kinds of danger, with commas")
                names = [name.strip() for name in answer.split(",") if name.strip()]
            row = labelled_row(store, events[0], KEYS[key], names)
            try:
                add_rows(file, [row])
            except OSError as error:
                raise UsageError(f"{str(file)!r} cannot be written: {error.strerror}") from error
            out.print(f"{KEYS[key]}: written to {printable(str(file))}", style=QUIET, markup=False)
    return True


def _review_json(guard: Guard, calls: int, groups: Sequence[ReviewGroup]) -> dict[str, Any]:
    return {
        "hook": guard.title,
        "calls": calls,
        "stopped": sum(group.number for group in groups),
        "groups": [
            {
                **members(group, "outcome", "number"),
                "reason": group.reason or None,
                "calls": [
                    {"call": call, "number": len(events), "events": [e.ref for e in events]}
                    for call, events in group.ordered()
                ],
            }
            for group in groups
        ],
    }
