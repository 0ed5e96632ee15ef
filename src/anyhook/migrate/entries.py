"""The definitions that a migration adds to the target's settings, and the names of their hooks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from anyhook.migrate.commands import read_shim
from anyhook.model.definitions import each_handler
from anyhook.model.record import Record, replace
from anyhook.settings.hookset import load_hook_set
from anyhook.shell.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.context import HandlerMigration, MigrationContext
    from anyhook.model.definitions import HandlerSpec


_SCRIPT = re.compile(
    r"(?:.*/)?([\w.-]*\w)\.(?:py|sh|bash|zsh|fish|js|mjs|cjs|ts|rb|pl|php|ps1|lua)\Z"
)


def has_names(agent: AgentSpec) -> bool:
    """Return whether an agent switches hooks off by their names."""
    return any(switch.kind == "disabled" for switch in agent.settings.hook_toggles)


def script_name(command: str) -> str | None:
    """Return the name of the script that a command runs, without directories and suffix."""
    options = read_shim(command)
    if options is not None and len(options.command) > 1:
        words = list(options.command)
    else:
        line = command if options is None else options.command[0]
        words = split_words(line) or line.split()
    for word in words:
        script = _SCRIPT.match(word)
        if script:
            return script[1]
    return None


def is_generated(name: str, command: str) -> bool:
    """Return whether a migration would give a command this name."""
    script = script_name(command)
    return script is not None and re.fullmatch(rf"{re.escape(script)}(?:-\d+)?", name) is not None


class Names:
    """The names of the hooks of one migration: one for each command."""

    def __init__(self) -> None:
        self._commands: dict[str, str] = {}

    def reserve(self, name: str, command: str) -> None:
        """Reserve a name that a hook already has."""
        self._commands.setdefault(name, command)

    def choose(self, command: str) -> str | None:
        """Return a name for a command; `None` if it runs no script."""
        script = script_name(command)
        if script is None:
            return None
        name = script
        number = 1
        while self._commands.setdefault(name, command) != command:
            number += 1
            name = f"{script}-{number}"
        return name


class EntryOrigin(Record, kw_only=False):
    """Where a migrated handler comes from."""

    event: str
    """Canonical name of its event at the source."""
    handler: HandlerSpec
    shimmed: bool
    move: HandlerMigration


class Entry(Record, kw_only=False):
    """One definition for the target's file."""

    event: str
    """Name of the event in the target's settings."""
    definition: dict[str, Any]
    origins: tuple[EntryOrigin, ...]
    """The origin of each of its handlers."""

    @property
    def handlers(self) -> Iterator[tuple[dict[str, Any], EntryOrigin]]:
        """The handlers, as JSON, with their origins."""
        return zip(self.definition["hooks"], self.origins, strict=True)


def remove_duplicates(context: MigrationContext, entries: Sequence[Entry]) -> list[Entry]:
    """Leave out handlers that do the same on the same event as an earlier one."""
    seen: set[str] = set()
    unique: list[Entry] = []
    for entry in entries:
        handlers: list[dict[str, Any]] = []
        origins: list[EntryOrigin] = []
        for handler, origin in entry.handlers:
            matcher = entry.definition.get("matcher")
            key = json.dumps([entry.event, matcher, handler], sort_keys=True)
            if key not in seen:
                seen.add(key)
                handlers.append(handler)
                origins.append(origin)
            # A hook that was migrated before may have several handlers on the way back.
            elif read_shim(origin.handler.command) is None:
                context.record_loss(
                    "note",
                    origin.handler.place,
                    f"{origin.handler.label}, a second time",
                    "the same hook on the same event runs once",
                    "nothing; remove one of the two if you want",
                )
        if handlers:
            definition = {**entry.definition, "hooks": handlers}
            unique.append(Entry(entry.event, definition, tuple(origins)))
    return unique


def name_handlers(context: MigrationContext, entries: Sequence[Entry]) -> list[Entry]:
    """Name the hooks that have no name, where the target switches hooks off by name."""
    target = context.target
    if not has_names(target):
        return list(entries)
    names = Names()
    for _, existing in each_handler(load_hook_set(context.target, context.location).definitions):
        if existing.name:
            names.reserve(existing.name, existing.command or "")
    for entry in entries:
        for handler in entry.definition["hooks"]:
            if "name" in handler:
                names.reserve(handler["name"], handler["command"])
    named: list[Entry] = []
    for entry in entries:
        handlers: list[dict[str, Any]] = []
        for handler, origin in entry.handlers:
            options = read_shim(origin.handler.command)
            was_written_for_target = options is not None and options.agent == target.name
            name = None
            if "name" not in handler and not was_written_for_target:
                name = names.choose(handler["command"])
            if name is not None:
                handler = {"type": handler["type"], "name": name, **handler}  # noqa: PLW2901
            handlers.append(handler)
        named.append(replace(entry, definition={**entry.definition, "hooks": handlers}))
    return named
