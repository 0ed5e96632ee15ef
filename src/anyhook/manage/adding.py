"""Hook files in the settings of agents: how they are added and removed, and what starts them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.engine.guard import Guard
from anyhook.matching.matchers import EXPRESSION_STYLES
from anyhook.settings.changes import Change, parsed, read_text, settings_file
from anyhook.settings.companions import SHARED_PROGRAM, companion_changes, program_words
from anyhook.settings.directories import find_root
from anyhook.settings.entries import add_definitions, remove_handlers
from anyhook.settings.hookset import load_hooks
from anyhook.settings.sources import Location
from anyhook.shell.tapped import SHADOW_OPTION
from anyhook.trust.store import TrustStore
from anyhook.worker.commands import PROGRAM, PYTHON, prefix, read_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.authoring.functions import HookFunction
    from anyhook.authoring.hooks import Hooks
    from anyhook.settings.layout import WrittenDefinition, WrittenHandler
    from anyhook.trust.subjects import Subject

    Definition = dict[str, Any]

SHARED_PYTHON = "python3"
"""The interpreter in settings that are shared by all users of a project."""
TIMEOUT_MARGIN = 5.0
"""Seconds that the agent waits longer than the hook may run, so that the hook can answer."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A hook file and how settings start it.

    Attributes:
        file: The hook file.
        project: Directory of the project.
        scope: Whose settings: a key of `SCOPES`.
        launcher: The words of the command before the hook file.
        program: The words that start anyhook itself.
        hooks: The hooks of the file.
    """

    file: Path
    project: Path
    scope: str
    launcher: tuple[str, ...]
    program: tuple[str, ...]
    hooks: Hooks


def add_hook_file(agent: AgentSpec, installation: Installation) -> Change:
    """Return the change that adds a hook file, one definition for each of its events.

    Raises:
        UsageError: If the agent has no settings of the scope.
        SettingsError: If its settings cannot be edited.
    """
    path = settings_file(agent, installation.project, installation.scope)
    before = read_text(path)
    functions: dict[str, list[HookFunction]] = {}
    for function in installation.hooks.functions:
        functions.setdefault(function.event, []).append(function)
    definitions: dict[str, list[Definition]] = {}
    for event, event_functions in functions.items():
        spec = agent.by_canonical.get(event)
        if spec is not None:
            definitions[spec.wire] = [_definition(agent, spec, event_functions, installation)]
    arguments = file_arguments(agent, installation.project, installation.file)
    after = _without_hook_file(agent, before or "", path, arguments, keep=definitions)
    after = add_definitions(agent, after, str(path), definitions)
    return Change(path, before, after, f"Add {installation.file.name}", agent)


def remove_hook_file(agent: AgentSpec, project: Path, scope: str, file: Path) -> list[Change]:
    """Return the changes that remove a hook file, and companions that no hook needs any more.

    Raises:
        UsageError: If the agent has no settings of the scope.
        SettingsError: If its settings cannot be edited.
    """
    path = settings_file(agent, project, scope)
    before = read_text(path)
    arguments = file_arguments(agent, project, file)
    after = _without_hook_file(agent, before or "", path, arguments, keep={})
    change = Change(path, before, after, f"Remove {file.name}", agent)
    if not change.has_effect:
        return [change]
    program = program_words(scope)
    return [change, *companion_changes(agent, change, project, scope, program)]


def _without_hook_file(
    agent: AgentSpec,
    text: str,
    path: Path,
    arguments: set[str],
    *,
    keep: Mapping[str, list[Definition]],
) -> str:
    """Return settings without the handlers that run a file, except in definitions to keep."""

    def is_removed(definition: WrittenDefinition, handler: WrittenHandler) -> bool:
        # An unchanged definition stays where it is, with its comments.
        is_kept = definition.value in keep.get(definition.event, ())
        return not is_kept and runs_file(handler.value, arguments)

    parsed(text, path)
    return remove_handlers(agent, text, str(path), is_removed)


def _definition(
    agent: AgentSpec, spec: EventSpec, functions: list[HookFunction], installation: Installation
) -> Definition:
    argument = _file_argument(agent, installation.project, installation.scope, installation.file)
    handler: Definition = {
        "type": "command",
        "command": f"{shlex.join(installation.launcher)} {argument}",
    }
    if {"name", "env"} <= agent.handler_fields:
        handler["name"] = installation.file.stem
    timeout = installation.hooks.timeout
    if timeout is not None:
        handler["timeout"] = agent.write_timeout(timeout + TIMEOUT_MARGIN)
    matcher = _matcher(agent, spec, functions)
    if matcher is None:
        return {"hooks": [handler]}
    return {"matcher": matcher, "hooks": [handler]}


def _matcher(agent: AgentSpec, spec: EventSpec, functions: list[HookFunction]) -> str | None:
    """Return a matcher for all subjects of functions, by the agent's names."""
    is_tool_event = spec.subject == "tool_name"
    is_expression = spec.matcher_style in EXPRESSION_STYLES
    if not spec.writes_matchers:
        return None
    if spec.subject is None or any(not function.subjects for function in functions):
        return "*" if is_tool_event and not is_expression else None  # `*` is no expression
    names: list[str] = []
    for function in functions:
        for subject in function.subjects:
            names += _tool_names(agent, subject) if is_tool_event else [subject]
    unique = list(dict.fromkeys(names))
    has_patterns = is_tool_event and any("*" in name for name in unique)
    if not is_expression and not has_patterns:
        return "|".join(unique)
    escape = _escape_dots if is_tool_event else re.escape
    patterns = [escape(name).replace(r"\*", "*").replace("*", ".*") for name in unique]
    return f"^(?:{'|'.join(patterns)})$"


def _escape_dots(name: str) -> str:
    """Escape the only special character that names of tools have."""
    return name.replace(".", r"\.")


def _tool_names(agent: AgentSpec, subject: str) -> list[str]:
    """Return the agent's names of the tools that a subject, which may be a pattern, stands for."""
    vocabulary = agent.vocabulary
    names: list[str] = []
    for canonical, tool in vocabulary.tools.items():
        if fnmatchcase(canonical, subject):
            names.extend(tool.names)
    # A pattern may also match tools of extensions, and an unknown name may be one of them.
    is_pattern = "*" in subject and subject not in vocabulary.tools
    if not names or is_pattern:
        names.append(vocabulary.name(subject) or subject)
    return names


# -- the hook file in a command


def _file_argument(agent: AgentSpec, project: Path, scope: str, file: Path) -> str:
    """Return the hook file as a word of a shell command: relative to the project if shared."""
    script, root = file.resolve(), project.resolve()
    # Only settings in the project move with it; those of the user need the whole path.
    if scope == "user" or not script.is_relative_to(root):
        return shlex.quote(str(script))
    directories = {"project_dir": root, "root": find_root(root)}
    for name, value in agent.hook_environment.items():
        if value in directories:
            relative_path = script.relative_to(directories[value]).as_posix()
            path = re.sub(r'(["$`\\])', r"\\\1", relative_path)
            return f'"${{{name}}}/{path}"'
    # Without a variable only the whole path works in every directory of the project.
    return shlex.quote(str(script))


def file_arguments(agent: AgentSpec, project: Path, file: Path) -> set[str]:
    """Return every form of the hook file that `install` writes, without shell quotes."""
    arguments = [_file_argument(agent, project, scope, file) for scope in ("project", "user")]
    return {shlex.split(argument)[0] for argument in arguments}


def runs_file(handler: Any, arguments: set[str]) -> bool:
    """Return whether a handler is one of `install`: a launcher, the hook file, and nothing else."""
    command = handler.get("command") if isinstance(handler, dict) else None
    if not isinstance(command, str) or "args" in handler:
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    warm = read_command(words)
    rest = list(warm.words) if warm is not None else words[1:]
    if rest[-1:] == [SHADOW_OPTION]:
        rest.pop()
    return len(rest) == 1 and rest[0] in arguments


# -- after it was added


def trust_hook_file(agent: AgentSpec, path: Path, installation: Installation) -> None:
    """Trust the written hooks, which the user has seen and confirmed, and no other new ones."""
    project = installation.project
    hooks = load_hooks(agent, Location.of(project, home_variable=agent.home_variable))
    store = TrustStore()
    subjects = Guard(agent, project, store, tuple(hooks.definitions)).subjects()
    changes, _ = store.changes(project, subjects)
    untrusted = {id(change.subject) for change in changes}
    arguments = file_arguments(agent, project, installation.file)

    def is_trusted(subject: Subject) -> bool:
        handler = subject.handler
        is_in_file = handler.place.file == str(path)
        is_written = is_in_file and runs_file({"command": handler.command}, arguments)
        return is_written or id(subject) not in untrusted

    trusted = [subject for subject in subjects if is_trusted(subject)]
    store.trust(project, trusted, agent=agent.name)


# -- the command


def choose_launcher(python: str | None, scope: str, *, cold: bool) -> tuple[str, ...]:
    """Return the words of the command before the hook file.

    In shared settings they mean the same on every machine. In the user's own settings they are
    absolute paths, because an agent need not have the `PATH` of this shell.
    """
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
    if launcher == (SHARED_PYTHON,) and not _has_anyhook(SHARED_PYTHON):
        return (
            f"the {SHARED_PYTHON} on the PATH here has no anyhook; install it there, for example "
            f"with: {SHARED_PYTHON} -m pip install anyhook"
        )
    return None


def _has_anyhook(python: str) -> bool:
    program = shutil.which(python)
    if program is None:
        return False
    command = [program, "-c", "import anyhook.authoring"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
