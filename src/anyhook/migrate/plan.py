"""What a migration would write, and what it would lose. Nothing here writes or runs anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anyhook.dialects.translate import counterparts
from anyhook.errors import SettingsError, UsageError
from anyhook.files import read_user_file
from anyhook.migrate.commands import (
    PROGRAM,
    unwrap,
)
from anyhook.migrate.handler import Building, Move
from anyhook.migrate.losses import (
    ANYTHING,
    MORE,
    Loss,
    event_advice,
    kind_advice,
)
from anyhook.migrate.matchers import Translated, translate_matcher
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place, Severity
from anyhook.model.layers import Layer
from anyhook.settings.hookset import HookSet, load_hooks
from anyhook.settings.jsonc import JsonSyntaxError, parse
from anyhook.settings.sources import SIZE_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anyhook.dialects.base import Dialect
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.definitions import HookDefinition
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Surroundings

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

    source: Dialect
    target: Dialect
    scope: str
    hooks: HookSet
    entries: tuple[Entry, ...]
    losses: tuple[Loss, ...]

    @property
    def loses(self) -> bool:
        """Whether anything is lost, weaker or changed; mere notes do not count."""
        return any(loss.counts for loss in self.losses)


def plan_migration(
    source: Dialect,
    target: Dialect,
    around: Surroundings,
    *,
    scope: str = "project",
    shim: bool = True,
    program: Sequence[str] = PROGRAM,
) -> Migration:
    """Work out what one agent's hooks become for another agent.

    Args:
        source: The agent whose settings are read.
        target: The agent that the hooks shall run under.
        around: The project, home and environment.
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
    everything = load_hooks(source, around)
    files = tuple(f for f in everything.files if f.source.layer in SCOPES[scope])
    for file in files:
        _refuse_broken(file)
    hooks = replace(everything, files=files)
    building = Building(source, target, around, shim, program)
    entries: list[Entry] = []
    for file in files:
        _tell_left_out(building, file)
        _tell_environment(building, file)
        _tell_private(building, file)
        raw = _raw(source, file)
        for definition in file.definitions:
            entries += _migrate_definition(building, hooks, definition, raw)
    if scope == "user":
        _tell_packages(building, everything)
    if entries:
        _tell_switched_off(building, scope)
    return Migration(source, target, scope, hooks, tuple(_merged(entries)), tuple(building.losses))


def _refuse_broken(file: LoadedFile) -> None:
    for problem in file.diagnostics:
        if problem.code in BROKEN:
            place = problem.place
            raise SettingsError(
                f"{problem.message}; nothing was migrated",
                path=str(file.source.path),
                line=place.line if place else None,
            )


def _tell_left_out(building: Building, file: LoadedFile) -> None:
    """Tell what the source agent itself leaves out: it is not moved either."""
    for problem in file.diagnostics:
        if problem.code in MEANS_NOTHING:
            kind = "lost" if problem.severity is Severity.ERROR else "note"
            building.lose(
                kind,
                problem.place,
                problem.message,
                f"{building.source.title} leaves it out too",
                "correct it in the source and migrate again",
            )


def _tell_environment(building: Building, file: LoadedFile) -> None:
    """Tell of variables that the source's settings give its hooks: they are no part of a hook."""
    path = building.source.settings_environment
    value: Any = file.values
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if path and isinstance(value, dict) and value and file.definitions:
        names = ", ".join(sorted(value))
        building.lose(
            "changed",
            file.definitions[0].place,
            f"{'.'.join(path)}: {names}",
            f"{building.source.title} gives them to its hooks; {building.target.title} does not",
            "set those that hooks read in the environment of the agent",
            ANYTHING,
        )


def _tell_private(building: Building, file: LoadedFile) -> None:
    """Tell that what one user keeps for himself comes into a file that is shared."""
    if file.source.layer is Layer.LOCAL and file.definitions:
        building.lose(
            "changed",
            file.definitions[0].place,
            f"hooks of {file.source.path.name}",
            "that file is one user's own; they come into a file that is shared with the project",
            "move those that are private to your own settings (--scope user)",
        )


def _tell_switched_off(building: Building, scope: str) -> None:
    """Tell that the target runs no hooks at all, as it is set now."""
    layer = Layer.USER if scope == "user" else Layer.PROJECT
    where = Place(f"the settings of {building.target.title}")
    dummy = HandlerSpec(kind="command", layer=layer, place=where, command="anyhook")
    hooks = load_hooks(building.target, building.around)
    off = hooks.switched_off(dummy)
    if off is not None:
        building.lose(
            "lost",
            where,
            "every hook",
            f"hooks are switched off there ({off})",
            "switch them on",
        )


def _tell_packages(building: Building, hooks: HookSet) -> None:
    for file in hooks.files:
        if file.source.layer in PACKAGED and file.definitions:
            count = sum(len(definition.handlers) for definition in file.definitions)
            building.lose(
                "lost",
                file.definitions[0].place,
                f"{count} hook(s) of the {file.source.layer} {file.source.origin}",
                "they belong to a package that comes and goes by itself",
                f"install its counterpart for {building.target.title}, or copy its hooks into your "
                "settings first",
            )


def _raw(dialect: Dialect, file: LoadedFile) -> dict[tuple[int | None, int | None], dict[str, Any]]:
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
    for key in dialect.hooks_path:
        value = value.get(key) if isinstance(value, dict) else None
    found = {}
    for event, definitions in value.items() if isinstance(value, dict) else ():
        for i, definition in enumerate(definitions if isinstance(definitions, list) else ()):
            handlers = definition.get("hooks") if isinstance(definition, dict) else None
            if isinstance(definition, dict):
                place = document.place((*dialect.hooks_path, event, i))
                found[place.line, place.column] = definition
            for j, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if isinstance(handler, dict):
                    place = document.place((*dialect.hooks_path, event, i, "hooks", j))
                    found[place.line, place.column] = handler
    return found


# -- one definition


def _migrate_definition(
    building: Building,
    hooks: HookSet,
    definition: HookDefinition,
    raw: Mapping[tuple[int | None, int | None], dict[str, Any]],
) -> Iterator[Entry]:
    """Yield what a definition becomes: one for each event and matcher."""
    made: dict[tuple[str, str | None], list[tuple[dict[str, Any], Origin]]] = {}
    for handler in definition.handlers:
        off = hooks.switched_off(handler)
        if off is not None:
            building.lose(
                "lost",
                handler.place,
                handler.label,
                f"it is switched off ({off})",
                "switch it on in the source and migrate again, if it shall run",
            )
            continue
        given = raw.get((handler.place.line, handler.place.column), {})
        for event, pattern, item in _migrate_handler(building, definition, handler, given):
            made.setdefault((event, pattern), []).append(item)
    in_order = definition.sequential and len(definition.handlers) > 1
    keeps_order = "sequential" in building.target.definition_fields
    if in_order and made and not keeps_order:
        building.lose(
            "changed",
            definition.place,
            "sequential",
            f"{building.target.title} runs the hooks of a definition side by side, so none sees "
            "what another one changed",
            "put what depends on each other into one command",
            *("tool_input", "llm_request", "context"),
        )
    for (event, pattern), items in made.items():
        entry: dict[str, Any] = {} if pattern is None else {"matcher": pattern}
        if definition.sequential and keeps_order:
            entry["sequential"] = True
        written = raw.get((definition.place.line, definition.place.column), {})
        if written.get("description") and "description" in building.target.definition_fields:
            entry["description"] = written["description"]
        entry["hooks"] = [handler for handler, _ in items]
        yield Entry(event, entry, tuple(origin for _, origin in items))


def _migrate_handler(
    building: Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    raw: Mapping[str, Any],
) -> Iterator[tuple[str, str | None, tuple[dict[str, Any], Origin]]]:
    """Yield event, matcher and JSON of what a handler becomes."""
    source, target = building.source, building.target
    old = source.by_canonical[definition.event]
    inner = unwrap(handler.command)
    if inner is not None and inner.agent == target.name:  # it comes home
        events = _at_home(building, inner, definition)
    else:
        events = counterparts(source, definition.event, target)
    if not events:
        building.lose(
            "lost",
            handler.place,
            f"{old.wire}: {handler.label}",
            f"{target.title} has no such event",
            event_advice(definition.event, target),
        )
        return
    if handler.kind not in {kind.kind for kind in target.types.values()}:
        building.lose(
            "lost",
            handler.place,
            f"{handler.kind}: {handler.label}",
            f"{target.title} runs commands only"
            if len(target.types) == 1
            else "it has no such kind",
            kind_advice(handler.kind),
        )
        return
    for event in events:
        new = target.by_canonical[event]
        if new.kinds is not None and handler.kind not in new.kinds:
            continue
        if inner is not None and inner.agent == target.name and inner.matcher:
            found = Translated(patterns=(inner.matcher,))
        else:
            found = translate_matcher(source, old, definition.matcher, target, new)
        _tell_missing(building, definition, found)
        for piece, why in found.wider:
            instead = "nothing, if that is meant"
            building.lose("note", definition.place, f"matcher {piece!r}", why, instead, MORE)
        if not found.patterns:
            continue
        made, shimmed = Move(building, definition, handler, raw, new, found, inner).write()
        for pattern in found.patterns:
            yield new.wire, pattern, (made, Origin(definition.event, handler, shimmed))


def _at_home(building: Building, inner: ShimOptions, definition: HookDefinition) -> tuple[str, ...]:
    """Return the events that a command was first written for."""
    target = building.target
    if inner.event in target.by_wire:
        return (target.by_wire[inner.event].canonical,)
    return counterparts(building.source, definition.event, target)


def _tell_missing(building: Building, definition: HookDefinition, found: Translated) -> None:
    for piece, why in found.missing:
        building.lose(
            "lost",
            definition.place,
            f"matcher {piece!r}",
            why,
            "nothing runs for it; guard the tool that does the same there"
            if found.patterns
            else "the definition is left out",
        )


def _merged(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Leave out what is there twice: handlers that do the same on the same event."""
    seen: list[tuple[str, Any, dict[str, Any]]] = []
    for entry in entries:
        kept = []
        for handler, origin in zip(entry.definition["hooks"], entry.origins, strict=True):
            key = (entry.event, entry.definition.get("matcher"), handler)
            if key not in seen:
                seen.append(key)
                kept.append((handler, origin))
        if kept:
            definition = {**entry.definition, "hooks": [handler for handler, _ in kept]}
            yield Entry(entry.event, definition, tuple(origin for _, origin in kept))
