"""What the screens of the panel share, and the frame that every screen has."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, OptionList, Static
from textual.widgets.option_list import Option

from anyhook.cli.colors import ACCENT, BAD, CAUTION, GOOD
from anyhook.cli.panel.actions import ActionResult, editor_command
from anyhook.cli.panel.console_view import ChoiceList, ConsoleView
from anyhook.cli.panel.past_results import PastResults
from anyhook.errors import AnyhookError
from anyhook.manage.paths import show_path
from anyhook.model.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from textual.widget import Widget

    from anyhook.cli.panel.actions import Snapshot
    from anyhook.cli.panel.console_view import Draw
    from anyhook.model.diagnostics import Place


Item = TypeVar("Item")

MIN_PATH_WIDTH = 8
"""Columns of a path below which it is not shown."""


@dataclass(slots=True)
class PanelState:
    """What is shown, as it was last read; the agent is that of the option."""

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
            if len(path) > room:
                path = f"…{path[1 - room :]}"
            text.append(f"  {path}")
        if text.cell_len + counts.cell_len + 2 <= width:
            text.append(" " * (width - text.cell_len - counts.cell_len))
            text.append_text(counts)
        self.query_one("#title", Static).update(text)

    def report(self, result: ActionResult) -> None:
        """Show what an action has done, and the command line that does the same."""
        style = BAD if result.is_problem else GOOD
        text = Text(result.text, style=style)
        if result.warning:
            text.append(f"\n{result.warning}", style=CAUTION)
        if result.command:
            text.append(f"\n$ {result.command}", style=ACCENT)
        self._show_status(text)

    def report_problem(self, message: str) -> None:
        """Show why something could not be done."""
        self._show_status(Text(printable(message), style=BAD))

    @contextmanager
    def reporting_problems(self) -> Iterator[None]:
        """Show an error instead of raising it."""
        try:
            yield
        except (AnyhookError, OSError, sqlite3.Error) as error:
            self.report_problem(str(error))

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


class TextScreen(PanelScreen):
    """A screen with one text."""

    def compose_body(self) -> Iterable[Widget]:
        """Return the text."""
        yield ConsoleView(id="view")

    def on_mount(self) -> None:
        """Give the text the focus; textual calls the method of a class derived from this, too."""
        self.query_one("#view").focus()

    def show_text(self, draw: Draw) -> None:
        """Show what a function prints, and the keys that are of use now."""
        self.query_one("#view", ConsoleView).show(draw)
        self.refresh_bindings()


class ListScreen(PanelScreen, Generic[Item]):
    """A screen with a line for each of some items, and the details of the selected one."""

    def __init__(self, state: PanelState) -> None:
        super().__init__(state)
        self._items: Sequence[Item] = ()

    def compose_body(self) -> Iterable[Widget]:
        """Return the list and the details."""
        yield ChoiceList(id="problems", compact=True)
        yield ConsoleView(id="details")

    def on_mount(self) -> None:
        """Give the list the focus; textual calls the method of a class derived from this, too."""
        self.query_one("#details").can_focus = False
        self.query_one("#problems").focus()

    def line_of(self, item: Item) -> Text:
        """Return the line of an item."""
        raise NotImplementedError

    def print_item(self, out: Console, item: Item | None) -> None:
        """Print the details of the selected item; `None` if there is none."""
        raise NotImplementedError

    def show_items(self, items: Sequence[Item]) -> None:
        """Fill the list, and keep the item that is selected, otherwise select the first."""
        selected = self.current()
        self._items = items
        options = self.query_one("#problems", OptionList)
        with self.prevent(OptionList.OptionHighlighted):
            options.clear_options()
            for item in items:
                line = Text(no_wrap=True, overflow="ellipsis").append_text(self.line_of(item))
                options.add_option(Option(line))
            index = items.index(selected) if selected in items else 0
            options.highlighted = index if items else None
        self._show_details()

    def current(self) -> Item | None:
        """Return the selected item; `None` if there is none."""
        index = self.query_one("#problems", OptionList).highlighted
        return None if index is None else self._items[index]

    @on(OptionList.OptionHighlighted, "#problems")
    def _show_details(self) -> None:
        item = self.current()
        self.query_one("#details", ConsoleView).show(lambda out: self.print_item(out, item))
        self.refresh_bindings()


def _run_editor(words: list[str]) -> str:
    """Run an editor until it ends. Returns what went wrong; empty for nothing.

    It raises nothing: textual would not take the terminal back.
    """
    try:
        exit_code = subprocess.run(words, check=False).returncode
    except (OSError, ValueError) as error:
        return f"{words[0]} cannot be started: {error}; set the variable EDITOR"
    return f"{words[0]} ended with exit code {exit_code}" if exit_code else ""
