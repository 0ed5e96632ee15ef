"""What a migration would write, and what it would lose. Nothing here writes or runs anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.translate import counterparts
from anyhook.errors import SettingsError, UsageError
from anyhook.files import read_user_file
from anyhook.migrate.commands import PROGRAM, unwrap, wrap
from anyhook.migrate.handler import HandlerMigration, MigrationContext, timeout_of
from anyhook.migrate.losses import (
    ANYTHING,
    MORE,
    Loss,
    event_advice,
    kind_advice,
)
from anyhook.migrate.matchers import Translated, translate_matcher
from anyhook.migrate.names import Names, has_names
from anyhook.migrate.original import differing, read_original, restored_matcher, write_original
from anyhook.model.definitions import HandlerSpec, HookDefinition
from anyhook.model.diagnostics import Place, Severity
from anyhook.model.layers import Layer
from anyhook.settings.hookset import HookSet, load_hooks
from anyhook.settings.jsonc import JsonSyntaxError, parse
from anyhook.settings.sources import SIZE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.options import ShimOptions
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Location

Raw = Mapping[tuple[int | None, int | None], Mapping[str, Any]]
"""Definitions and handlers as they are written, by line and column."""
SCOPES: dict[str, frozenset[Layer]] = {
    "project": frozenset({Layer.PROJECT, Layer.LOCAL}),
    "user": frozenset({Layer.USER}),
}
"""Scope to the layers that are read; what is found goes into the target's file of that scope."""
PACKAGED = frozenset({Layer.PLUGIN, Layer.EXTENSION})
BROKEN = frozenset({"settings-unreadable", "settings-syntax", "settings-shape"})
"""What is wrong with a file that says nothing because of it."""
MEANS_NOTHING = frozenset(
    {
        "unknown-event",
        "unknown-field",
        "wrong-type",
        "missing-field",
        "unknown-type",
        "bad-timeout",
        "bad-condition",
    }
)
"""What is wrong with a piece of settings that the source agent itself leaves out."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One definition for the target's file.

    Attributes:
        event: Name on the target's wire.
        definition: The definition, as JSON.
        origins: The handlers that it is made of, one for each of its own.
    """

    event: str
    definition: dict[str, Any]
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a migrated handler comes from.

    Attributes:
        event: Canonical name of its event at the source.
        handler: The handler there.
        shimmed: Whether it runs behind the shim.
    """

    event: str
    handler: HandlerSpec
    shimmed: bool


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration would do.

    Attributes:
        source: The agent that the hooks are written for.
        target: The agent that they shall run under.
        scope: Whose settings: a key of `SCOPES`.
        hooks: The source's hooks of that scope.
        entries: What the target's file shall have.
        losses: What is lost or changes on the way.
    """

    source: AgentSpec
    target: AgentSpec
    scope: str
    hooks: HookSet
    entries: tuple[Entry, ...]
    losses: tuple[Loss, ...]

    @property
    def loses(self) -> bool:
        """Whether anything is lost, weaker or changed; mere notes do not count."""
        return any(loss.counts for loss in self.losses)

    @property
    def is_shimmed(self) -> bool:
        """Whether a migrated hook starts anyhook."""
        return any(origin.shimmed for entry in self.entries for origin in entry.origins)


def plan_migration(
    source: AgentSpec,
    target: AgentSpec,
    location: Location,
    *,
    scope: str = "project",
    shim: bool = True,
    program: Sequence[str] = PROGRAM,
) -> Migration:
    """Work out what one agent's hooks become for another agent.

    Args:
        source: The agent whose settings are read.
        target: The agent that the hooks shall run under.
        location: The project, home and environment.
        scope: `project` or `user`.
        shim: Let commands keep their own agent's events and answers. Hook files that are written
            with `anyhook.authoring` never need that.
        program: The words that start anyhook in a command line.

    Raises:
        UsageError: If the agents are one, or the scope is unknown.
        SettingsError: If a file of the source cannot be read; then nothing would be right.
    """
    if source is target:
        raise UsageError(f"--from and --to are both {source.name}; there is nothing to migrate")
    if scope not in SCOPES:
        raise UsageError(f"--scope is {' or '.join(SCOPES)}, not {scope!r}")
    everything = load_hooks(source, location)
    files = tuple(f for f in everything.files if f.source.layer in SCOPES[scope])
    for file in files:
        _refuse_broken(file)
    hooks = replace(everything, files=files)
    migration = MigrationContext(source, target, location, shim, program)
    entries: list[Entry] = []
    for file in files:
        _tell_left_out(migration, file)
        _tell_environment(migration, file)
        _tell_private(migration, file)
        raw = _raw(source, file)
        for definition in file.definitions:
            entries += _migrate_definition(migration, hooks, definition, raw)
    if scope == "user":
        _tell_packages(migration, everything)
    if entries:
        _tell_switched_off(migration, scope)
    merged = tuple(_named(migration, list(_merged(migration, entries))))
    return Migration(source, target, scope, hooks, merged, tuple(migration.losses))


def _refuse_broken(file: LoadedFile) -> None:
    for problem in file.diagnostics:
        if problem.code in BROKEN:
            place = problem.place
            raise SettingsError(
                f"{problem.message}; nothing was migrated",
                path=str(file.source.path),
                line=place.line if place else None,
            )


def _tell_left_out(migration: MigrationContext, file: LoadedFile) -> None:
    """Tell what the source agent itself leaves out: it is not moved either."""
    for problem in file.diagnostics:
        if problem.code in MEANS_NOTHING:
            kind = "lost" if problem.severity is Severity.ERROR else "note"
            migration.record_loss(
                kind,
                problem.place,
                problem.message,
                f"{migration.source.title} leaves it out too",
                "correct it in the source and migrate again",
            )


def _tell_environment(migration: MigrationContext, file: LoadedFile) -> None:
    """Tell of variables that the source's settings give its hooks: they are no part of a hook."""
    path = migration.source.settings_environment
    value: Any = file.values
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if path and isinstance(value, dict) and value and file.definitions:
        names = ", ".join(sorted(value))
        migration.record_loss(
            "changed",
            file.definitions[0].place,
            f"{'.'.join(path)}: {names}",
            f"{migration.source.title} gives them to its hooks; {migration.target.title} does not",
            "set those that hooks read in the environment of the agent",
            ANYTHING,
        )


def _tell_private(migration: MigrationContext, file: LoadedFile) -> None:
    """Tell that what one user keeps for himself comes into a file that is shared."""
    if file.source.layer is Layer.LOCAL and file.definitions:
        migration.record_loss(
            "changed",
            file.definitions[0].place,
            f"hooks of {file.source.path.name}",
            "that file is one user's own; they come into a file that is shared with the project",
            "move those that are private to your own settings (--scope user)",
        )


def _tell_switched_off(migration: MigrationContext, scope: str) -> None:
    """Tell that the target runs no hooks at all, as it is set now."""
    layer = Layer.USER if scope == "user" else Layer.PROJECT
    where = Place(f"the settings of {migration.target.title}")
    dummy = HandlerSpec(kind="command", layer=layer, place=where, command="anyhook")
    hooks = load_hooks(migration.target, migration.location)
    off = hooks.switched_off(dummy)
    if off is not None:
        migration.record_loss(
            "lost",
            where,
            "every hook",
            f"hooks are switched off there ({off})",
            "switch them on",
        )


def _tell_packages(migration: MigrationContext, hooks: HookSet) -> None:
    for file in hooks.files:
        if file.source.layer in PACKAGED and file.definitions:
            count = sum(len(definition.handlers) for definition in file.definitions)
            migration.record_loss(
                "lost",
                file.definitions[0].place,
                f"{count} hook(s) of the {file.source.layer} {file.source.origin}",
                "they belong to a package that comes and goes by itself",
                f"install its counterpart for {migration.target.title}, or copy its hooks "
                "into your settings first",
            )


def _raw(agent: AgentSpec, file: LoadedFile) -> dict[tuple[int | None, int | None], dict[str, Any]]:
    """Return definitions and handlers of a file as they are written, by line and column."""
    file_name = str(file.source.path)
    if not file.definitions:
        return {}
    try:
        text = read_user_file(file.source.path, SIZE_LIMIT).decode()
        document = parse(text, str(file.source.path))
    except (OSError, ValueError, JsonSyntaxError) as error:
        raise SettingsError(f"it changed while it was read: {error}", path=file_name) from error
    value: Any = document.value
    for key in agent.hooks_path:
        value = value.get(key) if isinstance(value, dict) else None
    found = {}
    for event, definitions in value.items() if isinstance(value, dict) else ():
        for i, definition in enumerate(definitions if isinstance(definitions, list) else ()):
            handlers = definition.get("hooks") if isinstance(definition, dict) else None
            if isinstance(definition, dict):
                place = document.place((*agent.hooks_path, event, i))
                found[place.line, place.column] = definition
            for j, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if isinstance(handler, dict):
                    place = document.place((*agent.hooks_path, event, i, "hooks", j))
                    found[place.line, place.column] = handler
    return found


# -- one definition


@dataclass(frozen=True, slots=True)
class _Moved:
    """What one handler becomes on one event with one matcher.

    Attributes:
        event: Name on the target's wire.
        matcher: The matcher there.
        definition: Other members that its definition had before it was migrated to the source.
        handler: The handler, as JSON.
        origin: Where it comes from.
    """

    event: str
    matcher: str | None
    definition: dict[str, Any]
    handler: dict[str, Any]
    origin: Origin


def _migrate_definition(
    migration: MigrationContext,
    hooks: HookSet,
    definition: HookDefinition,
    raw: Raw,
) -> Iterator[Entry]:
    """Yield what a definition becomes: one for each event and matcher."""
    handlers = []
    for handler in definition.handlers:
        off = hooks.switched_off(handler)
        if off is None:
            handlers.append(handler)
        else:
            migration.record_loss(
                "lost",
                handler.place,
                handler.label,
                f"it is switched off ({off})",
                "switch it on in the source and migrate again, if it shall run",
            )
    for entry in _migrate_handlers(migration, definition, handlers, raw):
        yield _with_original(migration, definition, entry, raw)


def _migrate_handlers(
    migration: MigrationContext,
    definition: HookDefinition,
    handlers: Sequence[HandlerSpec],
    raw: Raw,
) -> Iterator[Entry]:
    made: dict[str, list[_Moved]] = {}
    for handler in handlers:
        given = raw.get((handler.place.line, handler.place.column), {})
        for item in _migrate_handler(migration, definition, handler, given):
            key = json.dumps([item.event, item.matcher, item.definition], sort_keys=True)
            made.setdefault(key, []).append(item)
    in_order = definition.sequential and len(definition.handlers) > 1
    fields = migration.target.definition_fields
    if in_order and made and "sequential" not in fields:
        migration.record_loss(
            "changed",
            definition.place,
            "sequential",
            f"{migration.target.title} runs the hooks of a definition side by side, so none sees "
            "what another one changed",
            "put what depends on each other into one command",
            *("tool_input", "llm_request", "context"),
        )
    written = raw.get((definition.place.line, definition.place.column), {})
    members = {"sequential": definition.sequential, "description": written.get("description")}
    for items in made.values():
        first = items[0]
        entry: dict[str, Any] = {} if first.matcher is None else {"matcher": first.matcher}
        entry |= {key: value for key, value in members.items() if value and key in fields}
        for key, value in first.definition.items():
            if key in fields and key not in entry and value is not None:
                entry[key] = value
        entry["hooks"] = [item.handler for item in items]
        yield Entry(first.event, entry, tuple(item.origin for item in items))


def _migrate_handler(
    migration: MigrationContext,
    definition: HookDefinition,
    handler: HandlerSpec,
    raw: Mapping[str, Any],
) -> Iterator[_Moved]:
    """Yield what a handler becomes: one for each event and matcher."""
    source, target = migration.source, migration.target
    old = source.by_canonical[definition.event]
    inner = unwrap(handler.command)
    home = inner if inner is not None and inner.agent == target.name else None
    if home is not None:
        events = _at_home(migration, home, definition)
    else:
        events = counterparts(source, definition.event, target)
    if not events:
        migration.record_loss(
            "lost",
            handler.place,
            f"{old.wire}: {handler.label}",
            f"{target.title} has no such event",
            event_advice(definition.event, target),
        )
        return
    if handler.kind not in {kind.kind for kind in target.handler_types.values()}:
        migration.record_loss(
            "lost",
            handler.place,
            f"{handler.kind}: {handler.label}",
            f"{target.title} runs commands only"
            if len(target.handler_types) == 1
            else "it has no such kind",
            kind_advice(handler.kind),
        )
        return
    for event in events:
        new = target.by_canonical[event]
        if new.handler_kinds is not None and handler.kind not in new.handler_kinds:
            continue
        members: dict[str, Any] = {}
        if home is not None:
            found = restored_matcher(
                home,
                definition.matcher,
                away=source,
                event=old,
                home=target,
                home_event=new,
            )
            members, _ = read_original(home)
            members.pop("matcher", None)
        else:
            found = translate_matcher(source, old, definition.matcher, target, new)
        _tell_missing(migration, definition, found)
        for piece, why in found.wider:
            instead = "nothing, if that is meant"
            migration.record_loss(
                "note", definition.place, f"matcher {piece!r}", why, instead, MORE
            )
        if not found.patterns:
            continue
        made, shimmed = HandlerMigration(
            migration, definition, handler, raw, new, found, inner
        ).write()
        for pattern in found.patterns:
            origin = Origin(definition.event, handler, shimmed)
            yield _Moved(new.wire, pattern, members, made, origin)


# -- the way back


def _with_original(
    migration: MigrationContext, definition: HookDefinition, entry: Entry, raw: Raw
) -> Entry:
    """Let the shim keep what migrating an entry back could not restore otherwise."""
    handlers = []
    for handler, origin in zip(entry.definition["hooks"], entry.origins, strict=True):
        place = origin.handler.place
        written = raw.get((place.line, place.column))
        was_migrated_before = unwrap(origin.handler.command) is not None
        if written is None or was_migrated_before:
            handlers.append(handler)
            continue
        returned = _returned(migration, origin, entry, handler)
        fields = migration.source.definition_fields - {"hooks"}
        outer = raw.get((definition.place.line, definition.place.column), {})
        definition_lost = _only(fields, differing(outer, returned))
        command = migration.source.handler_types["command"]
        fields = migration.source.handler_fields | command.fields.keys() | {"command", "args"}
        handler_lost = _only(fields, differing(written, returned["hooks"][0]))
        if handler_lost.get("env"):
            del handler_lost["env"]  # the shim has them already, and values may be secrets
        options = unwrap(handler["command"]) if origin.shimmed else None
        if options is not None:
            options = options.replace(was=write_original(definition_lost, handler_lost))
            command_line = wrap(options, migration.target, migration.starter)
            handlers.append({**handler, "command": command_line})
        else:
            handlers.append(handler)
            if migration.shim:
                _tell_way_back(migration, origin, definition_lost | handler_lost)
    return replace(entry, definition={**entry.definition, "hooks": handlers})


def _only(fields: Collection[str], members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if key in fields}


def _tell_way_back(migration: MigrationContext, origin: Origin, members: Mapping[str, Any]) -> None:
    """Report what migrating a hook back would not restore, as no shim is there to keep it."""
    for key, value in members.items():
        shown = "absent" if value is None else json.dumps(value, ensure_ascii=False)
        migration.record_loss(
            "note",
            origin.handler.place,
            f"{key}: {origin.handler.label}",
            f"it is {shown} here, and migrating it back writes it otherwise",
            "keep a copy of the settings if you want to go back",
        )


def _returned(
    migration: MigrationContext, origin: Origin, entry: Entry, handler: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the definition that one handler of an entry becomes when it is migrated back."""
    away = migration.target
    event = away.by_wire[entry.event]
    layer = origin.handler.layer
    places = (Place("migrated", 1, 1), Place("migrated", 1, 2))
    timeout = handler.get("timeout")
    spec = HandlerSpec(
        kind="command",
        layer=layer,
        place=places[1],
        name=handler.get("name"),
        command=handler["command"],
        description=handler.get("description"),
        timeout=timeout_of(away, event, layer, timeout),
        env=handler.get("env", {}),
    )
    matcher, in_order = entry.definition.get("matcher"), bool(entry.definition.get("sequential"))
    moved = HookDefinition(event.canonical, layer, places[0], matcher, in_order, (spec,))
    raw: Raw = {(1, 1): dict(entry.definition), (1, 2): dict(handler)}
    back = MigrationContext(
        away, migration.source, migration.location, migration.shim, migration.starter
    )
    entries = list(_migrate_handlers(back, moved, moved.handlers, raw))
    return entries[0].definition if entries else {"hooks": [{}]}


def _at_home(
    migration: MigrationContext, inner: ShimOptions, definition: HookDefinition
) -> tuple[str, ...]:
    """Return the events that a command was first written for."""
    target = migration.target
    if inner.event in target.by_wire:
        return (target.by_wire[inner.event].canonical,)
    return counterparts(migration.source, definition.event, target)


def _tell_missing(
    migration: MigrationContext, definition: HookDefinition, found: Translated
) -> None:
    for piece, why in found.missing:
        migration.record_loss(
            "lost",
            definition.place,
            f"matcher {piece!r}",
            why,
            "nothing runs for it; guard the tool that does the same there"
            if found.patterns
            else "the definition is left out",
        )


def _does(handler: dict[str, Any]) -> dict[str, Any]:
    """Return a migrated handler without what its definition was before."""
    options = unwrap(handler["command"])
    if options is None:
        return handler
    _, members = read_original(options)
    return {**handler, "command": options.replace(was=write_original({}, members))}


def _named(migration: MigrationContext, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Name the hooks that have no name, where the target switches hooks off by name."""
    if not has_names(migration.target):
        yield from entries
        return
    names = Names()
    for definition in load_hooks(migration.target, migration.location).definitions:
        for there in definition.handlers:
            if there.name:
                names.reserve(there.name, there.command or "")
    for entry in entries:
        for handler in entry.definition["hooks"]:
            if "name" in handler:
                names.reserve(handler["name"], handler["command"])
    for entry in entries:
        handlers = []
        for handler, origin in zip(entry.definition["hooks"], entry.origins, strict=True):
            inner = unwrap(origin.handler.command)
            is_at_home = inner is not None and inner.agent == migration.target.name
            needs_name = "name" not in handler and not is_at_home
            name = names.name(handler["command"]) if needs_name else None
            handlers.append({"type": handler["type"], "name": name, **handler} if name else handler)
        yield replace(entry, definition={**entry.definition, "hooks": handlers})


def _merged(migration: MigrationContext, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Leave out what is there twice: handlers that do the same on the same event."""
    seen: list[tuple[str, Any, dict[str, Any]]] = []
    for entry in entries:
        kept = []
        for handler, origin in zip(entry.definition["hooks"], entry.origins, strict=True):
            key = (entry.event, entry.definition.get("matcher"), _does(handler))
            if key not in seen:
                seen.append(key)
                kept.append((handler, origin))
            elif unwrap(origin.handler.command) is None:
                migration.record_loss(
                    "note",
                    origin.handler.place,
                    f"{origin.handler.label}, a second time",
                    "the same hook on the same event runs once",
                    "nothing; remove one of the two if you want",
                )
        if kept:
            definition = {**entry.definition, "hooks": [handler for handler, _ in kept]}
            yield Entry(entry.event, definition, tuple(origin for _, origin in kept))
