"""What the panel shows and what its keys do, by the functions of the commands."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.checks.rules import Finding, find_problems, worst_first
from anyhook.cli.render import show_place
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.manage.health import HookHealth, healths_of
from anyhook.manage.hooks import HookRow, all_handlers, handlers_named, hook_rows, split_recorder
from anyhook.manage.paths import show_path
from anyhook.manage.scope import CommandScope, scope_of
from anyhook.manage.switching import switch_hook
from anyhook.model.diagnostics import Severity
from anyhook.model.layers import Layer
from anyhook.settings.changes import exclusive_edits
from anyhook.settings.detect import project_command
from anyhook.settings.entries import disabled_lists

if TYPE_CHECKING:
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Place


LINE_OPTIONS = {
    "code": ("--goto", "{file}:{line}"),
    "codium": ("--goto", "{file}:{line}"),
    "cursor": ("--goto", "{file}:{line}"),
    "subl": ("{file}:{line}",),
    "hx": ("{file}:{line}",),
    "helix": ("{file}:{line}",),
    "zed": ("{file}:{line}",),
}
"""Program to the arguments with which it opens a line; all others take `+LINE FILE`."""
EDITORS = ("sensible-editor", "nano", "vim", "vi")
"""Programs to try if the user has named none."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What an action has done."""

    text: str
    command: str
    """The command line that does the same."""
    warning: str = ""
    is_problem: bool = False
    """Whether it did not do what it should."""


def switch_command(hook: PanelHook) -> str:
    """Return the command line that switches a hook: on if it is off, otherwise off."""
    command = "disable" if hook.is_on else "enable"
    return _command_for(hook, command)


def shadow_command(hook: PanelHook) -> str:
    """Return the command line that makes a hook a shadow, or lets a shadow decide."""
    command = "enable" if hook.handler.shadow else "shadow"
    return _command_for(hook, command)


def _command_for(hook: PanelHook, command: str) -> str:
    engine = hook.engine
    return project_command(engine.project_dir, command, name_of(hook), "--agent", engine.agent.name)


def name_of(hook: PanelHook) -> str:
    """Return the shortest name by which commands find a hook and no other one."""
    handler = hook.handler
    handlers = all_handlers(hook.engine)
    for name in (hook.row.label, show_place(handler.place, short=True)):
        matches = handlers_named(name, handlers)
        if matches and all(_is_switched_with(hook, match) for match in matches):
            return name
    return exact_place(handler)


def exact_place(handler: HandlerSpec) -> str:
    """Return the place of a hook as commands accept it."""
    return f"{handler.place.file}:{handler.place.line}"


def _is_switched_with(hook: PanelHook, other: HandlerSpec) -> bool:
    """Return whether switching a hook has to switch another one, or the same one."""
    handler = hook.handler
    if other.identifier != handler.identifier:
        return False
    return bool(disabled_lists(hook.engine.agent)) or exact_place(other) == exact_place(handler)


def switched_together(hook: PanelHook) -> list[str]:
    """Return the places of the other hooks that are switched with one.

    Agents with a list of disabled hooks name them in it, and a name stands for every hook that has
    it. All other hooks are switched by their place.
    """
    places: list[str] = []
    for other in all_handlers(hook.engine):
        is_elsewhere = exact_place(other) != exact_place(hook.handler)
        if is_elsewhere and _is_switched_with(hook, other):
            places.append(show_place(other.place, hook.engine.project_dir))
    return places


def switch(hook: PanelHook) -> ActionResult:
    """Switch a hook on if it is off, otherwise off.

    Raises:
        AnyhookError: If its file cannot be edited, or the hook is gone.
    """
    # The settings are read again: they may have changed since the hook was drawn.
    command = switch_command(hook)
    project, agent = hook.engine.project_dir, hook.engine.agent.name
    should_be_on = not hook.is_on
    with exclusive_edits():
        engine = Engine.load(project, agent=agent, on_message=discard)
        name, place = hook.handler.identifier, exact_place(hook.handler)
        equal = [other for other in all_handlers(engine) if other.identifier == name]
        if len(equal) > 1 and not disabled_lists(engine.agent):
            if not any(exact_place(other) == place for other in equal):
                raise UsageError(f"{hook.handler.label} is no longer at {place}; look at it again")
            name = place
        result = switch_hook(engine, name, is_on=should_be_on)
    files = ", ".join(show_path(str(path), engine.project_dir) for path in result.changed)
    state = "on" if result.state == "on" else "off"
    text = f"{hook.row.label} is {state}"
    if files:
        text += f" now: {files}{result.extent}"
    if should_be_on and result.switched_off_by:
        off_by = show_path(result.switched_off_by, engine.project_dir)
        return ActionResult(f"{hook.row.label} stays off: {off_by}", command, is_problem=True)
    warning = ""
    if result.taken_out and result.changed and hook.handler.layer is Layer.PROJECT:
        warning = "the file is shared: it is off for every user of the project"
    return ActionResult(text, command, warning)


def editor_command(place: Place) -> list[str]:
    """Return the command that opens a place in the user's editor; empty if there is none."""
    text = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(text)
    except ValueError:
        words = [text]
    if not words:
        words = [name for name in EDITORS if shutil.which(name)][:1]
    if not words:
        return []
    name = os.path.basename(words[0])  # noqa: PTH119 - a name, no path
    if place.line is None:
        return [*words, place.file]
    for template in LINE_OPTIONS.get(name, ("+{line}", "{file}")):
        argument = template.replace("{line}", str(place.line))
        words.append(argument.replace("{file}", place.file))
    return words


HookKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PanelHook:
    """A hook of the list."""

    engine: Engine
    """The hooks of its agent."""
    row: HookRow
    key: HookKey
    """What it is found by after its file was edited."""
    health: HookHealth | None = None
    """`None` of the recorder."""

    @property
    def handler(self) -> HandlerSpec:
        """The hook."""
        return self.row.handler

    @property
    def is_recorder(self) -> bool:
        """Whether it stands for the recorder on all of its events."""
        return self.row.recorded_events > 0

    @property
    def place(self) -> str:
        """`FILE:LINE` for people."""
        return show_place(self.handler.place, self.engine.project_dir)

    @property
    def is_on(self) -> bool:
        """Whether no settings file switches it off."""
        return self.row.switched_off_by is None

    @property
    def word(self) -> str:
        """Whether it does its work if it is on; otherwise its state."""
        if self.row.state == "on" and self.health is not None:
            return str(self.health.word)
        return self.row.state

    def facts(self) -> tuple[object, ...]:
        """Return everything that the list and the details show of it."""
        row = self.row
        return (
            self.key,
            row.event,
            row.label,
            row.state,
            row.switched_off_by,
            row.native,
            row.handler,
            self.word,
        )

    def matches(self, words: list[str]) -> bool:
        """Return whether every word occurs in what is shown of it; case is ignored."""
        handler = self.handler
        texts = (
            self.row.label,
            self.engine.agent.name,
            self.engine.agent.title,
            self.row.event,
            self.row.definition.event,
            self.row.matcher,
            self.row.state,
            self.word,
            self.place,
            str(handler.layer),
            handler.command_line,
            handler.description or "",
        )
        text = "\n".join(texts).casefold()
        return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The hooks of a project and their problems at one time."""

    scope: CommandScope
    engines: tuple[Engine, ...]
    hooks: tuple[PanelHook, ...]
    """The hooks by agent, event and layer; the recorder of an agent is its last one."""
    findings: tuple[Finding, ...]
    """What `anyhook check` reports, the worst first."""

    @property
    def project(self) -> Path:
        """Directory of the project."""
        return self.scope.project

    @property
    def problems(self) -> list[Finding]:
        """What should be repaired: all findings without the notes."""
        return [each for each in self.findings if each.diagnostic.severity is not Severity.INFO]

    def engine_of(self, agent: str) -> Engine | None:
        """Return the engine of an agent; `None` if it has no hooks any more."""
        for engine in self.engines:
            if engine.agent.name == agent:
                return engine
        return None

    def shows_the_same(self, other: Snapshot) -> bool:
        """Return whether another snapshot looks the same on the screen."""
        if self.findings != other.findings or self.scope != other.scope:
            return False
        return [hook.facts() for hook in self.hooks] == [hook.facts() for hook in other.hooks]


def take_snapshot(project: Path, agent: str | None) -> Snapshot:
    """Read the settings, the trust store and the scripts of the hooks; no hook is run."""
    scope = scope_of(project, agent)
    engines = tuple(scope.engines(default=True))
    findings = worst_first(find_problems(engines))
    hooks: list[PanelHook] = []
    numbers: dict[HookKey, int] = {}
    for engine, engine_health in zip(engines, healths_of(engines, findings), strict=True):
        of_agent: list[PanelHook] = []
        rows, recorder = split_recorder(hook_rows(engine))
        for row in rows:
            definition = row.definition
            name = row.handler.identifier
            key = (engine.agent.name, definition.event, name, definition.matcher or "")
            number = numbers[key] = numbers.get(key, 0) + 1
            of_health = engine_health.of(row)
            of_agent.append(PanelHook(engine, row, (*key, str(number)), of_health))
        # Hooks that were taken out of their file stand among the others.
        events = [spec.canonical for spec in engine.agent.events]
        of_agent.sort(key=lambda hook: events.index(hook.row.definition.event))
        hooks += of_agent
        if recorder is not None:
            hooks.append(PanelHook(engine, recorder, (engine.agent.name, "recorder")))
    return Snapshot(scope, engines, tuple(hooks), tuple(findings))
