"""Options that commands share, and what they select: a project and the hooks of its agents."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.agents import AGENTS, CODING_AGENTS, agents_of_event, get_agent
from anyhook.cli.output import make_table, show_path
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.settings.detect import (
    DEFAULT_AGENT,
    AgentSettings,
    agents_with_hooks,
    detected,
    find_project,
)
from anyhook.settings.sources import Location, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console

    from anyhook.engine.observers import Observer
    from anyhook.model.definitions import HandlerSpec

    Observers = tuple[Observer, ...]

HERE = Path()
Project = Annotated[
    Path,
    typer.Option(
        "--project",
        "-C",
        metavar="DIR",
        help="Directory of the project. Default: the project of the current directory.",
        show_default=False,
    ),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help=f"One of {', '.join(AGENTS)}. Default: the agents with hooks here.",
        show_default=False,
    ),
]
AgentNames = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help=f"One of {', '.join(AGENTS)}; may be repeated. Default: every agent found here.",
    ),
]
TrustOnce = Annotated[
    bool, typer.Option("--trust-once", help="Run untrusted hooks of the project this time.")
]
Otel = Annotated[
    bool,
    typer.Option(
        "--otel",
        envvar="ANYHOOK_OTEL",
        help="Export spans and metrics of the hooks to an OpenTelemetry collector, which the "
        "variables OTEL_EXPORTER_OTLP_ENDPOINT etc. name.",
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes and write nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for programs.")]


@contextmanager
def open_telemetry(
    is_wanted: bool, environ: Mapping[str, str] | None = None
) -> Iterator[Observers]:
    """Yield the observers of an engine for the option `--otel`, and export the rest at the end.

    Args:
        is_wanted: The option.
        environ: The variables that name the parent trace; by default this process's.

    Raises:
        UsageError: If OpenTelemetry is not installed, or its variables are not valid.
    """
    if not is_wanted:
        yield ()
        return
    try:
        from anyhook.telemetry import Telemetry
    except ModuleNotFoundError as error:
        raise UsageError(str(error)) from None
    with Telemetry.from_environment(environ=environ) as telemetry:
        yield (telemetry,)


@dataclass(frozen=True, slots=True)
class Scope:
    """The project and the agents that a command works on.

    Attributes:
        project: Directory of the project.
        agents: Names of the agents; empty if none was named and none has hooks.
        with_hooks: The agents that have hooks in the project or in the user's settings.
    """

    project: Path
    agents: tuple[str, ...]
    with_hooks: tuple[AgentSettings, ...]

    def engines(self, *, default: bool = False) -> Iterator[Engine]:
        """Load an engine for each agent.

        Args:
            default: Load one for the default agent if no agent has hooks.
        """
        names = self.agents
        if default and not names:
            names = (DEFAULT_AGENT,)
        for name in names:
            yield Engine.load(self.project, agent=name, on_message=discard)


def scope_of(project: Path, agent: str | None) -> Scope:
    """Return the project and the agents that the options select.

    Args:
        project: The option `--project`.
        agent: The option `--agent`; `None` selects every agent with hooks here.

    Raises:
        UsageError: If the directory does not exist.
        UnknownNameError: If there is no such agent.
    """
    directory = existing_project(project)
    with_hooks = agents_with_hooks(directory)
    if agent is not None:
        return Scope(directory, (get_agent(agent).name,), with_hooks)
    names = tuple(settings.agent for settings in with_hooks)
    return Scope(directory, names, with_hooks)


def one_agent(project: Path, agent: str | None, event: str | None = None) -> str:
    """Return the name of the agent for a command that works for one agent.

    Args:
        project: Directory of the project.
        agent: The option `--agent`.
        event: An event, as agents name it: only agents that have it are considered.

    Returns:
        The named agent, else the one with hooks here, else the first one that has the event.

    Raises:
        UsageError: If several agents have hooks here and none is named.
    """
    if agent is not None:
        return get_agent(agent).name
    owners = agents_of_event(event) if event is not None else ()
    if len(owners) == 1:
        return owners[0]
    names = [settings.agent for settings in detected(agents_with_hooks(project))]
    if owners:
        names = [name for name in names if name in owners]
    if len(names) > 1:
        choices = " or ".join(f"--agent {name}" for name in names)
        raise UsageError(f"several agents have hooks here; name one of them: {choices}")
    if names:
        return names[0]
    return owners[0] if owners else DEFAULT_AGENT


def existing_project(project: Path) -> Path:
    """Return the project that a directory belongs to.

    Raises:
        UsageError: If there is no such directory.
    """
    try:
        if project.is_dir():
            return find_project(project)
    except (OSError, ValueError):  # a deleted current directory, or a null byte in the path
        pass
    raise UsageError(f"there is no directory {str(project)!r}; give the project with --project")


def configured_handlers(engine: Engine) -> list[HandlerSpec]:
    """Return the handlers of every definition of an engine."""
    handlers: list[HandlerSpec] = []
    for definition in engine.definitions:
        handlers.extend(definition.handlers)
    return handlers


def print_project(out: Console, project: Path) -> None:
    """Print the project if it is not the current directory."""
    if os.path.realpath(project) != os.path.realpath(HERE):
        out.print(f"project {show_path(str(project))}", style="dim", markup=False)


def print_no_hooks(out: Console, scope: Scope) -> None:
    """Report that no hooks are configured, and which files were looked for."""
    out.print("No hooks are configured here. These files were looked for:")
    table = make_table("agent", "layer", "file", "", no_wrap=("agent", "layer"))
    for name in scope.agents or CODING_AGENTS:
        agent = get_agent(name)
        location = Location.of(scope.project, home_variable=agent.home_variable)
        for layer, path in places(agent, location):
            shown = Text(show_path(str(path), scope.project))
            state = "" if path.exists() else "not found"
            table.add_row(agent.title, str(layer), shown, state)
    out.print(table)
    out.print("To write a hook and configure it for your agent: anyhook init")
    for settings in scope.with_hooks:
        if settings.agent not in scope.agents:
            file = show_path(str(settings.files[0]), scope.project)
            out.print(
                f"{settings.title} has hooks here, in {file}; add: --agent {settings.agent}",
                markup=False,
            )
