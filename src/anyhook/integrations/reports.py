"""Problems that a host reports when a decision cannot be carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents.spec import Denial
from anyhook.model.diagnostics import Severity, diagnose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyhook.agents.spec import EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.decisions import Decision
    from anyhook.model.diagnostics import Diagnostic

NO_ANSWER = "the user cannot be asked"
"""What follows the reason of a question that nothing can put to the user."""


def has_problems_to_report(engine: Engine, on_message: Callable[[str], object] | None) -> bool:
    """Return whether the start of a session reports problems of loading to a receiver.

    Args:
        engine: The engine, which reported them to its own receiver when it was loaded.
        on_message: The receiver; `None` for that of the engine.
    """
    is_another = on_message is not None and on_message != engine.messages.on_message
    return is_another and any(d.severity is not Severity.INFO for d in engine.diagnostics)


def denials_without_effect(spec: EventSpec, decision: Decision) -> Iterator[Diagnostic]:
    """Yield the denials of an event that cannot be denied, with their reasons.

    Args:
        spec: The event.
        decision: Its decision, which is a denial.
    """
    if spec.denial is not Denial.NOTHING:
        return
    for blame in decision.blame.get("reason") or decision.blame.get("outcome", ()):
        label = blame.handler.label
        text = (
            f"{label!r} on {spec.wire}: this event cannot be denied; the hook says: {blame.value}"
        )
        yield diagnose(
            "output-no-effect", text, blame.handler.place, handler=label, severity=Severity.WARNING
        )


def questions_without_user(spec: EventSpec, decision: Decision) -> Iterator[Diagnostic]:
    """Yield the hooks whose question cannot be put to the user.

    Args:
        spec: The event.
        decision: Its decision, which is a question.
    """
    for blame in decision.blame.get("outcome", ()):
        label = blame.handler.label
        text = (
            f"{label!r} on {spec.wire} asks the user, who cannot be asked here; each question "
            "counts as a denial"
        )
        yield diagnose("service-missing", text, blame.handler.place, handler=label)
