"""`anyhook list`: which hooks there are, by event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.options import (
    HERE,
    AgentName,
    AsJson,
    Project,
    print_project,
    print_searched,
    scope_of,
)
from anyhook.cli.output import console, print_diagnostics, print_json, show_place
from anyhook.model.definitions import unique_labels
from anyhook.model.diagnostics import Severity
from anyhook.model.text import printable
from anyhook.settings.detect import trust_command
from anyhook.settings.kept import kept_hooks

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec, HookDefinition

STATE_STYLE = {"on": "green", "off": "dim", "not trusted": "yellow", "changed": "yellow"}
TRUST_STATE = {"new": "not trusted", "script": "changed", "definition": "changed"}


@dataclass(frozen=True, slots=True)
class Row:
    """One hook as it is listed.

    Attributes:
        definition: Its definition.
        handler: The hook.
        label: Its name in this list.
        state: `on`, `off`, `not trusted` or `changed`.
        switched_off_by: The file, or file and line, that switches it off; `None` if it is on.
    """

    definition: HookDefinition
    handler: HandlerSpec
    label: str
    state: str
    switched_off_by: str | None


def list_hooks(project: Project = HERE, agent: AgentName = None, as_json: AsJson = False) -> int:
    """List the hooks of every agent by event: state, matcher, timeout, layer and place.

    A hook is on, off, not trusted, or changed since it was trusted.

    For example:

        anyhook list
        anyhook list --project ~/code/app --json
    """
    scope = scope_of(project, agent)
    engines = list(scope.engines(default=True))
    rows_by_engine = [(engine, hook_rows(engine)) for engine in engines]
    if as_json:
        print_json(
            [_row_json(engine, row) for engine, rows in rows_by_engine for row in rows],
        )
        return OK
    out = console()
    print_project(out, scope.project)
    for engine, rows in rows_by_engine:
        if rows:
            _print_rows(out, engine, rows, with_agent=len(engines) > 1)
        problems = [d for d in engine.hooks.diagnostics if d.severity is Severity.ERROR]
        print_diagnostics(out, problems, engine.project_dir)
    if not any(rows for _, rows in rows_by_engine):
        print_searched(out, scope)
    return OK


def hook_rows(engine: Engine) -> list[Row]:
    """Return every hook of an engine, by event and layer."""
    withheld = {id(change.subject.handler): change.what for change in engine.guard.changes()}
    order = {spec.canonical: i for i, spec in enumerate(engine.agent.events)}
    rank = {layer: i for i, layer in enumerate(engine.agent.layer_order)}
    definitions = sorted(engine.definitions, key=lambda d: (order[d.event], rank[d.layer]))
    kept = kept_hooks(engine.agent, engine.hooks.files)
    handlers = [h for d in engine.definitions for h in d.handlers]
    labels = unique_labels([*handlers, *(hook.handler for hook in kept)])
    rows: list[Row] = []
    for definition in definitions:
        for handler in definition.handlers:
            switch = engine.hooks.switched_off(handler)
            trust = TRUST_STATE.get(withheld.get(id(handler), ""), "on")
            state = trust if switch is None else "off"
            rows.append(Row(definition, handler, labels[id(handler)], state, switch))
    for hook in kept:
        label = labels[id(hook.handler)]
        rows.append(Row(hook.definition, hook.handler, label, "off", str(hook.record)))
    return rows


def _print_rows(out: Console, engine: Engine, rows: list[Row], *, with_agent: bool) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    if with_agent:
        table.title, table.title_justify, table.title_style = engine.agent.title, "left", "bold"
    headings = ["event", "hook", "matcher", "state", "timeout", "layer", "place"]
    if any(row.handler.description for row in rows):
        headings.append("about")
    for heading in headings:
        folds = heading in ("hook", "matcher", "place", "about")
        table.add_column(heading, no_wrap=not folds, overflow="fold")
    previous = ""
    for row in rows:
        handler = row.handler
        wire = engine.agent.by_canonical[row.definition.event].wire
        origin = f"{handler.layer} {printable(handler.origin or '')}".rstrip()
        cells = [
            Text(wire if wire != previous else "", style="bold cyan"),
            Text(row.label, style="bold"),
            Text(_matcher(row.definition)),
            Text(row.state, style=STATE_STYLE[row.state]),
            Text(f"{handler.timeout:g} s", style="dim"),
            Text(origin, style="dim"),
            Text(show_place(handler.place, engine.project_dir), style="dim"),
            Text(printable(handler.description or ""), style="dim"),
        ]
        table.add_row(*cells[: len(headings)])
        previous = wire
    out.print(table)
    for switch in dict.fromkeys(row.switched_off_by for row in rows if row.switched_off_by):
        labels = [row.label for row in rows if row.switched_off_by == switch]
        shown = ", ".join(dict.fromkeys(labels))
        out.print(Text.assemble(("off", "dim"), f"  {switch} switches off: {shown}"))
    if any(row.state in ("not trusted", "changed") for row in rows):
        command = trust_command(engine.agent.name, engine.project_dir)
        out.print(Text.assemble(("not trusted", "yellow"), f"  look at them with: {command}"))


def _matcher(definition: HookDefinition) -> str:
    return printable(definition.matcher or "*") + (" (in order)" if definition.sequential else "")


def _row_json(engine: Engine, row: Row) -> dict[str, Any]:
    handler, definition = row.handler, row.definition
    return {
        "agent": engine.agent.name,
        "event": engine.agent.by_canonical[definition.event].wire,
        "name": row.label,
        "identifier": handler.shown_identifier,
        "state": row.state,
        "switched_off_by": row.switched_off_by,
        "kind": handler.kind,
        "command": handler.command or (list(handler.argv) if handler.argv else None),
        "description": handler.description,
        "layer": str(handler.layer),
        "extension": handler.origin,
        "file": handler.place.file,
        "line": handler.place.line,
        "column": handler.place.column,
        "matcher": definition.matcher,
        "sequential": definition.sequential,
        "timeout_ms": round(handler.timeout * 1000),
    }
