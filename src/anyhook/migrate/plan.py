"""Plans a migration: what it would write, and what would be lost. Writes and runs nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.errors import SettingsError, UsageError
from anyhook.files import read_user_file
from anyhook.migrate.commands import PROGRAM, read_shim
from anyhook.migrate.context import ANYTHING, Loss, MigrationContext
from anyhook.migrate.definition import migrate_definition
from anyhook.migrate.entries import name_handlers, remove_duplicates
from anyhook.migrate.handler import may_ask
from anyhook.migrate.matcher_pieces import covers_same
from anyhook.model.answers import Outcome
from anyhook.model.definitions import HandlerSpec, handlers_of
from anyhook.model.diagnostics import Place, Severity
from anyhook.model.layers import Layer
from anyhook.model.record import replace
from anyhook.settings.edit import read_settings
from anyhook.settings.entries import add_definitions
from anyhook.settings.formats import is_blank, parse_settings
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.jsonc import SettingsSyntaxError, value_at
from anyhook.settings.layout import iter_definitions
from anyhook.settings.sources import SIZE_LIMIT, own_places, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.migrate.definition import WrittenHooks
    from anyhook.migrate.entries import Entry, EntryOrigin
    from anyhook.model.definitions import HookDefinition
    from anyhook.settings.hookset import HookSet
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Location

SCOPES: dict[str, frozenset[Layer]] = {
    "project": frozenset({Layer.PROJECT, Layer.LOCAL}),
    "user": frozenset({Layer.USER}),
}
"""Scope to the layers that are read; their hooks go into the target's file of that scope."""
PACKAGE_LAYERS = frozenset({Layer.PLUGIN, Layer.EXTENSION})
BROKEN_FILE_CODES = frozenset(
    {"settings-unreadable", "settings-syntax", "settings-dropped", "settings-shape"}
)
"""Codes of diagnostics on files that cannot be used at all."""
IGNORED_PIECE_CODES = frozenset(
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
"""Codes of diagnostics on pieces of settings that the source agent itself leaves out."""
FIELDS_OF_LATER_HOOKS = ("reason", "context", "system_message", "tool_input")
"""Fields of a decision that hooks after a denial would have added to."""


@dataclass(frozen=True, slots=True)
class Migration:
    """A planned migration."""

    source: AgentSpec
    target: AgentSpec
    scope: str
    """Whose settings: a key of `SCOPES`."""
    hooks: HookSet
    """The source's hooks of that scope."""
    entries: tuple[Entry, ...]
    losses: tuple[Loss, ...]

    @property
    def loses(self) -> bool:
        """Whether anything is lost, weaker or changed; mere notes do not count."""
        return any(loss.counts for loss in self.losses)

    @property
    def is_shimmed(self) -> bool:
        """Whether a migrated hook starts anyhook."""
        return any(origin.shimmed for _, origin in self.origins())

    def origins(self) -> Iterator[tuple[Entry, EntryOrigin]]:
        """Yield the origin of every migrated handler, with the entry of the handler."""
        for entry in self.entries:
            for origin in entry.origins:
                yield entry, origin


def plan_migration(
    source: AgentSpec,
    target: AgentSpec,
    location: Location,
    *,
    scope: str = "project",
    shim: bool = True,
    program: Sequence[str] = PROGRAM,
) -> Migration:
    """Plan what one agent's hooks become for another agent.

    With `shim`, commands keep the events and answers of the source. Hook files that are written
    with `anyhook.authoring` never need that. `program` holds the words that start anyhook in a
    command line.

    Raises:
        UsageError: If source and target are the same, or the scope is unknown.
        SettingsError: If a file of the source cannot be read.
    """
    if source is target:
        raise UsageError(f"--from and --to are both {source.name}; there is nothing to migrate")
    if scope not in SCOPES:
        raise UsageError(f"--scope is {' or '.join(SCOPES)}, not {scope!r}")
    all_hooks = load_hook_set(source, location)
    own_files = [file for file in all_hooks.files if not file.source.is_foreign]
    files = tuple([file for file in own_files if file.source.layer in SCOPES[scope]])
    for file in files:
        for problem in file.diagnostics:
            if problem.code in BROKEN_FILE_CODES:
                raise SettingsError(
                    f"{problem.message}; nothing was migrated",
                    path=str(file.source.path),
                    line=problem.place.line if problem.place else None,
                )
    hooks = replace(all_hooks, files=files)
    context = MigrationContext(source, target, location, shim, program)
    entries: list[Entry] = []
    foreign_places = set(places(target, location)) - set(own_places(target, location))
    foreign_files = {path for _, path in foreign_places}
    for file in files:
        _record_file_losses(context, file, is_shared=file.source.path in foreign_files)
        written = _read_written_hooks(source, file)
        for definition in file.definitions:
            handlers = _enabled_handlers(context, hooks, definition)
            entries += migrate_definition(context, definition, handlers, written)
    if scope == "user":
        _record_packages(context, all_hooks)
    if entries:
        layer = Layer.USER if scope == "user" else Layer.PROJECT
        place = Place(f"the settings of {context.target.title}")
        example = HandlerSpec(kind="command", layer=layer, place=place, command="anyhook")
        switch = load_hook_set(context.target, context.location).switched_off(example)
        if switch is not None:
            reason = f"hooks are switched off there ({switch})"
            context.record_loss("lost", place, "every hook", reason, "switch them on")
    entries = name_handlers(context, remove_duplicates(context, entries))
    _record_ended_sequences(context, entries)
    return Migration(source, target, scope, hooks, tuple(entries), tuple(context.losses))


def _enabled_handlers(
    context: MigrationContext, hooks: HookSet, definition: HookDefinition
) -> list[HandlerSpec]:
    enabled: list[HandlerSpec] = []
    for handler in definition.handlers:
        switch = hooks.switched_off(handler)
        if switch is None:
            enabled.append(handler)
            continue
        context.record_loss(
            "lost",
            handler.place,
            handler.label,
            f"it is switched off ({switch})",
            "switch it on in the source and migrate again, if it shall run",
        )
    return enabled


def _read_written_hooks(agent: AgentSpec, file: LoadedFile) -> WrittenHooks:
    """Read the definitions and handlers of a file as they are written."""
    written: WrittenHooks = {}
    if not file.definitions:
        return written
    name = str(file.source.path)
    try:
        document = parse_settings(read_user_file(name, SIZE_LIMIT).decode(), name)
    except (OSError, ValueError, SettingsSyntaxError) as error:
        raise SettingsError(f"it changed while it was read: {error}", path=name) from error
    for definition in iter_definitions(agent, document.value):
        written[document.place(definition.path)] = definition.value
        for handler in definition.handlers:
            written[document.place(handler.path)] = handler.value
    return written


# -- losses of whole files


def _record_file_losses(context: MigrationContext, file: LoadedFile, *, is_shared: bool) -> None:
    """Report what changes for a whole file; the target reads a shared file as well."""
    source, target = context.source, context.target
    for problem in file.diagnostics:
        if problem.code in IGNORED_PIECE_CODES:
            kind = "lost" if problem.severity is Severity.ERROR else "note"
            context.record_loss(
                kind,
                problem.place,
                problem.message,
                f"{source.title} leaves it out too",
                "correct it in the source and migrate again",
            )
    if not file.definitions:
        return
    place = file.definitions[0].place
    path = source.settings.environment
    variables = value_at(file.values, path) if path else None
    if isinstance(variables, dict) and variables:
        names = ", ".join(sorted(variables))
        context.record_loss(
            "changed",
            place,
            f"{'.'.join(path)}: {names}",
            f"{source.title} gives them to its hooks; {target.title} does not",
            "set those that hooks read in the environment of the agent",
            ANYTHING,
        )
    if file.source.layer is Layer.LOCAL:
        context.record_loss(
            "changed",
            place,
            f"hooks of {file.source.path.name}",
            "that file is one user's own; they come into a file that is shared with the project",
            "move those that are private to your own settings (--scope user)",
        )
    if is_shared:
        context.record_loss(
            "note",
            place,
            f"hooks of {file.source.path.name}",
            f"{target.title} also reads this file, so they run twice there",
            "switch one of the two off, or keep the file as it is and do not migrate",
        )


def _record_packages(context: MigrationContext, hooks: HookSet) -> None:
    for file in hooks.files:
        if file.source.layer in PACKAGE_LAYERS and file.definitions:
            count = len(handlers_of(file.definitions))
            context.record_loss(
                "lost",
                file.definitions[0].place,
                f"{count} hook(s) of the {file.source.layer} {file.source.origin}",
                "they belong to a package that is installed and removed separately",
                f"install its counterpart for {context.target.title}, or copy its hooks "
                "into your settings first",
            )


def _record_ended_sequences(context: MigrationContext, entries: Sequence[Entry]) -> None:
    """Record the events on which the hooks after a denial do not run, but did in the source."""
    source, target = context.source, context.target
    origins_by_event: dict[str, list[EntryOrigin]] = {}
    for entry in entries:
        origins_by_event.setdefault(entry.event, []).extend(entry.origins)
    for wire, origins in origins_by_event.items():
        outcomes = _ending_outcomes(target, target.by_wire[wire].canonical)
        ends_in_source = _ending_outcomes(source, origins[0].event)
        if len(origins) < 2 or not outcomes or outcomes <= ends_in_source:
            continue
        words = " or ".join(sorted(outcomes))
        context.record_loss(
            "note",
            origins[1].handler.place,
            f"{len(origins)} hooks on {wire}",
            f"{target.title} runs them one after another, and those after an answer {words} "
            "do not run",
            "nothing, unless one has to see every event, like a log; let it come first",
            *FIELDS_OF_LATER_HOOKS,
        )
        if Outcome.ASK not in outcomes - ends_in_source:
            continue
        for origin in origins[:-1]:
            if may_ask(origin.move):
                context.record_loss(
                    "weaker",
                    origin.handler.place,
                    f"{origin.handler.label}: asking the user",
                    f"after a question on {wire} {target.title} runs no other hook, also "
                    "none that would deny",
                    "put the hooks that deny before it",
                    str(Outcome.DENY),
                )


def _ending_outcomes(agent: AgentSpec, event: str) -> frozenset[Outcome]:
    """Return the verdicts after which no other hook of an event runs."""
    if agent.documented.sequence_scope != "always":
        return frozenset()
    return agent.by_canonical[event].ending_outcomes or frozenset()


# -- the settings file of the target

RESTRICTING_MEMBERS = frozenset({"async", "if", "once"})
"""Members of a handler that make it do less."""


@dataclass(frozen=True, slots=True)
class ExistingHandler:
    """A handler of the target's file."""

    matcher: str | None
    value: dict[str, Any]
    place: Place


def merge_into(migration: Migration, text: str, file: str) -> tuple[str, list[Loss]]:
    """Add the migrated hooks to a settings file.

    An existing hook with the same event, matcher and command is left unchanged even if its other
    members differ: they may have been changed on purpose.

    The new text keeps comments, order and everything else. The losses are the differences from
    existing hooks.

    Raises:
        SettingsError: If the file has not the format of its name, or a value on the way to the
            hooks has the wrong type.
    """
    target = migration.target
    existing: dict[tuple[str, str], list[ExistingHandler]] = {}
    if not is_blank(text, file):
        document = read_settings(text, file)
        for definition in iter_definitions(target, document.value):
            matcher = definition.value.get("matcher")
            if not isinstance(matcher, str | None):
                continue
            for written in definition.handlers:
                other = ExistingHandler(matcher, written.value, document.place(written.path))
                key = (definition.event, _command_key(written.value))
                existing.setdefault(key, []).append(other)
    notes: list[Loss] = []
    definitions: dict[str, list[dict[str, Any]]] = {}
    for entry in migration.entries:
        matcher = entry.definition.get("matcher")
        missing: list[dict[str, Any]] = []
        for handler in entry.definition["hooks"]:
            equal = existing.get((entry.event, _command_key(handler)), [])
            same = [other for other in equal if covers_same(other.matcher, matcher)]
            if not same:
                missing.append(handler)
            elif all(other.value != handler for other in same):
                notes += _differences(same[0], handler)
        added = definitions.setdefault(entry.event, [])
        if missing:
            added.append({**entry.definition, "hooks": missing})
    return add_definitions(target, text, file, definitions), notes


def _command_key(handler: dict[str, Any]) -> str:
    """Return what a handler runs, as JSON, however the shim's command line is written."""
    command = handler.get("command")
    options = read_shim(command) if isinstance(command, str) else None
    if options is not None:
        command = options.as_dict()
    return json.dumps([command, handler.get("args"), handler.get("env")], sort_keys=True)


def _differences(existing: ExistingHandler, handler: dict[str, Any]) -> Iterator[Loss]:
    members = existing.value
    for key in sorted(members.keys() | handler.keys()):
        is_unnamed = key == "name" and members.get(key) is None
        if key == "command" or is_unnamed or members.get(key) == handler.get(key):
            continue
        is_weaker = key in RESTRICTING_MEMBERS
        before, after = members.get(key), handler.get(key)
        if key == "timeout" and isinstance(before, int | float) and isinstance(after, int | float):
            is_weaker = before < after
        yield Loss(
            kind="weaker" if is_weaker else "note",
            place=existing.place,
            subject=f"{key} of a hook that is there already",
            reason=f"it is {before!r}; the source means {after!r}",
            remedy="change it yourself if you want that",
        )
