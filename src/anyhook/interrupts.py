"""The end of a command that the user interrupts."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
"""Exit code of a program that SIGINT ended, as shells report it."""


def end_quietly(_number: int, _frame: FrameType | None) -> None:
    """Handle SIGINT before anything needs a cleanup: end the process without a traceback."""
    os._exit(INTERRUPTED)
