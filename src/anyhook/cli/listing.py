"""`anyhook list`: which hooks there are, by event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from anyhook.cli import OK
from anyhook.cli.options import (
    HERE,
    AsJson,
    DialectName,
    Project,
    existing_project,
    print_other_agents,
)
from anyhook.cli.output import console, print_diagnostics, print_json, show_path, show_place
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.model.diagnostics import Severity
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

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
    engine = Engine.load(existing_project(project), dialect=dialect, on_message=discard)
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
        print_other_agents(out, engine)
    else:
        _print_rows(out, engine, rows)
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


LONGEST_NAME = 32
"""Columns of a hook's name; longer ones push the rest of their line."""


def _print_rows(
    out: Console, engine: Engine, rows: list[tuple[HookDefinition, HandlerSpec, str, str | None]]
) -> None:
    """Show every hook on two lines: what runs when, and where it comes from."""
    names = min(max(len(handler.label) for _, handler, _, _ in rows), LONGEST_NAME)
    matchers = min(max(len(_matcher(definition)) for definition, _, _, _ in rows), LONGEST_NAME)
    previous = ""
    for definition, handler, state, _ in rows:
        wire = engine.dialect.by_canonical[definition.event].wire
        if wire != previous:
            out.print(Text(wire, style="bold cyan"))
        previous = wire
        out.print(
            Text.assemble(
                ("  "),
                (f"{handler.label:<{names}}", "bold"),
                (f"  {_matcher(definition):<{matchers}}", ""),
                (f"  {f'{handler.timeout:g} s':>6}", "dim"),
                (f"  {state}", _STATE_STYLE[state]),
            )
        )
        origin = f"{handler.layer} {printable(handler.origin or '')}".rstrip()
        where = f"{origin}  {show_place(handler.place, engine.project_dir)}"
        about = f"  {printable(handler.description)}" if handler.description else ""
        out.print(Padding(Text(where + about, style="dim"), (0, 0, 0, 4)))


def _matcher(definition: HookDefinition) -> str:
    return printable(definition.matcher or "*") + (" (in order)" if definition.sequential else "")


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
        "identifier": handler.shown_identifier,
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
