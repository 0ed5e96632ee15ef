"""How a command ends when the user interrupts it."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
"""The exit code of a program that SIGINT ended, as shells report it."""


def end_quietly(_number: int, _frame: FrameType | None) -> None:
    """End the process without a traceback: a handler of SIGINT while nothing needs a cleanup."""
    os._exit(INTERRUPTED)
