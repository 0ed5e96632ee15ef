"""The screens with past calls: those that a hook would have stopped, and those that were denied."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import redirect_stderr
from multiprocessing import resource_tracker
from threading import Event
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from anyhook.agents import get_agent
from anyhook.cli.call_review import group_text, print_group, review_text
from anyhook.cli.colors import QUIET
from anyhook.cli.panel.actions import ActionResult, PanelHook, exact_place, name_of
from anyhook.cli.panel.state import ListScreen, PanelState
from anyhook.errors import UsageError
from anyhook.history.ingest import ingest
from anyhook.history.store import History
from anyhook.manage.approving import allow_call
from anyhook.manage.paths import show_path
from anyhook.manage.redteam import choose_guards
from anyhook.manage.review import (
    CallReview,
    ReviewGroup,
    label_calls,
    mark_labels,
    own_set,
    review_calls,
)
from anyhook.model.text import count_of, printable, shorten
from anyhook.redteam.labelled import DANGEROUS
from anyhook.sandbox.sandbox import sandbox_limits
from anyhook.settings.detect import project_command
from anyhook.trust.approvals import Approvals, DeniedCall

if TYPE_CHECKING:
    from rich.console import Console


def review_hook(hook: PanelHook, must_end: Event) -> CallReview:
    """Ask a hook about the past calls, as `anyhook score --history` does, until `must_end` is set.

    Raises:
        AnyhookError: If the hook is not trusted or not a hook file, or the sandbox is not complete.
        sqlite3.Error: If the history cannot be read.
    """
    engine = hook.engine
    name = name_of(hook)
    if sandbox_limits():
        raise UsageError(f"no sandbox is complete here; run it in the terminal: {_command(hook)}")
    place = exact_place(hook.handler)
    agent = engine.agent.name
    chosen = choose_guards(engine.project_dir, [place], agent, trust_once=False)
    if not chosen.guards:
        raise UsageError(f"you have not trusted {name}; t reviews it")
    with redirect_stderr(sys.__stderr__):  # the one of textual is not a file
        resource_tracker.ensure_running()

    def on_progress(_progress: object) -> None:
        if must_end.is_set():
            raise KeyboardInterrupt

    with History.open() as history:
        ingest(history)
        review = review_calls(history, chosen.guards[0], on_progress=on_progress)
        mark_labels(history, review.groups, own_set())
    return review


def label_group(review: CallReview, group: ReviewGroup, label: str) -> None:
    """Label all calls of a group.

    Raises:
        AnyhookError: If the label cannot be kept.
        sqlite3.Error: If the history cannot be read.
    """
    families = review.families if label == DANGEROUS else []
    calls = [events[0] for events in group.calls.values()]
    with History.open() as history:
        label_calls(history, calls, label, families, own_set())
    group.label = label


def _command(hook: PanelHook, *words: str) -> str:
    return project_command(
        hook.engine.project_dir, "score", name_of(hook), *(words or ("--history",))
    )


class PastCallsScreen(ListScreen[ReviewGroup]):
    """The past calls that a hook would have stopped, by its reason, and those of one reason."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "label('benign')", "benign"),
        Binding("d", "label('dangerous')", "dangerous"),
    ]

    def __init__(self, state: PanelState, hook: PanelHook) -> None:
        super().__init__(state)
        self.hook = hook
        self._review: CallReview | None = None
        self._must_end = Event()

    def on_mount(self) -> None:
        """Ask the hook about the past calls."""
        self.show_title(f"{self.hook.row.label}: past calls")
        self.report_text("the hook is asked about the past calls, in a sandbox")
        self._read()

    def on_unmount(self) -> None:
        """End the questions."""
        self._must_end.set()

    @work(exclusive=True)
    async def _read(self) -> None:
        with self.reporting_problems():
            self._review = await asyncio.to_thread(review_hook, self.hook, self._must_end)
            self.report_text(review_text(self._review))
            self.show_items(self._review.groups)

    def line_of(self, item: ReviewGroup) -> Text:
        """Return the label and the reason of a group."""
        return Text(f"{item.label:<9}  ").append_text(group_text(item))

    def print_item(self, out: Console, item: ReviewGroup | None) -> None:
        """Print the calls of a group."""
        if item is None:
            out.print("It would have stopped no past call that ran.")
        else:
            print_group(out, item)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer labels only if there is a group."""
        return action != "label" or self.current() is not None

    @work(exclusive=True)
    async def action_label(self, label: str) -> None:
        """Label the calls of the selected group."""
        group, review = self.current(), self._review
        if group is None or review is None:
            return
        with self.reporting_problems():
            await asyncio.to_thread(label_group, review, group, label)
            self.show_items(review.groups)
            text = f"{count_of(len(group.calls), 'call')}: {label}"
            self.report(ActionResult(text, _command(self.hook, "--on", str(own_set()))))


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
