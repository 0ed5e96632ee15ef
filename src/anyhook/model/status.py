"""How the run of a handler ended. A module of its own, because cold hooks import only this."""

from __future__ import annotations

from enum import StrEnum

CANNOT_START_CODES = frozenset({126, 127})
"""Exit codes of a shell that could not start a command."""
NO_ANSWER_CODES = CANNOT_START_CODES | frozenset(range(129, 193))
"""Exit codes of a shell whose command gave no answer: it could not be started, or it was ended by a
signal (128 and its number, of which there are 64). Other exit codes are answers of the command,
whatever its agent makes of them."""


class Status(StrEnum):
    """How the run of a handler ended."""

    RAN = "ran"
    """It ran to its end; its answer counts."""
    WARNED = "warned"
    """It ended with an exit code that means a warning; its answer does not count."""
    FAILED = "failed"
    """It could not be started, or it raised."""
    TIMED_OUT = "timed_out"
    """It was killed at its timeout."""
    WITHHELD = "withheld"
    """It was not run, because its project is not trusted."""
    SKIPPED = "skipped"
    """It was not run: a handler before it in its sequence had denied or stopped, or its condition
    does not cover the call."""
    STARTED = "started"
    """It runs in the background and cannot decide the event."""


TROUBLE = {
    Status.FAILED: "failed",
    Status.TIMED_OUT: "ran out of time",
    Status.WARNED: "ended with a warning",
    Status.WITHHELD: "was not run, because the project is not trusted",
}
"""Status of a run that did not end as it should, to the words for it in messages."""
WITHOUT_ANSWER = frozenset({Status.FAILED, Status.TIMED_OUT})


def trouble_of(status: str, exit_code: int | None, signal: str | None) -> str:
    """Return what was wrong with a run; empty if it ended as it should.

    It is `timed_out`, `withheld` or `failed`, also for a command that could not be started or was
    ended by a signal; `warned` for any other exit code that means a warning.
    """
    has_ended = status in (Status.RAN, Status.WARNED)
    if has_ended and (signal or exit_code in NO_ANSWER_CODES):
        return str(Status.FAILED)
    return str(status) if status in TROUBLE else ""
