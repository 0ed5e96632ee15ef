"""The standard streams of a process that calls hooks on one event after the other."""

from __future__ import annotations

import os
import select
import sys

NAMES = ("stdin", "stdout", "stderr")
"""Names of the streams in the order of their descriptors."""


class Streams:
    """The three streams, which a hook may close.

    The next hook starts with all of them. A closed descriptor would also be that of the next file
    or connection of this process.
    """

    def __init__(self) -> None:
        self._poll = None
        if sys.platform != "win32":  # one call in place of three
            self._poll = select.poll()
            for descriptor in range(len(NAMES)):
                self._poll.register(descriptor, 0)

    def reopen(self) -> None:
        """Open those that are closed."""
        if self._poll is None or self._poll.poll(0):
            _reopen_descriptors()
        try:
            has_closed = sys.stdout.closed or sys.stderr.closed or sys.stdin.closed
        except AttributeError:  # it is `None`
            has_closed = True
        if has_closed:
            _replace_closed()


def _reopen_descriptors() -> None:
    for descriptor in range(len(NAMES)):
        try:
            os.fstat(descriptor)
        except OSError:
            _discard(descriptor)


def _replace_closed() -> None:
    for descriptor, name in enumerate(NAMES):
        stream = getattr(sys, name)
        if stream is None or stream.closed:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


def _discard(*descriptors: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        if descriptor != null:  # the lowest one that is closed
            os.dup2(null, descriptor)
    if null in descriptors:
        os.set_inheritable(null, True)  # programs that the hook starts have it, too
    else:
        os.close(null)
