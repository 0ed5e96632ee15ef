"""Finds the workers of a user, asks them what they do, and ends them."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.errors import UsageError
from anyhook.model.record import Record
from anyhook.worker.client import (
    DIRECTORY,
    STATUS,
    STOP,
    TOLD,
    WORKER,
    WorkerUnavailable,
    check_private,
    peer_user,
    read_frame,
    runtime_directory,
)
from anyhook.worker.frames import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SOCKET = ".sock"
LOG = ".log"
_NAME = re.compile(r"([0-9a-f]{16})\.sock")
PATIENCE = 5.0
"""Seconds that a worker may take to end, with the hooks that it runs."""
ANSWERS = 1.0
"""Seconds in which a worker that lives answers."""
ENDED = "it has just ended"
LOOK = 0.05
"""Seconds between two looks at whether a process has ended."""


class SilentError(Exception):
    """No worker answers at an address.

    Attributes:
        is_stale: Whether nobody listens there any more: the next event puts a new worker there.
        pid: The process that listens there, if the system tells it.
    """

    def __init__(self, why: str, *, is_stale: bool = False, pid: int | None = None) -> None:
        super().__init__(why)
        self.is_stale = is_stale
        self.pid = pid


class Found(Record):
    """A socket of a worker.

    Attributes:
        base: Its path without the suffix.
        status: What the worker tells of itself (`Worker.status`); `None` if nobody answers.
        problem: Why nobody does.
        is_stale: Whether nobody listens there any more.
    """

    base: str
    status: Mapping[str, Any] | None
    problem: str = ""
    is_stale: bool = False


class StopResult(Record):
    """How a worker ended.

    Attributes:
        base: The path of its socket without the suffix.
        pid: Its process; `None` if there was none.
        how: `stopped`; `killed`, because it did not end; or `silent`: there was nothing to end.
        problem: Why it was silent.
        busy: The hook files that ran when it was killed.
    """

    base: str
    pid: int | None
    how: str
    problem: str = ""
    busy: tuple[str, ...] = ()


def directory_of(environ: Mapping[str, str]) -> str:
    """Return the user's directory of sockets.

    Raises:
        UsageError: If the variable that names one is no absolute path.
    """
    try:
        return runtime_directory(environ)
    except WorkerUnavailable as error:
        raise UsageError(str(error)) from None


def workers(directory: str) -> list[Found]:
    """Ask every worker of a runtime directory what it does.

    Args:
        directory: See `anyhook.worker.client.runtime_directory`.

    Returns:
        One value for each socket; none if there is no such directory.

    Raises:
        UsageError: If the directory is not the user's own: whatever listens there is not to be
            asked.
    """
    try:
        check_private(directory)
        names = sorted(os.listdir(directory))  # noqa: PTH208 - addresses are texts
    except FileNotFoundError:
        return []
    except (WorkerUnavailable, OSError) as error:
        why = (
            str(error) if isinstance(error, WorkerUnavailable) else f"{directory}: {error.strerror}"
        )
        raise UsageError(
            f"{why}; name another directory in {DIRECTORY}, or mend this one"
        ) from None
    # sockets of other programs may be there too, which are none of our business
    return [find(f"{directory}/{found[1]}") for name in names if (found := _NAME.fullmatch(name))]


def find(base: str) -> Found:
    """Ask what is at one address."""
    try:
        return Found(base=base, status=ask(base, STATUS))
    except SilentError as error:
        return Found(base=base, status=None, problem=str(error), is_stale=error.is_stale)


def ask(base: str, kind: bytes) -> dict[str, Any]:
    """Send a worker one of the short requests.

    Args:
        base: The path of its socket without the suffix.
        kind: `STATUS` or `STOP`.

    Returns:
        What it tells of itself.

    Raises:
        SilentError: If nobody answers there.
    """
    try:
        link = _connected(base + SOCKET)
    except (ConnectionRefusedError, FileNotFoundError):
        raise SilentError("nobody listens there any more", is_stale=True) from None
    except (WorkerUnavailable, OSError) as error:
        raise SilentError(f"it cannot be asked: {error}") from None
    with link:
        pid = _peer_pid(link)
        try:
            link.sendall(frame(kind))
            body = read_frame(link)
            if body[:1] == TOLD:
                found = json.loads(body[1:])
                if isinstance(found, dict):
                    return found
        except (WorkerUnavailable, OSError, ValueError) as error:
            raise SilentError(f"it does not answer: {error}", pid=pid) from None
    raise SilentError("it is of another release and cannot be asked", pid=pid)


def _connected(path: str) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.settimeout(ANSWERS)
        link.connect(path)
        is_own = peer_user(link) == os.getuid()
    except BaseException:
        link.close()
        raise
    if not is_own:
        link.close()
        raise WorkerUnavailable("another user listens there")
    return link


def _peer_pid(link: socket.socket) -> int | None:
    """Return the process that listens at the other end; `None` where that is not told."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    data = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(data[:4], sys.byteorder)


def _is_worker(pid: int, base: str) -> bool:
    """Tell whether a process is the worker of an address, and no other program of the user's."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return {WORKER.encode(), os.fsencode(base)} <= set(words)


def reason_of(cold: Mapping[str, Any]) -> str:
    """Return why a hook ran cold, without the name of its file.

    Args:
        cold: One of the entries of `cold` in what a worker tells of itself.
    """
    return str(cold["reason"]).removeprefix(str(cold["hook"])).strip()


def logs(directory: str) -> list[str]:
    """List what bugs of workers left behind."""
    with suppress(OSError):
        names = sorted(os.listdir(directory))  # noqa: PTH208 - addresses are texts
        return [f"{directory}/{name}" for name in names if name.endswith(LOG)]
    return []


def end(
    base: str, *, patience: float = PATIENCE, on_wait: Callable[[float], None] = lambda _: None
) -> StopResult:
    """Ask a worker to end, and wait until it is gone.

    Hooks that it runs may finish. What is still there after that is killed. One that does not
    answer is told with a signal, if it surely is a worker.

    Args:
        base: The path of its socket without the suffix.
        patience: Seconds that it is given.
        on_wait: Called again and again with the seconds that were waited.
    """
    try:
        process = _Process(int(ask(base, STATUS)["pid"]))
    except SilentError as error:
        return _end_silent(base, error, patience, on_wait)
    except ProcessLookupError:
        return StopResult(base=base, pid=None, how="silent", problem=ENDED)
    with closing(process):
        try:
            status = ask(base, STOP)
        except SilentError as error:
            return _end_silent(base, error, patience, on_wait)
        if process.ends(patience, on_wait):
            return StopResult(base=base, pid=process.pid, how="stopped")
    for child in status["executors"]:
        _kill_group(int(child["pid"]))
    hooks = tuple(str(child["hook"]) for child in status["executors"] if child["busy"])
    return StopResult(base=base, pid=process.pid, how="killed", busy=hooks)


def _end_silent(
    base: str, error: SilentError, patience: float, on_wait: Callable[[float], None]
) -> StopResult:
    """End a worker that does not answer."""
    if error.pid is None or not _is_worker(error.pid, base):
        return StopResult(base=base, pid=None, how="silent", problem=str(error))
    try:
        process = _Process(error.pid)
    except ProcessLookupError:
        return StopResult(base=base, pid=None, how="silent", problem=ENDED)
    with closing(process):
        process.send(signal.SIGTERM)
        how = "stopped" if process.ends(patience, on_wait) else "killed"
    return StopResult(base=base, pid=process.pid, how=how)


class _Process:
    """A process that is no child: another one with its number is never taken for it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1

    def ends(self, seconds: float, on_wait: Callable[[float], None]) -> bool:
        """Wait for its end, and kill it if that does not come; returns whether it came."""
        if self._wait(seconds, on_wait):
            return True
        self.send(signal.SIGKILL)
        self._wait(PATIENCE, on_wait)
        return False

    def _wait(self, seconds: float, on_wait: Callable[[float], None]) -> bool:
        begun = time.monotonic()
        while not self._is_gone(LOOK):
            passed = time.monotonic() - begun
            if passed > seconds:
                return False
            on_wait(passed)
        return True

    def send(self, number: int) -> None:
        """Send it a signal; it may have ended."""
        with suppress(ProcessLookupError):
            if self._fd >= 0:
                signal.pidfd_send_signal(self._fd, number)
            else:
                os.kill(self.pid, number)

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)

    def _is_gone(self, seconds: float) -> bool:
        if self._fd >= 0:  # also tells of an end that nobody has taken note of yet
            return bool(select.select([self._fd], [], [], seconds)[0])
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(seconds)
        return False


def _kill_group(leader: int) -> None:
    """Kill a process and what it started, if it leads a group, as those of workers do."""
    with suppress(ProcessLookupError, PermissionError):
        if os.getpgid(leader) == leader:
            os.killpg(leader, signal.SIGKILL)
