"""Python files as syntax trees. Nothing of them runs."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from typing import NamedTuple


class PythonSource(NamedTuple):
    """A Python file; empty if it cannot be parsed."""

    statements: list[ast.stmt]
    """Those of the module."""
    nodes: tuple[ast.AST, ...]
    """All nodes of the syntax tree, from the outside to the inside."""


EMPTY = PythonSource([], ())


def read_python(source: str | bytes) -> PythonSource:
    """Parse a Python file, given as its bytes or as its text."""
    if isinstance(source, bytes):
        return _parse(source)
    try:
        return _parse(source.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return EMPTY


# Several checks of a command look at the same few files.
@lru_cache(maxsize=16)
def _parse(source: bytes) -> PythonSource:
    try:
        with warnings.catch_warnings(action="ignore"):
            module = ast.parse(source)
        return PythonSource(module.body, tuple(ast.walk(module)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return EMPTY
