"""The screens with everything that is known about one hook, and with the keys."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from rich.table import Table
from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from anyhook.cli.panel.past_results import read_results
from anyhook.cli.panel.rows import MARKS, print_details
from anyhook.cli.panel.state import PanelState, TextScreen

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.cli.panel.past_results import Results
    from anyhook.cli.panel.snapshot import PanelHook


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
        sources = self.state.past.sources_of(self.hook)
        self._show(await asyncio.to_thread(read_results, self.hook, sources, MAX_RESULTS))

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
STATES = {
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
    for state, meaning in STATES.items():
        states.add_row(Text(f"{MARKS[state]} {state}", style="bold"), Text(meaning))
    out.print(states)
