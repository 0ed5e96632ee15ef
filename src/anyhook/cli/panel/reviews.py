"""The screens on which a user reviews problems, hooks to be trusted, and shadows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from anyhook.agents import get_agent
from anyhook.checks.rules import Finding
from anyhook.cli.changes import print_difference
from anyhook.cli.colors import GOOD, SEVERITIES
from anyhook.cli.panel.actions import ActionResult, exact_place, shadow_command
from anyhook.cli.panel.state import FilesChanged, ListScreen, PanelState, TextScreen
from anyhook.cli.render import print_diagnostics, print_note, show_place
from anyhook.cli.shadow import print_decisions
from anyhook.cli.trust import Review, print_review, review_hooks
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.manage.protection import require_user
from anyhook.manage.remedies import Remedy, remedy_for
from anyhook.manage.shadows import ShadowPlan, plan_shadow
from anyhook.model.definitions import handlers_of
from anyhook.model.text import count_of
from anyhook.settings.changes import write_changes
from anyhook.settings.detect import project_command
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.agents.spec import AgentSpec
    from anyhook.cli.panel.actions import PanelHook


CODE_WIDTH = 17
AGENT_WIDTH = 11
TRUST_CODES = frozenset({"project-untrusted", "trust-changed"})
"""Codes of what a review settles."""


class ProblemScreen(ListScreen[Finding]):
    """The problems by place, and the whole text and the remedy of one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "fix", "fix"),
        Binding("t", "trust", "trust"),
        Binding("e,enter", "edit", "edit"),
    ]

    def on_resize(self) -> None:
        """Show the title in the new width."""
        self.state_changed()

    def on_screen_resume(self) -> None:
        """Show what other screens have changed."""
        self.state_changed()

    def state_changed(self) -> None:
        """Show the problems that there are now."""
        findings = self.state.snapshot.findings
        # Problems as the list of the hooks counts them, and notes.
        problems = len(self.state.snapshot.problems)
        notes = len(findings) - problems
        counts = count_of(problems, "problem")
        if notes:
            counts += f", {count_of(notes, 'note')}"
        self.show_title("problems", Text(counts))
        self.show_items(findings)

    def line_of(self, item: Finding) -> Text:
        """Return the code and the place of a problem."""
        diagnostic = item.diagnostic
        text = Text(f"{diagnostic.severity!s:<8}", style=SEVERITIES[diagnostic.severity])
        text.append(f"{diagnostic.code:<{CODE_WIDTH}}  ", style="bold")
        text.append(f"{get_agent(item.agent).title:<{AGENT_WIDTH}}  ")
        place = show_place(diagnostic.place, self.state.snapshot.project)
        return text.append(place, style="dim")

    def print_item(self, out: Console, item: Finding | None) -> None:
        """Print the whole text of a problem, and its remedy."""
        if item is None:
            out.print("no problems in settings and scripts", style=GOOD)
            return
        project = self.state.snapshot.project
        print_diagnostics(out, [item.diagnostic], project)
        remedy = self._remedy(item)
        if remedy is not None:
            out.print(Text.assemble(("x  ", "bold"), f"{remedy.text}  ({remedy.command})"))
        elif item.diagnostic.code in TRUST_CODES:
            command = project_command(project, "trust", "--agent", item.agent)
            out.print(Text.assemble(("t  ", "bold"), f"review it, and trust it  ({command})"))

    def _remedy(self, finding: Finding) -> Remedy | None:
        engine = self.state.snapshot.engine_of(finding.agent)
        return None if engine is None else remedy_for(engine, finding.diagnostic)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what can be done about the problem."""
        finding = self.current()
        if action == "fix":
            return finding is not None and self._remedy(finding) is not None
        if action == "trust":
            return finding is not None and finding.diagnostic.code in TRUST_CODES
        if action == "edit":
            return finding is not None and finding.diagnostic.place is not None
        return True

    @on(OptionList.OptionSelected, "#problems")
    def action_edit(self) -> None:
        """Open the place of the problem in the user's editor."""
        finding = self.current()
        if finding is not None and finding.diagnostic.place is not None:
            self.open_editor(finding.diagnostic.place)

    def action_trust(self) -> None:
        """Review what is not trusted of the agent's hooks."""
        finding = self.current()
        if finding is not None:
            self.app.push_screen(TrustScreen(self.state, get_agent(finding.agent)))

    @work(exclusive=True)
    async def action_fix(self) -> None:
        """Apply the remedy."""
        finding = self.current()
        remedy = None if finding is None else self._remedy(finding)
        if remedy is None:
            return
        with self.reporting_problems():
            await asyncio.to_thread(remedy.apply)
            self.report(ActionResult(f"done: {remedy.text}", remedy.command))
        self.post_message(FilesChanged())


class TrustScreen(TextScreen):
    """What is not trusted of the project's hooks of one agent, as `anyhook trust` shows it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "trust", "trust what is shown"),
        Binding("n", "leave", "do not", show=False),
    ]

    def __init__(self, state: PanelState, agent: AgentSpec) -> None:
        super().__init__(state)
        self.agent = agent
        self.store = TrustStore()
        self._review: Review | None = None

    def on_mount(self) -> None:
        """Read the hooks."""
        self.show_title(f"{self.agent.title}: trust")
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        project = self.state.snapshot.project
        with self.reporting_problems():
            review = await asyncio.to_thread(review_hooks, self.store, project, self.agent)
            # What is trusted is what is shown here, whatever happens to the files meanwhile.
            self._review = review
            self._show(review)

    def _show(self, review: Review) -> None:
        project = self.state.snapshot.project

        def draw(out: Console) -> None:
            print_diagnostics(out, review.problems, project)
            if not review.subjects:
                title = review.agent.title
                out.print(f"This project has no hooks of {title} of its own to trust.")
                return
            print_review(out, project, review)
            if review.changes:
                question = "Trust these hooks and scripts as they are?"
                out.print(f"\n{question} y trusts them, Escape does not.")
            else:
                print_note(out, "trusted:", count_of(len(review.subjects), "hook"), GOOD)

        self.show_text(draw)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to trust only if something is not trusted."""
        if action == "trust":
            return self._review is not None and bool(self._review.changes)
        return True

    @work(exclusive=True)
    async def action_trust(self) -> None:
        """Trust what is shown."""
        review = self._review
        if review is None:
            return
        project, name = self.state.snapshot.project, self.agent.name
        with self.reporting_problems():
            await asyncio.to_thread(self.store.trust, project, review.subjects, agent=name)
            hooks = count_of(len(review.subjects), "hook")
            command = project_command(project, "trust", "--yes", "--agent", name)
            self.report(ActionResult(f"trusted: {hooks} of {self.agent.title}", command))
            self.post_message(FilesChanged())
            self._read()


def plan_for(hook: PanelHook) -> ShadowPlan:
    """Return what `anyhook shadow` or `anyhook enable` would change of one hook.

    Raises:
        AnyhookError: If the hook cannot be a shadow, is gone, or its file cannot be edited.
    """
    engine = Engine.load(hook.engine.project_dir, agent=hook.engine.agent.name, on_message=discard)
    where = exact_place(hook.handler)
    there = [each for each in handlers_of(engine.definitions) if exact_place(each) == where]
    handlers = [each for each in there if each.identifier == hook.handler.identifier]
    if not handlers:
        raise UsageError(f"{hook.row.label} is not at {where}; switch it on, or look at it again")
    return plan_shadow(engine, handlers, is_shadow=not hook.handler.shadow)


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
            self._plan = await asyncio.to_thread(plan_for, self.hook)
            self._show(self._plan)

    def _show(self, plan: ShadowPlan) -> None:
        def draw(out: Console) -> None:
            if not plan.is_shadow:
                print_decisions(out, self.hook.row.label, plan.decisions)
                out.print()
            _print_changes(out, plan)
            if not plan.has_effect:
                out.print("Its file says Hooks(shadow=True); remove that there, and it decides.")
            elif not plan.is_shadow:
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
            return self._plan is not None and self._plan.has_effect
        return True

    @work(exclusive=True)
    async def action_write(self) -> None:
        """Write what is shown."""
        plan = self._plan
        if plan is None:
            return
        self._plan = None
        with self.reporting_problems():
            if plan.is_shadow:
                require_user()
            await asyncio.to_thread(write_changes, plan.changes)
            self.show_text(lambda out: _print_changes(out, plan))
            effect = "runs and does not decide" if plan.is_shadow else "decides from now on"
            command = shadow_command(self.hook)
            self.report(ActionResult(f"{self.hook.row.label} {effect}", command))
            self.post_message(FilesChanged())


def _print_changes(out: Console, plan: ShadowPlan) -> None:
    for change in plan.changes:
        print_difference(out, change)
