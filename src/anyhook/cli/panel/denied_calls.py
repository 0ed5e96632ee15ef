"""The screen with the calls that hook files have denied, one of which can be allowed once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from anyhook.agents import get_agent
from anyhook.cli.colors import QUIET
from anyhook.cli.panel.actions import ActionResult
from anyhook.cli.panel.state import ListScreen
from anyhook.manage.approving import allow_call
from anyhook.manage.paths import show_path
from anyhook.model.text import printable, shorten
from anyhook.trust.approvals import Approvals, DeniedCall

if TYPE_CHECKING:
    from rich.console import Console


class DeniedCallsScreen(ListScreen[DeniedCall]):
    """The denied calls, the newest first, and everything about one of them."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "allow", "allow once")]

    def on_mount(self) -> None:
        """Show the calls."""
        self.show_title("calls that hook files have denied")
        self.show_items(tuple(Approvals().waiting()))

    def line_of(self, item: DeniedCall) -> Text:
        """Return what was called, and when."""
        clock = time.strftime("%m-%d %H:%M", time.localtime(item.time))
        return Text(f"{item.id}  {clock}  {printable(item.tool)} {shorten(item.arguments)}")

    def print_item(self, out: Console, item: DeniedCall | None) -> None:
        """Print the whole call, and why it was denied."""
        if item is None:
            out.print("No hook file has denied a call in the last seven days.")
            return
        out.print(f"{printable(item.tool)}  {printable(item.arguments)}")
        place = f"{get_agent(item.agent).title}, in {show_path(item.cwd)}"
        out.print(Text(f"{place}, denied by {show_path(item.hook)}:", style=QUIET))
        out.print(printable(item.reason))
        out.print(Text.assemble(("y  ", "bold"), f"allow it once  (anyhook allow {item.id})"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to allow a call only if there is one."""
        return action != "allow" or self.current() is not None

    def action_allow(self) -> None:
        """Allow the selected call once."""
        call = self.current()
        if call is None:
            return
        with self.reporting_problems():
            allow_call(call.id)
            self.show_items(tuple(Approvals().waiting()))
            text = "it may run once, within ten minutes; tell the agent to try again"
            self.report(ActionResult(text, f"anyhook allow {call.id}"))
