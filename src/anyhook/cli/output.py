"""What people see (tables, colour) and what programs read (JSON)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from anyhook.model.diagnostics import Severity
from anyhook.model.json import dump_json, repair
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.model.diagnostics import Diagnostic, Place

SEVERITY_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
PIPE_WIDTH = 120
"""Columns when the output is no terminal."""


def console(*, stderr: bool = False) -> Console:
    """Return a console for people; wide enough for paths when nobody watches."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, width=width, soft_wrap=False)


def say_error(message: str) -> None:
    """Write an error to standard error."""
    text = escape(printable(message))
    console(stderr=True).print(f"[bold red]error:[/] {text}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Write one JSON value on one line."""
    try:
        text = dump_json(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = dump_json(repair(value)).decode()
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def show_path(path: str, project: Path | None = None) -> str:
    """Shorten a path for people: relative to the project, or with `~`."""
    for base, sign in ((project, "."), (Path.home(), "~")):
        if base is not None and Path(path).is_relative_to(base):
            relative = printable(str(Path(path).relative_to(base)))
            return relative if sign == "." else f"~/{relative}"
    return printable(path)


def show_place(place: Place | None, project: Path | None = None, *, short: bool = False) -> str:
    """Show a place as `file:line`; `short` leaves the directories out."""
    if place is None:
        return ""
    path = printable(Path(place.file).name) if short else show_path(place.file, project)
    return f"{path}:{place.line}" if place.line else path


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as programs read it."""
    place = diagnostic.place
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }


def print_settings_problems(
    out: Console, diagnostics: Iterable[Diagnostic], project: Path | None = None
) -> None:
    """Show errors of the settings whole, and how many warnings there are beside them."""
    found = list(diagnostics)
    print_diagnostics(out, (d for d in found if d.severity is Severity.ERROR), project)
    warnings = sum(d.severity is Severity.WARNING for d in found)
    if warnings:
        many = "warnings" if warnings > 1 else "warning"
        out.print(f"[yellow]{warnings} {many}[/] about the settings; see: anyhook check")


def print_diagnostics(
    out: Console, diagnostics: Iterable[Diagnostic], project: Path | None = None
) -> None:
    """Show diagnostics, one paragraph each: severity, code, place, message."""
    for found in diagnostics:
        head = Text.assemble(
            (f"{found.severity}", SEVERITY_STYLE[found.severity]),
            (f" {found.code}", "dim"),
            ("  " + show_place(found.place, project) if found.place else "", "cyan"),
        )
        out.print(head)
        out.print(Text(f"  {found.message}"))
