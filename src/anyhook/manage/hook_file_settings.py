"""Hook files in the settings of agents: how they are added and removed."""

from __future__ import annotations

import os
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from anyhook.agents import AGENTS, CODING_AGENTS, get_agent
from anyhook.authoring.inspect import Use, never_runs, scan
from anyhook.authoring.load import load_hooks as load_hooks_of_file
from anyhook.engine.guard import TrustGuard
from anyhook.errors import SettingsError, UsageError
from anyhook.manage.paths import show_path
from anyhook.matching.matchers import EXPRESSION_STYLES, compile_matcher
from anyhook.model.layers import Layer
from anyhook.settings.before_adding import find_before, note_before
from anyhook.settings.changes import Change, parsed, read_text, settings_file
from anyhook.settings.companions import companion_changes, program_words
from anyhook.settings.directories import find_root
from anyhook.settings.entries import add_definitions, remove_handlers
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.kept import forget, kept_hooks
from anyhook.settings.layout import WrittenDefinition, WrittenHandler, iter_handlers
from anyhook.settings.sources import Location, own_places, places
from anyhook.shell.path_variables import TOP_OF_REPOSITORY
from anyhook.shell.tapped import SHADOW_OPTION
from anyhook.trust.store import TrustStore
from anyhook.worker.commands import read_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.authoring.functions import HookFunction
    from anyhook.authoring.hooks import Hooks
    from anyhook.trust.subjects import TrustSubject

    Definition = dict[str, Any]

TIMEOUT_MARGIN = 5.0
"""Seconds that the agent waits longer than the hook may run, so that the hook can answer."""


@dataclass(frozen=True, slots=True)
class SettingsPlace:
    """Where hook files are added, and how the settings start them.

    Attributes:
        scope: Whose settings: a key of `SCOPES`.
        launcher: The words of the command before the hook file.
        program: The words that start anyhook itself.
    """

    project: Path
    scope: str
    launcher: tuple[str, ...]
    program: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A hook file that is added.

    Attributes:
        uses: Its functions, with what they ask of an agent.
        change: The change that writes it; `None` if it is a file of the user.
    """

    path: Path
    hooks: Hooks
    uses: tuple[Use, ...]
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class SettingsChanges:
    """What changes for an agent when hook files are added or removed.

    Attributes:
        disabled: The changes of records of disabled hooks, which are added anew or removed.
        companions: The changes of the files that it needs next to its settings.
        note: The change of what anyhook notes about the settings before; `None` for none.
        directories: Directories that are removed afterwards if they are empty.
    """

    agent: AgentSpec
    settings: Change
    disabled: tuple[Change, ...] = ()
    companions: tuple[Change, ...] = ()
    note: Change | None = None
    directories: tuple[Path, ...] = ()

    @property
    def shown(self) -> tuple[Change, ...]:
        """The changes that people see."""
        return (self.settings, *self.disabled, *self.companions)

    @property
    def all(self) -> tuple[Change, ...]:
        """The changes in the order in which they are written."""
        return self.shown if self.note is None else (self.note, *self.shown)

    @property
    def has_effect(self) -> bool:
        """Whether the settings or a record of disabled hooks change."""
        return self.settings.has_effect or bool(self.disabled)


def load_hook_file(path: Path, change: Change | None = None) -> AddedFile:
    """Load a hook file, or what a change writes into it.

    The hooks of a change are read from a copy, because the user has not agreed yet.

    Raises:
        UsageError: If it is not a hook file, or never runs its hooks.
    """
    if change is None or not change.has_effect:
        return _load(path, path, change)
    with TemporaryDirectory() as scratch:
        copy = Path(scratch) / path.name
        copy.write_text(change.after or "", encoding="utf-8")
        return _load(path, copy, change)


def _load(path: Path, source: Path, change: Change | None) -> AddedFile:
    hooks = load_hooks_of_file(source)
    problem = never_runs(source.read_bytes())
    if problem:
        raise UsageError(f"{show_path(str(path))}: {problem}")
    return AddedFile(path, hooks, tuple(scan(source)), change)


def add_hook_files(
    agent: AgentSpec, place: SettingsPlace, files: Sequence[AddedFile]
) -> SettingsChanges:
    """Return the changes that add hook files, one definition for each event of each file.

    Raises:
        UsageError: If the agent has no settings of the scope.
        SettingsError: If its settings cannot be edited.
    """
    path = settings_file(agent, place.project, place.scope)
    before = read_text(path)
    after = before or ""
    for file in files:
        functions: dict[str, list[HookFunction]] = {}
        for function in file.hooks.functions:
            functions.setdefault(function.event, []).append(function)
        definitions: dict[str, list[Definition]] = {}
        for event, event_functions in functions.items():
            spec = agent.by_canonical.get(event)
            if spec is not None:
                definitions[spec.wire] = [_definition(agent, spec, event_functions, place, file)]
        arguments = file_arguments(agent, place.project, file.path)
        after = _without_hook_file(agent, after, path, arguments, keep=definitions)
        after = add_definitions(agent, after, str(path), definitions)
    names = ", ".join(file.path.name for file in files)
    settings = Change(path, before, after, f"Add {names}", agent)
    disabled = _forget_disabled(agent, place.project, path, [file.path for file in files])
    companions = companion_changes(agent, settings, place.project, place.scope, place.program)
    # What the settings were like before is noted, unless the files are added again.
    left_before, left_after = before or "", after
    for file in files:
        arguments = file_arguments(agent, place.project, file.path)
        left_before = _without_hook_file(agent, left_before, path, arguments, keep={})
        left_after = _without_hook_file(agent, left_after, path, arguments, keep={})
    note = None
    if left_before == (before or "") and settings.has_effect:
        note = note_before(settings, left_after, [change.path for change in companions])
    return SettingsChanges(agent, settings, disabled, tuple(companions), note)


def remove_hook_files(
    agent: AgentSpec, project: Path, scope: str, paths: Sequence[Path]
) -> SettingsChanges:
    """Return the changes that remove hook files, and companions that no hook needs any more.

    The settings get the text that they had before the files were added, unless something else
    changed in them.

    Raises:
        UsageError: If the agent has no settings of the scope.
        SettingsError: If its settings cannot be edited.
    """
    path = settings_file(agent, project, scope)
    before = read_text(path)
    after: str | None = before or ""
    for file in paths:
        arguments = file_arguments(agent, project, file)
        after = _without_hook_file(agent, after or "", path, arguments, keep={})
    why = f"Remove {', '.join(file.name for file in paths)}"
    settings = Change(path, before, after, why, agent)
    disabled = _forget_disabled(agent, project, path, paths)
    if not settings.has_effect and not disabled:
        return SettingsChanges(agent, settings)
    noted = find_before(path, after or "")
    if noted is not None:
        settings = Change(path, before, noted.text, why, agent)
    companions = companion_changes(agent, settings, project, scope, program_words(scope))
    if noted is None:
        return SettingsChanges(agent, settings, disabled, tuple(companions))
    return SettingsChanges(
        agent, settings, disabled, tuple(companions), noted.forgetting, noted.directories
    )


def agents_that_run(project: Path, scope: str, file: Path) -> list[AgentSpec]:
    """Return the agents whose settings of a scope run a hook file; unreadable ones do not."""
    running: list[AgentSpec] = []
    for agent in map(get_agent, CODING_AGENTS):
        arguments = file_arguments(agent, project, file)
        try:
            path = settings_file(agent, project, scope)
            hooks = [*iter_handlers(agent, parsed(read_text(path) or "", path))]
        except (SettingsError, UsageError):
            continue
        if any(runs_file(handler.value, arguments) for _, handler in hooks):
            running.append(agent)
    return running


def agents_that_disabled(project: Path, scope: str, file: Path) -> list[AgentSpec]:
    """Return the agents of which a hook file was taken out of the settings of a scope."""
    agents: list[AgentSpec] = []
    for agent in map(get_agent, CODING_AGENTS):
        with suppress(SettingsError, UsageError):
            path = settings_file(agent, project, scope)
            if _forget_disabled(agent, project, path, [file]):
                agents.append(agent)
    return agents


def _forget_disabled(
    agent: AgentSpec, project: Path, path: Path, files: Iterable[Path]
) -> tuple[Change, ...]:
    """Return the changes that forget hooks of hook files that were taken out of a settings file.

    Otherwise `anyhook enable` would put them back: a second time, or without their file.
    """
    arguments: set[str] = set()
    for file in files:
        arguments |= file_arguments(agent, project, file)
    hooks = load_hook_set(agent, Location.of(project, agent))
    loaded = [file for file in hooks.files if file.source.path == path]
    entries: dict[Path, list[dict[str, Any]]] = {}
    try:
        for hook in kept_hooks(agent, loaded):
            if runs_file({"command": hook.handler.command}, arguments):
                entries.setdefault(hook.record, []).append(hook.entry)
        return tuple(forget(record, of_record) for record, of_record in entries.items())
    except SettingsError:  # `list` and `check` report a record that cannot be read
        return ()


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
    agent: AgentSpec,
    spec: EventSpec,
    functions: list[HookFunction],
    place: SettingsPlace,
    file: AddedFile,
) -> Definition:
    scope = place.scope
    path = os.path.realpath(settings_file(agent, place.project, scope))
    location = Location.of(place.project, agent)
    for layer, own_path in own_places(agent, location):
        # Settings in the home are also the user's: the agent reads them in every project, so a path
        # in the project means another file elsewhere.
        if layer is Layer.USER and os.path.realpath(own_path) == path:
            scope = "user"
    argument = _file_argument(agent, place.project, scope, file.path)
    handler: Definition = {
        "type": "command",
        "command": f"{shlex.join(place.launcher)} {argument}",
    }
    if {"name", "env"} <= agent.settings.handler_fields:
        handler["name"] = file.path.stem
    timeout = file.hooks.timeout
    if timeout is not None:
        handler["timeout"] = agent.settings.write_timeout(timeout + TIMEOUT_MARGIN)
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
        # `*` is not an expression: in some styles it does not compile, and nothing matches.
        is_read = not is_expression and compile_matcher("*", spec.matcher_style).problem is None
        return "*" if is_tool_event and is_read else None
    names: list[str] = []
    for function in functions:
        for subject in function.subjects:
            names += agent.vocabulary.tool_names(subject) if is_tool_event else [subject]
    unique = list(dict.fromkeys(names))
    has_patterns = is_tool_event and any("*" in name for name in unique)
    if not is_expression and not has_patterns:
        return "|".join(unique)
    patterns: list[str] = []
    for name in unique:
        # A dot is the only special character that names of tools have.
        escaped = name.replace(".", r"\.") if is_tool_event else re.escape(name)
        patterns.append(escaped.replace(r"\*", "*").replace("*", ".*"))
    return f"^(?:{'|'.join(patterns)})$"


# -- the hook file in a command


def _file_argument(agent: AgentSpec, project: Path, scope: str, file: Path) -> str:
    """Return the hook file as a word of a shell command: relative to the project if shared."""
    script, root = file.resolve(), project.resolve()
    # Only settings in the project move with it; those of the user need the whole path.
    if scope == "user" or not script.is_relative_to(root):
        return shlex.quote(str(script))
    directories = {"project_dir": root, "root": find_root(root)}
    start, directory = TOP_OF_REPOSITORY, directories["root"]
    for name, value in agent.hook_environment.items():
        if value in directories:
            start, directory = f"${{{name}}}", directories[value]
            break
    relative_path = script.relative_to(directory).as_posix()
    path = re.sub(r'(["$`\\])', r"\\\1", relative_path)
    return f'"{start}/{path}"'


def file_arguments(agent: AgentSpec, project: Path, file: Path) -> set[str]:
    """Return every form of the hook file that `anyhook add` writes, without shell quotes."""
    arguments = [_file_argument(agent, project, scope, file) for scope in ("project", "user")]
    return {shlex.split(argument)[0] for argument in arguments}


def runs_file(handler: Any, arguments: set[str]) -> bool:
    """Return whether a handler is one of `anyhook add`: a launcher and the hook file alone."""
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


# -- trust


def trust_hook_files(
    settings: Iterable[SettingsChanges], project: Path, paths: Sequence[Path]
) -> None:
    """Trust the written hooks, which the user has seen and confirmed, and no other new ones.

    They are trusted in every agent that reads the settings.
    """
    arguments: dict[str, set[str]] = {}
    for changes in settings:
        of_file = arguments.setdefault(str(changes.settings.path), set())
        for path in paths:
            of_file |= file_arguments(changes.agent, project, path)

    def is_written(subject: TrustSubject) -> bool:
        handler = subject.handler
        in_file = arguments.get(handler.place.file, set())
        return runs_file({"command": handler.command}, in_file)

    _trust_again(settings, project, paths, is_written)


def forget_hook_files(
    settings: Iterable[SettingsChanges], project: Path, paths: Sequence[Path]
) -> None:
    """Remove what is recorded in the trust store about hook files that no settings run any more."""
    _trust_again(settings, project, paths, lambda _subject: False)


def _trust_again(
    settings: Iterable[SettingsChanges],
    project: Path,
    paths: Iterable[Path],
    is_confirmed: Callable[[TrustSubject], bool],
) -> None:
    """Trust the confirmed hooks, and all that were trusted: they may be bound to the same files.

    The files at the paths were written or removed with the consent of the user. Hooks of every
    agent may be bound to them, whichever settings changed.
    """
    store = TrustStore()
    real_paths = [os.path.realpath(path) for path in paths]
    confirmed = {*map(str, paths), *real_paths}
    changed_settings = {changes.settings.path for changes in settings}
    for agent in map(get_agent, AGENTS):
        location = Location.of(project, agent)
        hooks = load_hook_set(agent, location)
        subjects = TrustGuard(agent, project, store, tuple(hooks.definitions)).subjects()
        # Cursor reads Claude Code's settings, for example.
        if not changed_settings.isdisjoint(path for _, path in places(agent, location)):
            configured = {subject.key for subject in subjects}
            store.forget(project, agent.name, configured, real_paths)
        changed, _problems = store.changes(project, subjects, agent=agent.name, confirmed=confirmed)
        untrusted = {id(change.subject) for change in changed}
        trusted = [
            subject for subject in subjects if is_confirmed(subject) or id(subject) not in untrusted
        ]
        if trusted:
            store.trust(project, trusted, agent=agent.name, keep_others=True)
