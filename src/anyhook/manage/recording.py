"""What recording adds to settings files and takes out of them again."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.spec import AgentSpec, EventSpec, PlainText
from anyhook.agents.spec.settings import HOOKS_PATH
from anyhook.authoring import hooks as authoring
from anyhook.errors import SettingsError, UsageError
from anyhook.history.record_switch import (
    DamagedSwitchError,
    EditedFile,
    RecordingSwitch,
    read_switch,
)
from anyhook.journal.records import is_recorder_command
from anyhook.model.layers import Layer
from anyhook.settings.changes import (
    EDITABLE_LAYERS,
    Change,
    Undo,
    parsed,
    read_text,
    settings_file,
)
from anyhook.settings.companions import companion_changes, find_companion, program_words
from anyhook.settings.entries import add_definitions, remove_handlers
from anyhook.settings.hookset import load_hook_set
from anyhook.settings.layout import iter_handlers
from anyhook.settings.sources import Location, Source
from anyhook.settings.wrapping import (
    Wrapper,
    line_keys,
    read_tapped,
    unwrap_commands,
    wrap_commands,
)
from anyhook.settings.write import stay_inside
from anyhook.shell.tapped import HISTORY, tap_words
from anyhook.worker.commands import read_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.settings.jsonc import JsonPath


RECORDER_FILE = Path(authoring.__file__).with_name("recorder.py")
TAP_MARK = "ANYHOOK_TAP"
RECORDER_TIMEOUT = 10.0
"""Seconds. The recorder takes milliseconds; a disk that hangs must not hold up the agent."""
WAITED_FOR = frozenset({"session_end"})
"""Events after which the agent ends, and with it what runs in the background."""


@dataclass(frozen=True, slots=True)
class RecordingChange:
    """What recording changes of one settings file.

    Attributes:
        state: What to remember of it; `None` if nothing of it is left.
        companions: Changes of the files next to it.
    """

    agent: AgentSpec
    settings: Change
    state: EditedFile | None
    companions: tuple[Change, ...] = ()

    @property
    def changes(self) -> list[Change]:
        """All its changes."""
        return [self.settings, *self.companions]


def recorded_events(agent: AgentSpec) -> list[EventSpec]:
    """Return the events that a recorder is added for.

    Those are left out in which a hook does the agent's work, like the creation of a worktree: a
    hook that answers nothing would fail there.
    """
    return [spec for spec in agent.by_canonical.values() if spec.plain_text is not PlainText.PATH]


def start_recording(
    agent: AgentSpec,
    project: Path,
    switch: RecordingSwitch | None,
    *,
    launcher: tuple[str, ...],
    taps: bool,
) -> list[RecordingChange]:
    """Return the changes that record an agent: a recorder in the user's settings, and taps.

    The state of recording has what was edited before. The launcher is the words of a command before
    a hook file. With `taps`, the hooks that exist are recorded, also those of the project.

    Raises:
        UsageError: If the agent has no settings of the user.
        SettingsError: If a file cannot be edited.
    """
    own_file = settings_file(agent, project, "user")
    sources = editable_sources(agent, project) if taps else {}
    files = {Path(file.path): file for file in edited_files(project, [agent.name], switch)}
    changes: list[RecordingChange] = []

    def wrapper(_path: JsonPath, handler: Mapping[str, Any]) -> Wrapper | None:
        if not is_tappable(agent, handler):
            return None
        return Wrapper(tap_words(HISTORY, agent.name), TAP_MARK)

    for path in dict.fromkeys((own_file, *sources, *files)):
        recorder = launcher if path == own_file else None
        source = sources.get(path)
        if source is not None and source.layer is not Layer.USER:
            stay_inside(project, path)
        before = read_text(path)
        former = former_text(agent, path, before, files.get(path))
        after = former or ""
        # A file whose hooks are tapped stays so, also if `taps` is off now.
        if source is not None or (before and count_recorded(agent, before, path).taps > 0):
            hooks_path = HOOKS_PATH if source is None else source.hooks_path
            after = wrap_commands(agent, after, str(path), hooks_path, wrapper=wrapper)
        if recorder is not None:
            command = shlex.join((*recorder, str(RECORDER_FILE)))
            definitions = {
                spec.wire: [_definition(agent, spec, command)] for spec in recorded_events(agent)
            }
            after = add_definitions(agent, after, str(path), definitions)
        is_file = bool(after) or former is not None
        content = after if is_file else None
        settings = Change(path, before, content, "Record events", agent)
        companions = _companions(agent, settings, project) if recorder is not None else ()
        state = None
        if after != (former or ""):
            names = tuple([str(companion.path) for companion in companions])
            undo = Undo.of(former or "", after)
            state = EditedFile(agent.name, str(path), undo, former is None, names)
        changes.append(RecordingChange(agent, settings, state, companions))
    return changes


def end_recording(project: Path, file: EditedFile) -> RecordingChange | None:
    """Return what removes recording from a settings file; `None` if the file is gone.

    Raises:
        SettingsError: If the file cannot be edited.
    """
    agent, path = get_agent(file.agent), Path(file.path)
    before = read_text(path)
    if before is None:
        return None
    after = former_text(agent, path, before, file)
    settings = Change(path, before, after, "End recording", agent)
    companions = _companions(agent, settings, project) if file.companions else ()
    return RecordingChange(agent, settings, None, companions)


def _companions(agent: AgentSpec, settings: Change, project: Path) -> tuple[Change, ...]:
    return tuple(companion_changes(agent, settings, project, "user", program_words("user")))


def former_text(
    agent: AgentSpec, path: Path, text: str | None, file: EditedFile | None
) -> str | None:
    """Return a settings file without what recording has added; `None` if it did not exist.

    It is the text before the edit, byte for byte, unless something else was changed since. Then
    recorders and taps are taken out of the present text.
    """
    if text is None:
        return None
    if file is not None and file.undo is not None:
        restored = file.undo.restore(text)
        if restored is not None:
            return None if file.was_missing else restored
    sinks = frozenset({HISTORY})
    text = unwrap_commands(agent, text, str(path), sinks)
    return remove_handlers(
        agent, text, str(path), lambda _definition, handler: is_recorder(handler.value)
    )


def without_stale_recording(agent: AgentSpec, path: Path, text: str) -> str:
    """Return a settings file without recorders and taps, unless the file is recorded now.

    A hook that was disabled while it was recorded still has its tap.

    Raises:
        SettingsError: If the file cannot be edited.
        HistoryError: If the state of recording cannot be read.
    """
    if count_recorded(agent, text, path) == Recorded():
        return text
    state = read_state()
    files = state.switch.files if state.switch is not None else ()
    if state.damage or str(path) in [file.path for file in files]:
        return text
    return former_text(agent, path, text, None) or ""


def _definition(agent: AgentSpec, spec: EventSpec, command: str) -> dict[str, Any]:
    handler: dict[str, Any] = {
        "type": "command",
        "command": command,
        "timeout": agent.settings.write_timeout(RECORDER_TIMEOUT),
    }
    fields = agent.settings.handler_types["command"].fields.items()
    members = [name for name, field in fields if field.option == "background"]
    if members and spec.runs_background and spec.canonical not in WAITED_FOR:
        handler[members[0]] = True
    # A definition without a matcher is for all tools, in every agent.
    return {"hooks": [handler]}


# -- taps


def is_tappable(agent: AgentSpec, handler: Mapping[str, Any]) -> bool:
    """Return whether a hook is a command that does not record itself."""
    keys = line_keys(agent, handler)
    if not keys or is_recorder(handler) or TAP_MARK in str(handler.get("command")):
        return False
    if any(read_tapped(handler, key) is not None for key in keys):
        return False
    is_hook_file = read_line(str(handler[keys[0]])) is not None
    return not is_hook_file  # a hook file records itself


class RecordingState(NamedTuple):
    """The state of recording.

    Attributes:
        switch: What `recording.json` holds; `None` if recording is off or the file is damaged.
        damage: Why the file cannot be read.
    """

    switch: RecordingSwitch | None
    damage: str = ""


def read_state() -> RecordingState:
    """Return the state of recording.

    Raises:
        HistoryError: If its file is of a newer release, or the system does not let it be read.
    """
    try:
        return RecordingState(read_switch())
    except DamagedSwitchError as error:
        return RecordingState(None, str(error))


class Recorded(NamedTuple):
    """What recording has added to a settings file.

    Attributes:
        events: Number of events with a recorder.
        recorders: Number of recorders.
        taps: Number of wrapped commands.
    """

    events: int = 0
    recorders: int = 0
    taps: int = 0


def count_recorded(agent: AgentSpec, text: str, path: Path) -> Recorded:
    """Count what recording has added to a settings file.

    Raises:
        SettingsError: If the text has not the format of its name.
    """
    events: set[str] = set()
    recorders = taps = 0
    for definition, handler in iter_handlers(agent, parsed(text, path)):
        if is_recorder(handler.value):
            events.add(definition.event)
            recorders += 1
        taps += is_tapped(agent, handler.written)
    return Recorded(len(events), recorders, taps)


def edited_files(
    project: Path, names: Iterable[str], switch: RecordingSwitch | None
) -> list[EditedFile]:
    """Return the settings files of agents that record.

    These are files of the project, which is searched, and those of other projects in the state of
    recording.
    """
    names = [*names]
    files: list[EditedFile] = []
    if switch is not None:
        files += [file for file in switch.files if file.agent in names]
    listed = {(file.agent, file.path) for file in files}
    for name in names:
        agent = get_agent(name)
        for path, companions in _own_files(agent, project).items():
            if (name, str(path)) in listed:
                continue
            try:
                recorded = count_recorded(agent, read_text(path) or "", path)
            except SettingsError:
                continue
            if recorded.recorders or recorded.taps:
                files.append(EditedFile(name, str(path), companions=companions))
    return files


def _own_files(agent: AgentSpec, project: Path) -> dict[Path, tuple[str, ...]]:
    """Return the settings files that the user may edit, with the companions of each."""
    files: dict[Path, tuple[str, ...]] = {}
    for path, source in editable_sources(agent, project).items():
        try:
            if source.layer is not Layer.USER:
                stay_inside(project, path)
        except SettingsError:  # a link of the repository leads elsewhere
            continue
        files[path] = ()
    try:
        path = settings_file(agent, project, "user")
    except UsageError:  # it has none
        return files
    files[path] = tuple(
        [str(find_companion(each, path).path) for each in agent.settings.companions]
    )
    return files


def editable_sources(agent: AgentSpec, project: Path) -> dict[Path, Source]:
    """Return the settings files with hooks that the user may edit."""
    location = Location.of(project, agent)
    sources: dict[Path, Source] = {}
    for file in load_hook_set(agent, location).files:
        source = file.source
        is_users = source.layer in EDITABLE_LAYERS and not source.is_foreign
        if file.definitions and is_users:
            sources[source.path] = source
    return sources


def is_recorder(handler: Mapping[str, Any]) -> bool:
    """Return whether a handler in a settings file is the recorder."""
    command = handler.get("command", handler.get("bash"))
    return isinstance(command, str) and is_recorder_command(command)


def is_tapped(agent: AgentSpec, handler: Mapping[str, Any]) -> bool:
    """Return whether the command of a handler is wrapped so that it is recorded."""
    for key in line_keys(agent, handler):
        tapped = read_tapped(handler, key)
        if tapped is not None and tapped.sink == HISTORY:
            return True
    return False
