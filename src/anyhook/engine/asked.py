"""Whether an agent asks a hook about a call. Nothing runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.engine.forms import match_names_in_form
from anyhook.matching.conditions import covers_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.event import Event


class AskedCall(NamedTuple):
    """What matchers and conditions see of an event.

    Attributes:
        event: Canonical name of the event.
        subject: What matchers see; `None` if the event has no subject.
        tool_input: The arguments of the tool; empty for other events.
    """

    event: str
    subject: str | None
    tool_input: Mapping[str, Any]


def asked_call(spec: EventSpec, event: Event) -> AskedCall:
    """Return what matchers and conditions see of an event, whose specification is given."""
    return AskedCall(event.name, spec.subject_of(event), getattr(event, "tool_input", {}))


def is_asked(engine: Engine, handler: HandlerSpec, call: AskedCall) -> bool:
    """Return whether a hook, and no other one in its place, is asked about a call."""
    plan = engine.plan_for(engine.rules, call.event, call.subject)
    if not any(planned is handler for planned in plan.handlers):
        return False
    if handler.condition is None:
        return True
    project = str(engine.project_dir)
    return covers_call(
        handler.condition,
        match_names_in_form(engine.agent, engine.rules, call.event, call.subject, handler.form),
        call.tool_input,
        cwd=project,
        project=project,
        home=str(Path.home()),
    )
