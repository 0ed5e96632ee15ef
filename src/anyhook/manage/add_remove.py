"""What `anyhook add`, `remove` and `init` do: guards and hook files, in the settings of agents.

It also chooses what starts hook files there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import SettingsError, UsageError
from anyhook.manage.guard_files import (
    GuardCopy,
    GuardFile,
    GuardUpdate,
    all_guards,
    copy_path,
    find_guard,
    plan_copy,
    plan_update,
    read_copy,
    require_copy,
)
from anyhook.manage.health import HookHealth, health
from anyhook.manage.hook_file_settings import (
    AddedFile,
    SettingsChanges,
    SettingsPlace,
    add_hook_files,
    agents_that_disabled,
    agents_that_run,
    file_arguments,
    forget_hook_files,
    load_hook_file,
    remove_hook_files,
    runs_file,
    trust_hook_files,
)
from anyhook.manage.paths import show_path
from anyhook.settings.before_adding import remove_directories
from anyhook.settings.changes import SCOPES, Change, settings_file
from anyhook.settings.companions import SHARED_PROGRAM
from anyhook.trust.changes import start_record
from anyhook.worker.commands import PROGRAM, PYTHON, prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.agents.spec import AgentSpec


DEFAULT_GUARDS = ("files", "git", "secrets", "own-hooks")
"""The guards that `init` adds if the user names no others."""
SCOPES_OF_COPY = {"project": ("project", "local"), "local": ("project", "local"), "user": ("user",)}
"""Scope to those whose settings may run the same copy of a guard."""


@dataclass(frozen=True, slots=True)
class Addition:
    """Hook files that are added to the settings of agents, with the changes for each agent."""

    place: SettingsPlace
    files: tuple[AddedFile, ...]
    settings: tuple[SettingsChanges, ...]

    @property
    def changes(self) -> list[Change]:
        """Every change, in the order in which they are written: no settings name a missing file."""
        changes = [file.change for file in self.files if file.change is not None]
        for agent_changes in self.settings:
            changes += agent_changes.all
        return changes

    @property
    def agents(self) -> list[AgentSpec]:
        """The agents."""
        return [changes.agent for changes in self.settings]


@dataclass(frozen=True, slots=True)
class Removal:
    """Hook files that are removed from the settings of agents.

    Attributes:
        settings: The changes for each agent.
        copies: Copies of guards that are removed.
        problems: Why the settings of some agents cannot be edited.
    """

    project: Path
    scope: str
    paths: tuple[Path, ...]
    settings: tuple[SettingsChanges, ...]
    copies: tuple[GuardCopy, ...]
    problems: tuple[str, ...]

    @property
    def changes(self) -> list[Change]:
        """Every change with an effect: the settings first, so that none names a missing file."""
        changes: list[Change] = []
        for agent_changes in self.settings:
            changes += agent_changes.all
        for copy in self.copies:
            changes.append(Change(copy.path, copy.text, None, f"Remove the guard {copy.name}"))
        return [change for change in changes if change.has_effect]


@dataclass(frozen=True, slots=True)
class AddedGuard:
    """A guard that is added somewhere.

    Attributes:
        scope: Whose settings run its copy.
        agents: The agents whose settings run it; none if they were edited by hand.
    """

    copy: GuardCopy
    scope: str
    agents: tuple[AgentSpec, ...]


@dataclass(frozen=True, slots=True)
class GuardRow:
    """A guard of the list, with where it is added.

    Attributes:
        added: Where it is added: in this project, for the user.
        problems: Files that stand where copies of it would be, and are none.
    """

    guard: GuardFile
    added: tuple[AddedGuard, ...]
    problems: tuple[str, ...] = field(default=())


def is_file(word: str) -> bool:
    """Return whether a word of the command line is a file of the user, and not a guard's name."""
    return word.endswith(".py") or os.sep in word or "/" in word


# -- adding


def hook_files(words: Iterable[str], project: Path, scope: str) -> list[AddedFile]:
    """Return the hook files for names of guards and files of the user.

    Raises:
        UnknownNameError: If there is no guard of a name.
        UsageError: If a file is not a hook file, or never runs its hooks.
        SettingsError: If a file stands where the copy of a guard belongs.
    """
    guards = all_guards()
    files: list[AddedFile] = []
    for word in dict.fromkeys(words):
        if is_file(word):
            files.append(load_hook_file(Path(word)))
            continue
        change = plan_copy(find_guard(word, guards), project, scope)
        files.append(load_hook_file(change.path, change))
    return files


def plan_addition(
    place: SettingsPlace, agents: Iterable[AgentSpec], files: Sequence[AddedFile]
) -> Addition:
    """Return what adding hook files changes.

    Raises:
        UsageError: If an agent has no settings of the scope.
        SettingsError: If its settings cannot be edited.
    """
    settings = [add_hook_files(agent, place, files) for agent in agents]
    return Addition(place, tuple(files), tuple(settings))


def plan_guard_updates(names: Sequence[str], project: Path, scope: str) -> list[GuardUpdate]:
    """Return what the versions that come with anyhook change in the copies of guards, or of all.

    Raises:
        UnknownNameError: If there is no guard of a name.
        UsageError: If one is not added, or cannot be merged.
        SettingsError: If a copy cannot be read.
    """
    guards = all_guards()
    copies = [require_copy(find_guard(name, guards).name, project, scope) for name in names]
    if not names:
        every_copy = [read_copy(name, project, scope) for name in guards]
        copies = [copy for copy in every_copy if copy is not None]
    return [plan_update(guards[copy.name], copy) for copy in copies]


def plan_additions_of(
    updates: Iterable[GuardUpdate], place: SettingsPlace, agents: Sequence[AgentSpec]
) -> list[Addition]:
    """Return what updates change, with the settings: a new version may have other events.

    By default the agents of a guard are those whose settings run it.
    """
    additions: list[Addition] = []
    for update in updates:
        if update.change.has_effect:
            path = update.copy.path
            running = agents or agents_that_run(place.project, place.scope, path)
            files = [load_hook_file(path, update.change)]
            additions.append(plan_addition(place, running, files))
    return additions


def finish_addition(addition: Addition) -> None:
    """Trust what was written; hooks of the user need no trust.

    Raises:
        OSError: If the trust store, or what the settings are now, cannot be written.
        SettingsError: If others can write the trust store.
    """
    if addition.place.scope == "user":
        texts = [file.path.read_text(encoding="utf-8") for file in addition.files]
        settings = [str(changes.settings.path) for changes in addition.settings]
        start_record(Path.home(), settings, texts)
        return
    paths = [file.path for file in addition.files]
    trust_hook_files(addition.settings, addition.place.project, paths)


def health_of_files(
    project: Path, agents: Iterable[AgentSpec], paths: Iterable[Path]
) -> list[HookHealth]:
    """Return whether the hooks of hook files work, in the settings of all layers."""
    hooks: list[HookHealth] = []
    for agent in agents:
        arguments: set[str] = set()
        for path in paths:
            arguments |= file_arguments(agent, project, path)
        engine = Engine.load(project, agent=agent.name, on_message=discard)
        for hook in health(engine).hooks:
            handler = {"command": hook.row.handler.command}
            if runs_file(handler, arguments):
                hooks.append(hook)
    return hooks


# -- removing


def plan_removal(
    words: Iterable[str], project: Path, scope: str, agents: Sequence[AgentSpec]
) -> Removal:
    """Return what removing guards and hook files changes for some agents, or for all.

    The words are names of guards, or their copies, and files of the user, which stay.

    Raises:
        UnknownNameError: If there is no guard of a name.
        UsageError: If nothing in these settings runs them, or a named agent has no settings of the
            scope.
        SettingsError: If a file that stands in the place of a copy is not one.
    """
    guards = all_guards()
    paths: list[Path] = []
    copies: list[GuardCopy] = []
    names = {os.path.realpath(copy_path(name, project, scope)): name for name in guards}
    for word in dict.fromkeys(names.get(os.path.realpath(word), word) for word in words):
        if is_file(word):
            paths.append(Path(word))
            continue
        copy = read_copy(find_guard(word, guards).name, project, scope)
        paths.append(copy_path(word, project, scope))
        if copy is not None:
            copies.append(copy)
    settings: list[SettingsChanges] = []
    problems: list[str] = []
    for agent in agents or [get_agent(name) for name in CODING_AGENTS]:
        try:
            settings.append(remove_hook_files(agent, project, scope, paths))
        except SettingsError as error:  # the other files are still edited
            problems.append(str(error))
        except UsageError:  # this agent has no settings of the scope
            if agents:
                raise
    changed = [changes for changes in settings if changes.has_effect]
    unused = [copy for copy in copies if not _is_needed(copy, project, scope, changed)]
    if problems:  # those settings may run them
        unused = []
    if not changed and not unused and not problems:
        missing = ", ".join(map(show_path, words))
        raise UsageError(
            f"no settings of the scope {scope!r} run {missing} as `anyhook add` writes it; see: "
            "anyhook list, and `anyhook disable` for a hook that you wrote yourself"
        )
    return Removal(project, scope, tuple(paths), tuple(changed), tuple(unused), tuple(problems))


def _is_needed(
    copy: GuardCopy, project: Path, scope: str, changed: Sequence[SettingsChanges]
) -> bool:
    """Return whether settings that are not changed run a copy, or may run it again."""
    changed_files = {changes.settings.path for changes in changed}
    for other in SCOPES_OF_COPY[scope]:
        agents = agents_that_run(project, other, copy.path)
        agents += agents_that_disabled(project, other, copy.path)
        for agent in agents:
            with suppress(UsageError, SettingsError):
                if settings_file(agent, project, other) not in changed_files:
                    return True
    return False


def finish_removal(removal: Removal) -> None:
    """Remove what else was made for the hook files: entries of the trust store, directories.

    Raises:
        OSError: If the trust store cannot be written.
    """
    if removal.scope != "user":
        forget_hook_files(removal.settings, removal.project, removal.paths)
    for changes in removal.settings:
        remove_directories(changes.directories)
    remove_directories({copy.path.parent for copy in removal.copies})


# -- the list


def guard_rows(project: Path) -> list[GuardRow]:
    """Return the guards that come with anyhook, and where they are added."""
    rows: list[GuardRow] = []
    for guard in all_guards().values():
        added: list[AddedGuard] = []
        problems: list[str] = []
        for scope in SCOPES:
            try:
                copy = read_copy(guard.name, project, scope)
            except SettingsError as error:
                problems.append(str(error))
                continue
            if copy is None:
                continue
            running = agents_that_run(project, scope, copy.path)
            # The scopes of a project share a copy: it is listed where settings run it.
            if running or scope != "local":
                added.append(AddedGuard(copy, scope, tuple(running)))
        rows.append(GuardRow(guard, tuple(added), tuple(dict.fromkeys(problems))))
    return rows


# -- what starts hook files

SHARED_PYTHON = "python3"
"""The interpreter in settings that are shared by all users of a project."""


def choose_launcher(python: str | None, scope: str, *, cold: bool) -> tuple[str, ...]:
    """Return the words of the command before the hook file.

    In shared settings they mean the same on every machine. In the user's own settings they are
    absolute paths, because an agent need not have the `PATH` of this shell.

    Raises:
        UsageError: If the interpreter is a directory, or its name is empty.
    """
    if python is not None and (not python or Path(python).is_dir()):
        raise UsageError(f"{python!r} is not an interpreter; write the path of a Python program")
    is_cold = cold or os.name != "posix"
    if scope == "project" and python is None:
        return (SHARED_PYTHON,) if is_cold else PROGRAM
    interpreter = python or sys.executable
    if is_cold:
        return (interpreter,)
    if Path(interpreter).is_absolute():
        return prefix(interpreter)
    # A program in the environment of this interpreter is not on the PATH of the agent.
    program = shutil.which(PROGRAM[0])
    is_global = program is not None and not Path(program).is_relative_to(sys.prefix)
    return (*PROGRAM, PYTHON, interpreter) if is_global else (interpreter,)


def launcher_problem(launcher: tuple[str, ...]) -> str | None:
    """Return what the command needs and this machine lacks."""
    if launcher[:1] == SHARED_PROGRAM and not shutil.which(PROGRAM[0]):
        return (
            "the command starts anyhook, but anyhook is not on the PATH here; install it where the "
            "agent finds it, for example with: pipx install anyhook"
        )
    if launcher == (SHARED_PYTHON,):
        python = shutil.which(SHARED_PYTHON)
        command = [python or SHARED_PYTHON, "-c", "import anyhook.authoring"]
        if python is None or subprocess.run(command, capture_output=True, check=False).returncode:
            return (
                f"the {SHARED_PYTHON} on the PATH here has no anyhook; install it there, for "
                f"example with: {SHARED_PYTHON} -m pip install anyhook"
            )
    return None
