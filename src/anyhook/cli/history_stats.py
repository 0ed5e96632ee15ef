"""`anyhook history stats`: how many events, decisions and answers of hooks there are."""

from __future__ import annotations

from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.colors import BAD, CAUTION, SHADOW
from anyhook.cli.event_filters import check_agent, print_no_events
from anyhook.cli.history import Agent
from anyhook.cli.open_history import open_history
from anyhook.cli.options import AsJson, Since
from anyhook.cli.output import console, encode, members, print_json
from anyhook.cli.render import (
    counts_text,
    name_text,
    print_rows,
    progress,
    rates_table,
)
from anyhook.history.describe import parse_since, show_span, show_time
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
                    "" if hook.seconds is None else show_span(hook.seconds),
                    "" if hook.slowest is None else show_span(hook.slowest),
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
