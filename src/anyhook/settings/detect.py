"""Which directory is the project, and which agents have hooks for it."""

from __future__ import annotations

import os
import shlex
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent
from anyhook.agents.spec.settings import Extensions
from anyhook.errors import UsageError
from anyhook.file_errors import may_exist
from anyhook.files import home_path
from anyhook.journal.records import is_recorder_command
from anyhook.model.definitions import each_handler
from anyhook.model.diagnostics import Diagnostic, Place, Severity, diagnose
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.model.text import printable
from anyhook.settings.directories import is_pattern, list_files
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.jsonc import dict_at
from anyhook.settings.kept import has_kept_hooks
from anyhook.settings.sources import Location, config_dir, own_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec

DEFAULT_AGENT = CODING_AGENTS[0]
"""The agent whose rules are used where no settings show which one is meant: the first one of the
registry."""
PROJECT_LAYERS = frozenset({Layer.PROJECT, Layer.LOCAL})
"""Layers whose files lie in the project."""
USER_LAYERS = frozenset({Layer.USER, Layer.EXTENSION, Layer.PLUGIN})
"""Layers whose files lie in the user's home."""
REPOSITORY_MARKERS = (".git", ".hg", ".jj", ".svn")


class AgentSettings(Record, kw_only=False):
    """The settings files of one agent that hold hooks, or cannot be read.

    Attributes:
        user_files: Files in the user's home, those of extensions and plugins among them.
        only_records: Whether all hooks in them are the recorder of `anyhook history record`.
    """

    agent: str
    title: str
    project_files: tuple[Path, ...]
    user_files: tuple[Path, ...]
    only_records: bool = False

    @property
    def files(self) -> tuple[Path, ...]:
        """All of the files, those of the project first."""
        return self.project_files + self.user_files


class AgentChoice(Record, kw_only=False):
    """The agent whose settings an engine loads.

    The diagnostics are settings of other agents that are not loaded, and whether it is a mere
    default.
    """

    agent: str
    diagnostics: tuple[Diagnostic, ...]


def find_project(start: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> Path:
    """Return the project that a directory belongs to.

    That is the nearest directory, upwards, that has settings of an agent; else the root of the
    repository; else the directory itself. The user's home, by default the one of this process, is
    not a project: its settings belong to the user.
    """
    first = Path(os.path.abspath(start))  # noqa: PTH100 - links stay as the user wrote them
    user_home = Path(os.path.realpath(home or home_path()))
    for directory in (first, *first.parents):
        if Path(os.path.realpath(directory)) == user_home:
            break
        marks = [directory / name for name in REPOSITORY_MARKERS]
        if any(map(may_exist, chain(project_files(directory), marks))):
            return directory
    return first


def trust_command(agent: str, project: Path) -> str:
    """Return the command line with which a user reviews hooks and trusts them."""
    return project_command(project, "trust", "--agent", agent)


def project_command(project: Path, *words: str) -> str:
    """Return a command line for a project, which is named if it is not the current one."""
    try:
        is_current = os.path.realpath(find_project(".")) == os.path.realpath(project)
    except OSError:  # the current directory is gone
        is_current = False
    more = () if is_current else ("--project", str(project))
    return printable(shlex.join(("anyhook", *words, *more)))


def project_files(directory: Path) -> Iterator[Path]:
    """Yield the paths at which the agents look for settings in a project."""
    for name in AGENTS:
        for entry in get_agent(name).settings.files:
            if entry.layer not in PROJECT_LAYERS:
                continue
            template = entry.paths["*"]
            path = Path(template.format(project=directory, root=directory, directory=directory))
            if is_pattern(path):
                yield from list_files(path)
            else:
                yield path


def agents_with_hooks(
    project: str | os.PathLike[str],
    *,
    home: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[AgentSettings, ...]:
    """Return every agent that has hooks in the project or in the user's home.

    Hooks that `anyhook disable` took out of a file count. So does a file that cannot be read, as it
    may hold hooks. The home is by default the one of the environment, and the environment that of
    this process.
    """
    agents: list[AgentSettings] = []
    for name in AGENTS:
        agent = get_agent(name)
        location = Location.of(project, agent, home=home, environ=environ)
        if not _may_have_hooks(agent, location):
            continue
        project_paths: list[Path] = []
        user_paths: list[Path] = []
        only_records = True
        for file in load_hook_set(agent, location).files:
            is_unclear = file.exists and not file.values
            is_faulty = any(problem.severity is Severity.ERROR for problem in file.diagnostics)
            events = dict_at(file.values, file.source.hooks_path)
            has_hooks = not events.keys() <= agent.settings.non_event_keys
            # The files of other agents are theirs.
            if file.source.is_foreign:
                continue
            is_special = is_unclear or is_faulty or has_kept_hooks(agent, file)
            if not is_special and not has_hooks:
                continue
            handlers = [handler for _, handler in each_handler(file.definitions)]
            others = [spec for spec in handlers if not is_recorder_command(spec.command or "")]
            if is_special or not handlers or others:
                only_records = False
            if file.source.layer in PROJECT_LAYERS:
                project_paths.append(file.source.path)
            elif file.source.layer in USER_LAYERS:
                user_paths.append(file.source.path)
        if project_paths or user_paths:
            paths = tuple(project_paths), tuple(user_paths)
            agents.append(AgentSettings(agent.name, agent.title, *paths, only_records))
    return tuple(agents)


def _may_have_hooks(agent: AgentSpec, location: Location) -> bool:
    """Return whether one of the places exists where the agent's own hooks can be.

    It costs a fifth of loading them, and most agents have no settings on a machine.
    """
    paths = [path for _, path in own_places(agent, location)]
    packages = agent.settings.packages
    if packages is not None:
        template = packages.directory if isinstance(packages, Extensions) else packages.record
        config = config_dir(agent, location)
        paths.append(Path(template.format(home=location.home, config=config)))
    return any(map(may_exist, paths))


def detected(agents: tuple[AgentSettings, ...]) -> tuple[AgentSettings, ...]:
    """Return the agents with hooks in the project; if there are none, those of the user.

    The recorder decides nothing. An agent without another hook counts only if it is the only one.
    """
    if len(agents) > 1:
        agents = tuple(settings for settings in agents if not settings.only_records)
    with_project_files = tuple(settings for settings in agents if settings.project_files)
    return with_project_files or agents


def choose_agent(agents: tuple[AgentSettings, ...], named: str | None) -> AgentChoice:
    """Choose the one agent whose settings are loaded; `None` stands for the one that has hooks.

    Raises:
        UsageError: If none is named and several agents have hooks.
    """
    if named is not None:
        return AgentChoice(named, tuple(_not_loaded(agents, named)))
    candidates = detected(agents)
    if len(candidates) > 1:
        names = ", ".join(settings.agent for settings in candidates)
        files = ", ".join(str(settings.files[0]) for settings in candidates)
        raise UsageError(
            f"several agents have hooks here ({files}); choose one with agent= or --agent, "
            f"one of: {names}"
        )
    if candidates:
        agent = candidates[0].agent
        return AgentChoice(agent, tuple(_not_loaded(agents, agent)))
    title = get_agent(DEFAULT_AGENT).title
    assumed = diagnose(
        "agent-assumed",
        f"no agent has hooks in this project or in the user's settings; the rules of {title} apply",
    )
    return AgentChoice(DEFAULT_AGENT, (assumed,))


def _not_loaded(agents: tuple[AgentSettings, ...], loaded: str) -> Iterator[Diagnostic]:
    """Report hooks of other agents; a warning if the loaded agent has no hooks of its own."""
    agent = get_agent(loaded)
    own = AgentSettings(loaded, agent.title, project_files=(), user_files=())
    for settings in agents:
        if settings.agent == loaded:
            own = settings
    # The ends of the paths of other agents' files that the agent reads.
    foreign = [file.paths["*"] for file in agent.settings.files if file.is_foreign]
    foreign_ends = tuple([template.partition("}")[2] for template in foreign])

    def is_loaded(path: Path) -> bool:
        # Two agents may read the same file.
        return path in own.files or path.as_posix().endswith(foreign_ends)

    for other in agents:
        if other.agent == loaded or other.only_records or all(map(is_loaded, other.files)):
            continue
        has_own = bool(own.files) and not own.only_records
        is_unguarded = not has_own or (other.project_files and not own.project_files)
        yield diagnose(
            "other-agent",
            f"the hooks of {other.title} here are not loaded, because the agent is {agent.title}",
            Place(str(other.files[0])),
            severity=Severity.WARNING if is_unguarded else Severity.INFO,
        )
