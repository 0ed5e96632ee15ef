"""How the commands show what shadows would have decided."""

from __future__ import annotations

import shlex
from itertools import chain
from typing import TYPE_CHECKING, Any

from anyhook.cli.render import make_table
from anyhook.history.verdicts import NO_VERDICT
from anyhook.model.text import count_of, printable, shorten

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.history.shadows import ShadowDecisions


def print_decisions(out: Console, name: str, decisions: ShadowDecisions) -> None:
    """Print what a shadow would have decided, with some examples of each decision."""
    if not decisions.counts:
        out.print(f"Nothing is recorded of what {printable(name)!r} would have decided")
        return
    events = count_of(decisions.counts.total(), "event")
    where = f"{events} of {count_of(len(decisions.sessions), 'session')}"
    out.print(f"In {where}, {printable(name)!r} would have decided:")
    table = make_table("decision", "events", "session", "event", "reason")
    has_more = False
    for outcome, count in decisions.counts.most_common():
        examples = decisions.examples[outcome]
        has_more = has_more or (outcome != NO_VERDICT and count > len(examples))
        if outcome == NO_VERDICT or not examples:
            table.add_row(printable(outcome), f"{count:,}", "", "", "")
            continue
        for number, example in enumerate(examples):
            is_first = number == 0
            table.add_row(
                printable(outcome) if is_first else "",
                f"{count:,}" if is_first else "",
                printable(example.session[:8]),
                printable(f"{example.event} {example.tool or ''}".strip()),
                shorten(example.reason),
            )
    out.print(table)
    if has_more:
        command = printable(shlex.join(("anyhook", "history", "search", "--hook", name)))
        has_examples = any(decisions.examples.values())
        text = "The newest of each decision. " if has_examples else ""
        out.print(f"{text}All events: {command}", style="dim")


def decisions_json(decisions: ShadowDecisions) -> dict[str, Any]:
    """Return the counts and the examples for `--json`."""
    examples = list(chain(*decisions.examples.values()))
    counts = decisions.counts
    return {"events": counts.total(), "counts": counts, "examples": examples}
