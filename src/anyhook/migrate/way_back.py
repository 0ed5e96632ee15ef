"""Records in the shim what migrating a hook back could not restore otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anyhook.migrate.commands import unwrap, wrap
from anyhook.migrate.context import MigrationContext
from anyhook.migrate.definition import WrittenHooks, migrate_definition
from anyhook.migrate.original import OriginalMembers, differing
from anyhook.migrate.timeouts import timeout_seconds
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.migrate.entries import Entry, Origin


def record_originals(
    context: MigrationContext, definition: HookDefinition, entry: Entry, written: WrittenHooks
) -> Entry:
    """Return an entry whose shims record what the way back needs.

    Args:
        context: The migration.
        definition: The definition of the source that the entry is made of.
        entry: The entry.
        written: The source's settings as they are written.
    """
    handlers: list[dict[str, Any]] = []
    for handler, origin in entry.handlers:
        written_handler = written.get(origin.handler.place)
        was_migrated_before = unwrap(origin.handler.command) is not None
        if written_handler is None or was_migrated_before:
            handlers.append(handler)
            continue
        members = _lost_on_the_way_back(
            context,
            written.get(definition.place, {}),
            written_handler,
            _migrate_back(context, origin, entry, handler),
        )
        options = unwrap(handler["command"]) if origin.shimmed else None
        if options is not None:
            options = options.replace(was=members.write())
            line = wrap(options, context.target, context.program)
            handlers.append({**handler, "command": line})
        else:
            handlers.append(handler)
            if context.shim:
                _record_way_back(context, origin, members)
    return entry.with_handlers(handlers)


def _lost_on_the_way_back(
    context: MigrationContext,
    definition: Mapping[str, Any],
    handler: Mapping[str, Any],
    returned: Mapping[str, Any],
) -> OriginalMembers:
    source = context.source
    definition_fields = source.definition_fields - {"hooks"}
    handler_fields = source.handler_fields | source.handler_types["command"].fields.keys()
    handler_fields |= {"command", "args"}
    lost_handler = {
        key: value
        for key, value in differing(handler, returned["hooks"][0]).items()
        if key in handler_fields
    }
    # The shim has the variables already, and their values may be secrets.
    if lost_handler.get("env"):
        del lost_handler["env"]
    lost_definition = {
        key: value
        for key, value in differing(definition, returned).items()
        if key in definition_fields
    }
    return OriginalMembers(lost_definition, lost_handler)


def _record_way_back(context: MigrationContext, origin: Origin, members: OriginalMembers) -> None:
    """Report what migrating a hook back would not restore, as there is no shim to record it."""
    for key, value in {**members.definition, **members.handler}.items():
        shown = "absent" if value is None else json.dumps(value, ensure_ascii=False)
        context.record_loss(
            "note",
            origin.handler.place,
            f"{key}: {origin.handler.label}",
            f"it is {shown} here, and migrating it back writes it otherwise",
            "keep a copy of the settings if you want to go back",
        )


def _migrate_back(
    context: MigrationContext, origin: Origin, entry: Entry, handler: dict[str, Any]
) -> dict[str, Any]:
    """Return the definition that one handler of an entry becomes when it is migrated back."""
    target = context.target
    event = target.by_wire[entry.event]
    layer = origin.handler.layer
    definition_place, handler_place = Place("migrated", 1, 1), Place("migrated", 1, 2)
    spec = HandlerSpec(
        kind="command",
        layer=layer,
        place=handler_place,
        name=handler.get("name"),
        command=handler["command"],
        description=handler.get("description"),
        timeout=timeout_seconds(target, event, layer, handler.get("timeout")),
        env=handler.get("env", {}),
    )
    definition = HookDefinition(
        event.canonical,
        layer,
        definition_place,
        entry.definition.get("matcher"),
        bool(entry.definition.get("sequential")),
        (spec,),
    )
    written: WrittenHooks = {definition_place: entry.definition, handler_place: handler}
    back = MigrationContext(target, context.source, context.location, context.shim, context.program)
    entries = migrate_definition(back, definition, definition.handlers, written)
    return entries[0].definition if entries else {"hooks": [{}]}
