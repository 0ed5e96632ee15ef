"""What one definition becomes for another agent: one entry for each event and matcher."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.agents.translate import counterparts
from anyhook.migrate.commands import unwrap
from anyhook.migrate.context import HandlerMigration
from anyhook.migrate.entries import Entry, Origin
from anyhook.migrate.handler import migrate_handler
from anyhook.migrate.losses import MORE, event_advice, kind_advice
from anyhook.migrate.matchers import translate_matcher
from anyhook.migrate.original import read_original, restore_matcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.agents.spec import EventSpec
    from anyhook.migrate.context import MigrationContext
    from anyhook.migrate.matchers import TranslatedMatcher
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Place

WrittenHooks = dict["Place", "Mapping[str, Any]"]
"""Definitions and handlers as they are written, by their places."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """What one handler becomes on one event with one matcher.

    Attributes:
        event: Name of the event in the target's settings.
        matcher: The matcher there.
        members: Other former members of its definition.
        handler: The handler, as JSON.
        origin: Where it comes from.
    """

    event: str
    matcher: str | None
    members: dict[str, Any]
    handler: dict[str, Any]
    origin: Origin


@dataclass(slots=True)
class _Translation:
    """A matcher of the target, and other former members of the definition."""

    matcher: TranslatedMatcher
    members: dict[str, Any] = field(default_factory=dict)


def migrate_definition(
    context: MigrationContext,
    definition: HookDefinition,
    handlers: Sequence[HandlerSpec],
    written: WrittenHooks,
) -> list[Entry]:
    """Return what a definition becomes.

    Args:
        context: The migration.
        definition: The definition.
        handlers: Those of its handlers that are migrated.
        written: The source's settings as they are written.
    """
    groups: dict[str, list[_Piece]] = {}
    for handler in handlers:
        for piece in _migrate_to_events(context, definition, handler, written):
            key = json.dumps([piece.event, piece.matcher, piece.members], sort_keys=True)
            groups.setdefault(key, []).append(piece)
    fields = context.target.definition_fields
    is_sequence = definition.sequential and len(definition.handlers) > 1
    if is_sequence and groups and "sequential" not in fields:
        context.record_loss(
            "changed",
            definition.place,
            "sequential",
            f"{context.target.title} runs the hooks of a definition in parallel, so none sees "
            "what another one changed",
            "put what depends on each other into one command",
            *("tool_input", "llm_request", "context"),
        )
    own_members = {
        "sequential": definition.sequential,
        "description": written.get(definition.place, {}).get("description"),
    }
    entries: list[Entry] = []
    for pieces in groups.values():
        first = pieces[0]
        value: dict[str, Any] = {} if first.matcher is None else {"matcher": first.matcher}
        value |= {key: member for key, member in own_members.items() if member and key in fields}
        for key, member in first.members.items():
            if key in fields and key not in value and member is not None:
                value[key] = member
        value["hooks"] = [piece.handler for piece in pieces]
        entries.append(Entry(first.event, value, tuple(piece.origin for piece in pieces)))
    return entries


def _migrate_to_events(
    context: MigrationContext,
    definition: HookDefinition,
    handler: HandlerSpec,
    written: WrittenHooks,
) -> Iterator[_Piece]:
    """Yield what a handler becomes on each event with each matcher."""
    source, target = context.source, context.target
    inner = unwrap(handler.command)
    own_options = inner if inner is not None and inner.agent == target.name else None
    if own_options is not None and own_options.event in target.by_wire:
        events: Sequence[str] = [target.by_wire[own_options.event].canonical]
    else:
        events = counterparts(source, definition.event, target)
    if not events:
        context.record_loss(
            "lost",
            handler.place,
            f"{source.by_canonical[definition.event].wire}: {handler.label}",
            f"{target.title} has no such event",
            event_advice(definition.event, target),
        )
        return
    if handler.kind not in {handler_type.kind for handler_type in target.types.values()}:
        runs_only_commands = len(target.types) == 1
        context.record_loss(
            "lost",
            handler.place,
            f"{handler.kind}: {handler.label}",
            f"{target.title} runs commands only" if runs_only_commands else "it has no such kind",
            kind_advice(handler.kind),
        )
        return
    for event in events:
        target_event = target.by_canonical[event]
        if target_event.kinds is not None and handler.kind not in target_event.kinds:
            continue
        translation = _translate(context, definition, target_event, own_options)
        if not translation.matcher.patterns:
            continue
        move = HandlerMigration(
            context,
            definition,
            handler,
            written.get(handler.place, {}),
            target_event,
            translation.matcher,
            inner,
        )
        migrated = migrate_handler(move)
        origin = Origin(definition.event, handler, migrated.is_shimmed)
        for pattern in translation.matcher.patterns:
            yield _Piece(target_event.wire, pattern, translation.members, migrated.value, origin)


def _translate(
    context: MigrationContext,
    definition: HookDefinition,
    target_event: EventSpec,
    own_options: ShimOptions | None,
) -> _Translation:
    """Translate the matcher of a definition, or restore it; losses are recorded."""
    source, target = context.source, context.target
    source_event = source.by_canonical[definition.event]
    if own_options is None:
        translation = _Translation(
            translate_matcher(source, source_event, definition.matcher, target, target_event)
        )
    else:
        matcher = restore_matcher(
            own_options,
            definition.matcher,
            source=source,
            source_event=source_event,
            target=target,
            target_event=target_event,
        )
        members = read_original(own_options).definition
        members.pop("matcher", None)
        translation = _Translation(matcher, members)
    matcher = translation.matcher
    for piece, reason in matcher.missing:
        remedy = "the definition is left out"
        if matcher.patterns:
            remedy = "nothing runs for it; guard the tool that does the same there"
        context.record_loss("lost", definition.place, f"matcher {piece!r}", reason, remedy)
    for piece, reason in matcher.wider:
        remedy = "nothing, if that is meant"
        context.record_loss("note", definition.place, f"matcher {piece!r}", reason, remedy, MORE)
    return translation
