"""Programs as an agent starts them: the event on standard input, both outputs read to their end."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.measure import timed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class StopResult:
    """How a program ended.

    Attributes:
        code: Its exit code; that of a signal is negative.
        out: What it wrote to standard output.
        err: What it wrote to standard error.
    """

    code: int
    out: bytes
    err: bytes


def succeeded(ended: StopResult) -> bool:
    """Tell whether a program went well."""
    return ended.code == 0


def denied(ended: StopResult) -> bool:
    """Tell whether a hook denied, as Claude Code reads it."""
    if ended.code == 2:
        return True
    if ended.code or not ended.out.strip():
        return False
    specific = json.loads(ended.out).get("hookSpecificOutput", {})
    return bool(specific.get("permissionDecision") == "deny")


@dataclass(frozen=True)
class Program:
    """What is started again and again.

    Attributes:
        argv: Absolute path and arguments.
        payload: Its standard input, no more than a pipe holds.
        env: Its whole environment.
        is_right: Tells whether it did what it is for.
    """

    argv: tuple[str, ...]
    payload: bytes
    env: Mapping[str, str]
    is_right: Callable[[StopResult], bool] = succeeded

    def run(self) -> StopResult:
        """Run it to its end with `posix_spawn` and three pipes, the least that an agent needs."""
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        streams = enumerate((in_read, out_write, err_write))
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in streams]
        pid = os.posix_spawn(self.argv[0], self.argv, self.env, file_actions=actions)
        for fd in (in_read, out_write, err_write):
            os.close(fd)
        with suppress(BrokenPipeError):  # not every program reads
            os.write(in_write, self.payload)
        os.close(in_write)
        out, err = _read(out_read), _read(err_read)
        _, status = os.waitpid(pid, 0)
        return StopResult(os.waitstatus_to_exitcode(status), out, err)

    def timed(self) -> float:
        """Run it and return the seconds that it took.

        Raises:
            RuntimeError: If it did something else than what it is for.
        """
        ended: list[StopResult] = []
        seconds = timed(lambda: ended.append(self.run()))
        if not self.is_right(ended[0]):
            raise RuntimeError(f"{' '.join(self.argv)}: {ended[0]}")
        return seconds


def _read(fd: int) -> bytes:
    chunks = []
    while chunk := os.read(fd, 65536):
        chunks.append(chunk)
    os.close(fd)
    return b"".join(chunks)
