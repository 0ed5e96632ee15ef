"""What the commands about the history share: opening it, times, and how events are shown."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.cli.output import console, count_of
from anyhook.errors import HistoryError, UnknownNameError
from anyhook.history.ingest import ingest
from anyhook.history.store import History, is_damaged
from anyhook.history.verdicts import NO_VERDICT, VERDICTS
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.history.events import RecordedResult

SINCE_HELP = "Only what happened since then: 90d, 12h, 30min, 2026-11-01, 2026-11-01T12:00."
Since = Annotated[str, typer.Option("--since", metavar="TIME", help=SINCE_HELP)]
VERDICT_STYLE = {
    "deny": "bold red",
    "stop": "bold red",
    "crash": "bold red",
    "ask": "yellow",
    "defer": "yellow",
    "allow": "green",
    "change": "cyan",
    "none": "dim",
}
"""Verdict to how it is shown, the strictest first."""
TROUBLE_STYLE = {"failed": "red", "timed_out": "red", "withheld": "red", "warned": "yellow"}
"""Trouble of a hook to how it is shown."""
MAX_PROBLEMS = 10
"""Problems that are shown before the rest is counted."""


@contextmanager
def open_history() -> Iterator[History]:
    """Open the history with everything that was recorded until now, and report its problems.

    Raises:
        HistoryError: If it cannot be opened.
    """
    with History.open() as history:
        try:
            problems = ingest(history).problems
            if history.set_aside:
                problems.insert(0, history.set_aside)
            print_problems(problems)
            yield history
        except sqlite3.DatabaseError as error:
            raise _explain(history, error) from error


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
    """Raise `UnknownNameError` if the history has no such verdict."""
    known = (*VERDICTS, NO_VERDICT)
    if outcome not in known:
        raise UnknownNameError("decision", outcome, known)


def outcome_text(outcome: str) -> Text:
    """Return a verdict in its colour; nothing for no opinion."""
    if outcome == NO_VERDICT:
        return Text("·", style="dim")
    return Text(outcome, style=VERDICT_STYLE.get(outcome, ""))


def counts_text(counts: Mapping[str, int]) -> Text:
    """Return verdicts with their numbers: `2 deny  1 ask`."""
    text = Text()
    for outcome, style in VERDICT_STYLE.items():
        if counts.get(outcome):
            text.append(f"{'  ' if text else ''}{counts[outcome]} {outcome}", style=style)
    return text


def trouble_text(result: RecordedResult) -> Text:
    """Return what was wrong with a run of a hook; empty for nothing."""
    word = "warning" if result.trouble == "warned" else result.trouble.replace("_", " ")
    return Text(printable(word), style=TROUBLE_STYLE.get(result.trouble, ""))
