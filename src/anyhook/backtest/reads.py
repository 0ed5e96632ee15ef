"""What a hook file reads while it decides: modules, lists of words, settings, variables.

What a program will read cannot be seen in its text. So the process that runs a hook file notes what
it opens, with Python's audit events, the modules that it loads, and the variables of the
environment that it looks up. A kept result holds only as long as these are what they were. Programs
that a hook starts and what libraries in C read are not seen.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from anyhook.files import FileIdentity, identity_of
from anyhook.history.digests import content_digest
from anyhook.sandbox.keeper import installed_directories

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

MOST_FILES = 5000
"""Files of one process. The results of a hook that reads more are not kept."""
LARGEST_FILE = 64 * 1024**2
"""Bytes of a file whose content is compared; of a larger one its size and times are."""
VARIABLE = "$"
"""What the name of a variable begins with among the names of files."""
WHOLE = "*"
"""The name of the whole environment."""
LOOKUPS = frozenset({__file__, os.__file__, MutableMapping.get.__code__.co_filename})
"""Files of code that looks a variable up for its caller."""
SYSTEM_DIRECTORIES = ("/dev/", "/proc/", "/sys/")
_EVENTS = ("open", "sqlite3.connect")
"""Audit events whose first argument is a path."""


class Reads:
    """Notes the files and variables that are read in this process within `with` blocks.

    Args:
        root: Directory of the hook file.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.join(root, "")
        self._is_on = False
        self._ignored = (*installed_directories(), *SYSTEM_DIRECTORIES)
        self._modules = set(sys.modules)
        self._identities: dict[str, FileIdentity] = {}
        self._environ = _NotedEnviron(os.environ, self._ignored)
        # Neither is removed: this process runs one hook file.
        sys.addaudithook(self._audit)
        os.environ = self._environ  # type: ignore[assignment]  # noqa: B003

    def __enter__(self) -> None:
        self._is_on = self._environ.is_on = True

    def __exit__(self, *_error: object) -> None:
        self._is_on = self._environ.is_on = False

    def digests(self) -> Mapping[str, str] | None:
        """Return each file and variable that was read with a hash of its content.

        The hash is empty if there is no such file or variable.

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
        for name in self._environ.names:
            digests[VARIABLE + name] = variable_digest(name, self._environ.before)
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


class _NotedEnviron(MutableMapping[str, str]):
    """The environment of this process, which notes the variables that are looked up.

    Args:
        environ: `os.environ`, which also sets the variables that programs inherit.
        ignored: Directories of code whose lookups do not count.
    """

    def __init__(self, environ: MutableMapping[str, str], ignored: tuple[str, ...]) -> None:
        self._environ = environ
        self._ignored = ignored
        self.before = dict(environ)
        self.names: set[str] = set()
        self.is_on = False

    def _note(self, name: str) -> None:
        if self.is_on and name not in self.names and not self._is_installed_code():
            self.names.add(name)

    def _is_installed_code(self) -> bool:
        """Return whether a variable is looked up by Python or an installed package."""
        frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - documented for this
        while frame is not None and frame.f_code.co_filename in LOOKUPS:
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(self._ignored)

    def __getitem__(self, name: str) -> str:
        self._note(name)
        return self._environ[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._environ[name] = value

    def __delitem__(self, name: str) -> None:
        del self._environ[name]

    def __iter__(self) -> Iterator[str]:
        self._note(WHOLE)
        return iter(self._environ)

    def __len__(self) -> int:
        self._note(WHOLE)
        return len(self._environ)

    def copy(self) -> dict[str, str]:
        """Return the variables, as `os.environ.copy` does."""
        return dict(self)


def file_digest(path: str) -> str:
    """Return a hash of the content of a file; empty if there is no file that can be read."""
    try:
        status = os.stat(path)
        if status.st_size > LARGEST_FILE:
            return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        with open(path, "rb", buffering=0) as stream:
            return content_digest(stream.read())
    except (OSError, ValueError):
        return ""


def variable_digest(name: str, environ: Mapping[str, str]) -> str:
    """Return a hash of a variable, or of all for `WHOLE`; empty if it is not set."""
    value = environ.get(name)
    if name == WHOLE:
        value = repr(sorted(environ.items()))
    if value is None:
        return ""
    content = value.encode("utf-8", "surrogateescape")
    return content_digest(content)
