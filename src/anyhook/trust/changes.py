"""Files of the guards that changed while no hook saw it.

A guard compares them with what they were when it looked last. What has changed is kept until the
user has reviewed it with `anyhook trust`, and `anyhook check` and `anyhook list` report it, with
what has changed since. The record starts when the guard is trusted; until it looks, only settings
that lose hooks are reported, because users edit their own settings.

```
changes/DIGEST.json     what the files in one directory were, and what changed in them
```
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.atomic_write import replace_file
from anyhook.files import NotReadableError, data_directory, file_stamp, read_user_file, record_name
from anyhook.model.record import EMPTY, Record, replace
from anyhook.secrets.redact import redact_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_FILE = 64 * 1024
"""Bytes of a file whose text is kept, without secrets; of a larger one there is no difference."""
MAX_KEPT = 8 * 1024 * 1024
"""Bytes of what is kept about one directory."""
MAX_CHANGES = 50
"""Changes that are kept of one directory; the oldest are dropped."""
MAX_LINES = 40
"""Lines of a difference that are kept."""
_HOOK_FILE = re.compile(r"(?:\.anyhook|/guards)/([\w.-]+)")
"""A hook file in the settings of a project, or the copy of a guard in those of the user."""


class ChangedFile(Record, kw_only=False):
    """A change of a file that was not seen when it was made.

    Attributes:
        file: Path of the file.
        time: Unix timestamp at which the change was noticed.
        difference: Lines of a unified difference without secrets, at most 40; one line if the file
            was deleted; empty if it is not a text.
    """

    file: str
    time: float
    difference: tuple[str, ...] = ()


class _Content(Record, kw_only=False):
    """What a file was: its digest, and its text without secrets; empty if it is not a text."""

    digest: str
    text: str = ""


class _Kept(Record, kw_only=False):
    """What is kept about a directory, and whether a guard has looked since the user trusted it."""

    directory: str
    files: Mapping[str, _Content] = EMPTY
    changes: Sequence[ChangedFile] = ()
    has_looked: bool = True


def look_for_changes(directory: str, files: Iterable[str | os.PathLike[str]]) -> list[ChangedFile]:
    """Return which files are not what they were at the last call.

    The first call after the user has trusted the guard returns those that lost hooks.

    The record of what the user has trusted in the directory counts as one of the files. Changes are
    kept until the user runs `anyhook trust` there.

    Args:
        directory: What the files guard, such as `event.cwd`.
        files: The files that exist now; one that was given before and is not given now was deleted.

    Raises:
        OSError: If it cannot be remembered what the files are.
    """
    record = _record_of(directory)
    trusted = data_directory() / "trust" / record.name
    kept = _read(record)
    before = kept.files if kept is not None else {}
    now = _read_contents([*before, *[os.fspath(file) for file in files], str(trusted)])
    changes = _compare(kept, now) if kept is not None else []
    unreviewed = [*kept.changes, *changes][-MAX_CHANGES:] if kept is not None else []
    record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(record, _Kept(os.path.realpath(directory), now, unreviewed))
    return changes


def changes_to_review(project: Path) -> list[ChangedFile]:
    """Return what changed in a project since the user has reviewed it, the oldest first.

    That is what guards have noticed, and what is different now: a guard that was taken out of the
    settings does not look any more.
    """
    changes: dict[tuple[str, tuple[str, ...]], ChangedFile] = {}
    for kept in _kept_of(project).values():
        for change in [*kept.changes, *_compare(kept, _read_contents(kept.files))]:
            # Settings of the user are in the records of the project and of the home.
            changes.setdefault((change.file, change.difference), change)
    return sorted(changes.values(), key=lambda change: change.time)


def accept_files(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Take files as they are now: anyhook itself has written them.

    Raises:
        OSError: If what is kept cannot be written.
    """
    contents = {_key_of(path): _read_content(path) for path in paths}
    for record in (data_directory() / "changes").glob("*.json"):
        kept = _read(record)
        if kept is None:
            continue
        files = dict(kept.files)
        for path, content in contents.items():
            if content is None:
                files.pop(path, None)
            elif path in files or Path(path).is_relative_to(kept.directory):
                files[path] = content
        if files != kept.files:
            _write(record, replace(kept, files=files))


def start_record(directory: Path, settings: Iterable[str], hook_texts: Iterable[str]) -> None:
    """Keep what settings files are until a guard looks at the directory, if one of the hooks does.

    The directory is the project, or the user's home for settings of the user.

    Raises:
        OSError: If it cannot be remembered what the files are.
    """
    record = _record_of(directory)
    kept = _read(record) or _Kept(os.path.realpath(directory), has_looked=False)
    if not kept.has_looked and any("look_for_changes" in text for text in hook_texts):
        record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(record, replace(kept, files={**kept.files, **_read_contents(settings)}))


def forget_changes(project: Path) -> None:
    """Forget what changed in a project: the user has reviewed it, and the files count as they are.

    Raises:
        OSError: If what is kept cannot be written.
    """
    for record, kept in _kept_of(project).items():
        files = _read_contents(kept.files)
        _write(record, replace(kept, files=files, changes=[], has_looked=False))


def _compare(kept: _Kept, now: Mapping[str, _Content]) -> list[ChangedFile]:
    changes: list[ChangedFile] = []
    for path in sorted({*kept.files, *now}):
        old, new = kept.files.get(path), now.get(path)
        if old == new:
            continue
        old_text = old.text if old is not None else ""
        new_text = new.text if new is not None else ""
        loses_hooks = not set(_HOOK_FILE.findall(old_text)) <= set(_HOOK_FILE.findall(new_text))
        if kept.has_looked or loses_hooks:
            old_lines, new_lines = old_text.splitlines(), new_text.splitlines()
            lines = list(difflib.unified_diff(old_lines, new_lines, lineterm="", n=1))[2:]
            if new is None:
                lines = [f"- all {len(old_lines)} lines: the file was deleted"]
            if len(lines) > MAX_LINES:
                lines[MAX_LINES:] = [f" … {len(lines) - MAX_LINES} more lines"]
            changes.append(ChangedFile(path, time.time(), tuple(lines)))
    return changes


def _read_contents(paths: Iterable[str]) -> dict[str, _Content]:
    """Read files, without those that do not exist."""
    contents = {_key_of(path): _read_content(path) for path in paths}
    return {path: content for path, content in contents.items() if content is not None}


def _key_of(path: str | os.PathLike[str]) -> str:
    """Return one path for a file, whatever links lead to its directory; it may be a link itself."""
    file = Path(path)
    return str(file.parent.resolve() / file.name)


def _read_content(file: str | os.PathLike[str]) -> _Content | None:
    """Read a file; `None` if it cannot be read."""
    try:
        content = read_user_file(file, MAX_FILE)
    except NotReadableError:  # too large, or not a regular file
        return _Content(str(file_stamp(file)))
    except OSError:
        return None
    digest = hashlib.sha256(content).hexdigest()
    try:
        return _Content(digest, redact_text(content.decode()))
    except UnicodeDecodeError:
        return _Content(digest)


# -- what is kept


def _record_of(directory: str | os.PathLike[str]) -> Path:
    return data_directory() / "changes" / f"{record_name(directory)}.json"


def _kept_of(project: Path) -> dict[Path, _Kept]:
    """Return what is kept about a project, the directories in it and the home, by its file."""
    root, home = os.path.realpath(project), os.path.realpath(Path.home())
    records: dict[Path, _Kept] = {}
    for record in sorted((data_directory() / "changes").glob("*.json")):
        kept = _read(record)
        if kept is None:
            continue
        if kept.directory == home or Path(kept.directory).is_relative_to(root):
            records[record] = kept
    return records


def _write(record: Path, kept: _Kept) -> None:
    replace_file(record, json.dumps(kept, default=Record.as_dict).encode(), mode=0o600)


def _read(record: Path) -> _Kept | None:
    """Return what a file holds; `None` if that is nothing, or cannot be read."""
    try:
        kept = json.loads(read_user_file(record, MAX_KEPT))
        files = {path: _Content(**content) for path, content in kept["files"].items()}
        changes = [
            ChangedFile(change["file"], float(change["time"]), tuple(change["difference"]))
            for change in kept["changes"]
        ]
        return _Kept(kept["directory"], files, changes, kept["has_looked"] is True)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
