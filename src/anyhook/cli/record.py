"""`anyhook history record`: record what hooks see and decide, for every agent."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.cli import OK
from anyhook.cli.changes import WriteOptions, apply_changes, one_at_a_time, print_difference
from anyhook.cli.colors import CAUTION
from anyhook.cli.listing import print_native_trust
from anyhook.cli.options import HERE, AgentNames, AsJson, DryRun, Project, Yes
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import make_table
from anyhook.errors import HistoryError, UsageError
from anyhook.history.record_switch import (
    EditedFile,
    RecordingSwitch,
    remove_switch,
    set_switch_aside,
    switch_path,
    write_switch,
)
from anyhook.journal.lines import history_directory
from anyhook.manage.paths import show_path
from anyhook.manage.protection import require_user
from anyhook.manage.recording import (
    RecordingChange,
    RecordingState,
    count_recorded,
    edited_files,
    end_recording,
    read_state,
    start_recording,
)
from anyhook.manage.recording_status import RecordingStatus, recording_status
from anyhook.manage.scope import existing_project, require_agents
from anyhook.model.record import replace
from anyhook.model.text import printable
from anyhook.settings.changes import write_changes
from anyhook.worker.commands import prefix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyhook.settings.changes import Change

Tap = Annotated[
    bool,
    typer.Option(
        "--tap", help="Record the hooks that are not hook files, too: wrap their commands."
    ),
]
Keep = Annotated[
    str | None,
    typer.Option("--keep", metavar="TIME", help="How long events are kept: 180d, 26w, 2y; 0."),
]
MaxSize = Annotated[
    str | None,
    typer.Option("--max-size", metavar="SIZE", help="Largest size of the store: 500MB, 8GB; 0."),
]
DAYS = {"d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}
BYTES = {"kb": 1024, "mb": 1024**2, "gb": 1024**3, "tb": 1024**4}
STEP = 1024


@one_at_a_time
def switch_on(
    project: Project = HERE,
    agents: AgentNames = None,
    tap: Tap = False,
    keep: Keep = None,
    max_size: MaxSize = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Record every event of your agents, and what hook files answer.

    A recorder for all events is added to your own settings of each agent. It answers nothing. With
    `--tap`, the other commands in your settings and in those of the project are wrapped, so that
    what they receive and answer is recorded; nothing else changes for them. Secrets are replaced
    before anything is written. `anyhook history record off` restores the files byte for byte.

    For example:

        anyhook history record on
        anyhook history record on --agent claude --tap --keep 180d --max-size 2GB
    """
    directory = existing_project(project)
    state = read_state()
    limits = state.switch or RecordingSwitch()
    if keep is not None:
        days = _number(keep, DAYS, "--keep takes 180d, 26w, 2y or 0")
        limits = replace(limits, days=days)
    if max_size is not None:
        size = int(_number(max_size, BYTES, "--max-size takes 500MB, 8GB or 0"))
        limits = replace(limits, size=size)
    specs = require_agents(directory, agents, also=limits.agents)
    launcher = prefix(sys.executable) if os.name == "posix" else (sys.executable,)
    recorded: list[RecordingChange] = []
    for agent in specs:
        recorded += start_recording(agent, directory, state.switch, launcher=launcher, taps=tap)
    kept: dict[tuple[str, str], EditedFile] = {
        (file.agent, file.path): file for file in limits.files
    }
    for change in recorded:
        key = (change.agent.name, str(change.settings.path))
        if change.state is None:
            kept.pop(key, None)
        else:
            kept[key] = change.state
    after = RecordingSwitch(limits.days, limits.size, tuple(kept.values()))
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    is_written = _write(recorded, options, state, after)
    if as_json:
        print_json(
            {
                "written": is_written,
                "recording": is_written or state.switch is not None or bool(state.damage),
                "files": _files_json(recorded),
            }
        )
        return OK
    if dry_run:
        return OK
    out = console()
    out.print(f"Recording is on; what is recorded is in {show_path(history_directory())}")
    for agent in specs:
        if is_written:
            print_native_trust(out, agent)
    return OK


@one_at_a_time
def switch_off(
    project: Project = HERE,
    agents: AgentNames = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Stop recording, and restore the settings files.

    A file that was not changed since is restored byte for byte. From another one, the recorder
    and the wrappers are taken out. They are found by their commands, too, in your settings and in
    those of the project. What was recorded stays.

    For example:

        anyhook history record off
        anyhook history record off --agent claude
    """
    if not dry_run:
        require_user()
    directory = existing_project(project)
    state = read_state()
    names = {get_agent(name).name for name in agents or ()} or {*CODING_AGENTS}
    files = edited_files(directory, CODING_AGENTS, state.switch)
    removed = [file for file in files if file.agent in names]
    if state == RecordingState(None) and not removed:
        if as_json:
            print_json({"written": False, "recording": False, "files": []})
        else:
            console().print("Recording is off already")
        return OK
    recorded: list[RecordingChange] = []
    for file in removed:
        change = end_recording(directory, file)
        if change is not None:
            recorded.append(change)
    rest = tuple(file for file in files if file.agent not in names)
    is_on = state.switch is not None or bool(state.damage)
    after = None
    if agents and rest and is_on:
        after = replace(state.switch or RecordingSwitch(), files=rest)
    options = WriteOptions(yes=yes, dry_run=dry_run, as_json=as_json)
    is_written = _write(recorded, options, state, after)
    if as_json:
        print_json(
            {
                "written": is_written,
                "recording": is_on and (not is_written or after is not None),
                "files": _files_json(recorded),
            }
        )
    elif is_written:
        extent = "" if after is None else " for " + ", ".join(sorted(names & {*CODING_AGENTS}))
        console().print(f"Recording is off{extent}; what was recorded stays")
    return OK


def _write(
    recorded: Sequence[RecordingChange],
    options: WriteOptions,
    before: RecordingState,
    after: RecordingSwitch | None,
) -> bool:
    """Show and write the files and the state; return whether that was done."""
    changes: list[Change] = []
    for file in recorded:
        changes += file.changes
    has_effect = any(change.has_effect for change in changes)
    if has_effect or options.dry_run:

        def show() -> None:
            _show_changes(recorded, difference=options.dry_run, is_asked=not options.yes)

        is_written = apply_changes(changes, options, show=show)
        if not is_written:
            return False
    if before.damage:
        moved = show_path(str(set_switch_aside()))
        text = f"The damaged {switch_path().name} was moved to {moved}. Commands of other projects"
        text += " may still be wrapped: run `anyhook history record off` there"
        console(stderr=True).print(text, style=CAUTION, soft_wrap=True)
    if after is None:
        remove_switch()
    elif after != before.switch:
        try:
            write_switch(after)
        except HistoryError as error:
            # Without the state, recorders would run and record nothing.
            write_changes([change.reversed() for change in changes])
            raise HistoryError(f"{error}; the settings files are as they were before") from error
    return has_effect or bool(before.damage) or after != before.switch


def _show_changes(recorded: Sequence[RecordingChange], *, difference: bool, is_asked: bool) -> None:
    """Print what is added to each file or removed from it; with `difference`, the lines, too."""
    out = console()
    headings = ("agent", "file", "events", "hooks", "wrapped commands")
    table = make_table(*headings, no_wrap=("agent",), right=headings[2:])
    changed: list[Change] = []
    for file in recorded:
        title, settings = file.agent.title, file.settings
        before = count_recorded(file.agent, settings.before or "", settings.path)
        after = count_recorded(file.agent, settings.after or "", settings.path)
        cells: list[str] = []
        for old, new in zip(before, after, strict=True):
            cell = "-" if new == old else f"{new - old:+d}"
            cells.append(cell)
        if not settings.has_effect:
            cells = ["as it is"]
        table.add_row(title, Text(show_path(str(settings.path))), *cells)
        for companion in file.companions:
            if companion.has_effect:
                table.add_row(title, Text(show_path(str(companion.path))), "", "", "")
        changed += [change for change in file.changes if change.has_effect]
    if table.row_count:
        out.print(table)
    if difference:
        for change in changed:
            print_difference(out, change)
    elif changed and is_asked:
        out.print("To see the lines that change: --dry-run", style="dim")


def _number(text: str, units: Mapping[str, float], usage: str) -> float:
    """Return a number with a unit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if match is None or (match[2] not in units and float(match[1]) != 0):
        raise UsageError(f"{usage}, not {text!r}")
    return float(match[1]) * units.get(match[2], 0.0)


def _files_json(recorded: Sequence[RecordingChange]) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = []
    for file in recorded:
        for change in file.changes:
            changes = {"path": change.path, "changes": change.has_effect}
            files.append({"agent": file.agent.name, **changes})
    return files


# -- the status


def status(project: Project = HERE, as_json: AsJson = False) -> int:
    """Show what is recorded: for each agent its recorder, tapped hooks and events of today.

    The first line says whether recording is on, and where the history is.

    For example:

        anyhook history record status
        anyhook history record status --json
    """
    recording = recording_status(existing_project(project))
    if as_json:
        print_json(_status_json(recording))
        return OK
    out = console()
    if recording.is_on:
        out.print(f"Recording is on, in {show_path(recording.directory)}")
    else:
        out.print(
            "Recording is off. To record what your hooks see and decide: anyhook history record on"
        )
    table = make_table("agent", "recorder", "tapped hooks", "events today")
    for recorded in recording.agents:
        recorder = "installed" if recorded.recorders else "-"
        taps = "unknown" if recorded.taps is None else str(recorded.taps)
        table.add_row(recorded.agent.title, recorder, taps, str(recorded.events_today))
    out.print(table)
    limits = recording.limits
    kept = f"{limits.days:g} days" if limits.days else "for ever"
    largest = format_size(limits.size) if limits.size else "any size"
    store, journal = format_size(recording.store_size), format_size(recording.journal_size)
    out.print(f"store {store} of {largest}, kept {kept}; journal {journal}")
    for problem in recording.problems:
        out.print(f"problem: {printable(problem)}", style=CAUTION, soft_wrap=True)
    return OK


def _status_json(recording: RecordingStatus) -> dict[str, Any]:
    agents: list[dict[str, Any]] = []
    for recorded in recording.agents:
        agent = {
            "agent": recorded.agent.name,
            "recorder": recorded.recorders > 0,
            "tapped": recorded.taps,
            "events_today": recorded.events_today,
            "files": recorded.files,
        }
        agents.append(agent)
    return {
        "recording": recording.is_on,
        **members(recording, "directory", "store_size", "journal_size"),
        "keep_days": recording.limits.days,
        "max_size": recording.limits.size,
        "problems": recording.problems,
        "agents": agents,
    }


def format_size(size: float) -> str:
    """Return a number of bytes for people."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < STEP:
            return f"{size:.0f} {unit}"
        size /= STEP
    return f"{size:.1f} GiB"
