"""What people see (tables, colour) and what programs read (JSON)."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from anyhook.model.diagnostics import Severity
from anyhook.model.json import dump_json, repair
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from anyhook.model.diagnostics import Diagnostic, Place

SEVERITY_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
UNWRAPPED = 10_000
"""Columns when the output is no terminal: nothing is wrapped or cut for a pipe or a file."""
LINES = 25
WIDTHS = range(20, UNWRAPPED + 1)
"""Columns that the variable `COLUMNS` may ask for."""
_TRAILING_BLANKS = re.compile(r"[ \t]+(?=\n)")


def console(*, stderr: bool = False) -> Console:
    """Return a console for people.

    A terminal is as wide as it is; a pipe or a file is not wrapped, and no line ends with blanks.
    The variable `COLUMNS` sets another width.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = wanted_width()
    if stream.isatty():
        return Console(stderr=stderr, highlight=False, width=width)
    trimmed = cast("TextIO", _TrimmedStream(stream))
    # Without a height rich falls back to 80 columns where TERM is "dumb" or "unknown".
    return Console(file=trimmed, highlight=False, width=width or UNWRAPPED, height=LINES)


def wanted_width() -> int | None:
    """Return the columns that `COLUMNS` asks for; `None` if it holds no sensible number."""
    value = os.environ.get("COLUMNS", "")
    if not value.isdecimal() or len(value) > len(str(UNWRAPPED)):
        return None
    return int(value) if int(value) in WIDTHS else None


class _TrimmedStream:
    """A stream that leaves out the blanks with which tables fill up their last column."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_TRAILING_BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
