"""The context in which a handler's output is read: the tables, and what is wrong with it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from anyhook.agents.spec import AgentSpec, EventSpec, RuleSet
    from anyhook.model.diagnostics import Diagnostic, Place, Severity
    from anyhook.model.layers import Layer

    class Source(Protocol):
        """The handler, as far as reading its output depends on it."""

        @property
        def label(self) -> str:
            """A short name for messages."""

        @property
        def place(self) -> Place | None:
            """Where the settings define it."""

        @property
        def layer(self) -> Layer:
            """The layer of its settings."""


class OutputContext:
    """One handler's output on one event.

    Attributes:
        agent: The agent that the output is for.
        rules: The rule set that interprets it.
        spec: The event under that rule set.
        handler: The handler.
        diagnostics: What is wrong with the output.
        verdict_parent: Path of the object in the reply that holds the verdict; `None` if the reply
            has none.
    """

    def __init__(self, agent: AgentSpec, rules: RuleSet, spec: EventSpec, handler: Source) -> None:
        self.agent = agent
        self.rules = rules
        self.spec = spec
        self.handler = handler
        self.diagnostics: list[Diagnostic] = []
        self.verdict_parent: tuple[str, ...] | None = None

    def report(self, code: str, message: str, severity: Severity | None = None) -> None:
        """Add a diagnostic."""
        from anyhook.model.diagnostics import diagnose  # not needed for correct output

        self.diagnostics.append(
            diagnose(
                code,
                f"{self.handler.label!r} on {self.spec.wire}: {message}",
                self.handler.place,
                handler=self.handler.label,
                severity=severity,
            )
        )

    def has_reported(self, codes: Iterable[str], since: int = 0) -> bool:
        """Return whether a diagnostic has one of the codes.

        Args:
            codes: Codes of diagnostics.
            since: Number of diagnostics to ignore, from the first one on.
        """
        return any(diagnostic.code in codes for diagnostic in self.diagnostics[since:])
