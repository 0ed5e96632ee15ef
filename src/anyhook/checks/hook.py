"""A hook as the rules look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyhook.engine.hook_files import path_variables
from anyhook.model.diagnostics import Diagnostic, Place, Severity, diagnose
from anyhook.shell.programs import find_shell
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec, HookDefinition


class CheckedHook(NamedTuple):
    """A hook, and what its rules need to know.

    Attributes:
        form: The agent in the form that the hook is written in (`AgentSpec.forms`).
        spec: The event of the hook in that form.
        agent_variables: The variables of the agent that hold paths.
        variables: The environment of the hook's command line, `agent_variables` included.
        first: The first hook with the same event, matcher and command; often this one.
    """

    engine: Engine
    handler: HandlerSpec
    form: AgentSpec
    spec: EventSpec
    agent_variables: Mapping[str, str]
    variables: Mapping[str, str]
    matcher: str | None
    first: HandlerSpec

    @property
    def is_command(self) -> bool:
        """Whether it runs a command."""
        return self.handler.kind == "command"

    @property
    def shell(self) -> str | None:
        """The path of the shell that reads its command line; `None` without one."""
        if self.handler.argv is not None:
            return None
        choice = self.handler.options.get("shell", "")
        shells = self.engine.agent.settings.shells_for(choice)
        shell = find_shell(shells, self.engine.environ.get("PATH"), None)
        return shell[0] if shell is not None else None

    def files(self) -> list[Path]:
        """Return the files that its command names."""
        return named_files(self.handler, self.engine.project_dir, self.variables)

    def diagnose(
        self,
        code: str,
        message: str,
        place: Place | None = None,
        *,
        severity: Severity | None = None,
    ) -> Diagnostic:
        """Return a diagnostic about the hook, whose name the message leaves out.

        The code is a key of `CODES`. By default the place is that of the hook, and the severity
        that of the code.
        """
        label = self.handler.label
        return diagnose(
            code,
            f"{label!r}: {message}",
            place or self.handler.place,
            handler=label,
            severity=severity,
        )


class HookReader:
    """Reads the hooks of one engine, one definition after the other."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._agent_variables = engine.guard.variables()
        self._path_variables = path_variables(engine)
        self._first: dict[tuple[object, ...], HandlerSpec] = {}

    def hooks_of(self, definition: HookDefinition) -> Iterator[CheckedHook]:
        """Yield the hooks of a definition."""
        form = self._engine.agent.form(definition.form)
        for handler in definition.handlers:
            identity = (definition.event, definition.matcher, *handler.identity)
            yield CheckedHook(
                engine=self._engine,
                handler=handler,
                form=form,
                spec=form.by_canonical[definition.event],
                agent_variables=self._agent_variables,
                variables={**self._path_variables, **handler.variables},
                matcher=definition.matcher,
                first=self._first.setdefault(identity, handler),
            )
