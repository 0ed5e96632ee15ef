"""Lists the servers of a user, asks them for their status, and ends them."""

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
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.errors import UsageError
from anyhook.model.record import Record
from anyhook.worker.client import (
    ACCEPT_TIMEOUT,
    RUNTIME_DIR_ENV,
    SERVER_CODE,
    STATUS,
    STATUS_REPLY,
    STOP,
    WorkerUnavailable,
    check_private,
    connect,
    read_frame,
    runtime_directory,
)
from anyhook.worker.protocol import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOG = ".log"
STOP_TIMEOUT = 5.0
"""Seconds that a server may take to end, with the hooks that it runs."""
POLL_INTERVAL = 0.05
"""Seconds between two checks of whether a process has ended."""
_NAME = re.compile(r"([0-9a-f]{16})\.sock")


class NoReplyError(Exception):
    """No server replies at an address.

    Attributes:
        is_stale: Whether no process listens there: the next event starts a new server there.
        pid: The process that listens there, if the system reports it.
    """

    def __init__(self, problem: str, *, is_stale: bool = False, pid: int | None = None) -> None:
        super().__init__(problem)
        self.is_stale = is_stale
        self.pid = pid


class ServerInfo(Record):
    """A socket of a server.

    Attributes:
        base: Its path without the suffix.
        status: What the server reports (`Endpoint.status`); `None` if it does not reply.
        problem: Why it does not reply.
        is_stale: Whether no process listens there.
    """

    base: str
    status: Mapping[str, Any] | None
    problem: str = ""
    is_stale: bool = False


class ServerEnd(StrEnum):
    """How a server ended."""

    STOPPED = "stopped"
    KILLED = "killed"
    """It did not end by itself."""
    SILENT = "silent"
    """There was nothing to end."""


class StopResult(Record):
    """How a server ended.

    Attributes:
        base: The path of its socket without the suffix.
        pid: Its process; `None` if there was none.
        how: How it ended.
        problem: Why it was silent.
        busy: The hook files that were running when it was killed.
    """

    base: str
    pid: int | None
    how: ServerEnd
    problem: str = ""
    busy: tuple[str, ...] = ()


def find_runtime_directory(environ: Mapping[str, str]) -> str:
    """Return the user's directory of sockets.

    Raises:
        UsageError: If the variable that names one is not an absolute path.
    """
    try:
        return runtime_directory(environ)
    except WorkerUnavailable as error:
        raise UsageError(str(error)) from None


def list_servers(directory: str) -> list[ServerInfo]:
    """Ask every server of a runtime directory for its status.

    Args:
        directory: See `anyhook.worker.client.runtime_directory`.

    Returns:
        One value for each socket; none if there is no such directory.

    Raises:
        UsageError: If another user could have put a socket into the directory.
    """
    try:
        check_private(directory)
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
    except (WorkerUnavailable, OSError) as error:
        problem = f"{directory}: {error.strerror}" if isinstance(error, OSError) else str(error)
        message = f"{problem}; name another directory in {RUNTIME_DIR_ENV}, or repair this one"
        raise UsageError(message) from None
    servers: list[ServerInfo] = []
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None:  # other programs may have sockets there, too
            servers.append(find_server(f"{directory}/{match[1]}"))
    return servers


def find_server(base: str) -> ServerInfo:
    """Ask the server of one address for its status."""
    try:
        return ServerInfo(base=base, status=ask(base, STATUS))
    except NoReplyError as error:
        return ServerInfo(base=base, status=None, problem=str(error), is_stale=error.is_stale)


def ask(base: str, kind: bytes) -> dict[str, Any]:
    """Send a server a short request.

    Args:
        base: The path of its socket without the suffix.
        kind: `STATUS` or `STOP`.

    Returns:
        Its status.

    Raises:
        NoReplyError: If no server replies there.
    """
    try:
        link = connect(base, timeout=ACCEPT_TIMEOUT)
    except (ConnectionRefusedError, FileNotFoundError):
        raise NoReplyError("no process listens there", is_stale=True) from None
    except (WorkerUnavailable, OSError) as error:
        raise NoReplyError(f"it cannot be asked: {error}") from None
    with closing(link):
        pid = None
        if hasattr(socket, "SO_PEERCRED"):  # not on macOS
            credentials: bytes = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pid = int.from_bytes(credentials[:4], sys.byteorder)
        try:
            link.sendall(frame(kind))
            body = read_frame(link, ACCEPT_TIMEOUT)
            status = json.loads(body[1:]) if body[:1] == STATUS_REPLY else None
        except (WorkerUnavailable, OSError, ValueError) as error:
            raise NoReplyError(f"it does not reply: {error}", pid=pid) from None
    if not isinstance(status, dict):
        raise NoReplyError("it is of another release and cannot be asked", pid=pid)
    return status


def _is_server(pid: int, base: str) -> bool:
    """Return whether a process is the server of an address, and no other program of the user."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return {SERVER_CODE.encode(), os.fsencode(base)} <= set(words)


def list_logs(directory: str) -> list[str]:
    """List the tracebacks that failed servers have left."""
    with suppress(OSError):
        names = sorted(os.listdir(directory))
        return [f"{directory}/{name}" for name in names if name.endswith(LOG)]
    return []


def stop_server(
    base: str,
    *,
    timeout: float = STOP_TIMEOUT,
    on_wait: Callable[[float], None] = lambda _: None,
) -> StopResult:
    """Ask a server to end, and wait until it has.

    Hooks that it runs may finish within the timeout; then it is killed with them. One that does not
    reply gets a signal, if it is surely a server.

    Args:
        base: The path of its socket without the suffix.
        timeout: Seconds.
        on_wait: Called again and again with the seconds that have passed.
    """
    try:
        process = _Process(int(ask(base, STATUS)["pid"]))
    except NoReplyError as error:
        return _stop_silent(base, error, timeout, on_wait)
    except ProcessLookupError:
        return StopResult(base=base, pid=None, how=ServerEnd.SILENT, problem="it has just ended")
    with closing(process):
        try:
            status = ask(base, STOP)
        except NoReplyError as error:
            return _stop_silent(base, error, timeout, on_wait)
        if process.end(timeout, on_wait):
            return StopResult(base=base, pid=process.pid, how=ServerEnd.STOPPED)
    running = [int(pid) for pid in status["running"]]
    for pid in running:
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
    hooks = (str(status["hook"]),) if running else ()
    return StopResult(base=base, pid=process.pid, how=ServerEnd.KILLED, busy=hooks)


def _stop_silent(
    base: str, error: NoReplyError, timeout: float, on_wait: Callable[[float], None]
) -> StopResult:
    """End a server that does not reply."""
    if error.pid is None or not _is_server(error.pid, base):
        return StopResult(base=base, pid=None, how=ServerEnd.SILENT, problem=str(error))
    try:
        process = _Process(error.pid)
    except ProcessLookupError:
        return StopResult(base=base, pid=None, how=ServerEnd.SILENT, problem="it has just ended")
    with closing(process):
        process.send(signal.SIGTERM)
        has_ended = process.end(timeout, on_wait)
        how = ServerEnd.STOPPED if has_ended else ServerEnd.KILLED
    return StopResult(base=base, pid=process.pid, how=how)


class _Process:
    """A process that is not a child; another one that gets its number is not taken for it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1

    def end(self, timeout: float, on_wait: Callable[[float], None]) -> bool:
        """Wait for its end, and kill it after a timeout; return whether it ended by itself."""
        if self._wait(timeout, on_wait):
            return True
        self.send(signal.SIGKILL)
        self._wait(STOP_TIMEOUT, on_wait)
        return False

    def _wait(self, timeout: float, on_wait: Callable[[float], None]) -> bool:
        started = time.monotonic()
        while not self._has_ended(POLL_INTERVAL):
            passed = time.monotonic() - started
            if passed > timeout:
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
        """Close its descriptor."""
        if self._fd >= 0:
            os.close(self._fd)

    def _has_ended(self, timeout: float) -> bool:
        if self._fd >= 0:  # readable at its end, before its parent has collected it
            return bool(select.select([self._fd], [], [], timeout)[0])
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(timeout)
        return False
