"""The standard streams of a process that calls hooks: what they print is discarded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NULL = Path(os.devnull)


def silence() -> None:
    """Discard what hooks print in this process."""
    sys.stdout.flush()
    _discard(1, 2)


def reopen_streams() -> None:
    """Open what a hook has closed: another hook starts with all three streams.

    A closed descriptor would also be that of the next file or connection of this process.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            _discard(descriptor)
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or stream.closed:
            setattr(sys, name, _NULL.open("r" if name == "stdin" else "w"))


def _discard(*descriptors: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        if descriptor != null:  # the lowest one that is closed
            os.dup2(null, descriptor)
    if null in descriptors:
        os.set_inheritable(null, True)  # programs that the hook starts have it, too
    else:
        os.close(null)
