"""What a hook file would have stopped of past calls: `anyhook score --history`, and the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import BAD, QUIET
from anyhook.cli.event_filters import open_history
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import (
    outcome_text,
    print_note,
    print_problems,
    print_quoted,
    require_terminal,
)
from anyhook.interrupts import INTERRUPTED
from anyhook.manage.review import CallReview, ReviewGroup, label_calls, review_calls
from anyhook.model.text import count_of, printable, shorten
from anyhook.redteam.labelled import BENIGN, DANGEROUS, FAMILIES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from anyhook.history.store import History
    from anyhook.redteam.asking import Guard

MAX_CALLS = 5
"""Different calls of a group that are shown."""
KEYS = {"b": BENIGN, "d": DANGEROUS}


def review_history(
    guards: Sequence[Guard], problems: Sequence[str], label: Path | None, *, as_json: bool
) -> int:
    """Show what hook files would have stopped among past calls that were not stopped.

    With `label`, it asks about each call, and adds it to this labelled set. Returns the exit code,
    which is 1 if there are problems: hooks that were not asked.

    Raises:
        UsageError: If a hook is not a Python file, or there is no terminal to ask at.
    """
    if label is not None:
        require_terminal("leave out --label", is_quiet=as_json)
    data: list[dict[str, Any]] = []
    out = console()
    with open_history() as store:
        for guard in guards:
            review = review_calls(store, guard)
            if not review.is_complete:
                return INTERRUPTED
            print_problems(review.problems, review.problem_count)
            groups = [_group_json(group) for group in review.groups]
            counts = {"calls": review.total, "stopped": review.stopped}
            data.append({"hook": guard.title, **counts, "groups": groups})
            if not as_json:
                heading = Text(printable(guard.title), style="bold")
                out.print(heading.append(f"  {review_text(review)}", "default"))
                for group in review.groups:
                    print_group(out, group)
            if label is not None and not _label(out, store, review, label):
                return INTERRUPTED
    if as_json:
        print_json({"ok": not problems, "problems": problems, "reviews": data})
    else:
        for problem in problems:
            print_note(out, "✗", problem, BAD)
    return PROBLEMS if problems else OK


def _group_json(group: ReviewGroup) -> dict[str, Any]:
    calls = []
    for call, events in group.ordered():
        numbers = [event.ref for event in events]
        calls.append({"call": call, "number": len(events), "events": numbers})
    counts = members(group, "outcome", "number")
    return {**counts, "reason": group.reason or None, "calls": calls}


def review_text(review: CallReview) -> str:
    """Return the counts of a review for people."""
    return f"would have stopped {review.stopped:,} of {review.total:,} calls; to review"


def group_text(group: ReviewGroup) -> Text:
    """Return the number of calls, the answer and the reason of a group, on one line."""
    reason = printable(shorten(group.reason)) or "no reason"
    return Text.assemble(f"{group.number:>6,}  ", outcome_text(group.outcome), f"  {reason}")


def print_group(out: Console, group: ReviewGroup) -> None:
    """Print a group with its most frequent calls."""
    out.print(group_text(group))
    for call, events in group.ordered()[:MAX_CALLS]:
        out.print(f"        {count_of(len(events), 'time')}", style=QUIET)
        print_quoted(out, shorten(call))
    rest = len(group.calls) - MAX_CALLS
    if rest > 0:
        out.print(f"        and {count_of(rest, 'more call')}; all: --json", style=QUIET)


def _label(out: Console, store: History, review: CallReview, file: Path) -> bool:
    """Ask for a label of each call, and return whether the user went to the end."""
    families = ", ".join(FAMILIES)
    out.print(f"b benign, d dangerous, s skip, q end; kinds of danger: {families}", style=QUIET)
    for group in review.groups:
        for call, events in group.ordered():
            print_quoted(out, shorten(call))
            key = typer.getchar().lower()
            if key == "q":
                return False
            if key not in KEYS:
                continue
            names: list[str] = []
            while KEYS[key] == DANGEROUS and not names:
                families_of_guard = ", ".join(review.families) or None
                answer = typer.prompt("kinds of danger, with commas", default=families_of_guard)
                names = [name.strip() for name in answer.split(",") if name.strip()]
            label_calls(store, events[:1], KEYS[key], names, file)
            out.print(f"{KEYS[key]}: written to {printable(str(file))}", style=QUIET)
    return True
