"""What the commands about the history share: opening it, times, and how events are shown."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.cli.output import console, count_of
from anyhook.errors import HistoryError, UnknownNameError
from anyhook.history.ingest import ingest
from anyhook.history.store import History, is_damaged
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

SINCE_HELP = "Only what happened since then: 90d, 12h, 30min, 2026-11-01, 2026-11-01T12:00."
Since = Annotated[str, typer.Option("--since", metavar="TIME", help=SINCE_HELP)]
OUTCOME_STYLE = {
    "deny": "bold red",
    "stop": "bold red",
    "ask": "yellow",
    "defer": "yellow",
    "allow": "green",
    "change": "cyan",
    "none": "dim",
}
"""Verdict to how it is shown."""
SHOWN_STYLE = {**OUTCOME_STYLE, "crash": "bold red"}
"""The same, with the verdict of backtests that is none of the history."""
FAILED_STATUS = frozenset({"failed", "timed_out", "withheld"})
MAX_PROBLEMS = 10
"""Problems that are shown before the rest is counted."""


@contextmanager
def open_history() -> Iterator[History]:
    """Open the history with everything that was recorded until now, and report its problems.

    Raises:
        HistoryError: If it cannot be opened.
    """
    with open_store() as history:
        try:
            problems = ingest(history).problems
            if history.damaged is not None:
                kept = f"it is kept as {history.damaged}, and a new one begun"
                problems.insert(0, f"the history was damaged; {kept}")
            print_problems(problems)
            yield history
        except sqlite3.DatabaseError as error:
            raise _explain(history, error) from error


@contextmanager
def open_store() -> Iterator[History]:
    """Open the history; show how far it is while a store of a former release is migrated.

    Raises:
        HistoryError: If it cannot be opened.
    """
    with _migration_progress() as on_progress:
        history = History.open(on_progress=on_progress)
    with history:
        yield history


@contextmanager
def _migration_progress() -> Iterator[Callable[[int, int], None]]:
    """Show a bar as soon as a migration reports how far it is: hardly any command meets one."""
    with ExitStack() as stack:
        advance: Callable[[int, int], None] | None = None

        def show(done: int, total: int) -> None:
            nonlocal advance
            if advance is None:
                advance = stack.enter_context(_migration_bar())
            advance(done, total)

        yield show


@contextmanager
def _migration_bar() -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    out = console(stderr=True)
    with Progress(*columns, console=out, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("updating the history to this release", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _explain(history: History, error: sqlite3.DatabaseError) -> HistoryError:
    """Return an error that says what to do about one of the database."""
    if not is_damaged(error):
        return HistoryError(f"{history.path} cannot be read: {error}")
    return HistoryError(
        f"{history.path} is damaged ({error}). Rename it, and a new one is begun with what was "
        "recorded in the last two days; anyhook history import reads older sessions again"
    )


def print_problems(problems: Sequence[str], number: int | None = None) -> None:
    """Print what could not be read to standard error.

    Args:
        problems: The first problems.
        number: Number of all of them; by default there are no more.
    """
    out = console(stderr=True)
    rest = (len(problems) if number is None else number) - MAX_PROBLEMS
    for problem in problems[:MAX_PROBLEMS]:
        text = Text.assemble(("warning ", "yellow"), printable(problem))
        out.print(text, soft_wrap=True)
    if rest > 0:
        out.print(f"        and {count_of(rest, 'more problem')}")


def check_outcome(outcome: str) -> None:
    """Raise `UnknownNameError` if there is no such verdict."""
    if outcome not in OUTCOME_STYLE:
        raise UnknownNameError("decision", outcome, OUTCOME_STYLE)


def outcome_text(outcome: str) -> Text:
    """Return a verdict in its colour; nothing for no opinion."""
    if outcome == "none":
        return Text("·", style="dim")
    return Text(outcome, style=SHOWN_STYLE.get(outcome, ""))


def counts_text(counts: Mapping[str, int]) -> Text:
    """Return verdicts with their numbers: `2 deny  1 ask`."""
    text = Text()
    for outcome, style in SHOWN_STYLE.items():
        if counts.get(outcome):
            text.append(f"{'  ' if text else ''}{counts[outcome]} {outcome}", style=style)
    return text
