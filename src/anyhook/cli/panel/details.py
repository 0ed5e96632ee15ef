"""The screen with everything that is known about one hook."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding

from anyhook.cli.panel.past_results import read_results
from anyhook.cli.panel.rows import print_details
from anyhook.cli.panel.state import TextScreen

if TYPE_CHECKING:
    from rich.console import Console
    from textual.binding import BindingType

    from anyhook.cli.panel.past_results import Results
    from anyhook.cli.panel.snapshot import PanelHook
    from anyhook.cli.panel.state import PanelState

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
        self.show_title(f"{self.hook.engine.agent.title}  {self.hook.event}")
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
