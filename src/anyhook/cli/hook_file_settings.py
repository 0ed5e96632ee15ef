"""The settings of an agent with a hook file, and without it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from anyhook.cli.editing import Edit, parsed, read_text, settings_file
from anyhook.matching.matchers import EXPRESSION_STYLES
from anyhook.migrate.merge import switched_on, with_required_members
from anyhook.settings.directories import find_root
from anyhook.settings.edit import add_item
from anyhook.settings.kept import remove_handler
from anyhook.settings.layout import iter_definitions, own_entries
from anyhook.shell.tapped import SHADOW_OPTION
from anyhook.worker.commands import read_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.authoring.functions import HookFunction
    from anyhook.authoring.hooks import Hooks
    from anyhook.settings.layout import WrittenDefinition, WrittenHandler

    Definition = dict[str, Any]
    KeyPath = tuple[str, ...]

TIMEOUT_MARGIN = 5.0
"""Seconds that the agent waits longer than the hook may run, so that the hook can answer."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A hook file and how settings start it.

    Attributes:
        file: The hook file.
        project: Directory of the project.
        scope: Whose settings: a key of `LAYERS`.
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


def add_hook_file(agent: AgentSpec, installation: Installation) -> Edit:
    """Return the edit that adds a hook file, one definition for each of its events.

    Raises:
        UsageError: If the agent has no settings of the scope.
        SettingsError: If its settings cannot be edited.
    """
    path = settings_file(agent, installation.project, installation.scope)
    before = read_text(path)
    functions: dict[str, list[HookFunction]] = {}
    for function in installation.hooks.functions:
        functions.setdefault(function.event, []).append(function)
    definitions: dict[KeyPath, Definition] = {}
    for event, event_functions in functions.items():
        spec = agent.by_canonical.get(event)
        if spec is not None:
            definition = _definition(agent, spec, event_functions, installation)
            definitions[*agent.hooks_path, spec.wire] = definition
    arguments = file_arguments(agent, installation.project, installation.file)
    after = _without_handlers(agent, before or "", path, arguments, keep=definitions)
    after = with_required_members(agent, after, str(path))
    for keys, definition in definitions.items():
        for item in own_entries(agent, definition):
            after = add_item(after, keys, item, file=str(path))
    after = switched_on(agent, after, str(path))
    return Edit(agent, path, before, after)


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


def remove_hook_file(agent: AgentSpec, project: Path, scope: str, file: Path) -> Edit:
    """Return the edit that removes a hook file.

    Raises:
        UsageError: If the agent has no settings of the scope.
        SettingsError: If its settings cannot be edited.
    """
    path = settings_file(agent, project, scope)
    before = read_text(path)
    if before is None:
        return Edit(agent, path, None, "")
    arguments = file_arguments(agent, project, file)
    return Edit(agent, path, before, _without_handlers(agent, before, path, arguments, keep={}))


def _without_handlers(
    agent: AgentSpec,
    text: str,
    path: Path,
    arguments: set[str],
    *,
    keep: Mapping[KeyPath, Definition],
) -> str:
    """Return settings without the handlers that run a file, except in definitions to keep."""
    while True:
        installed = _find_installed(agent, text, path, arguments, keep)
        if installed is None:
            return text
        definition, handler = installed
        text = remove_handler(text, definition, handler, str(path))


def _find_installed(
    agent: AgentSpec,
    text: str,
    path: Path,
    arguments: set[str],
    keep: Mapping[KeyPath, Definition],
) -> tuple[WrittenDefinition, WrittenHandler] | None:
    for definition in iter_definitions(agent, parsed(text, path)):
        # An unchanged definition stays where it is, with its comments.
        if definition.value == keep.get((*agent.hooks_path, definition.event)):
            continue
        for handler in definition.handlers:
            if runs_file(handler.value, arguments):
                return definition, handler
    return None


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
