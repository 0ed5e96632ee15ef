"""The screen that fires a sample or a recorded event at a hook, and shows the timeline."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from anyhook.agents.payloads import NOT_IN_PAYLOAD, payload_key
from anyhook.agents.translate import decode_any_form
from anyhook.cli.colors import ACCENT
from anyhook.cli.event_input import EventOptions, build_event
from anyhook.cli.panel.actions import ActionResult, PanelHook
from anyhook.cli.panel.console_view import ChoiceList, ConsoleView
from anyhook.cli.panel.past_results import read_recorded_events
from anyhook.cli.panel.rows import tool_text
from anyhook.cli.panel.state import PanelScreen, PanelState
from anyhook.cli.render import outcome_text
from anyhook.cli.timeline import print_background_results, print_timeline
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import AnyhookError, EventError
from anyhook.history.describe import show_time, subject_of
from anyhook.manage.agent_effect import FiredEvent, fired_event
from anyhook.manage.hooks import SAMPLE_INPUT, SAMPLE_TOOL, reaching_fields
from anyhook.model.events import UnknownEvent, event_class
from anyhook.model.json import dump_json, repair
from anyhook.settings.detect import project_command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from textual.timer import Timer
    from textual.widget import Widget

    from anyhook.agents.spec import AgentSpec
    from anyhook.history.events import RecordedEvent
    from anyhook.model.decisions import HandlerResult


BACKGROUND_SECONDS = 30.0
"""Seconds that the answers of hooks in the background are waited for, as `anyhook fire` does."""


class FireScreen(PanelScreen):
    """An event, a sample or a recorded one, and what the hooks decide about it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fire", "fire"),
        Binding("tab", "app.focus_next", "next field"),
        Binding("escape", "leave", "cancel, back"),
        Binding("q", "leave", "back", show=False),
    ]

    def __init__(self, state: PanelState, hook: PanelHook) -> None:
        super().__init__(state)
        self.hook = hook
        self._fields: list[str] = []
        self._recorded: dict[str, RecordedEvent] = {}
        self._started: float | None = None
        self._clock: Timer | None = None

    def compose_body(self) -> Iterable[Widget]:
        """Return the fields of the event, the recorded ones, and the timeline."""
        if takes_tool(self.hook):
            yield Horizontal(Label("tool"), Input(id="tool", compact=True), classes="field")
        yield Horizontal(Label("input"), Input(id="input", compact=True), classes="field")
        yield ChoiceList(id="events", compact=True)
        yield ConsoleView(id="timeline")

    def on_mount(self) -> None:
        """Show a sample event."""
        self.show_title(f"fire {self.hook.row.event}  {self.hook.engine.agent.title}")
        self.query_one("#events").display = False
        self.query_one("#input").focus()
        self._prepare()

    @work(exclusive=True, group="prepare")
    async def _prepare(self) -> None:
        options = await asyncio.to_thread(sample_event, self.hook)
        self._fill(options)
        self._show_command(options)
        events = await asyncio.to_thread(read_recorded_events, self.hook)
        if not events:
            return
        items: list[Option] = []
        for number, event in enumerate(events):
            self._recorded[str(number)] = event
            text = Text(no_wrap=True, overflow="ellipsis")
            text.append(f"{show_time(event.time)[5:]}  ", style="dim")
            text.append_text(outcome_text(event.verdict))
            text.append(f"  {tool_text(event)}  ", style=ACCENT)
            items.append(Option(text.append(subject_of(event)), id=str(number)))
        recorded = self.query_one("#events", OptionList)
        recorded.add_options(items)
        recorded.display = True

    def _fill(self, options: EventOptions) -> None:
        if takes_tool(self.hook):
            self.query_one("#tool", Input).value = options.tool or ""
        self.query_one("#input", Input).value = options.input or ""
        self._fields = options.fields

    def _options(self) -> EventOptions:
        tool = self.query_one("#tool", Input).value.strip() if takes_tool(self.hook) else ""
        text = self.query_one("#input", Input).value.strip()
        return EventOptions(self.hook.row.event, tool or None, text or None, self._fields)

    def _show_command(self, options: EventOptions) -> None:
        command = fire_command(self.hook.engine, options)
        self.report(ActionResult("Enter fires this event; the hooks run for real:", command))

    @on(Input.Changed)
    def _edited(self) -> None:
        if self._started is None:
            self._show_command(self._options())

    @on(Input.Submitted)
    def action_fire(self) -> None:
        """Fire the event that the fields describe."""
        self._fire(self._options())

    @on(OptionList.OptionSelected, "#events")
    def _fire_recorded(self, message: OptionList.OptionSelected) -> None:
        recorded = self._recorded[message.option.id or ""]
        try:
            options = event_options(self.hook.engine.agent, recorded)
        except AnyhookError as error:
            self.report_problem(str(error))
            return
        with self.prevent(Input.Changed):
            self._fill(options)
        self._fire(options)

    # -- a run

    @work(exclusive=True, group="fire")
    async def _fire(self, options: EventOptions) -> None:
        """Dispatch an event. Cancelling ends the hooks that run."""
        before = self.hook.engine
        command = fire_command(before, options)
        self._started = time.monotonic()
        self._show_running()
        if self._clock is not None:
            self._clock.stop()
        self._clock = self.set_interval(1.0, self._show_running)
        try:
            # The settings and the trust store, as they are now.
            engine = await asyncio.to_thread(
                Engine.load, before.project_dir, agent=before.agent.name, on_message=discard
            )
            with tempfile.TemporaryDirectory(prefix="anyhook-") as scratch:
                async with engine:
                    event = engine.complete(build_event(engine, options, Path(scratch)))
                    fired = fired_event(engine, event, await engine.dispatch(event))
                    self._show(engine, fired, [])
                    # In a thread, so that the screen is not blocked. Closing the engine, as a
                    # cancelled run does, ends these hooks, and with them the thread that waits.
                    await asyncio.to_thread(engine.background.wait, BACKGROUND_SECONDS)
                    late = engine.background.collect()
                    if late:
                        self._show(engine, fired, late)
            # Of many hooks, the verdict below them may be out of sight.
            self.report(ActionResult(f"fired: {fired.verdicts[0].word}", command))
        except asyncio.CancelledError:
            if self.is_running:
                self.report(ActionResult("cancelled: the hooks were ended", command))
            raise
        except (AnyhookError, OSError) as error:
            self.report_problem(str(error))
        finally:
            self._started = None
            if self._clock is not None:
                self._clock.stop()
                self._clock = None

    def _show(self, engine: Engine, fired: FiredEvent, late: list[HandlerResult]) -> None:
        def draw(out: Console) -> None:
            print_timeline(out, engine, fired)
            if late:
                print_background_results(out, late)

        self.query_one("#timeline", ConsoleView).show(draw)

    def _show_running(self) -> None:
        if self._started is not None:
            seconds = time.monotonic() - self._started
            self.report_text(f"the hooks run since {seconds:.0f} s; Escape ends them")

    def action_leave(self) -> None:
        """End the hooks that run; if none runs, go back."""
        if self._started is not None:
            self.workers.cancel_group(self, "fire")
        else:
            self.dismiss()


# -- events in the form of the options of `fire`

OF_SESSION = frozenset({"session_id", "transcript_path", "timestamp", "cwd"})
"""Fields of a recorded event that belong to its session, which is over."""


def sample_event(hook: PanelHook) -> EventOptions:
    """Return a sample event that reaches a hook; if none is found, any sample."""
    engine, definition = hook.engine, hook.row.definition
    spec = engine.agent.by_canonical[definition.event]
    fields = reaching_fields(engine, definition, hook.handler)
    if fields is None and takes_tool(hook):
        fields = {"tool": engine.agent.vocabulary.name(SAMPLE_TOOL), "input": SAMPLE_INPUT}
    rest = dict(fields or {})
    tool = rest.pop("tool", None)
    value = rest.pop("input", rest or None)
    text = None if value is None else _json(value)
    return EventOptions(spec.wire, tool, text, [])


def takes_tool(hook: PanelHook) -> bool:
    """Return whether the event of a hook is about a tool."""
    return "tool_name" in event_class(hook.row.definition.event).record_fields


def fire_command(engine: Engine, options: EventOptions) -> str:
    """Return the command line that fires an event."""
    words = ["fire", options.name]
    if options.tool:
        words += ["--tool", options.tool]
    if options.input:
        words += ["--input", options.input]
    for item in options.fields:
        words += ["--set", item]
    return project_command(engine.project_dir, *words, "--agent", engine.agent.name)


def event_options(agent: AgentSpec, recorded: RecordedEvent) -> EventOptions:
    """Return a recorded event as the options that fire it again, in a new session.

    Raises:
        EventError: If the agent cannot decode it.
    """
    event, diagnostics = decode_any_form(agent, dict(recorded.payload))
    if isinstance(event, UnknownEvent):
        raise EventError(diagnostics[0].message)
    spec = agent.by_canonical[event.name]
    tool = text = None
    fields: list[str] = []
    for name in type(event).record_fields:
        value = getattr(event, name)
        is_sent = name not in NOT_IN_PAYLOAD and payload_key(agent, spec, name)
        if not is_sent or name in OF_SESSION or value is None:
            continue
        if name == "tool_name":
            tool = str(value)
        elif name == "tool_input":
            text = _json(value)
        else:
            fields.append(f"{name}={_json(value)}")
    return EventOptions(spec.wire, tool, text, fields)


def _json(value: Any) -> str:
    return dump_json(repair(value)).decode()
