"""Problems that a host reports because a decision cannot be carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.spec import Denial
from anyhook.model.diagnostics import Severity, diagnose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyhook.agents.spec import EventSpec
    from anyhook.model.decisions import Decision
    from anyhook.model.diagnostics import Diagnostic

CANNOT_ASK = "the user cannot be asked"
"""Appended to the reason of a question for which the host has no `ask` function."""


EFFECTS = {
    Denial.NOTHING: "which cannot be denied",
    Denial.EMPTIES: "so the model is offered no tool",
}
"""What a denial does on events that have no action to prevent."""


def denials_without_effect(spec: EventSpec, decision: Decision) -> Iterator[Diagnostic]:
    """Yield the denials of an event that has no action to prevent, with their reasons."""
    effect = EFFECTS.get(spec.denial)
    if effect is None:
        return
    for blame in decision.blame.get("reason") or decision.blame.get("outcome", ()):
        label = blame.handler.label
        text = f"{label!r} denied {spec.wire}, {effect}; its reason: {blame.value}"
        yield diagnose(
            "output-no-effect", text, blame.handler.place, handler=label, severity=Severity.WARNING
        )


def questions_without_user(spec: EventSpec, decision: Decision) -> Iterator[Diagnostic]:
    """Yield the hooks whose question cannot be put to the user."""
    for blame in decision.blame.get("outcome", ()):
        label = blame.handler.label
        text = (
            f"{label!r} on {spec.wire} asks the user, who cannot be asked here; each question "
            "counts as a denial"
        )
        yield diagnose("service-missing", text, blame.handler.place, handler=label)
