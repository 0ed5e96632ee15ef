"""What a hook file reads while it decides, and whether it remembers something.

What a program will read cannot be seen in its text. So the process that runs a hook file notes what
it opens, with Python's audit events, the modules that it loads, and the variables of the
environment that it looks up. Programs that a hook starts and what libraries in C read are not seen.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import sys
from collections.abc import Iterator, MutableMapping
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

from anyhook._compat import caller
from anyhook.files import opens_for_reading
from anyhook.sandbox.keeper import installed_directories

if TYPE_CHECKING:
    from types import FrameType


MAX_FILES = 5000
"""Files of one process that are noted."""
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
    """Notes the files and variables that are read in this process within `with` blocks."""

    def __init__(self, root: str) -> None:
        self._root = os.path.join(root, "")
        self._is_on = False
        self._ignored = (*installed_directories(), *SYSTEM_DIRECTORIES)
        self._modules = set(sys.modules)
        self._files: set[str] = set()
        self._environ = _NotedEnviron(os.environ, self._ignored)
        # Neither is removed: this process runs one hook file.
        sys.addaudithook(self._audit)
        os.environ = self._environ  # type: ignore[assignment]  # noqa: B003

    def __enter__(self) -> None:
        self._is_on = self._environ.is_on = True

    def __exit__(self, *_error: object) -> None:
        self._is_on = self._environ.is_on = False

    def names(self) -> frozenset[str]:
        """Return the files and variables that were read; the latter begin with `VARIABLE`.

        Files below the directory of the hook file are named relative to it.
        """
        for name in sys.modules.keys() - self._modules:
            self._modules.add(name)
            path = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(path, str):
                self._note(os.path.abspath(path))
        files = [path.removeprefix(self._root) for path in self._files]
        return frozenset(files) | {VARIABLE + name for name in self._environ.names}

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._is_on or event not in _EVENTS:
            return
        path = arguments[0]
        is_read = event != "open" or opens_for_reading(arguments[2])
        if isinstance(path, str | bytes | os.PathLike) and is_read:
            self._note(os.path.abspath(os.fsdecode(path)))

    def _note(self, path: str) -> None:
        is_code_cache = path.endswith(".pyc")  # its source is noted
        is_ignored = is_code_cache or path.startswith(self._ignored)
        if len(self._files) < MAX_FILES and not is_ignored:
            self._files.add(path)


class _NotedEnviron(MutableMapping[str, str]):
    """The environment of this process, which notes the variables that are looked up.

    `environ` also sets the variables that programs inherit. Lookups by code in `ignored`
    directories do not count.
    """

    def __init__(self, environ: MutableMapping[str, str], ignored: tuple[str, ...]) -> None:
        self._environ = environ
        self._ignored = ignored
        self.names: set[str] = set()
        self.is_on = False

    def _note(self, name: str) -> None:
        if not self.is_on or name in self.names:
            return
        frame: FrameType | None = caller(1)
        while frame is not None and frame.f_code.co_filename in LOOKUPS:
            frame = frame.f_back
        # Python and installed packages look variables up, too.
        if frame is None or not frame.f_code.co_filename.startswith(self._ignored):
            self.names.add(name)

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


# -- what it remembers

MAX_SIZE = 256 * 1024
"""Bytes. To compare what holds more takes longer than a new process."""
PACKAGE = "anyhook."
_WITHOUT_STATE = (ModuleType, property, classmethod, staticmethod, MemberDescriptorType)
_CACHE = type(functools.lru_cache(lambda: None))


class Memory:
    """What the modules of a hook file hold, after they were loaded.

    Each session is decided as if the hook file had just been loaded. A new process for each session
    would ensure that alone, and takes as long as fifty events. So a process goes on with the next
    session as long as its modules hold what they held when they were loaded.
    """

    def __init__(self) -> None:
        self._installed = installed_directories()
        self._before = self._read()

    def has_changed(self) -> bool:
        """Return whether they may hold something else now."""
        return self._before is None or self._read() != self._before

    def _read(self) -> bytes | None:
        """Return what the modules of the user hold; `None` if it cannot be compared."""
        stream = io.BytesIO()
        try:
            pickler = _StatePickler(stream)
            pickler.installed = self._installed
            for name, module in list(sys.modules.items()):
                file = getattr(module, "__file__", None)
                if name == "__main__" or not file or file.startswith(self._installed):
                    continue
                state = {n: value for n, value in vars(module).items() if not n.startswith("__")}
                pickler.dump(state)
            pickler.dump(dict(os.environ))
        except Exception:  # noqa: BLE001 - an open file, a lock, a connection, code of the hook
            return None
        return stream.getvalue() if stream.tell() <= MAX_SIZE else None


class _StatePickler(pickle.Pickler):
    """Pickles functions, classes and modules by what they hold and not by their names."""

    installed: tuple[str, ...] = ()
    """Directories of code that is not the user's."""

    def reducer_override(self, value: Any) -> Any:
        """Return what stands for a value."""
        if value is _state_of:
            return NotImplemented
        if isinstance(value, FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            held = (value.__defaults__, value.__kwdefaults__, cells, vars(value))
            return _state_of, (id(value), held)
        if isinstance(value, _CACHE):
            return _state_of, (id(value), value.cache_info())
        if isinstance(value, type):
            return _state_of, (id(value), self._attributes_of(value))
        if isinstance(value, _WITHOUT_STATE) or type(value).__module__.startswith(PACKAGE):
            return _state_of, (id(value),)
        return NotImplemented

    def _attributes_of(self, value: type) -> dict[str, Any]:
        """Return what a class of the user holds."""
        module = sys.modules.get(value.__module__)
        file = getattr(module, "__file__", None) or ""
        if not file or file.startswith(self.installed):
            return {}
        return {name: held for name, held in vars(value).items() if not name.startswith("__")}


def _state_of(*state: object) -> object:
    """Stand for a value; nothing is ever made from it."""
    return state
