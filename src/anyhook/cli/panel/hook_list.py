"""The first screen: the hooks of every agent, and the details of one."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from anyhook.cli.colors import BAD, CAUTION, HEADING
from anyhook.cli.options import print_no_hooks
from anyhook.cli.panel.actions import switch, switched_together
from anyhook.cli.panel.console_view import ChoiceList, ConsoleView
from anyhook.cli.panel.fire import FireScreen
from anyhook.cli.panel.past_calls import DeniedCallsScreen, PastCallsScreen
from anyhook.cli.panel.past_results import read_results
from anyhook.cli.panel.reviews import ProblemScreen, ShadowScreen, TrustScreen
from anyhook.cli.panel.rows import (
    RECORD_OFF,
    DetailScreen,
    HelpScreen,
    columns_of,
    print_details,
    row_text,
)
from anyhook.cli.panel.state import FilesChanged, PanelScreen, PanelState
from anyhook.manage.paths import show_path
from anyhook.manage.redteam import EVENT
from anyhook.model.layers import Layer
from anyhook.model.text import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from textual.widget import Widget

    from anyhook.cli.panel.actions import HookKey, PanelHook
    from anyhook.cli.panel.past_results import Results

SHOWN_RESULTS = 2
"""Last results in the details below the list."""
MORE_RESULTS = 15
"""Last results in the details next to the list."""
WIDE_COLUMNS = 130
"""Columns from which on the details stand next to the list."""
FEW_LINES = 18
"""Lines below which there are no details next to the list; Enter shows them."""
RESULTS_DELAY = 0.1
"""Seconds that a hook is selected before the history is asked for its results."""


class HookList(PanelScreen):
    """The hooks by agent and event; those that a filter lets through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "on/off"),
        Binding("t", "trust", "trust"),
        Binding("f", "fire", "fire"),
        Binding("e", "edit", "edit"),
        Binding("p", "problems", "problems"),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("question_mark", "help", "help", key_display="?"),
        Binding("q", "quit", "quit"),
        Binding("escape", "clear", "clear the filter", show=False),
        Binding("enter", "details", "details", show=False),
        Binding("a", "denied_calls", "denied calls", show=False),
        Binding("l", "past_calls", "past calls", show=False),
        Binding("s", "shadow", "shadow", show=False),  # 80 columns have no room; the details do
        Binding("r", "reload", "read again", show=False),
        Binding("j,down", "move(1)", "down", show=False),
        Binding("k,up", "move(-1)", "up", show=False),
    ]

    def __init__(self, state: PanelState) -> None:
        super().__init__(state)
        self._shown: dict[str, PanelHook] = {}
        self._selected: HookKey | None = None
        self._results: Results = []
        self._results_of: HookKey | None = None
        self._announced: HookKey | None = None

    def compose_body(self) -> Iterable[Widget]:
        """Return the filter, the list and the details."""
        yield Input(
            id="filter", placeholder="words that must occur: guard PreToolUse off", compact=True
        )
        yield Container(ChoiceList(id="hooks", compact=True), ConsoleView(id="details"), id="body")

    def on_mount(self) -> None:
        """Show the hooks."""
        self.query_one("#details").can_focus = False
        self.query_one("#hooks").focus()
        self._arrange()

    def on_resize(self) -> None:
        """Show other columns in another width."""
        self._arrange()

    def on_screen_resume(self) -> None:
        """Show what other screens have changed."""
        self._arrange()

    def state_changed(self) -> None:
        """Show what was read again."""
        self._show_hooks()

    # -- drawing

    def _arrange(self) -> None:
        size = self.app.size
        body = self.query_one("#body")
        body.set_class(size.width >= WIDE_COLUMNS, "-wide")
        self.set_class(size.height < FEW_LINES, "-low")
        self._show_hooks()

    def _show_hooks(self) -> None:
        """Fill the list, and keep the hook that is selected."""
        words = self.query_one("#filter", Input).value.casefold().split()
        hooks = [hook for hook in self.state.snapshot.hooks if hook.matches(words)]
        self._show_counts(hooks)
        options = self.query_one("#hooks", OptionList)
        width = self.app.size.width
        if width >= WIDE_COLUMNS:
            width = width * 3 // 5
        columns = columns_of(width - 4)  # margins and the scroll bar
        self._shown = {}
        lines: list[Option] = []
        group = ("", "")
        index = first = None
        for number, hook in enumerate(hooks):
            title = hook.engine.agent.title
            if group != (title, hook.row.event):
                group = (title, hook.row.event)
                heading = Text.assemble((title, "bold"), "  ", (hook.row.event, HEADING))
                lines.append(Option(heading, disabled=True))
            identifier = str(number)
            self._shown[identifier] = hook
            if first is None:
                first = len(lines)
            if hook.key == self._selected:
                index = len(lines)
            text = row_text(hook, self.state.past.of(hook), columns)
            lines.append(Option(text, id=identifier))
        top = options.scroll_offset
        with self.prevent(OptionList.OptionHighlighted):
            options.clear_options()
            options.add_options(lines)
            options.highlighted = index if index is not None else first
        if index is not None:
            options.scroll_to(top.x, top.y, animate=False)
        is_empty = not self.state.snapshot.hooks
        if is_empty != self.query_one("#body").has_class("-empty"):
            self.query_one("#body").set_class(is_empty, "-empty")
            self.query_one("#details").can_focus = is_empty  # to scroll it
            focused = "#details" if is_empty else "#hooks"
            self.query_one(focused).focus()
        self._show_details()

    def _show_counts(self, hooks: list[PanelHook]) -> None:
        snapshot = self.state.snapshot
        states = Counter(hook.row.state for hook in snapshot.hooks)
        total = _number_of(snapshot.hooks)
        listed = _number_of(hooks)
        parts = [count_of(total, "hook") if listed == total else f"{listed} of {total} hooks"]
        parts += [
            f"{states[name]} {name}" for name in ("off", "not trusted", "changed") if states[name]
        ]
        problems = len(snapshot.problems)
        text = Text(", ".join(parts))
        if problems:
            text.append(", ").append(count_of(problems, "problem"), style=CAUTION)
        if self.state.problem:
            text = Text("the settings cannot be read", style=BAD)
        self.show_title("anyhook hooks", text, show_path(str(snapshot.project)))

    def _show_details(self) -> None:
        view = self.query_one("#details", ConsoleView)
        hook = self.selected_hook()
        if hook is None:
            self._selected = None
            snapshot = self.state.snapshot

            def draw_nothing(out: Console) -> None:
                if snapshot.hooks:
                    out.print("No hook has these words; Escape shows all hooks again.")
                else:
                    out.print("To write a hook and configure it for your agent: anyhook init\n")
                    print_no_hooks(out, snapshot.scope)

            view.show(draw_nothing)
            return
        self._selected = hook.key
        results = self._results if self._results_of == hook.key else []
        counts = self.state.past.of(hook)

        def draw(out: Console) -> None:
            print_details(out, hook, counts, results)

        view.show(draw)
        if self._results_of != hook.key and counts is not None:
            self._read_results(hook)

    @work(exclusive=True, group="results")
    async def _read_results(self, hook: PanelHook) -> None:
        await asyncio.sleep(RESULTS_DELAY)
        limit = MORE_RESULTS if self.app.size.width >= WIDE_COLUMNS else SHOWN_RESULTS
        records = self.state.past.records_of(hook)
        results = await asyncio.to_thread(read_results, hook, records, limit)
        self._results, self._results_of = results, hook.key
        if self._selected == hook.key and results:
            self._show_details()

    def selected_hook(self) -> PanelHook | None:
        """Return the hook that is selected; `None` if there is none."""
        options = self.query_one("#hooks", OptionList)
        if options.highlighted is None:
            return None
        option = options.get_option_at_index(options.highlighted)
        return self._shown.get(option.id or "")

    @on(OptionList.OptionHighlighted, "#hooks")
    def _select(self) -> None:
        self.report_text("")  # it was about another hook
        self._announced = None
        self._show_details()

    @on(OptionList.OptionSelected, "#hooks")
    def action_details(self) -> None:
        """Show everything that is known about the hook."""
        hook = self.selected_hook()
        if hook is not None:
            self.app.push_screen(DetailScreen(self.state, hook))

    # -- the filter

    def action_filter(self) -> None:
        """Ask for words that must occur."""
        field = self.query_one("#filter", Input)
        field.add_class("-shown")
        field.focus()

    def action_clear(self) -> None:
        """Show all hooks again."""
        field = self.query_one("#filter", Input)
        field.value = ""
        field.remove_class("-shown")
        self.query_one("#hooks").focus()

    @on(Input.Changed, "#filter")
    def _filter(self) -> None:
        self._show_hooks()

    @on(Input.Submitted, "#filter")
    def _end_filter(self) -> None:
        if not self.query_one("#filter", Input).value.strip():
            self.action_clear()
        self.query_one("#hooks").focus()

    # -- the keys

    def _selected_except_recorder(self) -> PanelHook | None:
        """Return the hook that is selected; `None` if it is the recorder, which has a command."""
        hook = self.selected_hook()
        if hook is None or not hook.is_recorder:
            return hook
        self.report_notice(f"the recorder is on {hook.row.event}; to switch it off: {RECORD_OFF}")
        return None

    def action_move(self, step: int) -> None:
        """Select the next hook, or the one before."""
        options = self.query_one("#hooks", OptionList)
        options.focus()
        if step > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()

    def action_switch(self) -> None:
        """Switch the hook on or off; after a second press if that changes more than this hook."""
        hook = self._selected_except_recorder()
        if hook is None:
            return
        notice = ""
        others = switched_together(hook)
        if others:
            notice = (
                f"{hook.engine.agent.title} switches hooks by name: {hook.row.label} is also at "
                f"{', '.join(others)}. Space again switches {count_of(len(others) + 1, 'hook')}."
            )
        elif hook.handler.layer is Layer.PROJECT:
            file = show_path(hook.handler.place.file, hook.engine.project_dir)
            state = "off" if hook.is_on else "on"
            notice = (
                f"{file} is shared with the project. Space again switches {hook.row.label} {state} "
                "for every user of the project."
            )
        if notice and self._announced != hook.key:
            self._announced = hook.key
            self.report_notice(notice)
            return
        self._announced = None
        self._switch(hook)

    def action_shadow(self) -> None:
        """Let the hook run without deciding, or let a shadow decide."""
        hook = self._selected_except_recorder()
        if hook is not None:
            self.app.push_screen(ShadowScreen(self.state, hook))

    def action_denied_calls(self) -> None:
        """Show the calls that hook files have denied, to allow one once."""
        self.app.push_screen(DeniedCallsScreen(self.state))

    def action_past_calls(self) -> None:
        """Show what the hook would have stopped of past calls, to label it."""
        hook = self._selected_except_recorder()
        if hook is None:
            return
        if hook.row.definition.event != EVENT or not hook.is_on:
            self.report_notice(f"{hook.row.label} is off, or decides no calls of tools")
            return
        self.app.push_screen(PastCallsScreen(self.state, hook))

    @work(exclusive=True, group="switch")
    async def _switch(self, hook: PanelHook) -> None:
        with self.reporting_problems():
            self.report(await asyncio.to_thread(switch, hook))
        self.post_message(FilesChanged())

    def action_trust(self) -> None:
        """Review what is not trusted of the agent's hooks."""
        hook = self.selected_hook()
        if hook is not None:
            self.app.push_screen(TrustScreen(self.state, hook.engine.agent))

    def action_fire(self) -> None:
        """Fire an event that reaches the hook."""
        hook = self._selected_except_recorder()
        if hook is not None:
            self.app.push_screen(FireScreen(self.state, hook))

    def action_edit(self) -> None:
        """Open the hook's place in the user's editor."""
        hook = self.selected_hook()
        if hook is not None:
            self.open_editor(hook.handler.place)

    def action_problems(self) -> None:
        """Show what `anyhook check` reports."""
        self.app.push_screen(ProblemScreen(self.state))

    def action_help(self) -> None:
        """Show the keys."""
        self.app.push_screen(HelpScreen(self.state))

    def action_reload(self) -> None:
        """Read the files now."""
        self.report_text("")
        self.post_message(FilesChanged())

    def action_quit(self) -> None:
        """End the panel."""
        self.app.exit()


def _number_of(hooks: Iterable[PanelHook]) -> int:
    """Return the number of hooks; as in `anyhook list`, the recorder is none of them."""
    return sum(not hook.is_recorder for hook in hooks)
