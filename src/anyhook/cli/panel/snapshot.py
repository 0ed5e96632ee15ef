"""What the panel shows: the hooks of every agent and the problems, as they are now."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.cli.options import HERE
from anyhook.cli.render import show_place
from anyhook.manage.health import HookHealth, health_of
from anyhook.manage.hooks import HookRow, hook_rows, split_recorder
from anyhook.manage.problems import Finding, find_problems, worst_first
from anyhook.manage.scope import CommandScope, scope_of
from anyhook.model.diagnostics import Severity
from anyhook.model.text import printable
from anyhook.settings.detect import find_project

if TYPE_CHECKING:
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec

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
            handler.command or " ".join(handler.argv or ()),
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
    for engine in engines:
        of_agent: list[PanelHook] = []
        rows, recorder = split_recorder(hook_rows(engine))
        name_of_agent = engine.agent.name
        diagnostics = [each.diagnostic for each in findings if each.agent == name_of_agent]
        engine_health = health_of(engine, diagnostics)
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


def command_line(project: Path, *words: str) -> str:
    """Return a command line for a project, which is named if it is not the current one."""
    try:
        is_current = os.path.realpath(find_project(HERE)) == os.path.realpath(project)
    except OSError:  # the current directory is gone
        is_current = False
    more = () if is_current else ("--project", str(project))
    return printable(shlex.join(("anyhook", *words, *more)))
