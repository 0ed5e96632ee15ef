"""One file per agent, as data first."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from anyhook.errors import UnknownNameError

if TYPE_CHECKING:
    from anyhook.dialects.base import Dialect

DIALECTS = {
    "gemini": "anyhook.dialects.gemini:GEMINI",
    "claude": "anyhook.dialects.claude:CLAUDE",
}
"""Name to where its tables are; a dialect is imported when it is asked for."""


def get_dialect(name: str) -> Dialect:
    """Return the dialect of that name.

    Raises:
        UnknownNameError: If there is none.
    """
    if name not in DIALECTS:
        raise UnknownNameError("dialect", name, DIALECTS)
    module, _, attribute = DIALECTS[name].partition(":")
    dialect: Dialect = getattr(import_module(module), attribute)
    return dialect
