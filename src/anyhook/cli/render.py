"""How commands and the panel show what several of them show: each thing looks the same everywhere.

Colours are in `colors`; what the words mean is decided below `cli`.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from anyhook.cli.colors import ACCENT, CAUTION, OUTCOMES, RESULTS, SEVERITIES, SHADOW, STATUSES
from anyhook.cli.output import console
from anyhook.errors import UsageError
from anyhook.history.verdicts import NO_VERDICT, reason_of
from anyhook.manage.paths import show_path
from anyhook.model.diagnostics import Diagnostic, Place, Severity
from anyhook.model.text import count_of, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console, JustifyMethod, OverflowMethod

    from anyhook.manage.health import HookHealth

WIDE = 100
"""Columns from which on tables show all of their columns."""
BAR_WIDTH = 24
MAX_PROBLEMS = 10
"""Problems that are shown before the rest is counted."""
STATUS_WORDS = {
    "warned": "warning",
    "failed": "failed",
    "timed_out": "timed out",
    "withheld": "not trusted",
    "skipped": "skipped",
    "started": "in the background",
}
EFFECTS = {
    "tool_input": "rewrites the input",
    "context": "adds context",
    "system_messages": "shows the user a message",
    "llm_request": "changes the request",
    "llm_response": "changes the response",
    "tool_config": "filters tools",
    "clear_context": "clears the context",
    "tail_tool_call": "calls a tool",
    "tool_output": "replaces the result",
    "suppress_output": "hides its output",
    "extra": "sets other fields",
}
"""Fields of an answer besides its outcome (`anyhook.journal.records.answer_record`)."""


# -- texts


def name_text(text: str) -> str:
    """Return a name as one line; it may come from anywhere."""
    return printable(" ".join(text.split()))


def one_line(value: object) -> str:
    """Return the beginning of a text as one line."""
    return shorten(" ".join(str(value).split()))


def show_place(place: Place | None, project: Path | None = None, *, short: bool = False) -> str:
    """Return a place as `file:line` for people; `short` leaves the directories out."""
    if place is None:
        return ""
    path = printable(Path(place.file).name) if short else show_path(place.file, project)
    return f"{path}:{place.line}" if place.line else path


def print_quoted(out: Console, text: str, style: str = "") -> None:
    """Print text of strangers with a mark before every line, wrapped lines included.

    Without the mark, a line of a script could look like a line of ours.
    """
    prefix = "    | "
    for line in text.splitlines():
        quoted = Text(printable(line), style=style)
        parts = quoted.wrap(out, max(out.width - len(prefix), 1), overflow="fold")
        for part in parts or [Text()]:
            out.print(Text(prefix, style=style).append_text(part))


def print_note(out: Console, label: str, text: str, style: str = CAUTION) -> None:
    """Print a text behind a label in colour."""
    out.print(Text.assemble((label, style), f" {printable(text)}"), soft_wrap=True)


def make_table(
    *headings: str, no_wrap: Collection[str] = (), right: Collection[str] = (), title: str = ""
) -> Table:
    """Return a table without borders.

    The columns of `no_wrap` keep their width in a narrow terminal; those of `right` hold numbers.
    """
    table = Table(
        title=title or None,
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
        pad_edge=False,
    )
    for heading in headings:
        justify: JustifyMethod = "right" if heading in right else "left"
        # A word that is cut shows it: `settings.json:1…` is not line 1.
        is_fixed = heading in no_wrap
        overflow: OverflowMethod = "ellipsis" if is_fixed else "fold"
        table.add_column(heading, no_wrap=is_fixed, justify=justify, overflow=overflow)
    return table


def print_rows(
    out: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    below: Collection[str],
) -> None:
    """Print a table; in a narrow terminal the columns of `below` stand under their rows."""
    is_wide = out.width >= WIDE
    kept = headings
    no_wrap: Sequence[str] = ()
    if not is_wide:
        kept = no_wrap = [heading for heading in headings if heading not in below]
    table = make_table(*kept, no_wrap=no_wrap)
    under: list[Text] = []
    for row in rows:
        cells = dict(zip(headings, row, strict=True))
        table.add_row(*[cells[heading] for heading in kept])
        under.append(Text("  ").join([Text.assemble(cells[name]) for name in below]))
    if is_wide:
        out.print(table)
        return
    header, *lines = out.render_lines(table, pad=False)
    out.print(Segments([*header, Segment.line()]))
    for line, text in zip(lines, under, strict=True):
        out.print(Segments([*line, Segment.line()]))
        out.print(Padding(text, (0, 0, 0, 4), expand=False))


# -- questions


def require_terminal(instead: str, *, is_quiet: bool = False) -> None:
    """Require a terminal to ask at; a command that writes for programs (`is_quiet`) has none.

    Raises:
        UsageError: If there is none; it says what to do `instead`.
    """
    if is_quiet or sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"there is no terminal to ask at; {instead}")


def confirm(
    question: str, *, is_agreed: bool, instead: str, is_quiet: bool = False, err: bool = False
) -> bool:
    """Ask a question, unless an option has answered it; the key `y` agrees, any other one does not.

    Raises:
        UsageError: If there is no terminal to ask at, or the command writes for programs
            (`is_quiet`); it says what to do `instead`.
    """
    if is_agreed:
        return True
    require_terminal(instead, is_quiet=is_quiet)
    out = console(stderr=err)
    out.print(f"{question} y/N ", end="", soft_wrap=True)
    try:
        is_agreed = typer.getchar().lower().startswith("y")
    except EOFError:
        is_agreed = False
    key = "y" if is_agreed else "n"
    out.print(key)
    return is_agreed


# -- progress


class ProgressBar:
    """Shows how far a command is."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def show(self, done: float | None = None, total: float | None = None, text: str = "") -> None:
        """Show a state, with a text behind the bar; `total` is `None` if it is not known."""
        self._bar.update(self._task, completed=done, total=total, text=printable(text))

    def advance(self, step: float = 1.0) -> None:
        """Show that something more is done."""
        self._bar.advance(self._task, step)


@contextmanager
def progress(
    title: str, total: float | None = None, *, is_quiet: bool = False
) -> Iterator[ProgressBar]:
    """Show on standard error how far a command is, if that is a terminal."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    out = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    # What is written to standard output is the result and must not pass through the display.
    with Bar(
        *columns,
        console=out,
        transient=True,
        redirect_stdout=False,
        disable=is_quiet or not out.is_terminal,
    ) as bar:
        yield ProgressBar(bar, bar.add_task(title, total=total, text=""))


# -- outcomes


def outcome_text(outcome: str) -> Text:
    """Return a verdict in its colour; a dot for no opinion."""
    if outcome == NO_VERDICT:
        return Text("·", style="dim")
    return Text(outcome, style=OUTCOMES.get(outcome, ""))


def counts_text(counts: Mapping[str, int]) -> Text:
    """Return verdicts with their numbers, `2 deny  1 ask`, without those of no opinion."""
    parts: list[Text] = []
    for outcome, style in OUTCOMES.items():
        if outcome != NO_VERDICT and counts.get(outcome):
            parts.append(Text(f"{counts[outcome]:,} {outcome}", style=style))
    return Text("  ").join(parts)


def rates_table(
    outcomes: Mapping[str, int], sessions_with: Mapping[str, int], events: int, sessions: int
) -> Table:
    """Return how many of all events have each verdict, and in how many sessions it occurs."""
    headings = ("decision", "events", "of all events", "sessions", "of all sessions")
    table = make_table(*headings, right=headings[1:])
    for outcome, number in outcomes.items():
        decision = outcome_text(outcome)
        if outcome == NO_VERDICT:
            decision = Text("no opinion", style="dim")
        table.add_row(
            decision,
            f"{number:,}",
            f"{number / events:.2%}",
            f"{sessions_with[outcome]:,}",
            f"{sessions_with[outcome] / sessions:.2%}",
        )
    return table


def answer_text(answer: Mapping[str, Any]) -> Text:
    """Return what a hook answered (`anyhook.journal.records.answer_record`) on one line."""
    words: list[str] = []
    outcome = str(answer.get("outcome", NO_VERDICT))
    decisive = outcome
    if answer.get("stop"):
        words.append("stop")
        decisive = "stop"
    if answer.get("approve") and outcome != NO_VERDICT:
        words.append("approve")
    elif outcome != NO_VERDICT:
        words.append(outcome)
    # A record of a stranger may have another word.
    style = OUTCOMES.get(decisive, "") if words else ACCENT
    words += [text for field, text in EFFECTS.items() if answer.get(field)]
    if not words:
        return Text("no opinion", style="dim")
    text = Text.assemble((", ".join(words), style), no_wrap=True, overflow="ellipsis")
    reason = reason_of(answer)
    if reason:
        text.append(f"  {one_line(reason)}")
    return text


def as_shadow(text: Text) -> Text:
    """Return the text of a run that did not count, which says so even where it is cut."""
    mark = ("as a shadow  ", SHADOW)
    return Text.assemble(mark, text, no_wrap=text.no_wrap, overflow=text.overflow)


def status_text(status: str, detail: str = "") -> Text:
    """Return how a hook ended (`anyhook.model.status.Status`); empty for one that answered."""
    text = Text(STATUS_WORDS.get(status, printable(status)), style=STATUSES.get(status, ""))
    if detail:
        text.append(f"  {one_line(detail)}", style="default")
    return text


# -- runs of hooks


class RunRow(NamedTuple):
    """One hook on one event."""

    hook: str
    place: str
    result: Text
    """What it answered, or how it ended."""
    started: float = 0.0
    """Seconds after the event began."""
    duration: float | None = None
    """Seconds; `None` if it did not run."""
    style: str = "dim"
    """Style of its bar."""


def runs_table(out: Console, rows: Sequence[RunRow], *, has_header: bool = True) -> Table:
    """Return the timeline of an event: when each hook ran, and what it answered."""
    is_wide = out.width >= WIDE
    table = make_table("hook", "place", "time", "", "answer", no_wrap=("hook", "place", "time", ""))
    table.show_header = has_header
    table.columns[3].justify = "right"
    if not is_wide:
        # The answer needs the room more than names and places do.
        hook, place = table.columns[:2]
        hook.max_width, place.max_width = out.width // 3, out.width // 4
        fits = all(len(row.place) <= place.max_width for row in rows)
        place.no_wrap, place.overflow = fits, "fold"
    total = max((row.started + (row.duration or 0.0) for row in rows), default=0.0)
    for row in rows:
        style, duration = "dim", ""
        if row.duration is not None:
            style, duration = "", f"{row.duration * 1000:.0f} ms"
        bar = _bar(row, total or 1.0, BAR_WIDTH) if is_wide else ""
        table.add_row(
            Text(f"  {name_text(row.hook)}", style=style),
            Text(name_text(row.place), style="dim"),
            bar,
            Text(duration, style="dim"),
            row.result,
        )
    return table


def _bar(row: RunRow, total: float, width: int) -> Text:
    """Return when a hook ran, from the start of the event to the end of its last hook."""
    if row.duration is None:
        return Text("·" * width, style="dim")
    # A hook that ends at once still gets one column.
    start = min(round(row.started / total * width), width - 1)
    length = min(max(round(row.duration / total * width), 1), width - start)
    rest = width - start - length
    return Text.assemble(("─" * start, "dim"), ("━" * length, row.style), ("─" * rest, "dim"))


# -- health


def health_text(health: HookHealth | None) -> Text:
    """Return the word for a hook with its colour; empty of the recorder."""
    if health is None:
        return Text()
    mark, style = RESULTS[health.word]
    return Text(f"{mark} {health.word}", style=style)


# -- diagnostics and problems


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
            (location, ACCENT),
            (str(severity), SEVERITIES[severity]),
            (f"[{diagnostic.code}]", "dim"),
            f": {diagnostic.message}",
        )
        out.print(line)


def print_settings_problems(
    out: Console, diagnostics: Iterable[Diagnostic], project: Path | None
) -> None:
    """Print the errors in settings, and how many warnings there are."""
    by_severity: dict[Severity, list[Diagnostic]] = {severity: [] for severity in Severity}
    for diagnostic in diagnostics:
        by_severity[diagnostic.severity].append(diagnostic)
    print_diagnostics(out, by_severity[Severity.ERROR], project)
    warnings = len(by_severity[Severity.WARNING])
    if warnings:
        count = (count_of(warnings, "warning"), CAUTION)
        out.print(Text.assemble(count, " about the settings; see: anyhook check"))


def print_problems(problems: Sequence[str], number: int | None = None) -> None:
    """Print what could not be read to standard error; of more problems, only their `number`."""
    out = console(stderr=True)
    rest = (len(problems) if number is None else number) - MAX_PROBLEMS
    for problem in problems[:MAX_PROBLEMS]:
        out.print(Text.assemble(("warning ", CAUTION), printable(problem)), soft_wrap=True)
    if rest > 0:
        out.print(f"        and {count_of(rest, 'more problem')}")
