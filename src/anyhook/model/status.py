"""How a handler's turn went; apart, because a hook reads it without the rest of a decision."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a handler's turn went."""

    RAN = "ran"
    """It ran to its end; its answer counts."""
    WARNED = "warned"
    """It ended with a code that means a warning; its answer does not count."""
    FAILED = "failed"
    """It could not be started, or it raised."""
    TIMED_OUT = "timed_out"
    """It was ended at its deadline."""
    WITHHELD = "withheld"
    """It was not run, because its project is not trusted."""
    SKIPPED = "skipped"
    """It was not run: one before it in its sequence had denied or stopped, or its condition does
    not cover the call."""
    STARTED = "started"
    """It runs in the background; what it says comes later."""
