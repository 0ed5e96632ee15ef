"""Regular expressions that are compiled when they are used first.

To compile all expressions of command lines and programs takes 30 ms, and a command uses a few.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Expression:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what `pickle` and `copy` look for
            raise AttributeError(name)
        member = getattr(re.compile(*self._source), name)
        setattr(self, name, member)  # the next time this method is not called
        return member


def expression(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression for a constant of a module; an error is raised at its first use.

    Args:
        pattern: The expression.
        flags: As of `re.compile`.
    """
    late: Any = _Expression(pattern, flags)  # it has every method of a compiled one
    compiled: re.Pattern[str] = late
    return compiled
