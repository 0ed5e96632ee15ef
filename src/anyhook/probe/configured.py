"""The hooks in an agent's settings files, those that the agent would never run among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from anyhook.checks.rules import check_hooks
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Place, Severity
from anyhook.settings.formats import parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError, parse, value_at
from anyhook.settings.layout import usual_members
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.settings.wrapping import iter_hooks
from anyhook.shell.labels import command_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.probe.taps import Taps
    from anyhook.settings.jsonc import JsonPath
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
        tap: Its number in the records; `None` if it is not recorded.
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
        errors = [item for item in self.diagnostics if item.severity is Severity.ERROR]
        return [error for error in errors if error.place is not None and error.place.file in names]


def _is_about(diagnostic: Diagnostic, hook: ConfiguredHook) -> bool:
    place = diagnostic.place
    if diagnostic.handler is None:
        return hook.definition is not None and place in (hook.place, hook.definition.place)
    if diagnostic.handler != hook.label:
        return False
    # Two hooks of a file may have the same label, so a place in that file decides.
    is_in_settings = place is not None and place.file == hook.place.file
    return not is_in_settings or place == hook.place


def find_configured(engine: Engine, taps: Taps, recorded: Collection[Path]) -> list[ConfiguredHook]:
    """Return every hook in the settings files of an engine, also of unknown events.

    Args:
        engine: An engine with the settings as they are.
        taps: Gives the commands their numbers.
        recorded: The files whose commands are recorded.
    """
    hooks: list[ConfiguredHook] = []
    for file in engine.hooks.files:
        if not file.exists:
            continue
        is_recorded = file.source.path in recorded
        hooks += _hooks_of_file(engine, file, taps if is_recorded else None)
    return hooks


def _hooks_of_file(engine: Engine, file: LoadedFile, taps: Taps | None) -> Iterator[ConfiguredHook]:
    """Yield the hooks of a file; those without a definition are the ones that never run."""
    handlers: dict[Place, tuple[HookDefinition, HandlerSpec]] = {}
    for definition in file.definitions:
        handlers |= {handler.place: (definition, handler) for handler in definition.handlers}
    path = file.source.path
    try:
        document = parse_settings(read_user_file(path, SIZE_LIMIT).decode("utf-8"), str(path))
    except (OSError, ValueError, SettingsSyntaxError):
        return
    hooks_path = file.source.hooks_path or engine.agent.hooks_path
    for steps, raw in iter_hooks(engine.agent, document.value, hooks_path):
        event = str(steps[len(hooks_path)])
        is_flat = len(steps) == len(hooks_path) + FLAT_DEPTH
        hook = ConfiguredHook(
            label=_label(engine.agent, raw),
            event=event,
            matcher=_matcher(document.value, steps, raw, is_flat=is_flat),
            place=document.place(steps),
            file=path,
            tap=taps.number(str(path), steps, raw) if taps else None,
        )
        if hook.place in handlers:
            definition, handler = handlers[hook.place]
            hook = replace(
                hook,
                label=handler.label,
                definition=definition,
                handler=handler,
                spec=engine.rules.by_canonical[definition.event],
            )
        yield hook


def _matcher(document: object, steps: JsonPath, raw: object, *, is_flat: bool) -> str | None:
    """Return the matcher of a hook: its own in a flat list, or that of its definition."""
    holder = raw if is_flat else _parent(document, steps)
    if not isinstance(holder, dict):
        return None
    matcher = holder.get("matcher")
    return matcher if isinstance(matcher, str) else None


def _parent(value: object, steps: JsonPath) -> object:
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
    if isinstance(command, str):
        return command_label(command)
    return str(handler.get("type", "hook"))


def find_problems(engine: Engine) -> Findings:
    """Return what `anyhook check` reports about the hooks of an engine."""
    return Findings(tuple(dict.fromkeys(check_hooks(engine))))


def misplaced_files(agent: AgentSpec, engine: Engine) -> list[Path]:
    """Return JSON files next to the settings that hold hooks of the agent, which it never reads.

    People put hooks into `hooks.json` or `settings.hooks.json` next to the file that counts.
    """
    known_files = {file.source.path for file in engine.hooks.files}
    misplaced: list[Path] = []
    for directory in _settings_directories(engine):
        candidates = [path for path in sorted(directory.glob("*.json")) if path not in known_files]
        misplaced += [path for path in candidates if _holds_hooks(agent, path)]
    return misplaced


def _settings_directories(engine: Engine) -> list[Path]:
    """Return the agent's own directories that hold settings, and `hooks` in each of them."""
    directories: list[Path] = []
    for file in engine.hooks.files:
        directory = file.source.path.parent
        if directory.name.startswith("."):
            directories += [directory, directory / "hooks"]
    return list(dict.fromkeys(directories))


def _holds_hooks(agent: AgentSpec, path: Path) -> bool:
    try:
        value = parse(read_user_file(path, SIZE_LIMIT).decode("utf-8")).value
    except (OSError, ValueError, SettingsSyntaxError):
        return False
    if not isinstance(value, dict):
        return False
    events = value.get("hooks", value)
    return isinstance(events, dict) and not events.keys().isdisjoint(agent.by_wire)
