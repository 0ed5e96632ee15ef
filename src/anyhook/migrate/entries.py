"""The definitions that a migration adds to the target's settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.migrate.commands import unwrap
from anyhook.migrate.names import Names, has_names
from anyhook.model.definitions import each_handler
from anyhook.model.record import Record, replace
from anyhook.settings.hookset import load_hooks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.migrate.context import HandlerMigration, MigrationContext
    from anyhook.model.definitions import HandlerSpec


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

    def with_handlers(self, handlers: Sequence[dict[str, Any]]) -> Entry:
        """Return the entry with other forms of the same handlers."""
        return replace(self, definition={**self.definition, "hooks": list(handlers)})


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
            elif unwrap(origin.handler.command) is None:
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


def _reserve_names(context: MigrationContext, entries: Sequence[Entry]) -> Names:
    names = Names()
    for _, existing in each_handler(load_hooks(context.target, context.location).definitions):
        if existing.name:
            names.reserve(existing.name, existing.command or "")
    for entry in entries:
        for handler in entry.definition["hooks"]:
            if "name" in handler:
                names.reserve(handler["name"], handler["command"])
    return names


def name_handlers(context: MigrationContext, entries: Sequence[Entry]) -> list[Entry]:
    """Name the hooks that have no name, where the target switches hooks off by name."""
    target = context.target
    if not has_names(target):
        return list(entries)
    names = _reserve_names(context, entries)
    named: list[Entry] = []
    for entry in entries:
        handlers: list[dict[str, Any]] = []
        for handler, origin in entry.handlers:
            options = unwrap(origin.handler.command)
            was_written_for_target = options is not None and options.agent == target.name
            name = None
            if "name" not in handler and not was_written_for_target:
                name = names.choose(handler["command"])
            if name is not None:
                handler = {"type": handler["type"], "name": name, **handler}  # noqa: PLW2901
            handlers.append(handler)
        named.append(entry.with_handlers(handlers))
    return named
