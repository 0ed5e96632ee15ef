"""What is recorded: the state of recording, and what it has added to settings files.

Recorders and taps are found by their commands, so that they can be removed without the state: its
file may be lost or damaged, and a command may have been killed before it was written.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.cli.editing import read_text, settings_file
from anyhook.cli.record_settings import editable_sources
from anyhook.cli.record_table import count_recorded
from anyhook.errors import SettingsError, UsageError
from anyhook.history.recording import (
    DamagedSwitchError,
    EditedFile,
    RecordingSwitch,
    read_switch,
)
from anyhook.model.layers import Layer
from anyhook.settings.companions import find_companion
from anyhook.settings.sources import Location, own_places
from anyhook.settings.write import stay_inside

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


def edited_files(
    project: Path, names: Iterable[str], switch: RecordingSwitch | None
) -> list[EditedFile]:
    """Return the settings files of agents that record.

    Args:
        project: Directory of the project, whose settings are searched, too.
        names: Names of the agents.
        switch: The state of recording, with files of other projects.
    """
    names = [*names]
    files = [file for file in (switch.files if switch else ()) if file.agent in names]
    known = {(file.agent, file.path) for file in files}
    for name in names:
        agent = get_agent(name)
        for path, companions in _own_files(agent, project).items():
            if (name, str(path)) not in known and _records(agent, path):
                # Without the hash of a text: what was added is taken out by its commands.
                files.append(EditedFile(name, str(path), "", companions=companions))
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
    files[path] = tuple([str(find_companion(one, path).path) for one in agent.companions])
    return files


def _records(agent: AgentSpec, path: Path) -> bool:
    try:
        recorded = count_recorded(agent, read_text(path) or "", path)
    except SettingsError:
        return False
    return recorded.recorders > 0 or recorded.taps > 0


# -- the status


def agent_status(
    name: str, project: Path, switch: RecordingSwitch | None, counts: Mapping[str, int]
) -> tuple[dict[str, Any], list[str]]:
    """Return what the settings of an agent hold of recording, and which cannot be read.

    Args:
        name: Name of the agent.
        project: Directory of the project.
        switch: The state of recording.
        counts: Agent to its events of today.
    """
    agent = get_agent(name)
    files = [file.path for file in edited_files(project, [name], switch)]
    problems: list[str] = []
    recorders = taps = 0
    for path in dict.fromkeys((*files, *_broken_files(agent, project))):
        try:
            recorded = count_recorded(agent, read_text(Path(path)) or "", Path(path))
        except SettingsError as error:
            problems.append(f"its hooks are not counted: {error}")
            continue
        recorders += recorded.recorders
        taps += recorded.taps
    row = {
        "agent": name,
        "recorder": recorders > 0,
        "tapped": None if problems else taps,
        "events_today": counts.get(name, 0),
        "files": files,
    }
    return row, problems


def _broken_files(agent: AgentSpec, project: Path) -> list[str]:
    """Return the settings files of the user and the project that cannot be read."""
    location = Location.of(project, home_variable=agent.home_variable)
    broken: list[str] = []
    for layer, path in own_places(agent, location):
        if layer not in (Layer.USER, Layer.PROJECT, Layer.LOCAL) or not path.is_file():
            continue
        try:
            read_text(path)
        except SettingsError:
            broken.append(str(path))
    return broken
