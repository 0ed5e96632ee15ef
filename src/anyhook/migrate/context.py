"""The state of a migration, and of one handler in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from anyhook.agents.translate import counterparts
from anyhook.migrate.losses import Loss
from anyhook.model.layers import Layer
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.migrate.matchers import TranslatedMatcher
    from anyhook.migrate.options import ShimOptions
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Place
    from anyhook.settings.sources import Location


@dataclass(slots=True)
class MigrationContext:
    """A migration in progress."""

    source: AgentSpec
    target: AgentSpec
    location: Location
    shim: bool
    """Whether commands keep the events and answers of the source."""
    program: Sequence[str]
    """The words that start anyhook in a command line."""
    losses: dict[Loss, None] = field(default_factory=dict)
    """The losses so far, in order, as keys."""
    files: dict[int, list[Path]] = field(default_factory=dict)
    """The files that the command of a handler names, by the identity of the handler."""

    def in_form(self, form: str) -> MigrationContext:
        """Return the migration of hooks of a form of the source; losses are shared."""
        return replace(self, source=self.source.form(form)) if form else self

    def record_loss(
        self,
        kind: str,
        place: Place | None,
        subject: str,
        reason: str,
        remedy: str,
        *explains: str,
    ) -> None:
        """Record a loss, once; the arguments are the attributes of `Loss`."""
        self.losses.setdefault(Loss(kind, place, subject, reason, remedy, frozenset(explains)))


@dataclass(frozen=True, slots=True)
class HandlerMigration:
    """One handler that is migrated to one event of the target."""

    context: MigrationContext
    definition: HookDefinition
    handler: HandlerSpec
    written: Mapping[str, Any]
    """The handler as it is written in the source's settings."""
    target_event: EventSpec
    matcher: TranslatedMatcher
    inner: ShimOptions | None
    """The options of the shim, if the command runs behind one already."""

    @property
    def source(self) -> AgentSpec:
        """The agent that the handler is written for."""
        return self.context.source

    @property
    def target(self) -> AgentSpec:
        """The agent that it should run under."""
        return self.context.target

    @property
    def source_event(self) -> EventSpec:
        """The event of the source."""
        return self.source.by_canonical[self.definition.event]

    @property
    def own_options(self) -> ShimOptions | None:
        """The options of the shim, if the command was written for the target originally."""
        is_own = self.inner is not None and self.inner.agent == self.target.name
        return self.inner if is_own else None

    @property
    def is_same_moment(self) -> bool:
        """Whether the target's event happens when the source's does, and at no other time."""
        sources = counterparts(self.target, self.target_event.canonical, self.source)
        return sources == (self.source_event.canonical,)

    @property
    def layer(self) -> Layer:
        """The layer of the target's file."""
        return Layer.USER if self.definition.layer is Layer.USER else Layer.PROJECT

    @property
    def shell(self) -> str:
        """The shell that the handler asks for; empty for the agent's usual one."""
        return str(self.handler.options.get("shell", ""))

    @property
    def shim_only_settings(self) -> list[str]:
        """The settings of the handler that only the shim can apply under another agent."""
        fail_closed, _ = self.source.settings.fail_closed_member
        settings = {
            "if": self.handler.condition,
            fail_closed: self.handler.on_failure == "block",
            "async": self.handler.background,
            "shell": self.shell,
        }
        return [name for name, value in settings.items() if value]

    def files(self) -> list[Path]:
        """Return the files that the command names; they are looked up once for all events."""
        cache = self.context.files
        if id(self.handler) not in cache:
            project = self.context.location.project
            variables = {
                name: str(project)
                for name, value in self.source.hook_environment.items()
                if value in ("project_dir", "cwd", "root")
            }
            paths = named_files(self.handler, project, {**variables, **self.handler.variables})
            cache[id(self.handler)] = [path for path in paths if path.is_file()]
        return cache[id(self.handler)]

    def record_loss(
        self, kind: str, subject: str, reason: str, remedy: str, *explains: str
    ) -> None:
        """Record a loss at the place of the handler."""
        self.context.record_loss(kind, self.handler.place, subject, reason, remedy, *explains)
