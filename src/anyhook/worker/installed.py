"""What belongs to an interpreter, and what to a project."""

from __future__ import annotations

import os

INSTALLED = (
    os.path.dirname(os.__file__) + os.sep,
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
)
"""Where the standard library and this package are."""


def is_installed(path: str) -> bool:
    """Tell whether a file belongs to the interpreter, this package, or another that is installed.

    Args:
        path: Its absolute path.
    """
    return path.startswith(INSTALLED) or "/site-packages/" in path
