"""What settings were like before hooks were added, so that removing these leaves no trace.

Removing hooks undoes every edit of the text but these: a file and directories that did not exist,
and members that the agent needs next to its hooks. A record in the user's data directory has them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.files import data_directory, record_name
from anyhook.settings.changes import Change, Undo, read_record, record_change

if TYPE_CHECKING:
    from collections.abc import Iterable

MEMBER = "before"
"""Member of a record that holds its entries."""


@dataclass(frozen=True, slots=True)
class Before:
    """What a settings file was like before hooks were added.

    Attributes:
        text: Its text; `None` if it did not exist.
        directories: Directories that did not exist, the innermost first.
    """

    text: str | None
    directories: tuple[Path, ...]
    forgetting: Change


def note_before(settings: Change, left: str, paths: Iterable[Path]) -> Change | None:
    """Return the change that records a settings file before a change adds hooks to it.

    Removing the hooks again leaves the text `left`. The paths are all files that are written for
    the hooks. The result is `None` if removing the hooks gives back what is there.

    Raises:
        SettingsError: If the record cannot be read.
    """
    record = _record_of(settings.path)
    entries = read_record(record, MEMBER)
    missing: set[Path] = set()
    for path in [settings.path, *paths]:
        for directory in path.parents:
            if directory.exists():
                break
            missing.add(directory)
    directories = sorted(missing, key=lambda directory: len(directory.parts), reverse=True)
    # Whatever is recorded of a file that is gone is about another one.
    kept = [] if settings.before is None else entries
    if settings.before == left and not directories:
        return None if kept == entries else _record_change(record, kept)
    entry = {
        "undo": Undo.of(settings.before or "", left),
        "was_missing": settings.before is None,
        "directories": [*map(str, directories)],
    }
    return _record_change(record, [*kept, entry])


def find_before(path: Path, left: str) -> Before | None:
    """Return what a settings file was like before hooks were added to it.

    Its text without the hooks that are removed is `left`. The result is `None` if nothing is
    recorded, or the text has changed otherwise since then.

    Raises:
        SettingsError: If the record cannot be read.
    """
    record = _record_of(path)
    entries = read_record(record, MEMBER)
    for index, entry in enumerate(entries):
        undo = Undo.read(entry.get("undo"))
        text = None if undo is None else undo.restore(left)
        if text is not None:
            directories = tuple(Path(name) for name in entry.get("directories", ()))
            forgetting = _record_change(record, entries[:index])
            return Before(None if entry.get("was_missing") else text, directories, forgetting)
    return None


def remove_directories(directories: Iterable[Path]) -> None:
    """Remove directories that hold nothing any more."""
    for directory in directories:
        with suppress(OSError):
            directory.rmdir()


def _record_of(path: Path) -> Path:
    return data_directory() / "added" / f"{record_name(path)}.json"


def _record_change(record: Path, entries: list[dict[str, Any]]) -> Change:
    why = "Note what the settings were like before"
    return record_change(record, MEMBER, entries, why, is_private=True, is_shown=False)
