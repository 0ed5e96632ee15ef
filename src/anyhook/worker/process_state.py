"""The state of a process that answers an event: streams, variables, signals, files."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_fstat, _pread = os.fstat, os.pread
"""Taken before a hook can replace functions."""
MAX_OUTPUT = 16 << 20
"""Bytes of a hook's output that are sent."""

_DEFAULT_HANDLERS = (signal.SIG_DFL, signal.default_int_handler)


def redirect_streams(output_file: int) -> None:
    """Give a process an empty standard input, and a file as standard output and error."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(output_file, 1)
    os.dup2(output_file, 2)


def change_environment(current: Mapping[bytes, bytes], new: Mapping[bytes, bytes]) -> None:
    """Change the variables of the process from those that it has to others."""
    for name in current.keys() - new.keys():
        del os.environb[name]
    for name, value in new.items():
        if current.get(name) != value:
            os.environb[name] = value


def ignore_signals(numbers: int) -> None:
    """Ignore signals, as a hook does that a client starts which ignores them.

    Args:
        numbers: A set of bits, the lowest one for signal 1. Handlers that the hook file has
            installed while it was loaded stay.
    """
    for number in range(1, numbers.bit_length() + 1):
        is_ignored = numbers >> (number - 1) & 1
        if is_ignored and signal.getsignal(number) in _DEFAULT_HANDLERS:
            signal.signal(number, signal.SIG_IGN)


def scratch_file() -> int:
    """Open a file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("anyhook")
    from tempfile import TemporaryFile

    with TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


def lowest_free_descriptor() -> int:
    """Return the number that the next opened file would get."""
    lowest = os.dup(0)
    os.close(lowest)
    return lowest


def read_output(output_file: int) -> bytes:
    """Return the start of what a hook wrote to its standard output and error (`redirect_streams`).

    The client prints it to standard error: only the answer belongs on standard output.
    """
    size = _fstat(output_file).st_size
    return _pread(output_file, min(size, MAX_OUTPUT), 0) if size else b""
