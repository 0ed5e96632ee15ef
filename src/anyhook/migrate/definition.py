"""What one definition becomes for another agent: one entry for each event and matcher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.agents.translate import counterparts
from anyhook.migrate.commands import read_shim
from anyhook.migrate.context import KIND_ADVICE, MORE, HandlerMigration, event_advice
from anyhook.migrate.entries import Entry, EntryOrigin
from anyhook.migrate.handler import migrate_handler
from anyhook.migrate.matchers import TranslatedMatcher, translate_matcher

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyhook.agents.spec import EventSpec
    from anyhook.migrate.context import MigrationContext
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Place

WrittenHooks = dict["Place", "Mapping[str, Any]"]
"""Definitions and handlers as they are written, by their places."""
Groups = dict[tuple[str, str | None], list[tuple[dict[str, Any], EntryOrigin]]]
"""Event of the target and matcher there to the handlers, as JSON, and where they come from."""


def migrate_definition(
    context: MigrationContext,
    definition: HookDefinition,
    handlers: Sequence[HandlerSpec],
    written: WrittenHooks,
) -> list[Entry]:
    """Return what a definition becomes."""
    context = context.in_form(definition.form)
    groups: Groups = {}
    for handler in handlers:
        _migrate_to_events(context, definition, handler, written, groups)
    fields = context.target.settings.definition_fields
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
    for (event, pattern), pieces in groups.items():
        value: dict[str, Any] = {} if pattern is None else {"matcher": pattern}
        value |= {key: member for key, member in own_members.items() if member and key in fields}
        value["hooks"] = [handler for handler, _ in pieces]
        entries.append(Entry(event, value, tuple(origin for _, origin in pieces)))
    return entries


def _migrate_to_events(
    context: MigrationContext,
    definition: HookDefinition,
    handler: HandlerSpec,
    written: WrittenHooks,
    groups: Groups,
) -> None:
    """Add what a handler becomes on each event with each matcher to the groups."""
    target = context.target
    inner = read_shim(handler.command)
    own_options = None
    if inner is not None and inner.agent == target.name:
        own_options = inner
    for event in _target_events(context, definition, handler, own_options):
        target_event = target.by_canonical[event]
        if (
            target_event.handler_kinds is not None
            and handler.kind not in target_event.handler_kinds
        ):
            continue
        matcher = _migrate_matcher(context, definition, target_event, own_options)
        if not matcher.patterns:
            continue
        move = HandlerMigration(
            context,
            definition,
            handler,
            written.get(handler.place, {}),
            target_event,
            matcher,
            inner,
        )
        value, is_shimmed = migrate_handler(move)
        refused = target.settings.refused_text_in(value["command"])
        if refused is not None:
            context.record_loss(
                "lost",
                handler.place,
                handler.label,
                f"{target.title} does not accept {refused!r} in a command",
                "put the command into a script, and name the script",
            )
            continue
        origin = EntryOrigin(definition.event, handler, is_shimmed, move)
        for pattern in matcher.patterns:
            groups.setdefault((target_event.wire, pattern), []).append((value, origin))


def _target_events(
    context: MigrationContext,
    definition: HookDefinition,
    handler: HandlerSpec,
    own_options: ShimOptions | None,
) -> Sequence[str]:
    """Return the events that a handler is migrated to; if there is none, record the loss."""
    source, target = context.source, context.target
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
        return ()
    kinds = {handler_type.kind for handler_type in target.settings.handler_types.values()}
    # Only commands can run behind the shim, which keeps the events and answers of the source.
    if handler.kind != "command":
        reason = "it has no such kind"
        if handler.kind in kinds:
            reason = f"it would get the events of {target.title}, which are written otherwise"
        elif len(target.settings.handler_types) == 1:
            reason = f"{target.title} runs commands only"
        subject = f"{handler.kind}: {handler.label}"
        remedy = KIND_ADVICE.get(handler.kind, "write a command that does it")
        context.record_loss("lost", handler.place, subject, reason, remedy)
        return ()
    return events


def _migrate_matcher(
    context: MigrationContext,
    definition: HookDefinition,
    target_event: EventSpec,
    own_options: ShimOptions | None,
) -> TranslatedMatcher:
    """Translate the matcher of a definition; losses are recorded."""
    if own_options is not None and own_options.matcher:
        return TranslatedMatcher(patterns=(own_options.matcher,))
    source, target = context.source, context.target
    event = source.by_canonical[definition.event]
    matcher = translate_matcher(source, event, definition.matcher, target, target_event)
    for piece, reason in matcher.missing:
        remedy = "the definition is left out"
        if matcher.patterns:
            remedy = "nothing runs for it; guard the tool that does the same there"
        context.record_loss("lost", definition.place, f"matcher {piece!r}", reason, remedy)
    for piece, reason in matcher.wider:
        remedy = "nothing, if that is meant"
        context.record_loss("note", definition.place, f"matcher {piece!r}", reason, remedy, MORE)
    return matcher
