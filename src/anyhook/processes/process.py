"""Child processes that end: one command, its input, its output, its deadline.

The platform's way of doing that is in a module of its own; everything above sees only this.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.errors import PlatformError
from anyhook.model.json import trim

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyhook.shell.plain import Direct

OUTPUT_LIMIT = 1024 * 1024
"""Bytes of each stream that are kept; what comes after is read and thrown away, so that a
talkative command neither blocks nor fills the memory."""
REPLY_LIMIT = 16 * 1024 * 1024
"""Bytes of standard output that are kept if it begins with `{`, whatever the limit for other
output is: a JSON reply that is cut cannot be read, and a denial in it would be lost."""
GRACE = 1.0
"""Seconds from SIGTERM to SIGKILL: enough to remove a temporary file, short enough to wait for."""
DRAIN = 0.2
"""Seconds that the streams may stay open after the command ended. What the command itself wrote is
there already; this is for the last words of a `| tee` behind it."""
DRAIN_SILENT = 1.0
"""The same while standard output is still empty: then the last words are all that was said."""
DESCRIPTORS = 6
"""Descriptors that a running command needs in this process at the most."""
SPARE_DESCRIPTORS = 64
"""Descriptors that are left to the host."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a command ended.

    Attributes:
        exit_code: Exit code; `None` if a signal ended it or it never started.
        signal: Name of the signal that ended it.
        stdout: Standard output, decoded as UTF-8 with replacement.
        stderr: Standard error, likewise.
        stdout_truncated: Standard output was longer than the limit.
        stderr_truncated: Standard error was.
        timed_out: It did not end by its deadline.
        survivors: Numbers of its processes that could not be ended then.
        held_open: A child of it kept a stream open, which was closed.
        duration: Seconds.
        error: Why it could not be started.
    """

    exit_code: int | None = None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    timed_out: bool = False
    survivors: tuple[int, ...] = ()
    held_open: bool = False
    duration: float = 0.0
    error: str | None = None


def result_of_reply(
    exit_code: int, stdout: bytes, stderr: bytes, *, output_limit: int, duration: float
) -> ProcessResult:
    """Make the result of a hook that answered without a process of its own.

    Args:
        exit_code: Its exit code.
        stdout: What it printed.
        stderr: What it printed there.
        output_limit: Bytes of each stream that are kept; of a JSON reply, `REPLY_LIMIT`.
        duration: Seconds.
    """
    kept_out, kept_err = KeptOutput(output_limit, REPLY_LIMIT), KeptOutput(output_limit)
    kept_out.add(stdout)
    kept_err.add(stderr)
    return ProcessResult(
        exit_code=exit_code,
        stdout=kept_out.text(),
        stderr=kept_err.text(),
        stdout_truncated=kept_out.truncated,
        stderr_truncated=kept_err.truncated,
        duration=duration,
    )


class KeptOutput:
    """Output that is kept up to a limit.

    Args:
        limit: Bytes that are kept.
        reply_limit: Bytes that are kept if the output is a JSON reply.
    """

    def __init__(self, limit: int, reply_limit: int = 0) -> None:
        self.truncated = False
        self._room = limit
        self._more_for_reply = max(0, reply_limit - limit)
        self._chunks: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        """Keep what there is room for."""
        if len(chunk) > self._room and self._more_for_reply:
            if _may_be_reply(b"".join((*self._chunks, chunk))):
                self._room += self._more_for_reply
            self._more_for_reply = 0
        if len(chunk) > self._room:
            self.truncated = True
            chunk = chunk[: self._room]
        if chunk:
            self._chunks.append(chunk)
            self._room -= len(chunk)

    def text(self) -> str:
        """Decode as UTF-8, with replacement."""
        return b"".join(self._chunks).decode("utf-8", "replace")


def _may_be_reply(beginning: bytes) -> bool:
    """Return whether output begins with `{`, or with blanks that a `{` may follow."""
    text = trim(beginning.decode("utf-8", "ignore"))
    return not text or text.startswith("{")


def descriptor_budget(wanted: int) -> int:
    """Return how many commands may run at once, as the limit of open files allows.

    Args:
        wanted: The number to stay below.
    """
    if os.name != "posix":
        return wanted
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, (soft - SPARE_DESCRIPTORS) // DESCRIPTORS))


async def run_process(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes | Callable[[], bytes] = b"",
    timeout: float | None = None,
    grace: float = GRACE,
    output_limit: int = OUTPUT_LIMIT,
    direct: Direct | None = None,
) -> ProcessResult:
    """Run a command to its end, in its own session and process group.

    Input and output move at the same time. At the deadline all its processes get SIGTERM, after
    `grace` SIGKILL (see `anyhook.processes.tree`). The result is due when the command has
    ended and its output was drained for a bounded time, whoever still holds the pipe. When the call
    is cancelled, the processes are ended the same way before the cancellation goes on.

    Args:
        argv: Program and arguments; the program is looked up on the `PATH` of `env`.
        cwd: Working directory.
        env: The whole environment.
        stdin: What the command reads, or what gives that once it has been started; a command that
            does not read it is fine.
        timeout: Seconds from the start; `None` for no limit.
        grace: Seconds from SIGTERM to SIGKILL.
        output_limit: Bytes of each stream that are kept; of a JSON reply, `REPLY_LIMIT`.
        direct: What `argv` would become, tried first; `argv` runs if the system refuses that.

    Returns:
        The result. A command that cannot be started is a result with an `error`.

    Raises:
        PlatformError: If the platform is not supported.
    """
    if os.name != "posix":
        raise PlatformError("command hooks run on Linux and macOS; on Windows, use WSL")
    from anyhook.processes.posix import run

    return await run(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        timeout=timeout,
        grace=grace,
        output_limit=output_limit,
        direct=direct,
    )
