"""The hooks in an agent's settings files, those that the agent would never run among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.checks.rules import check_hooks
from anyhook.files import read_user_file
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.record import Record, replace
from anyhook.settings.formats import parse_settings
from anyhook.settings.jsonc import SettingsSyntaxError, parse
from anyhook.settings.layout import iter_definitions
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.shell.labels import command_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.diagnostics import Diagnostic, Place
    from anyhook.probe.taps import Taps
    from anyhook.settings.reader import LoadedFile


class ConfiguredHook(Record):
    """A hook as a settings file holds it."""

    label: str
    event: str
    """Name of the event as it is written."""
    matcher: str | None
    place: Place
    file: Path
    tap: int | None
    """Its number in the records; `None` if it is not recorded."""
    definition: HookDefinition | None = None
    """The definition that anyhook reads; `None` if the hook never runs."""
    handler: HandlerSpec | None = None
    spec: EventSpec | None = None
    """The event under the rules of the release; `None` if it has no such event."""


class Findings(Record, kw_only=False):
    """The diagnostics of `anyhook check` about an agent's hooks."""

    diagnostics: tuple[Diagnostic, ...]

    def about(self, hook: ConfiguredHook) -> list[Diagnostic]:
        """Return those about a hook: at its place or inside of it, or by its label."""
        own_places = [] if hook.definition is None else [hook.place, hook.definition.place]
        diagnostics: list[Diagnostic] = []
        for diagnostic in self.diagnostics:
            place = diagnostic.place
            # Two hooks of a file may have the same label, so a place in that file decides.
            is_in_settings = place is not None and place.file == hook.place.file
            if diagnostic.handler is None:
                is_about = place in own_places
            elif is_in_settings:
                is_about = diagnostic.handler == hook.label and place == hook.place
            else:
                is_about = diagnostic.handler == hook.label
            if is_about:
                diagnostics.append(diagnostic)
        return diagnostics


def find_configured(engine: Engine, taps: Taps, recorded: Collection[Path]) -> list[ConfiguredHook]:
    """Return every hook in the settings files of an engine, also of unknown events."""
    hooks: list[ConfiguredHook] = []
    for file in engine.hooks.files:
        if file.exists:
            is_recorded = file.source.path in recorded
            hooks += _hooks_of_file(engine, file, taps if is_recorded else None)
    return hooks


def _hooks_of_file(engine: Engine, file: LoadedFile, taps: Taps | None) -> Iterator[ConfiguredHook]:
    """Yield the hooks of a file; those without a definition are the ones that never run."""
    handlers = {pair[1].place: pair for pair in each_handler(file.definitions)}
    path = file.source.path
    try:
        document = parse_settings(read_user_file(path, SIZE_LIMIT).decode("utf-8"), str(path))
    except (OSError, ValueError, SettingsSyntaxError):
        return
    for entry in iter_definitions(engine.agent, document.value, file.source.hooks_path):
        matcher = entry.written.get("matcher")
        for written in entry.handlers:
            hook = ConfiguredHook(
                label=_label(written.value),
                event=entry.event,
                matcher=matcher if isinstance(matcher, str) else None,
                place=document.place(written.path),
                file=path,
                tap=taps.number(str(path), written.path, written.written) if taps else None,
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


def _label(members: Mapping[str, object]) -> str:
    name, command = members.get("name"), members.get("command")
    if isinstance(name, str) and name:
        return name
    if isinstance(command, str):
        return command_label(command)
    return str(members.get("type", "hook"))


def find_problems(engine: Engine) -> Findings:
    """Return what `anyhook check` reports about the hooks of an engine."""
    return Findings(tuple(dict.fromkeys(check_hooks(engine))))


def misplaced_files(agent: AgentSpec, engine: Engine) -> list[Path]:
    """Return JSON files next to the settings that hold hooks of the agent, which it never reads.

    People put hooks into `hooks.json` or `settings.hooks.json` next to the file that counts.
    """
    known_files = [file.source.path for file in engine.hooks.files]
    directories: list[Path] = []
    for file in known_files:
        # Only directories of the agent itself.
        if file.parent.name.startswith("."):
            directories += [file.parent, file.parent / "hooks"]
    misplaced: list[Path] = []
    for directory in dict.fromkeys(directories):
        candidates = [path for path in sorted(directory.glob("*.json")) if path not in known_files]
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
