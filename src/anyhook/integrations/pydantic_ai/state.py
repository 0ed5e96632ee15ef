"""The state of one run, shared by its capability, its model and its tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from pydantic_ai.exceptions import AgentRunError

if TYPE_CHECKING:
    from anyhook.integrations.results import ToolRun
    from anyhook.integrations.session import Session


class DeniedError(AgentRunError):
    """Hooks ended a turn without an answer.

    Attributes:
        reason: Why, for the user; it was sent to `on_message`, too.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass
class RunState:
    """The state of one run.

    Attributes:
        session: Its session; set when the run begins, after the model and the tools are wrapped.
        pending: What hooks decided for calls that wait for an approval, by call and tool.
    """

    session: Session = field(init=False)
    pending: dict[tuple[str | None, str], ToolRun] = field(default_factory=dict)

    def end_turn(self, reason: str) -> NoReturn:
        """Report why the turn ends without an answer, and end it."""
        self.session.messages.send(reason)
        raise DeniedError(reason)
