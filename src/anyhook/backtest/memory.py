"""Whether a hook file remembers something: whether a call has changed what its modules hold.

Each session is decided as if the hook file had just been loaded. A new process for each session
would ensure that alone, and takes as long as fifty events. So a process goes on with the next
session as long as its modules hold what they held when they were loaded.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import sys
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from anyhook.sandbox.keeper import installed_directories

MAX_SIZE = 256 * 1024
"""Bytes. To compare what holds more takes longer than a new process."""
PACKAGE = "anyhook."
_WITHOUT_STATE = (ModuleType, property, classmethod, staticmethod, MemberDescriptorType)
_CACHE = type(functools.lru_cache(lambda: None))


class Memory:
    """What the modules of a hook file hold, after they were loaded."""

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
                own = {n: value for n, value in vars(module).items() if not n.startswith("__")}
                pickler.dump(own)
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
