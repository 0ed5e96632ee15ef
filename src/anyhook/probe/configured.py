"""The hooks in an agent's settings files, those that the agent would never run among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.engine.checks import check_hooks
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Place, Severity
from anyhook.probe.tap_settings import iter_hooks
from anyhook.settings.formats import parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError, parse, value_at
from anyhook.settings.layout import usual_members
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.shell.labels import command_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.probe.taps import Taps
    from anyhook.settings.reader import LoadedFile


FLAT_DEPTH = 2
"""Steps from the hooks of a file to a hook with a matcher of its own: event and index."""


@dataclass(frozen=True, slots=True)
class ConfiguredHook:
    """A hook as a settings file holds it.

    Attributes:
        label: A short name.
        event: Name of the event as it is written.
        matcher: Its matcher as it is written; `None` if there is none.
        place: Where it is.
        file: The settings file.
        tap: Number of its command in the records; `None` if it is not recorded.
        definition: The definition that anyhook reads; `None` if the hook never runs.
        handler: The handler, likewise.
        spec: The event under the rules of the release; `None` if there is no such event.
    """

    label: str
    event: str
    matcher: str | None
    place: Place
    file: Path
    tap: int | None
    definition: HookDefinition | None = None
    handler: HandlerSpec | None = None
    spec: EventSpec | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """The diagnostics of `anyhook check` about an agent's hooks.

    Attributes:
        diagnostics: All of them.
    """

    diagnostics: tuple[Diagnostic, ...]

    def about(self, hook: ConfiguredHook) -> list[Diagnostic]:
        """Return those about a hook: at its place or inside of it, or by its label."""
        return [d for d in self.diagnostics if _is_about(d, hook)]

    def about_files(self, files: Iterable[Path]) -> list[Diagnostic]:
        """Return the errors that are not about one hook, in some files."""
        names = {str(file) for file in files}
        return [
            diagnostic
            for diagnostic in self.diagnostics
            if diagnostic.place is not None
            and diagnostic.place.file in names
            and diagnostic.severity is Severity.ERROR
        ]


def _is_about(diagnostic: Diagnostic, hook: ConfiguredHook) -> bool:
    place = diagnostic.place
    if diagnostic.handler is not None:
        has_label = diagnostic.handler == hook.label
        return has_label and (place is None or place.file != hook.place.file or place == hook.place)
    places = {hook.place, hook.definition.place} if hook.definition is not None else set()
    return place in places


def find_configured(engine: Engine, taps: Taps, recorded: Collection[Path]) -> list[ConfiguredHook]:
    """Return every hook in the settings files of an engine, also of unknown events.

    Args:
        engine: An engine with the settings as they are.
        taps: Gives the commands their numbers.
        recorded: The files whose commands are recorded.
    """
    hooks: list[ConfiguredHook] = []
    for file in engine.hooks.files:
        if file.exists:
            hooks += _hooks_of_file(engine, file, taps if file.source.path in recorded else None)
    return hooks


def _hooks_of_file(engine: Engine, file: LoadedFile, taps: Taps | None) -> Iterator[ConfiguredHook]:
    handlers: dict[Place, tuple[HookDefinition, HandlerSpec]] = {}
    for known in file.definitions:
        handlers |= {handler.place: (known, handler) for handler in known.handlers}
    path = file.source.path
    try:
        document = parse_settings(read_user_file(path, SIZE_LIMIT).decode("utf-8"), str(path))
    except (OSError, ValueError, SettingsSyntaxError):
        return
    hooks_path = file.source.hooks_path or engine.agent.hooks_path
    for steps, raw in iter_hooks(engine.agent, document.value, hooks_path):
        place = document.place(steps)
        definition: HookDefinition | None = None
        handler: HandlerSpec | None = None
        if place in handlers:
            definition, handler = handlers[place]
        event = str(steps[len(hooks_path)])
        is_flat = len(steps) == len(hooks_path) + FLAT_DEPTH
        parent = raw if is_flat else _parent(document.value, steps)
        matcher = parent.get("matcher") if isinstance(parent, dict) else None
        spec = None
        if definition is not None:
            spec = engine.rules.by_canonical[definition.event]
        yield ConfiguredHook(
            label=handler.label if handler else _label(engine.agent, raw),
            event=event,
            matcher=matcher if isinstance(matcher, str) else None,
            place=place,
            file=path,
            tap=taps.number(event, raw) if taps else None,
            definition=definition,
            handler=handler,
            spec=spec,
        )


def _parent(value: object, steps: tuple[str | int, ...]) -> object:
    """Return the definition around a hook."""
    for step in steps[:-2]:
        if isinstance(value, list) and isinstance(step, int):
            value = value[step]
        else:
            value = value_at(value, (step,))
    return value


def _label(agent: AgentSpec, raw: dict[str, object]) -> str:
    handler = usual_members(agent, raw)
    name, command = handler.get("name"), handler.get("command")
    if isinstance(name, str) and name:
        return name
    return command_label(command) if isinstance(command, str) else str(handler.get("type", "hook"))


def find_problems(engine: Engine) -> Findings:
    """Return what `anyhook check` reports about the hooks of an engine."""
    found = [
        *engine.hooks.diagnostics,
        *engine.switched_off(),
        *check_hooks(
            engine.agent,
            engine.definitions,
            engine.project_dir,
            engine.guard.variables(),
            engine.environ,
            engine.guard.may_match,
        ),
    ]
    return Findings(tuple(dict.fromkeys(found)))


def misplaced_files(agent: AgentSpec, engine: Engine) -> list[Path]:
    """Return JSON files beside the settings that hold hooks of the agent, which it never reads.

    People put hooks into `hooks.json` or `settings.hooks.json` beside the file that counts.
    """
    read = {file.source.path for file in engine.hooks.files}
    directories = dict.fromkeys(
        directory
        for file in engine.hooks.files
        for directory in (file.source.path.parent, file.source.path.parent / "hooks")
        if file.source.path.parent.name.startswith(".")
    )
    misplaced: list[Path] = []
    for directory in directories:
        candidates = [path for path in sorted(directory.glob("*.json")) if path not in read]
        misplaced += [path for path in candidates if _holds_hooks(agent, path)]
    return misplaced


def _holds_hooks(agent: AgentSpec, path: Path) -> bool:
    try:
        value = parse(read_user_file(path, SIZE_LIMIT).decode("utf-8")).value
    except (OSError, ValueError, SettingsSyntaxError):
        return False
    if not isinstance(value, dict):
        return False
    events = value.get("hooks", value)
    return isinstance(events, dict) and not events.keys().isdisjoint(agent.by_wire)
