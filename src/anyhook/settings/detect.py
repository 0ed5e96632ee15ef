"""Which directory is the project, and which agents have hooks for it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import AGENTS, get_agent
from anyhook.errors import UsageError
from anyhook.model.diagnostics import Diagnostic, Place, Severity, diagnose
from anyhook.model.layers import Layer
from anyhook.settings.hookset import load_hooks
from anyhook.settings.sources import Location

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.settings.reader import LoadedFile

DEFAULT_AGENT = "gemini"
"""The agent whose rules hold where no settings say which one is meant."""
PROJECT_LAYERS = frozenset({Layer.PROJECT, Layer.LOCAL})
"""Layers whose files lie in the project."""
USER_LAYERS = frozenset({Layer.USER, Layer.EXTENSION, Layer.PLUGIN})
"""Layers whose files lie in the user's home."""
REPOSITORY_MARKS = (".git", ".hg", ".jj", ".svn")


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The settings files of one agent that hold hooks, or cannot be read.

    Attributes:
        agent: Name of the agent.
        title: Its name for people.
        project_files: Files of the project.
        user_files: Files in the user's home, those of extensions and plugins among them.
    """

    agent: str
    title: str
    project_files: tuple[Path, ...]
    user_files: tuple[Path, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """All of the files, those of the project first."""
        return self.project_files + self.user_files


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """The agent whose settings an engine loads.

    Attributes:
        agent: Name of the agent.
        diagnostics: Settings of other agents that are not loaded, and whether the agent is a mere
            default.
    """

    agent: str
    diagnostics: tuple[Diagnostic, ...]


def find_project(start: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> Path:
    """Return the project that a directory belongs to.

    That is the nearest directory, upwards, that has settings of an agent; else the root of the
    repository; else the directory itself. The user's home is no project: its settings belong to
    the user.

    Args:
        start: A directory.
        home: The user's home; by default the one of this process.
    """
    here = Path(os.path.abspath(start))  # noqa: PTH100 - links stay as the user wrote them
    user_home = Path(os.path.realpath(home or os.environ.get("HOME") or Path.home()))
    for directory in (here, *here.parents):
        if Path(os.path.realpath(directory)) == user_home:
            break
        if _has_settings(directory) or _is_repository(directory):
            return directory
    return here


def _has_settings(directory: Path) -> bool:
    return any(path.exists() for path in project_files(directory))


def _is_repository(directory: Path) -> bool:
    return any((directory / mark).exists() for mark in REPOSITORY_MARKS)


def trust_command(agent: str, project: Path) -> str:
    """Return the command with which a user looks at hooks and trusts them, ready to be copied.

    Args:
        agent: Name of the agent.
        project: Directory of the project; it is named if it is not the current one.
    """
    command = f"anyhook trust --agent {agent}"
    try:
        is_here = os.path.realpath(find_project(".")) == os.path.realpath(project)
    except OSError:  # the current directory is gone
        is_here = False
    return command if is_here else f"{command} --project {shlex.quote(str(project))}"


def project_files(directory: Path) -> Iterator[Path]:
    """Yield where every agent looks for settings in a project."""
    for name in AGENTS:
        for entry in get_agent(name).settings:
            if entry.layer in PROJECT_LAYERS:
                yield Path(entry.paths["*"].format(project=directory))


def agents_with_hooks(
    project: str | os.PathLike[str],
    *,
    home: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[AgentSettings, ...]:
    """Return every agent that has hooks in the project or in the user's home.

    A file that cannot be read counts: nobody knows whether it holds a hook.

    Args:
        project: Directory of the project.
        home: The user's home; by default the one of the environment.
        environ: Environment; by default this process's.
    """
    agents: list[AgentSettings] = []
    for name in AGENTS:
        agent = get_agent(name)
        location = Location.of(
            project, home=home, environ=environ, home_variable=agent.home_variable
        )
        files = [file for file in load_hooks(agent, location).files if _may_hold_hooks(agent, file)]
        in_project = _paths_of(files, PROJECT_LAYERS)
        in_home = _paths_of(files, USER_LAYERS)
        if in_project or in_home:
            agents.append(AgentSettings(name, agent.title, in_project, in_home))
    return tuple(agents)


def _paths_of(files: list[LoadedFile], layers: frozenset[Layer]) -> tuple[Path, ...]:
    return tuple(file.source.path for file in files if file.source.layer in layers)


def _may_hold_hooks(agent: AgentSpec, file: LoadedFile) -> bool:
    is_broken = file.exists and not file.values
    has_errors = any(found.severity is Severity.ERROR for found in file.diagnostics)
    hooks: object = file.values
    for key in file.source.hooks_path or agent.hooks_path:
        hooks = hooks.get(key) if isinstance(hooks, dict) else None
    names_events = isinstance(hooks, dict) and not hooks.keys() <= agent.non_event_keys
    return is_broken or has_errors or names_events


def detected(agents: tuple[AgentSettings, ...]) -> tuple[AgentSettings, ...]:
    """Return the agents that are meant: those of the project, else those of the user."""
    in_project = tuple(found for found in agents if found.project_files)
    return in_project or agents


def choose_agent(agents: tuple[AgentSettings, ...], wanted: str | None) -> AgentChoice:
    """Choose the one agent whose settings are loaded.

    Args:
        agents: The agents that have hooks: see `agents_with_hooks`.
        wanted: The agent that the caller names; `None` to let the settings decide.

    Returns:
        The agent, and what the caller should know about the choice.

    Raises:
        UsageError: If none is named and several agents have hooks.
    """
    if wanted is not None:
        return AgentChoice(wanted, tuple(_not_loaded(agents, wanted)))
    candidates = detected(agents)
    if len(candidates) > 1:
        names = ", ".join(found.agent for found in candidates)
        files = ", ".join(str(found.files[0]) for found in candidates)
        raise UsageError(
            f"several agents have hooks here ({files}); "
            f"say whose to load with agent=, one of: {names}"
        )
    if candidates:
        agent = candidates[0].agent
        return AgentChoice(agent, tuple(_not_loaded(agents, agent)))
    title = get_agent(DEFAULT_AGENT).title
    assumed = diagnose(
        "agent-assumed",
        f"no agent has hooks in this project or in the user's settings; the rules of {title} hold",
    )
    return AgentChoice(DEFAULT_AGENT, (assumed,))


def _not_loaded(agents: tuple[AgentSettings, ...], loaded: str) -> Iterator[Diagnostic]:
    """Report hooks of other agents; a warning if the loaded agent has no hooks of its own."""
    own = next((found for found in agents if found.agent == loaded), None)
    for other in agents:
        if other.agent == loaded:
            continue
        has_same_files = own is not None and set(other.files) <= set(own.files)
        if has_same_files:  # one file that two agents read
            continue
        is_unguarded = own is None or (other.project_files and not own.project_files)
        yield diagnose(
            "other-agent",
            f"the hooks of {other.title} here are not loaded, because the agent is "
            f"{get_agent(loaded).title}",
            Place(str(other.files[0])),
            severity=Severity.WARNING if is_unguarded else Severity.INFO,
        )
