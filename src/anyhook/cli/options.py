"""Options that commands share, and what they mean: which project, and the hooks of which agents."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyhook.agents import CODING_AGENTS, agents_of_event, get_agent
from anyhook.cli.output import show_path
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
    from collections.abc import Iterator

    from rich.console import Console

Project = Annotated[
    Path,
    typer.Option(
        "--project",
        "-C",
        help="Directory of the project; by default the one that this directory belongs to.",
        show_default=False,
    ),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        "--agent",
        help="The agent: gemini, claude, terminai or generic; by default those with hooks here.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]
HERE = Path()


@dataclass(frozen=True, slots=True)
class Scope:
    """What a command looks at.

    Attributes:
        project: Directory of the project.
        agents: Names of the agents; empty if none has hooks and none was named.
        was_named: Whether the user named the agent.
        found: The agents that have hooks in the project or in the user's settings.
    """

    project: Path
    agents: tuple[str, ...]
    was_named: bool
    found: tuple[AgentSettings, ...]

    def engines(self, *, default: bool = False) -> Iterator[Engine]:
        """Load an engine for each agent.

        Args:
            default: Load one of the default agent where no agent has hooks.
        """
        names = self.agents or ((DEFAULT_AGENT,) if default else ())
        for name in names:
            yield Engine.load(self.project, agent=name, on_message=discard)


def scope_of(project: Path, agent: str | None) -> Scope:
    """Return the project and the agents that a command looks at.

    Args:
        project: The option `--project`.
        agent: The option `--agent`; `None` for every agent with hooks here.

    Raises:
        UsageError: If there is no such directory.
        UnknownNameError: If there is no such agent.
    """
    here = existing_project(project)
    found = agents_with_hooks(here)
    if agent is not None:
        return Scope(here, (get_agent(agent).name,), True, found)
    return Scope(here, tuple(agent.agent for agent in found), False, found)


def one_agent(project: Path, agent: str | None) -> str:
    """Return the agent of a command that works for one agent.

    Raises:
        UsageError: If several agents have hooks here and none is named.
    """
    if agent is not None:
        return get_agent(agent).name
    candidates = detected(agents_with_hooks(project))
    if len(candidates) > 1:
        choices = " or ".join(f"--agent {agent.agent}" for agent in candidates)
        raise UsageError(f"several agents have hooks here; name one of them: {choices}")
    return candidates[0].agent if candidates else DEFAULT_AGENT


def agent_of_event(name: str) -> str | None:
    """Return the agent that has an event of that name; `None` if none or several have it.

    TerminaI has the events of Gemini CLI, so that a name of both does not tell them apart.
    """
    agents = agents_of_event(name)
    return agents[0] if len(agents) == 1 else None


def existing_project(project: Path) -> Path:
    """Return the directory of the project.

    It is found upwards from the directory that the user names, or from the current one.

    Raises:
        UsageError: If it is no directory.
    """
    try:
        if project.is_dir():
            return find_project(project)
    except (OSError, ValueError):  # the current directory is gone, or no path at all
        pass
    raise UsageError(f"there is no directory {str(project)!r}; give the project with --project")


def print_project(out: Console, project: Path) -> None:
    """Name the project where it is not the current directory."""
    if os.path.realpath(project) != os.path.realpath(HERE):
        out.print(f"project {show_path(str(project))}", style="dim", markup=False)


def print_searched(out: Console, scope: Scope) -> None:
    """Report that no hooks were found, and where they were looked for."""
    out.print("No hooks are configured here. These files were looked for:")
    for name in scope.agents or CODING_AGENTS:
        agent = get_agent(name)
        location = Location.of(scope.project, home_variable=agent.home_variable)
        for layer, path in places(agent, location):
            state = "" if path.exists() else "  (not there)"
            out.print(
                f"  {agent.title:<12} {layer!s:<16} {show_path(str(path), scope.project)}{state}",
                markup=False,
            )
    out.print("Write a hook and configure it for your agent with: anyhook init")
    others = [found for found in scope.found if found.agent not in scope.agents]
    for found in others:
        out.print(
            f"{found.title} has hooks here, in {show_path(str(found.files[0]), scope.project)}; "
            f"add: --agent {found.agent}",
            markup=False,
        )
