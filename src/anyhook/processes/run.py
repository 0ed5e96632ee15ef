"""Run a command on an event loop: asyncio or trio."""

from __future__ import annotations

import os
import selectors
from typing import TYPE_CHECKING

import anyio

from anyhook.errors import PlatformError
from anyhook.processes.blocking import drive_blocking, spawn_in
from anyhook.processes.child import GRACE, Child, describe_start_error
from anyhook.processes.result import OUTPUT_LIMIT, ProcessResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyhook.processes.child import Steps

QUICK = 0.015
"""Seconds in which only the end of a command is watched: a quick one costs one wake-up of the event
loop instead of four. Its output waits in the pipe, which it can fill at most for that long."""
SHORT_GRACE = 0.25
"""Seconds from SIGTERM to SIGKILL after a second cancellation."""


async def run_process(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes = b"",
    timeout: float | None = None,
    output_limit: int = OUTPUT_LIMIT,
) -> ProcessResult:
    """Run a command to its end, in its own session and process group.

    At the deadline all its processes get SIGTERM, after `GRACE` SIGKILL (see `processes.tree`).
    The result is returned when the command has ended and its output was drained for a bounded
    time, even if another process still holds the pipe. When the call is cancelled, the processes
    are killed the same way before the cancellation goes on.

    The program is looked up on the `PATH` of `env`, which is the whole environment. A command that
    does not read `stdin` is fine. The timeout counts in seconds from the start; `None` for no
    limit. `output_limit` is in bytes of each stream; of a JSON reply, `REPLY_LIMIT` are kept. The
    result of a command that cannot be started has an `error`.

    Raises:
        PlatformError: If the platform is not supported.
    """
    if os.name != "posix":
        raise PlatformError("command hooks run on Linux and macOS; on Windows, use WSL")

    try:
        # Before the start: without a descriptor to watch it, a command must not begin.
        selector = selectors.DefaultSelector()
    except OSError as error:
        return ProcessResult(error=describe_start_error(error, argv))
    with selector:
        try:
            child = Child(argv, env, stdin, spawn=spawn_in(cwd), output_limit=output_limit)
        except (OSError, ValueError) as error:
            return ProcessResult(error=describe_start_error(error, argv, cwd))
        try:
            await _run_to_end(child, selector, timeout)
        except OSError as error:
            if child.was_killed:
                why = f"{argv[0]!r} cannot be watched, and was killed: {error.strerror or error}"
                return ProcessResult(error=why)
        finally:
            child.close()
    return child.result()


async def _run_to_end(
    child: Child, selector: selectors.BaseSelector, timeout: float | None
) -> None:
    try:
        if not child.has_unsent_input:
            with anyio.move_on_after(QUICK if timeout is None else min(QUICK, timeout)):
                await anyio.wait_readable(child.exit_fd)
        await _drive(child, selector, child.run(timeout))
    finally:
        if not child.is_finished:
            try:
                with anyio.CancelScope(shield=True):
                    await _drive(child, selector, child.stop(GRACE))
            except OSError:  # it cannot be watched
                drive_blocking(child, child.stop(SHORT_GRACE))
            except BaseException:  # asyncio passes a second cancellation through the shield
                drive_blocking(child, child.stop(SHORT_GRACE))
                raise


async def _drive(child: Child, selector: selectors.BaseSelector, steps: Steps) -> None:
    """Take the steps of a child, waiting for its descriptors in between.

    All of them are watched through the selector, whose own descriptor is readable when one of
    them is ready, so that one wait works on every event loop.
    """
    for seconds in steps:
        events = dict.fromkeys(child.fds_to_read(), selectors.EVENT_READ)
        events |= dict.fromkeys(child.fds_to_write(), selectors.EVENT_WRITE)
        watched = selector.get_map()
        for fd in watched.keys() - events.keys():
            selector.unregister(fd)
        for fd in events.keys() - watched.keys():
            selector.register(fd, events[fd])
        with anyio.move_on_after(seconds):
            await anyio.wait_readable(selector.fileno())  # type: ignore[attr-defined]
