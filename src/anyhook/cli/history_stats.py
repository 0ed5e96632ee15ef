"""`anyhook history stats`, which counts, and `anyhook history report`: a session as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.colors import BAD, CAUTION, SHADOW
from anyhook.cli.event_filters import check_agent, open_history, print_no_events
from anyhook.cli.history import Agent, AllEvents, SessionArgument
from anyhook.cli.options import AsJson, Since, extra_required, write_page
from anyhook.cli.output import console, encode, members, print_json
from anyhook.cli.render import (
    counts_text,
    name_text,
    print_rows,
    progress,
    rates_table,
)
from anyhook.history.describe import parse_since, show_span, show_time
from anyhook.history.sessions import find_session
from anyhook.history.statistics import statistics
from anyhook.model.text import count_of

HOOK_MEMBERS = (
    "hook place versions runs outcomes shadow_outcomes failures warnings seconds slowest shadow "
    "last"
).split()
"""Members of a hook in the output for programs."""


def stats(agent: Agent = "", since: Since = "", as_json: AsJson = False) -> int:
    """Count events, decisions and the results of each hook.

    Rates per event and per session are different things: a session in which one of a thousand
    calls was denied is a session with a denial.

    For example:

        anyhook history stats --since 30d
    """
    check_agent(agent)
    moment = parse_since(since)
    with open_history() as store, progress("counting", 1.0) as bar:
        numbers = statistics(store, agent=agent, since=moment, on_progress=bar.show)
    if as_json:
        hooks = [members(hook, *HOOK_MEMBERS) for hook in numbers.hooks]
        print_json({**encode(numbers), "hooks": hooks})
        return OK
    out = console()
    total = sum(numbers.events.values())
    if not total:
        print_no_events(out, {"--agent": agent, "--since": since}, what="event")
        return OK
    out.print(f"{count_of(total, 'event')} in {count_of(numbers.sessions, 'session')}")
    out.print(rates_table(numbers.outcomes, numbers.sessions_with, total, numbers.sessions))
    if numbers.hooks:
        headings = ("hook", "place", "runs", "decisions", "failed", "warned", "mean", "slowest")
        rows: list[list[str | Text]] = []
        for hook in numbers.hooks:
            as_shadow = f" ({hook.shadow:,} as a shadow)" if hook.shadow else ""
            rows.append(
                [
                    Text(name_text(hook.hook)),
                    Text(name_text(hook.place), style="dim"),
                    Text.assemble(f"{hook.runs:,}", (as_shadow, SHADOW)),
                    counts_text(hook.outcomes),
                    Text(str(hook.failures or ""), style=BAD),
                    Text(str(hook.warnings or ""), style=CAUTION),
                    show_span(hook.seconds),
                    show_span(hook.slowest),
                    Text(show_time(hook.last), style="dim"),
                ]
            )
        print_rows(out, (*headings, "last"), rows, below=["place", "last"])
    else:
        out.print("No hook has run on these events.", style="dim")
    for title, counts in (("events", numbers.events), ("tools", numbers.tools)):
        if counts:
            parts = [f"{name_text(name)} {number:,}" for name, number in counts.items()]
            out.print(Text.assemble((f"{title}  ", "dim"), ", ".join(parts)))
    return OK


OUTPUT = Path("report.html")


def report(
    session: SessionArgument = "last",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")
    ] = OUTPUT,
    agent: Annotated[str, typer.Option("--agent", help="The agent of the session.")] = "",
    everything: AllEvents = False,
) -> int:
    """Write a session as one file, to send or to attach.

    The file needs neither a server nor scripts nor a network. Secrets that are recognized are
    replaced. For a backtest: `anyhook backtest --html FILE`.

    For example:

        anyhook history report last -o session.html
    """
    with extra_required("anyhook history report"):
        from anyhook.page.report import session_report
    with open_history() as store:
        text = session_report(store, find_session(store, session, agent), everything=everything)
    write_page(output, text)
    return OK
