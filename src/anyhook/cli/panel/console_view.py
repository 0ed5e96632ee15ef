"""The widgets of the panel: what a command prints, and a list of lines."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text
from textual.containers import VerticalScroll
from textual.style import Style
from textual.widgets import OptionList, Static

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    Draw = Callable[[Console], object]

MIN_WIDTH = 20
SCROLLBAR = 2
"""Columns that the scroll bar takes, also when there is none: the text must not jump."""


class ConsoleView(VerticalScroll):
    """Shows what a function prints to a console, again after each change of the width."""

    DEFAULT_CSS = """
    ConsoleView { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    ConsoleView > Static { width: 100%; height: auto; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - the name of textual
        super().__init__(id=id)
        self._draw: Draw | None = None
        self._width = 0

    def compose(self) -> ComposeResult:
        """Return the text."""
        yield Static(id="text")

    def show(self, draw: Draw) -> None:
        """Show what a function prints to the console that it is given."""
        self._draw = draw
        self._redraw()
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Print again in the new width."""
        if self.size.width != self._width:
            self._redraw()

    def _redraw(self) -> None:
        self._width = self.size.width
        if self._draw is not None and self._width:
            width = max(self._width - 2 - SCROLLBAR, MIN_WIDTH)
            self.query_one("#text", Static).update(drawn_text(self._draw, width))


def drawn_text(draw: Draw, width: int) -> Text:
    """Return what a function prints to a console of some width.

    What it prints went through `printable`, so that all escapes in it are colours of ours.
    """
    stream = io.StringIO()
    # Colours are taken away from the whole screen, if they are not wanted.
    draw(
        Console(
            file=stream,
            width=width,
            height=100,
            force_terminal=True,
            color_system="standard",
            no_color=False,
            markup=False,
            highlight=False,
            legacy_windows=False,
        )
    )
    return Text.from_ansi(stream.getvalue().rstrip("\n"))


SELECTED = "option-list--option-highlighted"


class ChoiceList(OptionList):
    """A list whose selected line is visible without colour, too."""

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        """Return the style of a part of the list; the selected line is reversed without colour."""
        style = super().get_visual_style(*component_classes, partial=partial)
        if self.app.no_color and SELECTED in component_classes:
            style += Style(reverse=True)
        return style
