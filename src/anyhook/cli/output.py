"""Output for people (text, tables, color) and for programs (JSON)."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from anyhook.errors import UsageError
from anyhook.manage.paths import show_path
from anyhook.model.diagnostics import Severity
from anyhook.model.json import dump_json, repair
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import TextIO

    from rich.console import ConsoleOptions, RenderableType

    from anyhook.model.diagnostics import Diagnostic, Place

SEVERITY_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
RESULT_MARKS = {
    "ok": ("✓", "green"),
    "degraded": ("~", "yellow"),
    "failed": ("✗", "bold red"),
    "unknown": ("?", "yellow"),
    "absent": ("-", "dim"),
}
"""Status of a tried example or case to its mark and style."""
UNWRAPPED = 10_000
"""Columns of output that is not a terminal: nothing is wrapped or cut in a pipe or a file."""
UNWRAPPED_HEIGHT = 25
MIN_WIDTH = 20
WIDE = 100
"""Columns from which on tables show all of their columns."""
# A match begins where the blanks begin: a table in a pipe pads its cells with thousands of them.
_TRAILING_BLANKS = re.compile(r"(?<![ \t])[ \t]++(?=\n)")


class PrintableConsole(Console):
    """A console that shows invisible characters as escapes, whatever is printed.

    Names, commands and records are texts of strangers, and every command shows some. Commands that
    lay out such a text escape it themselves, so that its width is known.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render an object; controls of the console, like colors, stay as they are."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """Return a console for people.

    It is as wide as the terminal, and unwrapped if the output is a pipe or a file. The variable
    `COLUMNS` sets another width.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = _requested_width()
    if stream.isatty():
        return PrintableConsole(stderr=stderr, highlight=False, width=width)
    trimmed = cast("TextIO", _TrimmedStream(stream))
    # Without a height, rich uses 80 columns if TERM is "dumb" or "unknown".
    return PrintableConsole(
        file=trimmed, highlight=False, width=width or UNWRAPPED, height=UNWRAPPED_HEIGHT
    )


def _requested_width() -> int | None:
    columns = os.environ.get("COLUMNS", "")
    if not columns.isdecimal() or len(columns) > len(str(UNWRAPPED)):
        return None
    width = int(columns)
    return width if MIN_WIDTH <= width <= UNWRAPPED else None


class _TrimmedStream:
    """A stream without the blanks that pad the last column of a table."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_TRAILING_BLANKS.sub("", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def print_error(message: str) -> None:
    """Write an error to standard error."""
    text = escape(printable(message))
    console(stderr=True).print(f"[bold red]error:[/] {text}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Write one JSON value on one line; what JSON cannot hold is replaced.

    Invisible characters are written as escapes, because the output may be a terminal.
    """
    try:
        text = dump_json(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = dump_json(repair(value)).decode()
    if printable(text) != text:
        text = json.dumps(json.loads(text), separators=(",", ":"))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def make_table(*headings: str, no_wrap: Collection[str] = ()) -> Table:
    """Return a table without borders.

    Args:
        headings: The headings of its columns.
        no_wrap: Headings of columns that keep their width in a narrow terminal.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for heading in headings:
        table.add_column(heading, no_wrap=heading in no_wrap, overflow="fold")
    return table


def show_place(place: Place | None, project: Path | None = None, *, short: bool = False) -> str:
    """Return a place as `file:line` for people; `short` leaves the directories out."""
    if place is None:
        return ""
    path = printable(Path(place.file).name) if short else show_path(place.file, project)
    return f"{path}:{place.line}" if place.line else path


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, like `1 hook` or `2,000 hooks`."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def print_quoted(out: Console, text: str, style: str = "") -> None:
    """Print text of strangers with a mark before every line, wrapped lines included.

    Without the mark, a line of a script could look like a line of ours.
    """
    prefix = "    | "
    for line in text.splitlines():
        shown = Text(printable(line), style=style)
        for part in shown.wrap(out, max(out.width - len(prefix), 1), overflow="fold") or [Text()]:
            out.print(Text(prefix, style=style).append_text(part))


def require_terminal(instead: str, *, is_quiet: bool = False) -> None:
    """Require a terminal to ask at.

    Args:
        instead: What to do where there is none.
        is_quiet: Whether the command writes for programs, so that it does not ask.

    Raises:
        UsageError: If there is none.
    """
    if is_quiet or sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"there is no terminal to ask at; {instead}")


def confirm(
    question: str, *, is_agreed: bool, instead: str, is_quiet: bool = False, err: bool = False
) -> bool:
    """Ask a question, which the key `y` answers; any other key is no.

    Args:
        question: The question.
        is_agreed: Whether an option answers it already.
        instead: What to do where nobody can be asked.
        is_quiet: Whether the command writes for programs, so that it does not ask.
        err: Ask on standard error.

    Raises:
        UsageError: If there is no terminal to ask at.
    """
    if is_agreed:
        return True
    require_terminal(instead, is_quiet=is_quiet)
    out = console(stderr=err)
    out.print(f"{question} y/N ", end="", markup=False, soft_wrap=True)
    try:
        is_agreed = typer.getchar().lower().startswith("y")
    except EOFError:
        is_agreed = False
    out.print("y" if is_agreed else "n")
    return is_agreed


# -- diagnostics


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic for programs."""
    place = diagnostic.place
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
    }


def print_diagnostics(
    out: Console, diagnostics: Iterable[Diagnostic], project: Path | None = None
) -> None:
    """Print diagnostics as compilers do, so that editors and terminals link their places."""
    for diagnostic in diagnostics:
        place = diagnostic.place
        location = ""
        if place is not None:
            parts = [show_path(place.file, project), place.line, place.column]
            location = ":".join(str(part) for part in parts if part is not None) + ": "
        severity = diagnostic.severity
        line = Text.assemble(
            (location, "cyan"),
            (str(severity), SEVERITY_STYLE[severity]),
            (f"[{diagnostic.code}]", "dim"),
            f": {diagnostic.message}",
        )
        out.print(line)


def print_settings_problems(
    out: Console, diagnostics: Iterable[Diagnostic], project: Path | None = None
) -> None:
    """Print the errors in settings, and how many warnings there are."""
    by_severity: dict[Severity, list[Diagnostic]] = {severity: [] for severity in Severity}
    for diagnostic in diagnostics:
        by_severity[diagnostic.severity].append(diagnostic)
    print_diagnostics(out, by_severity[Severity.ERROR], project)
    warnings = len(by_severity[Severity.WARNING])
    if warnings:
        count = count_of(warnings, "warning")
        out.print(f"[yellow]{count}[/] about the settings; see: anyhook check")
