"""How a hook looks in the list and in the details, and the screens of these and of the keys."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.table import Table
from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from anyhook.cli.colors import ACCENT, BAD, CAUTION, RESULTS, STATES
from anyhook.cli.panel.actions import shadow_command, switch_command
from anyhook.cli.panel.past_results import DAYS, read_results
from anyhook.cli.panel.state import PanelState, TextScreen
from anyhook.cli.render import counts_text, health_text, outcome_text, status_text
from anyhook.history.describe import problem_of, show_span, show_time, subject_of
from anyhook.manage.paths import show_path
from anyhook.model.text import count_of, printable
from anyhook.settings.detect import trust_command

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.cli.panel.actions import PanelHook
    from anyhook.cli.panel.past_results import Results
    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.history.hooks import RunCounts


MARKS = {
    "on": "●",
    "works": "●",
    "unknown": "?",
    "broken": "✗",
    "shadow": "◌",
    "off": "○",
    "not trusted": "!",
    "changed": "!",
}
"""State, or health of a hook that is on, to its mark, which shows it without colour too."""
STATE_WIDTH = 11
RUNS_WIDTH = 19
MIN_LABEL_WIDTH = 14
MATCHER_WIDTH = 24
WIDE_ENOUGH_FOR_PLACE = 96
"""Columns of the list from which on it shows places."""
HEALTH_WIDTH = 26
"""Columns that the name of the row and the word take before the evidence."""
RECORD_OFF = "anyhook history record off"
MAX_LINES = 3
"""Lines of a command, a matcher or a description in the details next to the list."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths of the columns of the list, in cells; a column of width 0 is left out."""

    label: int
    matcher: int
    state: int
    runs: int
    place: int


def columns_of(width: int) -> Columns:
    """Return the columns that fit into a list of some width."""
    rest = width - 2 - (STATE_WIDTH + 2)  # the mark and the state are always there
    runs = RUNS_WIDTH if rest >= MIN_LABEL_WIDTH + RUNS_WIDTH + 10 else 0
    rest -= runs + 2 if runs else 0
    place = 0
    if width >= WIDE_ENOUGH_FOR_PLACE:
        place = rest // 3
        rest -= place + 2
    matcher = min(MATCHER_WIDTH, rest * 2 // 5) if rest >= MIN_LABEL_WIDTH + 10 else 0
    rest -= matcher + 2 if matcher else 0
    return Columns(max(rest, 4), matcher, STATE_WIDTH, runs, place)


def row_text(hook: PanelHook, counts: RunCounts | None, columns: Columns) -> Text:
    """Return the line of a hook in the list."""
    row = hook.row
    style = STATES.get(hook.word) or RESULTS[hook.word][1]
    label_style = "dim" if row.state == "off" else "bold"
    text = Text(no_wrap=True, overflow="crop")
    text.append(f"{MARKS[hook.word]} ", style=style)
    runs_style = "dim"
    if counts is not None and counts.failures:
        runs_style = BAD
    elif counts is not None and counts.warnings:
        runs_style = CAUTION
    place = hook.place
    if len(place) > columns.place > 0:
        place = "…" + place[1 - columns.place :]  # its line is at the end
    cells = (
        (row.label, columns.label, label_style),
        (hook.row.matcher, columns.matcher, ""),
        (hook.word, columns.state, style),
        (_runs(counts), columns.runs, runs_style),
        (place, columns.place, "dim"),
    )
    for content, width, cell_style in cells:
        if not width:
            continue
        line = printable(content).replace("\n", " ").replace("\t", " ")
        if cell_len(line) > width:
            line = set_cell_size(line, width - 1) + "…"
        text.append(set_cell_size(line, width), style=cell_style)
        text.append("  ")
    text.rstrip()
    return text


def _runs(counts: RunCounts | None) -> str:
    if counts is None:
        return ""
    number, noun = counts.runs, "runs"
    if counts.failures:
        number, noun = counts.failures, "failed"
    elif counts.warnings:
        number, noun = counts.warnings, "warned"
    elif counts.runs == 1:
        noun = "run"
    return f"{f'{number:>4} {noun}':<11} {show_span(counts.seconds):>7}".rstrip()


# -- the details


def print_details(
    out: Console,
    hook: PanelHook,
    counts: RunCounts | None,
    results: list[tuple[RecordedEvent, RecordedResult]],
    *,
    full: bool = False,
) -> None:
    """Print what is known about a hook; with `full`, there is room for the whole command."""
    if hook.is_recorder:
        _print_recorder(out, hook)
        return
    row, handler, engine = hook.row, hook.handler, hook.engine
    heading = Text.assemble((row.label, "bold"), "  ", (row.state, STATES[row.state]))
    if row.switched_off_by:
        off_by = show_path(row.switched_off_by, engine.project_dir)
        heading.append(f"  {off_by} switches it off", style=CAUTION)
    out.print(heading)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    place = f"{hook.place}  {handler.layer} {printable(handler.origin or '')}".rstrip()
    table.add_row("place", Text(place))
    if hook.health is not None:
        why = printable(hook.health.evidence)
        if hook.health.settle:
            why += f"; to settle it: {printable(hook.health.settle)}"
        room = max(out.width - HEALTH_WIDTH, 20)
        if not full and len(why) > room:
            why = f"{why[: room - 1]}…"
        table.add_row("health", Text.assemble(health_text(hook.health), f"  {why}"))
    width = None if full else out.width
    command = handler.command_line or handler.label
    table.add_row("runs", Text(_cut(printable(command.strip()), width)))
    table.add_row("on", _conditions(hook, width))
    if handler.description:
        table.add_row("about", Text(_cut(printable(handler.description), width)))
    if row.native:
        table.add_row("trust", Text(f"{row.native} in {engine.agent.title}"))
    table.add_row("history", _history(counts, has_results=bool(results)))
    for event, result in results:
        table.add_row("", _result(event, result))
    table.add_row("space", Text(switch_command(hook)))
    if hook.is_on and handler.kind == "command":
        table.add_row("s", Text(shadow_command(hook)))
    if row.state in ("not trusted", "changed"):
        table.add_row("t", Text(trust_command(engine.agent.name, engine.project_dir)))
    out.print(table)


def _print_recorder(out: Console, hook: PanelHook) -> None:
    """Print what the row of the recorder stands for, and the commands that switch it."""
    row = hook.row
    out.print(Text.assemble((row.label, "bold"), "  ", (row.state, STATES[row.state])))
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("place", Text(show_path(hook.handler.place.file, hook.engine.project_dir)))
    table.add_row("on", Text(f"{hook.row.event} of {hook.engine.agent.title}"))
    table.add_row("about", Text("records what hooks see and decide; it answers nothing"))
    table.add_row("status", Text("anyhook history record status"))
    table.add_row("off", Text(RECORD_OFF))
    out.print(table)


def _cut(text: str, width: int | None) -> str:
    """Return a text without line breaks that fills at most a few lines of a width.

    Without a width there is room for all of it.
    """
    if width is None:
        return text
    line = " ".join(text.split())
    limit = max(width - 10, 20) * MAX_LINES
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _conditions(hook: PanelHook, width: int | None) -> Text:
    handler = hook.handler
    text = Text.assemble((hook.row.event, ACCENT), f" {_cut(hook.row.matcher, width)}")
    parts = [f"timeout {handler.timeout:g} s"]
    if hook.row.definition.sequential:
        parts.append("in order")
    if handler.condition:
        parts.append(f"if {printable(handler.condition)}")
    if handler.background:
        parts.append("in the background")
    if handler.on_failure != "continue":
        parts.append(f"on failure {printable(handler.on_failure)}")
    return text.append(f"  {', '.join(parts)}", style="dim")


def _history(counts: RunCounts | None, *, has_results: bool) -> Text:
    if counts is None:
        absence = f"no run in {DAYS} days" if has_results else "no run is recorded"
        return Text(absence, style="dim")
    text = Text(f"{count_of(counts.runs, 'run')} in {DAYS} days")
    if counts.outcomes:
        text.append("  ").append_text(counts_text(counts.outcomes))
    if counts.failures:
        text.append(f"  {counts.failures} failed", style=BAD)
    if counts.warnings:
        text.append(f"  {counts.warnings} ended with a warning", style=CAUTION)
    if counts.seconds is not None:
        times = f"mean {show_span(counts.seconds)}, slowest {show_span(counts.slowest)}"
        text.append(f"  {times}", style="dim")
    return text


def _result(event: RecordedEvent, result: RecordedResult) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{show_time(event.time)[5:]}  ", style="dim")
    text.append_text(status_text(result.trouble) or outcome_text(result.verdict))
    if result.duration is not None:
        text.append(f"  {show_span(result.duration)}")
    text.append(f"  {tool_text(event)} {subject_of(event)}")
    problem = " ".join(printable(problem_of(result)).split())
    return text.append(f"  {problem}", style="dim") if problem else text


def tool_text(event: RecordedEvent) -> str:
    """Return the tool of a recorded event on one line; empty for other events."""
    return " ".join(printable(event.tool or "").split())


MAX_RESULTS = 100
"""Last results that are shown."""


class DetailScreen(TextScreen):
    """The whole command of a hook, and its last results."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "edit")]

    def __init__(self, state: PanelState, hook: PanelHook) -> None:
        super().__init__(state)
        self.hook = hook

    def on_mount(self) -> None:
        """Show the hook, and read its results."""
        self.show_title(f"{self.hook.engine.agent.title}  {self.hook.row.event}")
        self._show([])
        self._read_results()

    @work(exclusive=True)
    async def _read_results(self) -> None:
        records = self.state.past.records_of(self.hook)
        self._show(await asyncio.to_thread(read_results, self.hook, records, MAX_RESULTS))

    def _show(self, results: Results) -> None:
        counts = self.state.past.of(self.hook)

        def draw(out: Console) -> None:
            print_details(out, self.hook, counts, results, full=True)

        self.show_text(draw)

    def action_edit(self) -> None:
        """Open the hook's place in the user's editor."""
        self.open_editor(self.hook.handler.place)


KEYS = (
    ("up down j k", "select a hook", "anyhook list"),
    ("enter", "everything about it, and its last results", "anyhook history search --hook HOOK"),
    ("space", "switch it on or off", "anyhook enable HOOK, anyhook disable HOOK"),
    ("s", "let it run without deciding, or let it decide", "anyhook shadow, anyhook enable"),
    ("t", "review what is not trusted, and trust it", "anyhook trust"),
    ("f", "fire an event at it and see the timeline", "anyhook fire EVENT"),
    ("l", "label past calls that it would have stopped", "anyhook score HOOK --history --label"),
    ("a", "the calls that hook files denied; allow one once", "anyhook allow"),
    ("e", "open its line in $EDITOR", ""),
    ("p", "problems, and remedies for some", "anyhook check, anyhook check --fix"),
    ("/", "filter by words: a name, an event, off, a file", ""),
    ("escape", "clear the filter, go back, cancel what runs", ""),
    ("r", "read the files now; changes show up by themselves", ""),
    ("q", "quit; on other screens: back", ""),
)
"""Key, what it does, and the command that does the same."""
MEANINGS = {
    "on": "it runs",
    "works": "it is on, and was seen to do its work",
    "unknown": "it is on, and was not seen to do its work; the details say what would settle it",
    "broken": "it is on, and cannot do its work; the details say why",
    "shadow": "it runs, and does not decide",
    "off": "a settings file switches it off; the details name the line",
    "not trusted": "it does not run until you trust it",
    "changed": "it changed since you trusted it, and does not run",
}


class HelpScreen(TextScreen):
    """The keys, and the commands that do the same."""

    def on_mount(self) -> None:
        """Show the keys."""
        self.show_title("anyhook hooks: keys")
        self.show_text(print_keys)


def print_keys(out: Console) -> None:
    """Print the keys and the states."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for key, effect, command in KEYS:
        text = Text(effect)
        if command:
            text.append(f"\n{command}", style="dim")
        table.add_row(Text(key, style="bold"), text)
    out.print(table)
    out.print()
    states = Table.grid(padding=(0, 2))
    for state, meaning in MEANINGS.items():
        states.add_row(Text(f"{MARKS[state]} {state}", style="bold"), Text(meaning))
    out.print(states)
