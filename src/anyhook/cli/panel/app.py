"""The application: it reads the files again and again, and shows the screens."""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual import on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter

from anyhook.cli.panel.actions import take_snapshot
from anyhook.cli.panel.hook_list import HookList
from anyhook.cli.panel.past_results import read_past_results
from anyhook.cli.panel.state import FilesChanged, PanelScreen, PanelState
from anyhook.errors import AnyhookError
from anyhook.interrupts import INTERRUPTED
from anyhook.model.text import mask, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.color import Color

RELOAD_SECONDS = 1.5
"""Seconds between two looks at the files; reading unchanged ones takes milliseconds."""
END_SECONDS = 5.0
"""Seconds that the panel has to end after a signal."""
PAST_SECONDS = 15.0
"""Seconds between two looks at the history."""


class PrintableLines(LineFilter):
    """Replaces invisible characters in what is drawn.

    A field has to hold the text of a stranger as it is, and textual would write it to the terminal.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line, as wide as before."""
        if all(printable(segment.text) == segment.text for segment in segments):
            return segments
        replaced = [Segment(mask(segment.text), segment.style) for segment in segments]
        return Segment.adjust_line_length(replaced, Segment.get_line_length(segments))


PRINTABLE_LINES = PrintableLines()


class PanelApp(App[None]):
    """The panel, which keeps up to date what it shows first."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "panel.tcss"
    TITLE = "anyhook hooks"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "quit", "quit", show=False, priority=True),
    ]

    def __init__(self, state: PanelState) -> None:
        # Without colour, only attributes like bold and reverse are used, and no shades of grey.
        is_plain = "NO_COLOR" in os.environ
        super().__init__(ansi_color=True if is_plain else None)
        self.theme = "ansi-dark" if is_plain else "textual-dark"
        self.state = state
        self._is_reading = False
        self._should_read = False

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return what changes every line before it is drawn."""
        return [*super().get_line_filters(), PRINTABLE_LINES]

    def on_mount(self) -> None:
        """Show the list, and begin to look for changes."""
        self.push_screen(HookList(self.state))
        self.set_interval(RELOAD_SECONDS, self.reload)
        self.set_interval(PAST_SECONDS, self.read_past)
        self.read_past()
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            # The terminal is restored, and hooks that run are ended. Not on all systems.
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(getattr(signal, name), self._end)

    def _end(self) -> None:
        """End the hooks that run and the panel, also if the terminal is gone.

        textual waits for ever for its last bytes to be written to a terminal that was closed.
        """
        self.workers.cancel_all()
        try:
            termios.tcgetattr(2)  # textual draws there
        except (OSError, ValueError, termios.error):
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(null, descriptor)
        timer = threading.Timer(END_SECONDS, os._exit, (INTERRUPTED,))
        timer.daemon = True
        timer.start()
        self.exit()

    @on(FilesChanged)
    def _files_changed(self) -> None:
        self._should_read = True
        self.reload()

    def reload(self) -> None:
        """Read the settings, the trust store and the scripts again, unless they are being read."""
        # A slow read is not cut short by the next one: otherwise none of them would end.
        if not self._is_reading:
            self._is_reading = True
            self._read()

    @work(group="reload")
    async def _read(self) -> None:
        try:
            self._should_read = True
            while self._should_read:
                self._should_read = False
                before, problem = self.state.snapshot, ""
                try:
                    # The project that was found first: a settings file that vanishes must not
                    # change it.
                    self.state.snapshot = await asyncio.to_thread(
                        take_snapshot, before.project, self.state.agent
                    )
                except (AnyhookError, OSError) as error:
                    problem = str(error)
                has_other_problem = problem != self.state.problem
                self.state.problem = problem
                if has_other_problem or not self.state.snapshot.shows_the_same(before):
                    self._show_changes()
        finally:
            self._is_reading = False

    @work(exclusive=True, group="past")
    async def read_past(self) -> None:
        """Count the results in the history."""
        past = await asyncio.to_thread(read_past_results)
        is_same = past == self.state.past
        self.state.past = past
        if not is_same:
            self._show_changes()

    def _show_changes(self) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, PanelScreen):
                screen.state_changed()
