"""What is recorded: recorders, wrapped commands and events of today, for each agent."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.errors import SettingsError
from anyhook.files import read_user_file
from anyhook.history.ingest import ingest
from anyhook.history.record_switch import RecordingSwitch
from anyhook.history.sessions import count_events
from anyhook.history.store import FILE, History
from anyhook.history.tap_record import PROBLEM_FILE
from anyhook.journal.lines import DIRECTORY, history_directory
from anyhook.manage.recording import count_recorded, edited_files, read_state
from anyhook.manage.scope import agents_here
from anyhook.settings.changes import EDITABLE_LAYERS, read_text
from anyhook.settings.sources import Location, own_places

if TYPE_CHECKING:
    from anyhook.agents.spec import AgentSpec

MAX_PROBLEM_SIZE = 64 * 1024
"""Bytes of the last problem."""


@dataclass(frozen=True, slots=True)
class RecordedAgent:
    """What the settings of an agent hold of recording, and what was recorded today.

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
    events_today: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordingStatus:
    """Whether events are recorded, where, and of which agents.

    Attributes:
        agents: Those of the project, and others that record or were recorded today.
        store_size: Bytes of the store.
        journal_size: Bytes of what was recorded and is not in the store yet.
    """

    is_on: bool
    directory: str
    limits: RecordingSwitch
    agents: tuple[RecordedAgent, ...]
    store_size: int
    journal_size: int
    problems: tuple[str, ...]


def recording_status(project: Path) -> RecordingStatus:
    """Return what is recorded; what was recorded since goes into the store first."""
    switch, damage = read_state()
    is_on = switch is not None or bool(damage)
    limits = switch or RecordingSwitch()
    directory = Path(history_directory())
    problems: list[str] = []
    with contextlib.suppress(OSError):
        content = read_user_file(directory / PROBLEM_FILE, MAX_PROBLEM_SIZE)
        problems.append(content.decode("utf-8", "replace").strip())
    events_today: dict[str, int] = {}
    size = 0
    if is_on or (directory / FILE).exists():
        with History.open() as history:
            problems += ingest(history).problems
            midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
            events_today = count_events(history, since=midnight)
            size = history.size()
    if damage and damage not in problems:
        problems.append(damage)
    try:
        journal_size = sum(file.stat().st_size for file in (directory / DIRECTORY).iterdir())
    except OSError:
        journal_size = 0
    present = {agent.name for agent in agents_here(project, None, also=limits.agents)}
    agents: list[RecordedAgent] = []
    for name in CODING_AGENTS:
        recorded = _recorded_agent(name, project, switch, events_today.get(name, 0))
        if name in present or recorded.events_today or recorded.files:
            agents.append(recorded)
            problems += recorded.problems
    if not is_on and any(recorded.files for recorded in agents):
        problems.append(
            "settings still hold what recording has added: run `anyhook history record off`"
        )
    return RecordingStatus(
        is_on, str(directory), limits, tuple(agents), size, journal_size, tuple(problems)
    )


def _recorded_agent(
    name: str, project: Path, switch: RecordingSwitch | None, events_today: int
) -> RecordedAgent:
    agent = get_agent(name)
    files = tuple(file.path for file in edited_files(project, [name], switch))
    location = Location.of(project, agent)
    paths = dict.fromkeys(map(Path, files))
    for layer, path in own_places(agent, location):
        if layer in EDITABLE_LAYERS and path.is_file():
            paths[path] = None
    problems: list[str] = []
    recorders = taps = 0
    for path in paths:
        try:
            recorded = count_recorded(agent, read_text(path) or "", path)
        except SettingsError as error:
            problems.append(f"its hooks are not counted: {error}")
            continue
        recorders += recorded.recorders
        taps += recorded.taps
    counted_taps = None if problems else taps
    return RecordedAgent(agent, files, recorders, counted_taps, events_today, tuple(problems))
