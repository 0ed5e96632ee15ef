"""Which function of a hook file an event reaches, as far as the file's text shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.agents import get_agent
from anyhook.authoring.inspect import scan
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from anyhook.authoring.inspect import Use
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.events import Event


def functions_for(engine: Engine, event: Event, handler: HandlerSpec) -> list[Use]:
    """Return the functions of the hook file of a command that an event reaches.

    Args:
        engine: The engine.
        event: The event.
        handler: The hook; one that runs no hook file has no functions.
    """
    if handler.kind != "command":
        return []
    variables = {**engine.environ, **engine.guard.variables(), **handler.variables}
    uses = [
        use for path in named_files(handler, engine.project_dir, variables) for use in scan(path)
    ]
    subjects = _subjects(engine, event)
    return [use for use in uses if use.event == event.name and _covers(use, subjects)]


def _subjects(engine: Engine, event: Event) -> set[str]:
    """Return the names of the subject of an event: the agent's, and the canonical one."""
    spec = engine.agent.by_canonical[event.name]
    subject = getattr(event, spec.subject) if spec.subject else None
    if not isinstance(subject, str):
        return set()
    vocabulary = get_agent(engine.agent.name).vocabulary
    canonical = {name for name, tool in vocabulary.tools.items() if subject in tool.names}
    return {subject, *canonical}


def _covers(use: Use, subjects: set[str]) -> bool:
    is_pattern = any("*" in subject for subject in use.subjects)
    return not use.subjects or is_pattern or bool(subjects & set(use.subjects))
