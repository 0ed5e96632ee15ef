"""What one hook becomes for another agent: its command, its timeout, and what is lost of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anyhook.dialects.translate import counterparts
from anyhook.handlers.shell import refer
from anyhook.migrate.commands import (
    counterpart_variables,
    is_portable,
    line_of,
    own_variables,
    quote,
    renamed,
    wrap,
)
from anyhook.migrate.losses import INSTEAD, Loss, lost_abilities, lost_fields
from anyhook.migrate.options import ShimOptions
from anyhook.model.layers import Layer
from anyhook.trust.scripts import named_files, program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anyhook.dialects.base import Dialect, EventSpec
    from anyhook.migrate.matchers import Translated
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.settings.sources import Surroundings

WAIT = 5.0
"""Seconds that an agent waits longer than a command whose end the shim has to see."""
ROUNDING = 1e-9


@dataclass(slots=True)
class Building:
    """A migration that is being made.

    Attributes:
        source: The agent that the hooks are written for.
        target: The agent that they shall run under.
        around: The project, home and environment.
        shim: Whether commands keep their own agent's events and answers.
        starter: The words that start anyhook in a command line.
        losses: What is lost so far.
    """

    source: Dialect
    target: Dialect
    around: Surroundings
    shim: bool
    starter: Sequence[str]
    losses: list[Loss] = field(default_factory=list)

    def lose(self, kind: str, place: Place | None, what: str, why: str, instead: str) -> None:
        """Note a loss, once."""
        loss = Loss(kind=kind, place=place, what=what, why=why, instead=instead)
        if loss not in self.losses:
            self.losses.append(loss)


def migrate_handler(  # noqa: PLR0917 - one handler, from where to where
    building: Building,
    definition: HookDefinition,
    handler: HandlerSpec,
    raw: Mapping[str, Any],
    new: EventSpec,
    found: Translated,
    inner: ShimOptions | None,
) -> tuple[dict[str, Any], bool]:
    """Write what a handler becomes.

    Args:
        building: The migration.
        definition: The handler's definition.
        handler: The handler.
        raw: The same as it is written.
        new: The event at the target.
        found: What the matcher becomes.
        inner: What the shim is told, if the command is behind one already.

    Returns:
        The handler for the target's file, and whether it runs behind the shim.
    """
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
    building: Building,
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


def _text_of(building: Building, handler: HandlerSpec) -> tuple[str, bool]:
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


def _files(building: Building, handler: HandlerSpec) -> list[Path]:
    around = building.around
    variables = {
        name: str(around.project)
        for name, what in building.source.environment.items()
        if what in ("project_dir", "cwd")
    }
    found = named_files(handler, around.project, {**variables, **handler.variables})
    return [file for file in found if file.is_file()]


def _command(  # noqa: PLR0917 - one command, from where to where
    building: Building,
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
    building: Building, handler: HandlerSpec, inner: ShimOptions, env: Mapping[str, str]
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


def _env_member(building: Building, handler: HandlerSpec, env: Mapping[str, str]) -> dict[str, Any]:
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
    building: Building,
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
    building: Building,
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
    building: Building,
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
