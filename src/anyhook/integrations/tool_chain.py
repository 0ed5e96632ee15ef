"""One call of a tool, and the tail calls by which hooks replace its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyhook.integrations.results import ToolReturn, ToolRun
    from anyhook.integrations.session import Session

MAX_CALLS = 8
"""How many tools in a row may run for one tool call: its own, and those that hooks add."""


class ToolChain:
    """Reports a call and its tail calls to hooks, under the identifier of the first call."""

    def __init__(
        self, session: Session, name: str, arguments: dict[str, Any], call_id: str | None
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.requested: str | None = None
        """The tool that the model asked for, if another one runs in its place."""
        self._session = session
        self._call_id = call_id
        self._calls_left = MAX_CALLS - 1

    async def before(self) -> ToolRun:
        """Report the current call, before it runs."""
        return await self._session.before_tool(
            self.name, self.arguments, call_id=self._call_id, requested=self.requested
        )

    async def after(self, arguments: dict[str, Any], output: Any, error: str | None) -> ToolReturn:
        """Report what the current call returned, with the arguments that it ran with."""
        return await self._session.after_tool(
            self.name,
            arguments,
            output,
            error=error,
            call_id=self._call_id,
            requested=self.requested,
        )

    def go_on(self, returned: ToolReturn) -> bool:
        """Make the tail call of hooks the current one; returns whether there is one to run."""
        if returned.tail_call is None or not self._calls_left:
            return False
        self._calls_left -= 1
        self.requested = self.requested or self.name
        self.name, self.arguments = returned.tail_call
        return True
