"""The project and the agents that a person means."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, NamedTuple

from anyhook.agents import CODING_AGENTS, agents_of_event, get_agent
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.file_errors import explain_error
from anyhook.settings.changes import EDITABLE_LAYERS
from anyhook.settings.detect import (
    DEFAULT_AGENT,
    AgentSettings,
    agents_with_hooks,
    detected,
    find_project,
)
from anyhook.settings.sources import Location, own_places, places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec

NO_AGENT = "no agent is found in this project or your home"


class CommandScope(NamedTuple):
    """The project and the agents that a command works on.

    Attributes:
        agents: Names of the agents; empty if none was named and none has hooks.
        with_hooks: The agents that have hooks in the project or in the user's settings.
    """

    project: Path
    agents: tuple[str, ...]
    with_hooks: tuple[AgentSettings, ...]

    def engines(self, *, default: bool = False) -> Iterator[Engine]:
        """Load an engine for each agent, or one for the default agent if that is asked for."""
        names = self.agents
        if default and not names:
            names = (DEFAULT_AGENT,)
        for name in names:
            yield Engine.load(self.project, agent=name, on_message=discard)


def scope_of(project: Path, agent: str | None) -> CommandScope:
    """Return the project and the agents that the options `--project` and `--agent` select.

    Without an agent these are all with hooks here.

    Raises:
        UsageError: If the directory does not exist.
        UnknownNameError: If the agent does not exist.
    """
    directory = existing_project(project)
    with_hooks = agents_with_hooks(directory)
    if agent is not None:
        return CommandScope(directory, (get_agent(agent).name,), with_hooks)
    names = tuple(settings.agent for settings in with_hooks)
    return CommandScope(directory, names, with_hooks)


def one_agent(project: Path, agent: str | None, event: str | None = None) -> str:
    """Return the name of the agent for a command that works for one agent.

    That is the named agent, else the one with hooks here, else the first one that has the event, as
    agents name it. Only agents that have the event are considered.

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
        UsageError: If the directory does not exist, or may not be looked at.
    """
    try:
        is_directory = stat.S_ISDIR(project.stat().st_mode)
        if is_directory:
            return find_project(project)
    except PermissionError as error:
        raise UsageError(f"{project}: {explain_error(project, error)}") from error
    except (OSError, ValueError):  # a deleted current directory, or a null byte in the path
        pass
    raise UsageError(f"there is no directory {str(project)!r}; give the project with --project")


def agents_here(
    project: Path, names: Iterable[str] | None, *, also: Collection[str] = ()
) -> list[AgentSpec]:
    """Return the named agents, or those with a settings directory in the project or in the home.

    Agents in `also` count as here.

    Raises:
        UnknownNameError: If the agent does not exist.
    """
    if names:
        return [get_agent(name) for name in dict.fromkeys(names)]
    location = Location.of(project)
    agents: list[AgentSpec] = []
    for agent in map(get_agent, CODING_AGENTS):
        own_files = own_places(agent, location)
        paths = [path for layer, path in own_files if layer in EDITABLE_LAYERS]
        if agent.name in also or any(path.parent.is_dir() for path in paths):
            agents.append(agent)
    return agents


def agents_that_read(project: Path, files: Iterable[Path]) -> list[AgentSpec]:
    """Return the agents of `agents_here` that read one of some settings files."""
    paths = {*files}
    agents: list[AgentSpec] = []
    for agent in agents_here(project, None):
        location = Location.of(project, agent)
        if not paths.isdisjoint(path for _, path in places(agent, location)):
            agents.append(agent)
    return agents


def require_agents(
    project: Path, names: Iterable[str] | None, *, also: Collection[str] = ()
) -> list[AgentSpec]:
    """Return the agents of `agents_here`.

    Raises:
        UsageError: If there is none.
    """
    specs = agents_here(project, names, also=also)
    if not specs:
        choices = " or ".join(f"--agent {name}" for name in CODING_AGENTS)
        raise UsageError(f"{NO_AGENT}; name one: {choices}")
    return specs
