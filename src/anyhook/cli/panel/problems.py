"""The screen with the problems that `anyhook check` reports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from anyhook.agents import get_agent
from anyhook.cli.colors import GOOD, SEVERITIES
from anyhook.cli.panel.actions import ActionResult
from anyhook.cli.panel.snapshot import command_line
from anyhook.cli.panel.state import FilesChanged, ListScreen
from anyhook.cli.panel.trust_review import TrustScreen
from anyhook.cli.render import print_diagnostics, show_place
from anyhook.manage.problems import Finding
from anyhook.manage.remedies import Remedy, remedy_for
from anyhook.model.text import count_of

if TYPE_CHECKING:
    from rich.console import Console


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
            command = command_line(project, "trust", "--agent", item.agent)
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
