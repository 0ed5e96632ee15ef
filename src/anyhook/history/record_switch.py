"""Whether hooks are recorded, how much is kept, and what was added to settings files for that.

It is one file in the directory of the history, `recording.json`. Hook files record as long as it
exists. For each edited settings file it holds how to restore its former bytes, as long as nothing
else has changed in it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from anyhook.atomic_write import replace_file
from anyhook.errors import HistoryError
from anyhook.file_errors import explain_error
from anyhook.files import read_user_file
from anyhook.journal.lines import SWITCH, history_directory
from anyhook.model.record import Record
from anyhook.settings.changes import Undo

VERSION = 1
MAX_SIZE = 64 * 1024 * 1024
"""Bytes of the file; it holds parts of the settings that `record off` restores."""


class DamagedSwitchError(HistoryError):
    """The file with the state of recording holds none."""


class EditedFile(Record, kw_only=False):
    """A settings file that was edited for recording."""

    agent: str
    path: str
    undo: Undo | None = None
    """The way back, exactly; without it, what was added is taken out by its commands."""
    was_missing: bool = False
    companions: tuple[str, ...] = ()
    """Files that were written next to it because it has hooks now."""


class RecordingSwitch(Record, kw_only=False):
    """The state of recording."""

    days: float = 400.0
    """Days after which events are removed; 0 for no limit."""
    size: int = 8 * 1024**3
    """Bytes of the store above which the oldest events are removed; 0 for no limit."""
    files: tuple[EditedFile, ...] = ()

    @property
    def agents(self) -> set[str]:
        """The names of the agents whose settings were edited."""
        return {file.agent for file in self.files}


def switch_path(directory: str | None = None) -> Path:
    """Return the path of the file that switches recording on."""
    return Path(directory or history_directory()) / SWITCH


def read_switch(directory: str | None = None) -> RecordingSwitch | None:
    """Return the state of recording; `None` if it is off.

    Raises:
        DamagedSwitchError: If the file holds no state.
        HistoryError: If it cannot be read.
    """
    path = switch_path(directory)
    try:
        value = json.loads(read_user_file(path, MAX_SIZE).decode() or "{}")
        if value.get("version", VERSION) > VERSION:
            raise HistoryError(f"{path} is of a newer release of anyhook; update this one")
        files: list[EditedFile] = []
        for file in value.get("files", ()):
            undo, companions = Undo.read(file["undo"]), tuple(file["companions"])
            files.append(EditedFile(**{**file, "undo": undo, "companions": companions}))
        default = RecordingSwitch()
        return RecordingSwitch(
            float(value.get("days", default.days)),
            int(value.get("size", default.size)),
            tuple(files),
        )
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HistoryError(_unusable(path, "read", error)) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedSwitchError(
            f"{path} is damaged ({type(error).__name__}: {error}); `anyhook history record off` "
            "moves it away and restores the settings, `anyhook history record on` starts anew"
        ) from error


def write_switch(switch: RecordingSwitch, directory: str | None = None) -> None:
    """Switch recording on, or change its state.

    Raises:
        HistoryError: If it cannot be written.
    """
    path = switch_path(directory)
    value = {"version": VERSION, **switch.as_dict()}
    text = json.dumps(value, indent=2, default=Record.as_dict) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, text.encode(), mode=0o600)
    except OSError as error:
        raise HistoryError(_unusable(path, "written", error)) from error


def remove_switch(directory: str | None = None) -> None:
    """Switch recording off.

    Raises:
        HistoryError: If the file cannot be removed.
    """
    path = switch_path(directory)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise HistoryError(_unusable(path, "removed", error)) from error


def set_switch_aside() -> Path:
    """Rename a damaged file, and return its new path.

    Raises:
        HistoryError: If it cannot be renamed.
    """
    path = switch_path()
    moved = path.with_name(f"damaged-{int(time.time())}-{path.name}")
    try:
        path.rename(moved)
    except OSError as error:
        raise HistoryError(_unusable(path, "moved", error)) from error
    return moved


def _unusable(path: Path, action: str, error: OSError) -> str:
    return f"{path} cannot be {action}: {explain_error(path, error, 'change')}"
