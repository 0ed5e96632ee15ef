"""Recorded answers of hooks that ran in the background, which have no effect on the event.

A hook cannot know whether its agent waits for it, so the settings of the project are read.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import get_agent
from anyhook.history.merge import MERGED_SOURCES
from anyhook.model.definitions import each_handler
from anyhook.model.record import replace
from anyhook.model.status import Status
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.sources import Location
from anyhook.shell.tapped import read_recorded
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from anyhook.history.events import RecordedEvent, RecordedResult
    from anyhook.model.definitions import HandlerSpec, HookDefinition


class BackgroundHooks:
    """The hooks of several agents and projects, whose settings are read once."""

    def __init__(self) -> None:
        self._settings: dict[tuple[str, str], list[tuple[HookDefinition, HandlerSpec]]] = {}

    def without_effect(self, event: RecordedEvent) -> RecordedEvent:
        """Return an event without the answer of a hook for which its agent did not wait.

        An answer counts if the hook is configured twice and its agent waits for one of them, and if
        the settings were changed since: what they were like at the event is not known.
        """
        if event.source not in MERGED_SOURCES or not event.decision:
            return event
        results = [
            replace(result, status=str(Status.STARTED))
            if self._ran_in_background(event, result)
            else result
            for result in event.results
        ]
        if all(result.status != Status.STARTED for result in results):
            return event
        return event._replace(decision={}, results=tuple(results))

    def _ran_in_background(self, event: RecordedEvent, result: RecordedResult) -> bool:
        key = (event.agent, event.project)
        if key not in self._settings:
            agent = get_agent(event.agent)
            hooks = load_hook_set(agent, Location.of(event.project, agent))
            self._settings[key] = list(each_handler(hooks.definitions))
        handlers = [
            handler
            for definition, handler in self._settings[key]
            if definition.event == event.event and _is_of(handler, result, event.project)
        ]
        return bool(handlers) and all(
            handler.background and _is_unchanged_since(handler, event.time) for handler in handlers
        )


def _is_of(handler: HandlerSpec, result: RecordedResult, project: str) -> bool:
    """Return whether a result is of a configured hook: of its command, or of its hook file."""
    if handler.kind != "command":
        return False
    recorded, _is_shadow = read_recorded(handler.command or handler.argv)
    line = recorded if isinstance(recorded, str) else shlex.join(recorded or ())
    command = str(result.version.get("command", ""))
    if command:
        return line == command
    plain = handler.replace(command=line, argv=None)
    files = [str(file) for file in named_files(plain, Path(project), handler.variables)]
    return str(result.version.get("file", "")) in files


def _is_unchanged_since(handler: HandlerSpec, time: float) -> bool:
    """Return whether the settings file of a hook was the same at a Unix timestamp."""
    try:
        return Path(handler.place.file).stat().st_mtime <= time
    except OSError:
        return False
