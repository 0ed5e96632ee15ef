"""A list of lines of which one is selected."""

from __future__ import annotations

from textual.style import Style
from textual.widgets import OptionList

SELECTED = "option-list--option-highlighted"


class ChoiceList(OptionList):
    """A list whose selected line is visible without colour, too."""

    def get_visual_style(self, *component_classes: str, partial: bool = False) -> Style:
        """Return the style of a part of the list; the selected line is reversed without colour."""
        style = super().get_visual_style(*component_classes, partial=partial)
        if self.app.no_color and SELECTED in component_classes:
            style += Style(reverse=True)
        return style
