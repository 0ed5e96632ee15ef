"""The files that hook files were seen to load, kept from run to run.

Text does not show every file that a hook loads. What a run has loaded is kept here, one file for
each hook file in the user's data directory, and `anyhook.trust.subjects` binds trust to it. A hook
can write nonsense about itself, so entries are only added: the most that this does is to ask the
user once more.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.files import data_path, read_json_object, record_name
from anyhook.locks import locked
from anyhook.model.record import EMPTY, Record
from anyhook.trust.loaded_code import PACKAGE_DIRECTORIES, is_installed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MAX_CODE = 200
"""Files with code that are kept of one hook file."""
MAX_DATA = 50
"""Files with data that are kept of one hook file."""
MAX_HOOK_FILES = 2000
"""Hook files of which something is kept. Those that were written longest ago are dropped; if trust
is bound to what they loaded, the user is asked again."""
MAX_SIZE = 1024 * 1024
"""Bytes of what is kept of one hook file."""
_IGNORED_PARTS = PACKAGE_DIRECTORIES | {"__pycache__"}


class ObservedFiles(Record, kw_only=False):
    """What the runs of a hook file have loaded.

    Attributes:
        code: Absolute path of each file that code was loaded from, with the date of the first time,
            as `2026-11-24`.
        data: The same of files that were read as data.
        is_full: Whether there was more code than is kept.
    """

    code: Mapping[str, str] = EMPTY
    data: Mapping[str, str] = EMPTY
    is_full: bool = False


def observed_file(hook_file: str, environ: Mapping[str, str] | None = None) -> str:
    """Return where the files that a hook file was seen to load are kept.

    The environment names the data directory; by default it is that of this process.
    """
    return f"{data_path(environ)}/observed/{record_name(hook_file)}.json"


def read_observed(file: str) -> ObservedFiles:
    """Read what is kept in a file (`observed_file`); nothing if it cannot be read."""
    content = read_json_object(file, MAX_SIZE) or {}
    code, data = _dates(content.get("code")), _dates(content.get("data"))
    return ObservedFiles(code, data, content.get("is_full") is True)


def _dates(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {path: date for path, date in value.items() if isinstance(date, str)}


def add_observed(
    hook_file: str,
    code: Iterable[str],
    data: Iterable[str],
    environ: Mapping[str, str] | None = None,
) -> None:
    """Keep the code and data that a run of a hook file has loaded; see `observed_file`.

    Nothing is written if all are known.

    Raises:
        OSError: If they cannot be written, or another process holds them.
    """
    own_files = _OwnFiles(hook_file)
    new_code = own_files.code(code)
    new_data = own_files.data(data)
    if not new_code and not new_data:
        return
    file = observed_file(hook_file, environ)
    if _merge(read_observed(file), new_code, new_data) is None:
        return
    from anyhook.atomic_write import replace_file

    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(path):
        merged = _merge(read_observed(file), new_code, new_data)
        if merged is None:
            return
        if not path.exists():
            _make_room(path.parent)
        content = {
            "hook": hook_file,
            "code": merged.code,
            "data": merged.data,
            "is_full": merged.is_full,
        }
        replace_file(path, json.dumps(content, indent=1).encode(), mode=0o600)


def _merge(
    before: ObservedFiles, new_code: Iterable[str], new_data: Iterable[str]
) -> ObservedFiles | None:
    """Return what is kept with further files; `None` if that changes nothing."""
    today = time.strftime("%Y-%m-%d")
    code, data = dict(before.code), dict(before.data)
    is_full = before.is_full
    for path in new_code:
        if path not in code and len(code) >= MAX_CODE:
            is_full = True
        else:
            code.setdefault(path, today)
    for path in new_data:
        if path not in code and len(data) < MAX_DATA:
            data.setdefault(path, today)
    is_known = len(code) == len(before.code) and len(data) == len(before.data)
    if is_known and is_full == before.is_full:
        return None
    return ObservedFiles(code, data, is_full)


def _make_room(directory: Path) -> None:
    """Remove what was written longest ago, until one more hook file may be kept."""
    files: list[tuple[float, Path]] = []
    for path in directory.glob("*.json"):
        try:
            files.append((path.stat().st_mtime, path))
        except OSError:
            continue
    for _, path in sorted(files)[: max(0, len(files) + 1 - MAX_HOOK_FILES)]:
        path.unlink(missing_ok=True)


class _OwnFiles:
    """Decides which files are kept of a hook file, the directory of whose project is not known."""

    def __init__(self, hook_file: str) -> None:
        self._hook_file = os.path.realpath(hook_file)
        self._temporary = _with_separator(os.path.realpath(tempfile.gettempdir()))
        self._home = _with_separator(os.path.realpath(os.path.expanduser("~")))

    def code(self, paths: Iterable[str]) -> list[str]:
        """Return the code that a project may hold, with real paths, in order."""
        real_paths: set[str] = set()
        for path in paths:
            real = os.path.realpath(path)
            if real == self._hook_file or is_installed(real):
                continue
            common = self._common(real)
            is_temporary = real.startswith(self._temporary) and self._temporary.startswith(common)
            parts = real.removeprefix(common).split(os.sep)
            if not is_temporary and _IGNORED_PARTS.isdisjoint(parts):
                real_paths.add(real)
        return sorted(real_paths)

    def data(self, paths: Iterable[str]) -> list[str]:
        """Return the data near the hook file, with real paths, in order."""
        return [path for path in self.code(paths) if not self._home.startswith(self._common(path))]

    def _common(self, path: str) -> str:
        """Return the directory that the hook file and another file have in common."""
        try:
            return _with_separator(os.path.commonpath((self._hook_file, path)))
        except ValueError:  # on different drives
            return ""


def _with_separator(directory: str) -> str:
    return os.path.join(directory, "")
