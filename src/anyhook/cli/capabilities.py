"""`anyhook capabilities`: what each agent can do on each event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from anyhook.agents import CODING_AGENTS, agents_of_event, get_agent
from anyhook.agents.capabilities import ABILITIES, Support, support
from anyhook.cli import OK
from anyhook.cli.options import AsJson
from anyhook.cli.output import console, print_json
from anyhook.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec

MARKS = {
    Support.YES: ("yes", "green"),
    Support.PROMISED: ("promised", "yellow"),
    Support.UNDOCUMENTED: ("untold", "cyan"),
    Support.NO: ("-", "dim"),
}
LEGEND = (
    "yes: the reference says so, and the release that was observed does it. promised: the "
    "reference says so, the release ignores it. untold: the release does it, the reference does "
    "not say so."
)


def capabilities(
    event: Annotated[
        str | None, typer.Argument(help="Canonical event; by default those of all agents.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Write the tables of the documentation.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what each agent can do on each event, and what is only promised.

    What an agent cannot do, hooks that are written with `anyhook.authoring` do another way, and
    say so.

    For example:

        anyhook capabilities before_tool
        anyhook capabilities --json
    """
    agents = [get_agent(name) for name in CODING_AGENTS]
    known = list(dict.fromkeys(spec.canonical for d in agents for spec in d.events))
    events = known if event is None else [_canonical(event, known)]
    if as_json:
        print_json(
            {
                name: {
                    ability: {d.name: str(support(d, name, ability)) for d in agents}
                    for ability in ABILITIES
                }
                for name in events
            }
        )
    elif markdown:
        typer.echo("\n".join(markdown_tables(agents, events)))
    else:
        out = console()
        for name in events:
            table = _table(agents, name)
            if table.row_count:
                out.print(table)
        out.print(Text(LEGEND, style="dim"))
    return OK


def _canonical(event: str, known: list[str]) -> str:
    """Return the canonical name of an event that may be named as an agent does."""
    if event in known:
        return event
    agents = agents_of_event(event)
    if not agents:
        raise UnknownNameError("event", event, known)
    return get_agent(agents[0]).event(event).canonical


def rows(agents: list[AgentSpec], event: str) -> Iterator[tuple[str, list[Support | None]]]:
    """Yield the abilities that some agent has on an event; `None` for an agent without it."""
    for ability in ABILITIES:
        cells = [support(d, event, ability) if event in d.by_canonical else None for d in agents]
        if any(cell not in (None, Support.NO) for cell in cells):
            yield ability, cells


def markdown_tables(agents: list[AgentSpec], events: list[str]) -> Iterator[str]:
    """Yield the lines of the tables for the documentation."""
    for event in events:
        found = list(rows(agents, event))
        wires = [d.by_canonical[event].wire if event in d.by_canonical else "" for d in agents]
        heads = [
            f"{d.title} `{wire}`" if wire else d.title
            for d, wire in zip(agents, wires, strict=True)
        ]
        yield f"### {event}"
        yield ""
        if not found:
            yield "Nothing: agents only tell hooks about it."
            yield ""
            continue
        yield f"| | {' | '.join(heads)} |"
        yield f"|---|{'---|' * len(agents)}"
        for ability, cells in found:
            words = [MARKS[cell][0] if cell else "" for cell in cells]
            yield f"| {ability} | {' | '.join(words)} |"
        yield ""


def _table(agents: list[AgentSpec], event: str) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="bold", title_justify="left")
    table.add_column(event, style="bold", min_width=16)
    for agent in agents:
        table.add_column(agent.title)
    for ability, cells in rows(agents, event):
        shown = [Text(*MARKS[cell]) if cell else Text("") for cell in cells]
        table.add_row(ability, *shown)
    return table
