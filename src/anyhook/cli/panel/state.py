"""What the screens of the panel share, and the frame that every screen has."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import SuspendNotSupported
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static

from anyhook.cli.colors import ACCENT, BAD, CAUTION, GOOD
from anyhook.cli.panel.actions import editor_command
from anyhook.cli.panel.choice_list import ChoiceList
from anyhook.cli.panel.console_view import ConsoleView
from anyhook.cli.panel.past_results import PastResults
from anyhook.manage.paths import show_path
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.widget import Widget

    from anyhook.cli.panel.actions import ActionResult
    from anyhook.cli.panel.snapshot import Snapshot
    from anyhook.model.diagnostics import Place


MIN_PATH_WIDTH = 8
"""Columns of a path below which it is not shown."""


@dataclass(slots=True)
class PanelState:
    """What is shown, as it was last read; the project and the agent are those of the options."""

    project: Path
    agent: str | None
    snapshot: Snapshot
    past: PastResults = field(default_factory=PastResults)
    problem: str = ""
    """Why the settings could not be read again; empty if they could."""


class FilesChanged(Message):
    """An action has written files, which are to be read now."""


class PanelScreen(Screen[None]):
    """A screen with a title, a part of its own, a line for results, and the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "back"),
    ]

    def __init__(self, state: PanelState) -> None:
        super().__init__()
        self.state = state

    def compose(self) -> ComposeResult:
        """Return the frame."""
        yield Static(id="title")
        yield from self.compose_body()
        yield Static(id="status")
        yield Footer()

    def compose_body(self) -> Iterable[Widget]:
        """Return the widgets between the title and the line for results."""
        return ()

    def state_changed(self) -> None:
        """Show what was read again."""

    def action_leave(self) -> None:
        """Go back to the screen before."""
        self.dismiss()

    def show_title(self, title: str, counts: Text | None = None, path: str = "") -> None:
        """Show a title, as much of the end of a path as there is room for, and counts."""
        width = self.app.size.width - 2
        text = Text.assemble((printable(title), "bold"), no_wrap=True, overflow="ellipsis")
        counts = counts or Text()
        room = width - text.cell_len - counts.cell_len - 4
        if path and room >= MIN_PATH_WIDTH:
            text.append(f"  {path if len(path) <= room else '…' + path[1 - room :]}")
        if text.cell_len + counts.cell_len + 2 <= width:
            text.append(" " * (width - text.cell_len - counts.cell_len))
            text.append_text(counts)
        self.query_one("#title", Static).update(text)

    def report(self, result: ActionResult) -> None:
        """Show what an action has done, and the command line that does the same."""
        text = Text(result.text, style=BAD if result.is_problem else GOOD)
        if result.warning:
            text.append(f"\n{result.warning}", style=CAUTION)
        if result.command:
            text.append(f"\n$ {result.command}", style=ACCENT)
        self._show_status(text)

    def report_problem(self, message: str) -> None:
        """Show why something could not be done."""
        self._show_status(Text(printable(message), style=BAD))

    def report_notice(self, message: str) -> None:
        """Show what the user should know before something is done."""
        self._show_status(Text(printable(message), style=CAUTION))

    def report_text(self, message: str) -> None:
        """Show a text; an empty one removes what was there."""
        self._show_status(Text(message))

    def _show_status(self, text: Text) -> None:
        status = self.query_one("#status", Static)
        status.update(text)
        status.display = bool(text.plain)

    def open_editor(self, place: Place) -> None:
        """Open a place in the user's editor, which has the terminal until it ends."""
        words = editor_command(place)
        if not words:
            self.report_problem("no editor is set; set the variable EDITOR")
            return
        try:
            with self.app.suspend():
                ending = _run_editor(words)
        except SuspendNotSupported:
            self.report_problem("this terminal cannot be given to an editor")
            return
        if ending:
            self.report_problem(ending)
        else:
            self.report_text(f"edited {show_path(place.file, self.state.snapshot.project)}")
        self.post_message(FilesChanged())


class ListScreen(PanelScreen):
    """A screen with a list of lines, and the details of the selected one."""

    def compose_body(self) -> Iterable[Widget]:
        """Return the list and the details."""
        yield ChoiceList(id="problems", compact=True)
        yield ConsoleView(id="details")

    def on_mount(self) -> None:
        """Give the list the focus; textual calls the method of a class derived from this, too."""
        self.query_one("#details").can_focus = False
        self.query_one("#problems").focus()

    def selected_index(self) -> int | None:
        """Return the index of the selected line; `None` if there is none."""
        return self.query_one("#problems", OptionList).highlighted


def _run_editor(words: list[str]) -> str:
    """Run an editor until it ends. Returns what went wrong; empty for nothing.

    It raises nothing: textual would not take the terminal back.
    """
    try:
        exit_code = subprocess.run(words, check=False).returncode
    except (OSError, ValueError) as error:
        return f"{words[0]} cannot be started: {error}; set the variable EDITOR"
    return f"{words[0]} ended with exit code {exit_code}" if exit_code else ""
