"""Values that come out of a sandbox, where hooks could have written anything.

A pickle may name any function of Python to be called. Here it may only name classes that hold
values, so that reading one can start nothing.
"""

from __future__ import annotations

import enum
import importlib
import io
import pickle
from collections import Counter, OrderedDict, deque
from dataclasses import is_dataclass
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from types import MappingProxyType
from typing import Any

from anyhook.errors import SandboxError
from anyhook.model.record import Record

PACKAGE = "anyhook"
PLAIN_CLASSES = {
    (plain.__module__, plain.__qualname__): plain
    for plain in (
        dict,
        set,
        frozenset,
        Counter,
        OrderedDict,
        deque,
        PosixPath,
        PurePosixPath,
        WindowsPath,
        PureWindowsPath,
    )
}
"""Classes of the standard library by module and name; Python 3.13 has paths in another module."""


def dump_value(value: object) -> bytes:
    """Return a value as bytes."""
    stream = io.BytesIO()
    _ValueWriter(stream).dump(value)
    return stream.getvalue()


def load_value(data: bytes) -> Any:
    """Return the value that `dump_value` was given.

    Raises:
        SandboxError: If the bytes are damaged, or name anything but a class of values.
    """
    try:
        return _ValueReader(io.BytesIO(data)).load()
    except SandboxError:
        raise
    except Exception as error:  # hostile bytes raise anything
        raise SandboxError(f"a result from the sandbox cannot be read: {error!r}") from error


class _ValueWriter(pickle.Pickler):
    """Writes members of an enumeration by their value, and read-only mappings as dictionaries."""

    def reducer_override(self, value: object) -> Any:
        """Return how a value is made again."""
        # Python before 3.11.4 writes a call of `getattr`, which the reader refuses.
        if isinstance(value, enum.Enum):
            return type(value), (value.value,)
        if isinstance(value, MappingProxyType):
            return dict, (dict(value),)
        return NotImplemented


class _ValueReader(pickle.Unpickler):
    """Reads pickles that name classes of values only."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return a class that a pickle names."""
        plain = PLAIN_CLASSES.get((module_name, global_name))
        if plain is not None:
            return plain
        if module_name.partition(".")[0] == PACKAGE and "." not in global_name:
            named = getattr(importlib.import_module(module_name), global_name, None)
            if isinstance(named, type) and named.__module__.partition(".")[0] == PACKAGE:
                is_named_tuple = issubclass(named, tuple) and hasattr(named, "_fields")
                is_value = is_dataclass(named) or issubclass(named, Record | enum.Enum)
                if is_named_tuple or is_value:
                    return named
        raise SandboxError(f"a result from the sandbox names {module_name}.{global_name}")
