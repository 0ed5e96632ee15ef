"""A decision while the answers of several handlers are combined into it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.model.answers import Outcome
from anyhook.model.decisions import Blame, Overridden
from anyhook.model.diagnostics import diagnose
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event


class FieldValue(Record, kw_only=False):
    """The value that one handler gave to one field.

    Handlers of one group of the plan, which has an index, saw each other's changes.
    """

    handler: HandlerSpec
    group: int
    value: Any

    def blame(self, overrode: tuple[Overridden, ...] = ()) -> Blame:
        """Return the entry of the decision's blame that names this handler."""
        return Blame(self.handler, self.value, overrode)


@dataclass(slots=True)
class DecisionDraft:
    """The fields of a decision that are set so far.

    Attributes:
        event_name: The agent's name of the event, for messages.
        fields: Field of the decision to its value.
        blame: Field, or path of a member (`tool_input.command`), to the handlers that set it.
        diagnostics: Conflicts between handlers, and values without effect.
    """

    event: Event
    event_name: str
    fields: dict[str, Any] = field(default_factory=dict)
    blame: dict[str, tuple[Blame, ...]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def outcome(self) -> Outcome:
        """The verdict so far."""
        return Outcome(self.fields.get("outcome", Outcome.NONE))

    def set(self, name: str, value: object, blames: Iterable[Blame]) -> None:
        """Set a field of the decision, and who set it."""
        self.fields[name] = value
        self.blame[name] = tuple(blames)

    def discard(self, *names: str) -> None:
        """Leave fields out of the decision."""
        for name in names:
            self.fields.pop(name, None)
            self.blame.pop(name, None)

    def event_object(self, name: str) -> dict[str, Any]:
        """Return an object of the event; empty if the event has none of that name."""
        value = getattr(self.event, name, None)
        return value if isinstance(value, dict) else {}

    def override(
        self, path: str, winner: FieldValue, losers: Sequence[FieldValue]
    ) -> tuple[Overridden, ...]:
        """Return what a value overrides, and report conflicts with handlers that ran in parallel.

        The losers are the values of the same path that do not stand.
        """
        for loser in losers:
            if loser.value != winner.value and loser.group != winner.group:
                label = winner.handler.label
                problem = (
                    f"{self.event_name}: {label!r} and {loser.handler.label!r} ran in parallel and "
                    f"set {path} to different values; the value of {label!r}, which comes later in "
                    "the plan, is used"
                )
                place = winner.handler.place
                self.diagnostics.append(diagnose("conflict", problem, place, handler=label))
        return tuple(Overridden(loser.handler, loser.value) for loser in losers)
