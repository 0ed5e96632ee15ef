"""What a migration would write, and what it would lose. Nothing here writes or runs anything."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anyhook.dialects.translate import counterparts
from anyhook.errors import SettingsError, UsageError
from anyhook.handlers.shell import refer
from anyhook.migrate.commands import (
    PROGRAM,
    counterpart_variables,
    is_portable,
    line_of,
    own_variables,
    quote,
    renamed,
    unwrap,
    wrap,
)
from anyhook.migrate.losses import (
    INSTEAD,
    Loss,
    event_advice,
    kind_advice,
    lost_abilities,
    lost_fields,
)
from anyhook.migrate.matchers import Translated, translate_matcher
from anyhook.migrate.options import ShimOptions
from anyhook.model.diagnostics import Severity
from anyhook.model.layers import Layer
from anyhook.settings.hookset import HookSet, load_hooks
from anyhook.settings.jsonc import parse
from anyhook.trust.scripts import named_files, program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from anyhook.dialects.base import Dialect, EventSpec
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.settings.reader import LoadedFile
    from anyhook.settings.sources import Surroundings

SCOPES: dict[str, frozenset[Layer]] = {
    "project": frozenset({Layer.PROJECT, Layer.LOCAL}),
    "user": frozenset({Layer.USER}),
}
"""Scope to the layers that are read; what is found goes into the target's file of that scope."""
WAIT = 5.0
"""Seconds that an agent waits longer than a command whose end the shim has to see."""
ROUNDING = 1e-9
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


@dataclass(slots=True)
class _Building:
    """A migration that is being made."""

    source: Dialect
    target: Dialect
    around: Surroundings
    shim: bool
    starter: Sequence[str]
    entries: list[Entry] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)

    def lose(self, kind: str, place: Place | None, what: str, why: str, instead: str) -> None:
        loss = Loss(kind=kind, place=place, what=what, why=why, instead=instead)
        if loss not in self.losses:
            self.losses.append(loss)


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
    building = _Building(source, target, around, shim, program)
    for file in files:
        _tell_left_out(building, file)
        raw = _raw_handlers(source, file)
        for definition in file.definitions:
            _migrate_definition(building, hooks, definition, raw)
    if scope == "user":
        _tell_packages(building, everything)
    return Migration(
        source, target, scope, hooks, tuple(_merged(building.entries)), tuple(building.losses)
    )


def _refuse_broken(file: LoadedFile) -> None:
    for problem in file.diagnostics:
        if problem.code in BROKEN:
            place = problem.place
            raise SettingsError(
                f"{problem.message}; nothing was migrated",
                path=str(file.source.path),
                line=place.line if place else None,
            )


def _tell_left_out(building: _Building, file: LoadedFile) -> None:
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


def _tell_packages(building: _Building, hooks: HookSet) -> None:
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


def _raw_handlers(
    dialect: Dialect, file: LoadedFile
) -> dict[tuple[int | None, int | None], dict[str, Any]]:
    """Return the handlers of a file as they are written, by line and column."""
    if not file.definitions:
        return {}
    document = parse(file.source.path.read_bytes().decode(), str(file.source.path))
    value: Any = document.value
    for key in dialect.hooks_path:
        value = value.get(key) if isinstance(value, dict) else None
    found = {}
    for event, definitions in value.items() if isinstance(value, dict) else ():
        for i, definition in enumerate(definitions if isinstance(definitions, list) else ()):
            handlers = definition.get("hooks") if isinstance(definition, dict) else None
            for j, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if isinstance(handler, dict):
                    place = document.place((*dialect.hooks_path, event, i, "hooks", j))
                    found[place.line, place.column] = handler
    return found


# -- one definition


def _migrate_definition(
    building: _Building,
    hooks: HookSet,
    definition: HookDefinition,
    raw: Mapping[tuple[int | None, int | None], dict[str, Any]],
) -> None:
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
        )
    for (event, pattern), items in made.items():
        entry: dict[str, Any] = {} if pattern is None else {"matcher": pattern}
        if definition.sequential and keeps_order:
            entry["sequential"] = True
        entry["hooks"] = [handler for handler, _ in items]
        building.entries.append(Entry(event, entry, tuple(origin for _, origin in items)))


def _migrate_handler(
    building: _Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    raw: Mapping[str, Any],
) -> Iterator[tuple[str, str | None, tuple[dict[str, Any], Origin]]]:
    """Yield event, matcher and JSON of what a handler becomes."""
    source, target = building.source, building.target
    old = source.by_canonical[definition.event]
    inner = unwrap(handler.command)
    if inner is not None and inner.agent == target.name:  # it comes home
        events = _at_home(target, inner, old)
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
        if not found.patterns:
            continue
        made, shimmed = _handler(building, definition, handler, raw, new, found, inner)
        for pattern in found.patterns:
            yield new.wire, pattern, (made, Origin(definition.event, handler, shimmed))


def _at_home(target: Dialect, inner: ShimOptions, old: EventSpec) -> tuple[str, ...]:
    """Return the event that a command was first written for."""
    if inner.event in target.by_wire:
        return (target.by_wire[inner.event].canonical,)
    return (old.canonical,) if old.canonical in target.by_canonical else ()


def _tell_missing(building: _Building, definition: HookDefinition, found: Translated) -> None:
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


# -- one handler


def _handler(  # noqa: PLR0917 - one handler, from where to where
    building: _Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    raw: Mapping[str, Any],
    new: EventSpec,
    found: Translated,
    inner: ShimOptions | None,
) -> tuple[dict[str, Any], bool]:
    source, target = building.source, building.target
    made: dict[str, Any] = {"type": "command"}
    if handler.name and "name" in target.handler_fields:
        made["name"] = handler.name
    command, extra, shimmed = _command(building, definition, handler, raw, new, found, inner)
    made["command"] = command
    made |= extra
    description = handler.description or handler.options.get("status_message")
    if description and "description" in target.handler_fields:
        made["description"] = description
    timeout = _timeout(building, definition, handler, raw, new)
    if timeout is not None:
        made["timeout"] = timeout
    if handler.options.get("once"):
        building.lose(
            "changed",
            handler.place,
            f"once: {handler.label}",
            f"{target.title} runs a hook on every event",
            "let the command remember that it ran",
        )
    if inner is None:
        _tell_abilities(building, definition, handler, new, source)
    return made, shimmed


def _tell_abilities(
    building: _Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    new: EventSpec,
    source: Dialect,
) -> None:
    text, is_whole = _text_of(building, handler)
    old = source.by_canonical[definition.event]
    for kind, what, why in lost_abilities(
        source, old, building.target, new, text, is_whole=is_whole
    ):
        building.lose(kind, handler.place, f"{handler.label}: {what}", why, INSTEAD["ability"])
    for what, why in lost_fields(source, old, building.target, new, text):
        building.lose("changed", handler.place, f"{handler.label}: {what}", why, INSTEAD["field"])


def _text_of(building: _Building, handler: HandlerSpec) -> tuple[str, bool]:
    """Return all text of a command that can be read, and whether that is all of it."""
    files = _files(building, handler)
    texts = [handler.command or " ".join(handler.argv or ())]
    for file in files:
        try:
            data = file.read_bytes()
        except OSError:
            continue
        if len(data) <= LARGEST_SCRIPT and b"\0" not in data:
            texts.append(data.decode("utf-8", "replace"))
    runs = program(handler, building.around.project, {})
    return "\n".join(texts), len(texts) > 1 or runs is None or runs in SAYS_ALL


SAYS_ALL = frozenset(
    "true false : exit echo printf jq grep egrep fgrep test [ cat sed awk sh bash zsh dash "
    "node python python3 perl ruby deno bun if case while for read cd".split()
)
"""Programs that do what their command line says, and no script beside it."""
LARGEST_SCRIPT = 512 * 1024
"""Bytes; a larger file is no script of people."""


def _files(building: _Building, handler: HandlerSpec) -> list[Path]:
    around = building.around
    variables = {
        name: str(around.project)
        for name, what in building.source.environment.items()
        if what in ("project_dir", "cwd")
    }
    found = named_files(handler, around.project, {**variables, **handler.variables})
    return [file for file in found if file.is_file()]


def _command(  # noqa: PLR0917 - one command, from where to where
    building: _Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    raw: Mapping[str, Any],
    new: EventSpec,
    found: Translated,
    inner: ShimOptions | None,
) -> tuple[str, dict[str, Any], bool]:
    """Return the command line, other members of the handler, and whether it is behind the shim."""
    source, target = building.source, building.target
    env = {k: v for k, v in (raw.get("env") or {}).items() if isinstance(v, str)}
    if inner is not None and inner.agent == target.name:
        return _unwrapped(building, handler, inner, env)
    if inner is not None:
        return str(handler.command), _env_member(building, handler, env), True
    plain = handler.command or line_of(handler.argv or (), source.environment)
    portable = is_portable(plain, _files(building, handler)) and handler.condition is None
    if building.shim and not portable:
        options = _options(building, definition, handler, new, found)
        member = _env_member(building, handler, env)
        if env and not member:
            options = options.replace(env=tuple(env.items()))
        return wrap(options, target, building.starter), member, True
    names, lost = counterpart_variables(source, target)
    for name in lost:
        if name in plain:
            building.lose(
                "lost",
                handler.place,
                f"${name}",
                f"{target.title} sets no variable for that",
                "read it from the event",
            )
    line = renamed(plain, names, str(handler.options.get("shell", "")))
    _tell_unshimmed(building, definition, handler, new, found, portable=portable)
    member = _env_member(building, handler, env)
    if env and not member:
        line = "".join(f"export {k}={quote(v, target)}; " for k, v in env.items()) + line
    return line, member, False


def _unwrapped(
    building: _Building, handler: HandlerSpec, inner: ShimOptions, env: Mapping[str, str]
) -> tuple[str, dict[str, Any], bool]:
    """Write a command that comes home as it was before."""
    fields = building.target.types["command"].fields
    own = {item.option: key for key, item in fields.items()}
    extra: dict[str, Any] = {}
    for option, value in (
        ("condition", inner.condition),
        ("shell", inner.shell),
        ("background", inner.background),
        ("on_failure", inner.on_failure if inner.on_failure != "continue" else ""),
    ):
        if value and option in own:
            extra[own[option]] = value
    both = {**env, **dict(inner.env)}
    member = _env_member(building, handler, both)
    if len(inner.command) > 1 and building.target.types["command"].programs:
        return inner.command[0], {**extra, "args": list(inner.command[1:]), **member}, False
    line = inner.command[0] if len(inner.command) == 1 else line_of(inner.command, ())
    if both and not member:
        line = "".join(f"export {k}={quote(v, building.target)}; " for k, v in both.items()) + line
    return line, {**extra, **member}, False


def _env_member(
    building: _Building, handler: HandlerSpec, env: Mapping[str, str]
) -> dict[str, Any]:
    if handler.env.keys() - env.keys():
        building.lose(
            "lost",
            handler.place,
            f"variables of the package: {', '.join(sorted(handler.env.keys() - env.keys()))}",
            "their values are the package's, and may be secrets",
            "set them in the environment of the agent",
        )
    return {"env": dict(env)} if env and "env" in building.target.handler_fields else {}


def _options(
    building: _Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    new: EventSpec,
    found: Translated,
) -> ShimOptions:
    source, target = building.source, building.target
    old = source.by_canonical[definition.event]
    back = counterparts(target, new.canonical, source)
    if handler.argv is not None and len(handler.argv) > 1:
        command: tuple[str, ...] = handler.argv
    elif handler.argv is not None:
        command = (line_of(handler.argv, source.environment),)
    else:
        line = refer(handler.command or "", handler.variables)
        command = (own_variables(line, source, str(handler.options.get("shell", ""))),)
    if handler.options.get("wakes"):
        building.lose(
            "lost",
            handler.place,
            f"asyncRewake: {handler.label}",
            f"nothing wakes {target.title} when a command ends in the background",
            "run it in the foreground, or look at its result in a later event",
        )
    closes = handler.on_failure == "block"
    return ShimOptions(
        agent=source.name,
        command=command,
        event=old.wire if back != (definition.event,) else "",
        matcher=(definition.matcher or "") if found.check else "",
        condition=handler.condition or "",
        shell=str(handler.options.get("shell", "")),
        timeout=handler.timeout if closes or handler.background else None,
        background=handler.background,
        on_failure=handler.on_failure,
    )


def _tell_unshimmed(
    building: _Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    new: EventSpec,
    found: Translated,
    *,
    portable: bool,
) -> None:
    """Tell what only the shim could have kept."""
    source, target = building.source, building.target
    kept = "migrate it without --no-shim"
    if not portable:
        building.lose(
            "changed",
            handler.place,
            handler.label,
            f"it gets the events of {target.title} and must answer in its form",
            f"{kept}, unless the command speaks that language",
        )
    told = {
        "if": handler.condition,
        "onFailure": handler.on_failure == "block",
        "async": handler.background,
        "shell": handler.options.get("shell"),
        f"matcher {definition.matcher!r}": found.check,
        source.by_canonical[definition.event].wire: (
            counterparts(target, new.canonical, source) != (definition.event,)
            and new.canonical != definition.event
        ),
    }
    for what, is_set in told.items():
        if is_set:
            building.lose(
                "changed",
                handler.place,
                f"{what}: {handler.label}",
                f"{target.title} has nothing for it",
                kept,
            )


def _timeout(
    building: _Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    raw: Mapping[str, Any],
    new: EventSpec,
) -> float | None:
    """Return the timeout in the target's unit; `None` where its default will do."""
    target = building.target
    kind = target.types["command"]
    default = new.timeouts.get("command", kind.timeout)
    layer = Layer.USER if definition.layer is Layer.USER else Layer.PROJECT
    cap = new.caps.get(layer, math.inf)
    seconds = handler.timeout
    given = "timeout" in raw
    if handler.on_failure == "block":
        seconds += WAIT
        given = True
    if not given and seconds <= default:
        return None
    if seconds > cap + ROUNDING:
        building.lose(
            "changed",
            handler.place,
            f"timeout: {handler.label}",
            f"{target.title} ends it after {cap:g} s, not {seconds:g}",
            "make it quicker",
        )
        seconds = cap
        if not given and seconds <= default:
            return None
    units = round(seconds / target.timeout_unit, 6)
    return int(units) if units == int(units) else units


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
