"""What is recorded: the state of recording, and what settings files hold of it.

Recorders and taps are found by their commands, so that they can be removed without the state: its
file may be lost or damaged, and a command may have been killed before it was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.errors import SettingsError, UsageError
from anyhook.history.recording import DamagedSwitchError, EditedFile, RecordingSwitch, read_switch
from anyhook.journal.records import is_recorder_command
from anyhook.model.layers import Layer
from anyhook.settings.changes import EDITABLE_LAYERS, parsed, read_text, settings_file
from anyhook.settings.companions import find_companion
from anyhook.settings.hookset import load_hooks
from anyhook.settings.layout import iter_handlers
from anyhook.settings.sources import Location, Source, own_places
from anyhook.settings.wrapping import line_keys, read_tapped
from anyhook.settings.write import stay_inside
from anyhook.shell.tapped import HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.agents.spec import AgentSpec


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
    files = [file for file in (switch.files if switch else ()) if file.agent in names]
    listed = {(file.agent, file.path) for file in files}
    for name in names:
        agent = get_agent(name)
        for path, companions in _own_files(agent, project).items():
            if (name, str(path)) not in listed and _records(agent, path):
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


def _records(agent: AgentSpec, path: Path) -> bool:
    try:
        recorded = count_recorded(agent, read_text(path) or "", path)
    except SettingsError:
        return False
    return recorded.recorders > 0 or recorded.taps > 0


@dataclass(frozen=True, slots=True)
class RecordedAgent:
    """What the settings of an agent hold of recording.

    Attributes:
        files: The settings files with a recorder or taps.
        recorders: Number of recorders.
        taps: Number of wrapped commands; `None` if a file cannot be read.
        problems: Why files cannot be read.
    """

    agent: AgentSpec
    files: tuple[str, ...]
    recorders: int
    taps: int | None
    problems: tuple[str, ...]


def recorded_agent(name: str, project: Path, switch: RecordingSwitch | None) -> RecordedAgent:
    """Return what the settings of an agent hold of recording."""
    agent = get_agent(name)
    files = tuple(file.path for file in edited_files(project, [name], switch))
    location = Location.of(project, home_variable=agent.settings.home_variable)
    places = [path for layer, path in own_places(agent, location) if layer in EDITABLE_LAYERS]
    problems: list[str] = []
    recorders = taps = 0
    for path in dict.fromkeys((*map(Path, files), *(path for path in places if path.is_file()))):
        try:
            recorded = count_recorded(agent, read_text(path) or "", path)
        except SettingsError as error:
            problems.append(f"its hooks are not counted: {error}")
            continue
        recorders += recorded.recorders
        taps += recorded.taps
    return RecordedAgent(agent, files, recorders, None if problems else taps, tuple(problems))


def editable_sources(agent: AgentSpec, project: Path) -> dict[Path, Source]:
    """Return the settings files with hooks that the user may edit."""
    location = Location.of(project, home_variable=agent.settings.home_variable)
    sources: dict[Path, Source] = {}
    for file in load_hooks(agent, location).files:
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
