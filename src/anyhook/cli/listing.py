"""`anyhook list`: which hooks there are, by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.options import HERE, AsJson, DialectName, Project, existing_project
from anyhook.cli.output import console, print_diagnostics, print_json, show_path, show_place
from anyhook.engine.engine import Engine
from anyhook.model.diagnostics import Severity
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.model.definitions import HandlerSpec, HookDefinition


def list_hooks(
    project: Project = HERE, dialect: DialectName = "gemini", as_json: AsJson = False
) -> int:
    """List every hook by event: its state, layer, place, matcher and timeout.

    A hook is on, off, not trusted, or changed since it was trusted.

    For example:

        anyhook list
        anyhook list --project ~/code/app --json
    """
    engine = Engine.load(existing_project(project), dialect=dialect)
    rows = list(_rows(engine))
    if as_json:
        print_json([_row_json(engine, *row) for row in rows])
        return OK
    out = console()
    if not rows:
        out.print("No hooks configured. These files were looked at:")
        for file in engine.hooks.files:
            where = show_path(str(file.source.path))
            out.print(f"  {file.source.layer!s:<16} {where}", markup=False)
    else:
        out.print(_table(engine, rows))
    problems = [d for d in engine.hooks.diagnostics if d.severity is Severity.ERROR]
    print_diagnostics(out, problems, engine.project_dir)
    return OK


def _rows(engine: Engine) -> Iterator[tuple[HookDefinition, HandlerSpec, str, str | None]]:
    withheld = {id(change.subject.handler): change.what for change in engine.guard.changes()}
    order = {spec.canonical: i for i, spec in enumerate(engine.dialect.events)}
    rank = {layer: i for i, layer in enumerate(engine.dialect.layer_order)}
    for definition in sorted(engine.definitions, key=lambda d: (order[d.event], rank[d.layer])):
        for handler in definition.handlers:
            off = engine.hooks.switched_off(handler)
            state = "off" if off else _TRUST_STATE.get(withheld.get(id(handler), ""), "on")
            yield definition, handler, state, off


_TRUST_STATE = {"new": "not trusted", "script": "changed"}
_STATE_STYLE = {"on": "green", "off": "dim", "not trusted": "yellow", "changed": "yellow"}


def _table(
    engine: Engine, rows: list[tuple[HookDefinition, HandlerSpec, str, str | None]]
) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("event", "hook", "state", "layer", "where", "matcher", "timeout"):
        table.add_column(
            title, overflow="fold" if title in ("hook", "where", "matcher") else "ellipsis"
        )
    previous = ""
    for definition, handler, state, _ in rows:
        wire = engine.dialect.by_canonical[definition.event].wire
        name = Text(handler.label, style="bold")
        if handler.description:
            name.append(f"\n{printable(handler.description)}", style="dim not bold")
        extra = " (in order)" if definition.sequential else ""
        table.add_row(
            Text(wire if wire != previous else "", style="cyan"),
            name,
            Text(state, style=_STATE_STYLE[state]),
            Text(f"{handler.layer} {printable(handler.origin or '')}".rstrip()),
            Text(show_place(handler.place, engine.project_dir), style="dim"),
            Text(printable(definition.matcher or "*") + extra),
            f"{handler.timeout:g} s",
        )
        previous = wire
    return table


def _row_json(
    engine: Engine,
    definition: HookDefinition,
    handler: HandlerSpec,
    state: str,
    off: str | None,
) -> dict[str, Any]:
    return {
        "event": engine.dialect.by_canonical[definition.event].wire,
        "name": handler.label,
        "identifier": handler.identifier,
        "state": state,
        "switched_off_by": off,
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
