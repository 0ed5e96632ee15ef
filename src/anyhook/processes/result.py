"""How a command ended, and how much of its output is kept.

The shim imports this on every event, so the values are `Record`s: `dataclasses` would cost it
18 ms.
"""

from __future__ import annotations

import os
from functools import cached_property

from anyhook.model.json import trim
from anyhook.model.record import Record

OUTPUT_LIMIT = 1024 * 1024
"""Bytes of each stream that are kept. The rest is read and discarded, so that a command with much
output neither blocks nor fills the memory."""
REPLY_LIMIT = 16 * 1024 * 1024
"""Bytes of standard output that are kept if it begins with `{`. A JSON reply that is cut cannot be
parsed, and a denial in it would be lost."""
DESCRIPTORS = 6
"""Descriptors that a running command needs in this process at most."""
SPARE_DESCRIPTORS = 64
"""Descriptors that are left to the host."""


class ProcessResult(Record):
    """How a command ended."""

    exit_code: int | None = None
    """`None` if a signal ended it or it never started."""
    signal: str | None = None
    """Name of the signal that ended it."""
    stdout_bytes: bytes = b""
    """Standard output up to the limit."""
    stderr_bytes: bytes = b""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    timed_out: bool = False
    survivors: tuple[int, ...] = ()
    """Process IDs of its processes that could not be killed at the deadline."""
    held_open: bool = False
    """A child of it kept a stream open, which was closed."""
    duration: float = 0.0
    """Seconds."""
    error: str | None = None
    """Why it could not be started or watched."""

    @cached_property
    def stdout(self) -> str:
        """Standard output, decoded as UTF-8 with replacement."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @cached_property
    def stderr(self) -> str:
        """Standard error, decoded as UTF-8 with replacement."""
        return self.stderr_bytes.decode("utf-8", "replace")


def result_of_reply(
    exit_code: int, stdout: bytes, stderr: bytes, *, output_limit: int, duration: float
) -> ProcessResult:
    """Make the result of a hook that answered without a process of its own.

    `output_limit` is in bytes of each stream; of a JSON reply, `REPLY_LIMIT` are kept. The duration
    is in seconds.
    """
    kept_stdout = KeptOutput(output_limit, REPLY_LIMIT)
    kept_stderr = KeptOutput(output_limit)
    kept_stdout.add(stdout)
    kept_stderr.add(stderr)
    return ProcessResult(
        exit_code=exit_code,
        stdout_bytes=kept_stdout.content(),
        stderr_bytes=kept_stderr.content(),
        stdout_truncated=kept_stdout.truncated,
        stderr_truncated=kept_stderr.truncated,
        duration=duration,
    )


class KeptOutput:
    """Output that is kept up to a limit.

    Both limits are in bytes; `reply_limit` is for a JSON reply.
    """

    def __init__(self, limit: int, reply_limit: int = 0) -> None:
        self.truncated = False
        self._room = limit
        self._more_for_reply = max(0, reply_limit - limit)
        self._chunks: list[bytes] = []

    @property
    def is_empty(self) -> bool:
        """Whether there was no output yet."""
        return not self._chunks

    def add(self, chunk: bytes) -> None:
        """Keep what there is room for."""
        if len(chunk) > self._room and self._more_for_reply:
            beginning = b"".join((*self._chunks, chunk))
            text = trim(beginning.decode("utf-8", "ignore"))
            # Whitespace may be followed by a `{`, too.
            if not text or text.startswith("{"):
                self._room += self._more_for_reply
            self._more_for_reply = 0
        if len(chunk) > self._room:
            self.truncated = True
            chunk = chunk[: self._room]
        if chunk:
            self._chunks.append(chunk)
            self._room -= len(chunk)

    def content(self) -> bytes:
        """Return what was kept."""
        return b"".join(self._chunks)

    def text(self) -> str:
        """Return what was kept, decoded as UTF-8 with replacement."""
        return self.content().decode("utf-8", "replace")


def descriptor_budget(
    maximum: int, *, each: int = DESCRIPTORS, spare: int = SPARE_DESCRIPTORS
) -> int:
    """Return how many things may be open at once under the limit of open files.

    It is at most `maximum`. `each` are the descriptors of one thing (by default of a command), and
    `spare` the descriptors for everything else.
    """
    if os.name != "posix":
        return maximum
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return maximum
    return max(1, min(maximum, (soft - spare) // each))
