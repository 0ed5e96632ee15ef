"""`anyhook history stats`: how many events, decisions and answers of hooks there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.colors import BAD, CAUTION, SHADOW
from anyhook.cli.event_filters import check_agent
from anyhook.cli.history import Agent
from anyhook.cli.open_history import open_history
from anyhook.cli.options import AsJson, Since
from anyhook.cli.output import console, print_json
from anyhook.cli.render import count_of, counts_text, make_table, name_text, outcome_text, progress
from anyhook.history.describe import parse_since, show_span, show_time
from anyhook.history.statistics import statistics

if TYPE_CHECKING:
    from rich.table import Table

    from anyhook.history.statistics import HookStatistics, Statistics


def stats(agent: Agent = "", since: Since = "", as_json: AsJson = False) -> int:
    """Count events, decisions and the results of each hook.

    Rates per event and per session are different things: a session in which one of a thousand
    calls was denied is a session with a denial.

    For example:

        anyhook history stats --since 30d
    """
    check_agent(agent)
    with open_history() as store, progress("counting", 1.0) as bar:
        found = statistics(
            store,
            agent=agent,
            since=parse_since(since),
            on_progress=bar.show,
        )
    if as_json:
        print_json(found)
        return OK
    out = console()
    total = sum(found.events.values())
    out.print(f"{count_of(total, 'event')} in {count_of(found.sessions, 'session')}")
    out.print(_outcome_table(found, total))
    if found.hooks:
        out.print(_hook_table(found.hooks))
    else:
        out.print("No hook has run on these events.", style="dim")
    for title, counts in (("events", found.events), ("tools", found.tools)):
        if counts:
            parts = [f"{name_text(name)} {number:,}" for name, number in counts.items()]
            out.print(Text.assemble((f"{title}  ", "dim"), ", ".join(parts)))
    return OK


def _outcome_table(found: Statistics, total: int) -> Table:
    table = make_table("decision", "events", "of all events", "sessions", "of all sessions")
    for column in table.columns[1:]:
        column.justify = "right"
    for outcome, number in found.outcomes.items():
        in_sessions = found.sessions_with[outcome]
        table.add_row(
            Text("no opinion", style="dim") if outcome == "none" else outcome_text(outcome),
            f"{number:,}",
            _share(number, total),
            f"{in_sessions:,}",
            _share(in_sessions, found.sessions),
        )
    return table


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2%}" if whole else ""


def _runs_text(hook: HookStatistics) -> Text:
    text = Text(f"{hook.runs:,}")
    if hook.shadow:
        text.append(f" ({hook.shadow:,} as a shadow)", style=SHADOW)
    return text


def _hook_table(hooks: tuple[HookStatistics, ...]) -> Table:
    table = make_table(
        "hook", "place", "runs", "decisions", "failed", "warned", "mean", "slowest", "last"
    )
    for hook in hooks:
        table.add_row(
            Text(name_text(hook.hook)),
            Text(name_text(hook.place), style="dim"),
            _runs_text(hook),
            counts_text(hook.outcomes),
            Text(str(hook.failures or ""), style=BAD),
            Text(str(hook.warnings or ""), style=CAUTION),
            "" if hook.seconds is None else show_span(hook.seconds),
            "" if hook.slowest is None else show_span(hook.slowest),
            Text(show_time(hook.last), style="dim"),
        )
    return table
