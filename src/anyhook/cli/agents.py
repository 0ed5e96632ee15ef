"""`anyhook agents`: the agents that anyhook knows, what each can do, and their JSON Schemas."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, agents_of_event, get_agent
from anyhook.agents.capabilities import ABILITIES, Support, support
from anyhook.agents.schema import event_schema, reply_schema, settings_schema
from anyhook.cli import OK
from anyhook.cli.colors import SUPPORT
from anyhook.cli.options import HERE, AgentName, AsJson, Project
from anyhook.cli.output import console, print_json
from anyhook.cli.render import WIDE, make_table
from anyhook.errors import UnknownNameError, UsageError
from anyhook.manage.paths import show_path
from anyhook.manage.scope import existing_project, one_agent
from anyhook.settings.detect import agents_with_hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import AgentSpec


def list_agents(context: typer.Context, project: Project = HERE, as_json: AsJson = False) -> int:
    """List the agents that anyhook knows, and which have hooks here.

    The name of an agent is what `--agent` takes.

    For example:

        anyhook agents
        anyhook agents capabilities before_tool
        anyhook agents schema BeforeTool --agent gemini
    """
    if context.invoked_subcommand is not None:
        return OK
    directory = existing_project(project)
    files = {settings.agent: settings.files for settings in agents_with_hooks(directory)}
    if as_json:
        rows = [
            {"name": name, "title": get_agent(name).title, "files": files.get(name, ())}
            for name in CODING_AGENTS
        ]
        print_json(rows)
        return OK
    table = make_table("name", "agent", "files with hooks")
    for name in CODING_AGENTS:
        paths = "\n".join(show_path(str(path)) for path in files.get(name, ()))
        table.add_row(name, get_agent(name).title, Text(paths or "-"))
    console().print(table)
    return OK


NARROW_AGENTS = 4
"""Agents next to each other in a narrow terminal."""
LEGEND = (
    "yes: the reference promises it and the observed release does it. promised: the reference "
    "promises it, the release ignores it. undocumented: the release does it, the reference does "
    "not mention it."
)


@dataclass(frozen=True, slots=True)
class AbilityRow:
    """How far agents support an ability on one event; `None` for an agent without the event."""

    ability: str
    support: list[Support | None]


def capabilities(
    event: Annotated[
        str | None, typer.Argument(metavar="EVENT", help="The event. Default: all events.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show what each agent can do on each event.

    Hooks that are written with `anyhook.authoring` replace what an agent cannot do by what it can,
    and report it.

    For example:

        anyhook agents capabilities before_tool
        anyhook agents capabilities --json
    """
    agents = [get_agent(name) for name in CODING_AGENTS]
    canonical_names: list[str] = []
    for agent in agents:
        canonical_names += [name for name in agent.by_canonical if name not in canonical_names]
    events = canonical_names
    if event is not None and event not in canonical_names:
        agent_names = agents_of_event(event)
        if not agent_names:
            raise UnknownNameError("event", event, canonical_names)
        event = get_agent(agent_names[0]).event(event).canonical
    if event is not None:
        events = [event]
    if as_json:
        abilities: dict[str, dict[str, dict[str, str]]] = {}
        for name in events:
            abilities[name] = {}
            for ability in ABILITIES:
                words = {agent.name: str(support(agent, name, ability)) for agent in agents}
                abilities[name][ability] = words
        print_json(abilities)
    else:
        _print_abilities(agents, events)
    return OK


def _print_abilities(agents: list[AgentSpec], events: list[str]) -> None:
    out = console()
    # A table that is too wide would lose its last agents.
    size = len(agents) if out.width >= WIDE else NARROW_AGENTS
    for name in events:
        rows = list(ability_rows(agents, name))
        if not rows:
            continue
        for first in range(0, len(agents), size):
            part = slice(first, first + size)
            table = make_table(name, *(agent.title for agent in agents[part]))
            table.columns[0].min_width = 16
            for row in rows:
                cells = [_cell(cell) for cell in row.support[part]]
                table.add_row(Text(row.ability, style="bold"), *cells)
            out.print(table)
    out.print(Text(LEGEND, style="dim"))


def ability_rows(agents: list[AgentSpec], event: str) -> Iterator[AbilityRow]:
    """Yield the abilities that at least one agent has on an event."""
    for ability in ABILITIES:
        cells: list[Support | None] = []
        for agent in agents:
            ability_support = None
            if event in agent.by_canonical:
                ability_support = support(agent, event, ability)
            cells.append(ability_support)
        if not {None, Support.NO}.issuperset(cells):
            yield AbilityRow(ability, cells)


def _cell(support: Support | None) -> Text:
    if support is None:
        return Text()
    text = "-" if support is Support.NO else str(support)
    return Text(text, style=SUPPORT[support])


SETTINGS = "settings"


def schema(
    subject: Annotated[
        str,
        typer.Argument(metavar="settings|EVENT", help="The settings, or the payload of an event."),
    ] = SETTINGS,
    reply: Annotated[
        bool, typer.Option("--reply", help="Write the schema of a reply to the event.")
    ] = False,
    agent: AgentName = None,
    as_json: AsJson = False,
) -> int:
    """Write the JSON Schema of settings, events or replies.

    The schemas are made of the tables with which anyhook reads the files.

    For example:

        anyhook agents schema > .gemini/hooks.schema.json
        anyhook agents schema BeforeTool
        anyhook agents schema BeforeTool --reply
    """
    agent_name = one_agent(existing_project(HERE), agent, subject)
    spec = get_agent(agent_name)
    if subject == SETTINGS:
        if reply:
            raise UsageError(
                "name the event of the reply: anyhook agents schema BeforeTool --reply"
            )
        value = settings_schema(spec)
    elif reply:
        value = reply_schema(spec, spec.event(subject))
    else:
        value = event_schema(spec, spec.event(subject))
    indent = None if as_json else 2
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    sys.stdout.write(text + "\n")
    return OK
