"""The screen on which a hook becomes a shadow, or a shadow is promoted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType

from anyhook.cli.changes import print_difference
from anyhook.cli.panel.actions import ActionResult, exact_place, shadow_command
from anyhook.cli.panel.state import FilesChanged, PanelState, TextScreen
from anyhook.cli.shadow import print_decisions
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.history.shadows import ShadowDecisions
from anyhook.journal.lines import history_directory, is_recording
from anyhook.manage.protection import require_user
from anyhook.manage.shadows import check_can_be_shadow, shadow_changes, would_have_decided
from anyhook.model.definitions import handlers_of
from anyhook.settings.changes import Change, write_changes

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.cli.panel.actions import PanelHook


@dataclass(frozen=True, slots=True)
class ShadowPlan:
    """What is going to change."""

    is_promotion: bool
    """Whether a shadow is going to decide."""
    changes: list[Change]
    decisions: ShadowDecisions
    """What the shadow would have decided."""
    is_recording: bool
    """Whether its answers are recorded from now on."""


def plan_shadow(hook: PanelHook) -> ShadowPlan:
    """Return what `anyhook shadow` or `anyhook enable` would change of one hook.

    Raises:
        AnyhookError: If the hook cannot be a shadow, is gone, or its file cannot be edited.
    """
    engine = Engine.load(hook.engine.project_dir, agent=hook.engine.agent.name, on_message=discard)
    handlers = [
        handler
        for handler in handlers_of(engine.definitions)
        if handler.identifier == hook.handler.identifier
        and exact_place(handler) == exact_place(hook.handler)
    ]
    if not handlers:
        where = exact_place(hook.handler)
        raise UsageError(f"{hook.row.label} is not at {where}; switch it on, or look at it again")
    is_promotion = hook.handler.shadow
    decisions = ShadowDecisions()
    if is_promotion:
        decisions = would_have_decided(engine, handlers)
    else:
        check_can_be_shadow(engine, handlers)
    changes = shadow_changes(engine, handlers, is_shadow=not is_promotion)
    return ShadowPlan(is_promotion, changes, decisions, is_recording(history_directory()))


class ShadowScreen(TextScreen):
    """What a shadow would have decided, and what becomes of the settings."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "write", "write it"),
        Binding("n", "leave", "do not", show=False),
    ]

    def __init__(self, state: PanelState, hook: PanelHook) -> None:
        super().__init__(state)
        self.hook = hook
        self._plan: ShadowPlan | None = None

    def on_mount(self) -> None:
        """Read the settings, and what was recorded."""
        title, label = self.hook.engine.agent.title, self.hook.row.label
        is_shadow = self.hook.handler.shadow
        task = f"let {label} decide" if is_shadow else f"let {label} run without deciding"
        self.show_title(f"{title}: {task}")
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        with self.reporting_problems():
            self._plan = await asyncio.to_thread(plan_shadow, self.hook)
            self._show(self._plan)

    def _show(self, plan: ShadowPlan) -> None:
        def draw(out: Console) -> None:
            if plan.is_promotion:
                print_decisions(out, self.hook.row.label, plan.decisions)
                out.print()
            _print_changes(out, plan)
            if not any(change.has_effect for change in plan.changes):
                out.print("Its file says Hooks(shadow=True); remove that there, and it decides.")
            elif plan.is_promotion:
                out.print("\nLet it decide from now on? y writes this, Escape does not.")
            else:
                out.print("\nLet it run without deciding? y writes this, Escape does not.")
                if not plan.is_recording:
                    text = "Recording is off. To see later what it would decide:"
                    out.print(f"{text} anyhook history record on")

        self.show_text(draw)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to write only if something changes."""
        if action == "write":
            return self._plan is not None and any(
                change.has_effect for change in self._plan.changes
            )
        return True

    @work(exclusive=True)
    async def action_write(self) -> None:
        """Write what is shown."""
        plan = self._plan
        if plan is None:
            return
        self._plan = None
        with self.reporting_problems():
            if not plan.is_promotion:
                require_user()
            await asyncio.to_thread(write_changes, plan.changes)
            self.show_text(lambda out: _print_changes(out, plan))
            effect = "decides from now on" if plan.is_promotion else "runs and does not decide"
            command = shadow_command(self.hook)
            self.report(ActionResult(f"{self.hook.row.label} {effect}", command))
            self.post_message(FilesChanged())


def _print_changes(out: Console, plan: ShadowPlan) -> None:
    for change in plan.changes:
        print_difference(out, change)
