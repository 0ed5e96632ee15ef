"""The screen on which a user reviews hooks and trusts them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType

from anyhook.cli.colors import GOOD
from anyhook.cli.panel.actions import ActionResult
from anyhook.cli.panel.snapshot import command_line
from anyhook.cli.panel.state import FilesChanged, PanelState, TextScreen
from anyhook.cli.render import print_diagnostics, print_note
from anyhook.cli.trust import Review, print_review, review_hooks
from anyhook.model.text import count_of
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.agents.spec import AgentSpec


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
            command = command_line(project, "trust", "--yes", "--agent", name)
            self.report(ActionResult(f"trusted: {hooks} of {self.agent.title}", command))
            self.post_message(FilesChanged())
            self._read()
