"""The settings of an agent while its hooks are recorded, and as they were before."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents.spec import PlainText
from anyhook.authoring import hooks as authoring
from anyhook.cli.companion_files import companion_edits, program_words
from anyhook.cli.editing import Edit, parsed, read_text, settings_file
from anyhook.errors import SettingsError
from anyhook.history.recording import EditedFile, edited_file, is_recorder_command
from anyhook.migrate.merge import switched_on, with_required_members
from anyhook.model.layers import Layer
from anyhook.probe.tap_settings import (
    TapStart,
    line_keys,
    read_tapped,
    tap_commands,
    untap_commands,
)
from anyhook.settings.edit import add_item
from anyhook.settings.hookset import load_hooks
from anyhook.settings.kept import remove_handler
from anyhook.settings.layout import iter_definitions, own_entries
from anyhook.settings.sources import Location
from anyhook.settings.write import stay_inside
from anyhook.shell.tapped import HISTORY
from anyhook.worker.commands import read_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anyhook.agents.spec import AgentSpec, EventSpec
    from anyhook.settings.layout import WrittenDefinition, WrittenHandler
    from anyhook.settings.sources import Source

RECORDER_FILE = Path(authoring.__file__).with_name("recorder.py")
TAPPED_LAYERS = (Layer.PROJECT, Layer.LOCAL, Layer.USER)
"""Layers whose files belong to the user."""
TAP_MARK = "ANYHOOK_TAP"
RECORDER_TIMEOUT = 10.0
"""Seconds. The recorder takes milliseconds; a disk that hangs must not hold up the agent."""
WAITED_FOR = frozenset({"session_end"})
"""Events after which the agent ends, and with it what runs in the background."""


@dataclass(frozen=True, slots=True)
class RecordingEdit:
    """The edit of one settings file.

    Attributes:
        edit: The edit.
        state: What to remember of it; `None` if nothing of it is left.
        companions: Edits of the files beside it.
    """

    edit: Edit
    state: EditedFile | None
    companions: tuple[Edit, ...] = ()


def recorded_events(agent: AgentSpec) -> list[EventSpec]:
    """Return the events that a recorder is added for.

    Those are left out in which a hook does the agent's work, like the creation of a worktree: a
    hook that answers nothing would fail there.
    """
    return [spec for spec in agent.by_canonical.values() if spec.plain_text is not PlainText.PATH]


def record_edits(
    agent: AgentSpec,
    project: Path,
    files: Mapping[Path, EditedFile],
    *,
    launcher: tuple[str, ...],
    taps: bool,
) -> Iterator[RecordingEdit]:
    """Yield the edits that record an agent: a recorder in the user's settings, and taps.

    Args:
        agent: The agent.
        project: Directory of the project, whose hooks are tapped, too.
        files: What was edited before, by path.
        launcher: The words of a command before a hook file.
        taps: Whether the hooks that exist are recorded.

    Raises:
        UsageError: If the agent has no settings of the user.
        SettingsError: If a file cannot be edited.
    """
    own_file = settings_file(agent, project, "user")
    sources = editable_sources(agent, project) if taps else {}
    paths = dict.fromkeys((own_file, *sources, *files))
    for path in paths:
        yield _record_edit(
            agent,
            project,
            path,
            files.get(path),
            source=sources.get(path),
            recorder=launcher if path == own_file else None,
        )


def _record_edit(
    agent: AgentSpec,
    project: Path,
    path: Path,
    file: EditedFile | None,
    *,
    source: Source | None,
    recorder: tuple[str, ...] | None,
) -> RecordingEdit:
    """Return the edit of one file.

    Args:
        agent: The agent.
        project: Directory of the project.
        path: The file.
        file: What was edited before.
        source: The source that the file is, if its hooks are tapped.
        recorder: The words that start the recorder; `None` if the file gets none.
    """
    if source is not None and source.layer is not Layer.USER:
        stay_inside(project, path)
    before = read_text(path)
    former = former_text(agent, path, before, file)
    after = former or ""
    # A file whose hooks are tapped stays so, also if `taps` is off now.
    if source is not None or count_taps(agent, path) > 0:
        after = _with_taps(agent, after, path, _hooks_path(agent, source))
    if recorder is not None:
        after = _with_recorder(agent, after, path, recorder)
    is_file = bool(after) or former is not None
    edit = Edit(agent, path, before, after if is_file else None)
    companions = _companions(edit, project) if recorder is not None else []
    state = None
    if after != (former or ""):
        names = [str(companion.path) for companion in companions]
        state = edited_file(agent.name, path, former, after, names)
    return RecordingEdit(edit, state, tuple(companions))


def _hooks_path(agent: AgentSpec, source: Source | None) -> tuple[str, ...]:
    if source is not None and source.hooks_path:
        return source.hooks_path
    return agent.hooks_path


def restore_edit(agent: AgentSpec, project: Path, file: EditedFile) -> RecordingEdit | None:
    """Return the edit that removes what was added to a settings file; `None` if it is gone.

    Raises:
        SettingsError: If the file cannot be edited.
    """
    path = Path(file.path)
    before = read_text(path)
    if before is None:
        return None
    edit = Edit(agent, path, before, former_text(agent, path, before, file))
    companions = _companions(edit, project) if file.companions else []
    return RecordingEdit(edit, None, tuple(companions))


def _companions(edit: Edit, project: Path) -> list[Edit]:
    return companion_edits(edit, project, "user", program_words("user"))


def former_text(
    agent: AgentSpec, path: Path, text: str | None, file: EditedFile | None
) -> str | None:
    """Return a settings file without what recording has added; `None` if it did not exist.

    It is the text before the edit, byte for byte, unless something else was changed since. Then
    recorders and taps are taken out of the present text.
    """
    if text is None:
        return None
    if file is not None:
        restored = file.restore(text)
        if restored is not None and file.was_missing:
            return None
        if restored is not None:
            return restored
    sinks = frozenset({HISTORY})
    text = untap_commands(agent, text, str(path), agent.hooks_path, sinks)
    return _without_recorder(agent, text, path)


# -- the recorder


def _with_recorder(agent: AgentSpec, text: str, path: Path, launcher: tuple[str, ...]) -> str:
    text = with_required_members(agent, text, str(path))
    command = shlex.join((*launcher, str(RECORDER_FILE)))
    for spec in recorded_events(agent):
        definition = _definition(agent, spec, command)
        for item in own_entries(agent, definition):
            text = add_item(text, (*agent.hooks_path, spec.wire), item, file=str(path))
    return switched_on(agent, text, str(path))


def _definition(agent: AgentSpec, spec: EventSpec, command: str) -> dict[str, Any]:
    handler: dict[str, Any] = {
        "type": "command",
        "command": command,
        "timeout": agent.write_timeout(RECORDER_TIMEOUT),
    }
    member = _background_member(agent)
    if member and spec.runs_background and spec.canonical not in WAITED_FOR:
        handler[member] = True
    # A definition without a matcher is for all tools, in every agent.
    return {"hooks": [handler]}


def _background_member(agent: AgentSpec) -> str | None:
    """Return the member by which a command runs in the background; `None` if there is none."""
    for name, field in agent.handler_types["command"].fields.items():
        if field.option == "background":
            return name
    return None


def _without_recorder(agent: AgentSpec, text: str, path: Path) -> str:
    # Each removal changes the places of what follows, so the text is read again.
    while True:
        recorder = _find_recorder(agent, text, path)
        if recorder is None:
            return text
        text = remove_handler(text, recorder.definition, recorder.handler, str(path))


class _Recorder(NamedTuple):
    """A recorder in a settings file."""

    definition: WrittenDefinition
    handler: WrittenHandler


def _find_recorder(agent: AgentSpec, text: str, path: Path) -> _Recorder | None:
    for definition in iter_definitions(agent, parsed(text, path)):
        for handler in definition.handlers:
            if is_recorder(handler.value):
                return _Recorder(definition, handler)
    return None


def is_recorder(handler: Mapping[str, Any]) -> bool:
    """Return whether a handler in a settings file is the recorder."""
    command = handler.get("command", handler.get("bash"))
    return isinstance(command, str) and is_recorder_command(command)


# -- taps


def editable_sources(agent: AgentSpec, project: Path) -> dict[Path, Source]:
    """Return the settings files with hooks that the user may edit."""
    location = Location.of(project, home_variable=agent.home_variable)
    sources: dict[Path, Source] = {}
    for file in load_hooks(agent, location).files:
        source = file.source
        is_users = source.layer in TAPPED_LAYERS and not source.is_foreign
        if file.definitions and is_users:
            sources[source.path] = source
    return sources


def _with_taps(agent: AgentSpec, text: str, path: Path, hooks_path: tuple[str, ...]) -> str:
    def start(_event: str, handler: Mapping[str, Any]) -> TapStart | None:
        if not is_tappable(agent, handler):
            return None
        return TapStart((HISTORY, agent.name), TAP_MARK)

    return tap_commands(agent, text, str(path), hooks_path, start=start)


def is_tappable(agent: AgentSpec, handler: Mapping[str, Any]) -> bool:
    """Return whether a hook is a command that does not record itself."""
    keys = line_keys(agent, handler)
    if not keys or is_recorder(handler) or TAP_MARK in str(handler.get("command")):
        return False
    if any(read_tapped(handler, key) is not None for key in keys):
        return False
    is_hook_file = read_line(str(handler[keys[0]])) is not None
    return not is_hook_file  # a hook file records itself


def count_taps(agent: AgentSpec, path: Path) -> int:
    """Return how many hooks of a settings file are tapped."""
    return sum(is_tapped(agent, handler) for handler in _handlers(agent, path))


def is_tapped(agent: AgentSpec, handler: Mapping[str, Any]) -> bool:
    """Return whether the command of a handler is wrapped so that it is recorded."""
    for key in line_keys(agent, handler):
        tapped = read_tapped(handler, key)
        if tapped is not None and tapped.sink == HISTORY:
            return True
    return False


def _handlers(agent: AgentSpec, path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the handlers of a settings file as they are written; none of a broken one."""
    try:
        text = read_text(path)
    except SettingsError:
        return
    for definition in iter_definitions(agent, parsed(text or "", path)):
        for handler in definition.handlers:
            yield handler.written
