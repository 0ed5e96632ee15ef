"""The files that a hook file reads while it decides: modules, lists of words, settings.

What a program will read cannot be seen in its text. So the process that runs a hook file notes what
it opens, with Python's audit events, and the modules that it loads. A kept result holds only as
long as these files are what they were. Programs that a hook starts and the files that libraries
in C open are not seen.
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
import tempfile
from typing import TYPE_CHECKING, Any

from anyhook.errors import AnyhookError
from anyhook.files import FileIdentity, identity_of
from anyhook.history.rows import DIGEST_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_FILES = 5000
"""Files of one process. The results of a hook that reads more are not kept."""
LARGEST_FILE = 64 * 1024**2
"""Bytes of a file whose content is compared; of a larger one its size and times are."""
SYSTEM_DIRECTORIES = ("/dev", "/proc", "/sys")
_EVENTS = ("open", "sqlite3.connect")
"""Audit events whose first argument is a path."""


class ReadFiles:
    """Notes the files that are opened for reading in this process within `with` blocks.

    Args:
        root: Directory of the hook file.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.join(root, "")
        self._is_on = False
        self._ignored = _ignored_directories()
        self._modules = set(sys.modules)
        self._identities: dict[str, FileIdentity] = {}
        sys.addaudithook(self._audit)  # it cannot be removed: for processes that run one hook file

    def __enter__(self) -> None:
        self._is_on = True

    def __exit__(self, *_error: object) -> None:
        self._is_on = False

    def digests(self) -> Mapping[str, str] | None:
        """Return each file that was read with a hash of its content, empty if there was none.

        Files below the directory of the hook file are named relative to it, because a revision of
        git or a node of a cluster has it elsewhere. It is `None` if there are too many files, or
        one has changed since it was read first.
        """
        for path in self._module_files():
            self._note(path)
        if len(self._identities) > MOST_FILES:
            return None
        digests: dict[str, str] = {}
        for path, identity in self._identities.items():
            digests[path.removeprefix(self._root)] = file_digest(path)
            if identity_of(path) != identity:
                return None
        return digests

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_on or event not in _EVENTS:
            return
        path = arguments[0]
        is_written_only = event == "open" and arguments[2] & os.O_ACCMODE == os.O_WRONLY
        if isinstance(path, str | bytes | os.PathLike) and not is_written_only:
            self._note(os.path.abspath(os.fsdecode(path)))

    def _note(self, path: str) -> None:
        is_code_cache = path.endswith(".pyc")  # its source is noted
        is_known = path in self._identities or len(self._identities) > MOST_FILES
        if not is_known and not is_code_cache and not path.startswith(self._ignored):
            self._identities[path] = identity_of(path)

    def _module_files(self) -> Iterator[str]:
        for name in sys.modules.keys() - self._modules:
            self._modules.add(name)
            path = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(path, str):
                yield os.path.abspath(path)


def _ignored_directories() -> tuple[str, ...]:
    """Return the directories of Python, installed packages, this package and temporary files."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    directories = {sysconfig.get_path(name) for name in names}
    directories |= {os.path.dirname(os.__file__), tempfile.gettempdir()}
    directories.add(os.path.dirname(sys.modules[AnyhookError.__module__].__file__ or ""))
    return tuple(f"{directory}{os.sep}" for directory in (*directories, *SYSTEM_DIRECTORIES))


def file_digest(path: str) -> str:
    """Return a hash of the content of a file; empty if there is no file that can be read."""
    try:
        status = os.stat(path)
        if status.st_size > LARGEST_FILE:
            return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        with open(path, "rb", buffering=0) as stream:
            return hashlib.blake2b(stream.read(), digest_size=DIGEST_SIZE).hexdigest()
    except (OSError, ValueError):
        return ""
