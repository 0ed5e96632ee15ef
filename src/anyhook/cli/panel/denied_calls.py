"""The screen with the calls that hook files have denied, one of which can be allowed once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from anyhook.agents import get_agent
from anyhook.cli.colors import QUIET
from anyhook.cli.panel.actions import ActionResult
from anyhook.cli.panel.console_view import ConsoleView
from anyhook.cli.panel.state import ListScreen
from anyhook.errors import AnyhookError
from anyhook.manage.approving import allow_call
from anyhook.manage.paths import show_path
from anyhook.model.text import printable, shorten
from anyhook.trust.approvals import Approvals

if TYPE_CHECKING:
    from rich.console import Console
    from textual.binding import BindingType

    from anyhook.trust.approvals import DeniedCall


class DeniedCallsScreen(ListScreen):
    """The denied calls, the newest first, and everything about one of them."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "allow", "allow once")]
    _calls: tuple[DeniedCall, ...] = ()

    def on_mount(self) -> None:
        """Show the calls."""
        self.show_title("calls that hook files have denied")
        self._read()

    def _read(self) -> None:
        self._calls = tuple(Approvals().waiting())
        options = self.query_one("#problems", OptionList)
        options.clear_options()
        for call in self._calls:
            clock = time.strftime("%m-%d %H:%M", time.localtime(call.time))
            text = Text(f"{call.id}  {clock}  ", no_wrap=True, overflow="ellipsis")
            text.append(f"{printable(call.tool)} {shorten(call.arguments)}")
            options.add_option(Option(text))
        options.highlighted = 0 if self._calls else None
        self._show_details()

    def _current(self) -> DeniedCall | None:
        index = self.selected_index()
        return None if index is None else self._calls[index]

    @on(OptionList.OptionHighlighted, "#problems")
    def _show_details(self) -> None:
        call = self._current()

        def draw(out: Console) -> None:
            if call is None:
                out.print("No hook file has denied a call in the last seven days.")
                return
            out.print(f"{printable(call.tool)}  {printable(call.arguments)}", markup=False)
            place = f"{get_agent(call.agent).title}, in {show_path(call.cwd)}"
            out.print(Text(f"{place}, denied by {show_path(call.hook)}:", style=QUIET))
            out.print(printable(call.reason), markup=False)
            out.print(Text.assemble(("y  ", "bold"), f"allow it once  (anyhook allow {call.id})"))

        self.query_one("#details", ConsoleView).show(draw)
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to allow a call only if there is one."""
        return action != "allow" or self._current() is not None

    def action_allow(self) -> None:
        """Allow the selected call once."""
        call = self._current()
        if call is None:
            return
        try:
            allow_call(call.id)
        except (AnyhookError, OSError) as error:
            self.report_problem(str(error))
            return
        self._read()
        text = "it may run once, within ten minutes; tell the agent to try again"
        self.report(ActionResult(text, f"anyhook allow {call.id}"))
