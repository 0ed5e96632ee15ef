"""Hook files without a process: an engine borrows the executor that has the file loaded.

A lease is a connection over which one executor answers event after event. Whatever keeps a worker
from serving is no error here: the engine then runs the command as what it is, a program.
"""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import RunVar

from anyhook.handlers.process import ProcessResult
from anyhook.warm import client
from anyhook.warm.client import COLD, DONE, HEAD, LEASE, MAGIC, RUN, SWITCH, TAKEN, Unavailable
from anyhook.warm.frames import FrameError, body_size, parse_reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.warm.commands import HookCommand

    Key = tuple[str, HookCommand]

EAGER = max(2, min(8, os.cpu_count() or 2))
"""Leases of one hook file that are asked for without waiting whether one gets free."""
SOON = 0.03
"""Seconds to wait for a lease to get free before another one is asked for."""
READ = 65536


class Lease:
    """A connection to the executor of one hook file, in one directory, with one environment.

    Args:
        link: The connection; it does not block.
        command: The hook file.
        cwd: Working directory.
        env: The whole environment.
    """

    def __init__(
        self, link: socket.socket, command: HookCommand, cwd: str, env: Mapping[str, str]
    ) -> None:
        self.link = link
        self.env: dict[str, str] = {}
        self._command = command
        self._cwd = cwd
        self._middle = b""
        self._data = bytearray()
        self.wear(env)

    def wear(self, env: Mapping[str, str]) -> None:
        """Take the environment of the next event."""
        if env == self.env:
            return
        whole = client.pack_run(RUN, self._cwd, self._command.words, env, mask=_mask(), payload=b"")
        self.env, self._middle = dict(env), whole[HEAD + 1 :]

    def is_alive(self) -> bool:
        """Tell whether the executor still holds its end."""
        try:
            return bool(self.link.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def ask(self, payload: bytes) -> bytes:
        """Send an event; returns the body of the reply.

        Raises:
            Unavailable: If there is none, because the event must be run cold.
            OSError: If the executor is gone.
            FrameError: If it speaks nonsense.
        """
        frame = self._frame(RUN, payload)
        await self._send(frame)
        while True:
            body = await self._receive()
            if body[:1] == DONE:
                return body
            if body[:1] == LEASE:  # the file has changed: another executor has loaded it anew
                await self._send(frame)
            elif body[:1] == COLD:
                raise Unavailable(body[1:].decode("utf-8", "replace"))
            elif body[:1] != TAKEN:
                raise FrameError("a worker said something unknown")

    async def begin(self) -> None:
        """Be given an executor.

        Raises:
            Unavailable: If there is none.
            OSError: If the worker is gone.
            FrameError: If it speaks nonsense.
        """
        await self._send(self._frame(LEASE, b""))
        while (body := await self._receive())[:1] != LEASE:
            if body[:1] != TAKEN:
                raise Unavailable(body[1:].decode("utf-8", "replace"))

    def close(self) -> None:
        """Give the executor back; a hook that still runs on it is ended."""
        self.link.close()

    def _frame(self, kind: bytes, payload: bytes) -> bytes:
        size = (1 + len(self._middle) + len(payload)).to_bytes(4, "little")
        return b"".join((MAGIC, size, kind, self._middle, payload))

    async def _send(self, frame: bytes) -> None:
        sent = 0
        while True:
            with suppress(BlockingIOError):
                sent += self.link.send(memoryview(frame)[sent:])
            if sent == len(frame):
                return
            await anyio.wait_writable(self.link)

    async def _receive(self) -> bytes:
        data = self._data
        while len(data) < HEAD or len(data) < HEAD + body_size(bytes(data[:HEAD])):
            await anyio.wait_readable(self.link)
            with suppress(BlockingIOError):
                chunk = self.link.recv(READ)
                if not chunk:
                    raise ConnectionResetError("the executor is gone")
                data += chunk
        end = HEAD + body_size(bytes(data[:HEAD]))
        body = bytes(data[HEAD:end])
        del data[:end]
        return body


class _Waiter:
    """Who waits for a lease to get free."""

    def __init__(self) -> None:
        self.event = anyio.Event()
        self.lease: Lease | None = None


class Leases:
    """The leases of one engine."""

    def __init__(self) -> None:
        self._idle: dict[Key, list[Lease]] = {}
        self._busy: dict[Key, int] = {}
        self._waiting: RunVar[dict[Key, deque[_Waiter]]] = RunVar("anyhook-leases")
        self._closed = False

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Give everything back."""
        self._closed = True
        for leases in self._idle.values():
            while leases:
                leases.pop().close()

    async def run(
        self,
        command: HookCommand,
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        timeout: float | None,
        output_limit: int,
    ) -> ProcessResult | None:
        """Run a hook file on an executor.

        The other arguments are those of `run_process`, and so is the result.

        Returns:
            `None` if no worker serves it: then it must be run as a process.
        """
        if env.get(SWITCH) == "off" or os.name != "posix":
            return None
        started = time.perf_counter()
        body: bytes | None = None
        with anyio.move_on_after(timeout) as scope:
            try:
                body = await self._ask((cwd, command), env, stdin)
            except (Unavailable, OSError, FrameError, UnicodeError):
                return None
        duration = time.perf_counter() - started
        if body is None:
            return ProcessResult(timed_out=scope.cancelled_caught, duration=duration)
        reply = parse_reply(body)
        return ProcessResult(
            exit_code=reply.code,
            stdout=reply.out[:output_limit].decode("utf-8", "replace"),
            stderr=reply.err[:output_limit].decode("utf-8", "replace"),
            stdout_truncated=len(reply.out) > output_limit,
            stderr_truncated=len(reply.err) > output_limit,
            duration=duration,
        )

    async def _ask(self, key: Key, env: Mapping[str, str], payload: bytes) -> bytes:
        """Send an event to an executor that is free, or to another one if none gets free soon."""
        lease = self._idle_one(key, env)
        if lease is None and self._busy.get(key, 0) >= EAGER:
            lease = await self._freed(key, env)
        self._busy[key] = self._busy.get(key, 0) + 1
        try:
            if lease is None:
                cwd, command = key
                lease = Lease(_connect(command, env), command, cwd, env)
                await lease.begin()
            body = await lease.ask(payload)
        except BaseException:
            if lease is not None:
                lease.close()
            raise
        finally:
            self._busy[key] -= 1
        self._give_back(key, lease)
        return body

    def _idle_one(self, key: Key, env: Mapping[str, str]) -> Lease | None:
        idle = self._idle.get(key)
        while idle:
            lease = _fitting(idle.pop(), env)
            if lease is not None:
                return lease
        return None

    async def _freed(self, key: Key, env: Mapping[str, str]) -> Lease | None:
        """Wait for a lease; `None` if none gets free soon."""
        queue = self._queues().setdefault(key, deque())
        waiter = _Waiter()
        queue.append(waiter)
        try:
            with anyio.move_on_after(SOON):
                await waiter.event.wait()
        except BaseException:
            if waiter.lease is not None:
                waiter.lease.close()
            raise
        finally:
            if waiter in queue:
                queue.remove(waiter)
        return _fitting(waiter.lease, env) if waiter.lease is not None else None

    def _queues(self) -> dict[Key, deque[_Waiter]]:
        """Return who waits on this event loop."""
        try:
            return self._waiting.get()
        except LookupError:
            made: dict[Key, deque[_Waiter]] = {}
            self._waiting.set(made)
            return made

    def _give_back(self, key: Key, lease: Lease) -> None:
        queue = self._queues().get(key) if self._busy[key] >= EAGER - 1 else None
        idle = self._idle.setdefault(key, [])
        if queue:
            waiter = queue.popleft()
            waiter.lease = lease
            waiter.event.set()
        elif self._closed or len(idle) >= EAGER:
            lease.close()
        else:
            idle.append(lease)


def _fitting(lease: Lease, env: Mapping[str, str]) -> Lease | None:
    """Make a lease ready for an environment; `None` if it has ended, or is of another worker."""
    is_same = env == lease.env or client.watched(env) == client.watched(lease.env)
    if is_same and lease.is_alive():
        lease.wear(env)
        return lease
    lease.close()
    return None


def _connect(command: HookCommand, env: Mapping[str, str]) -> socket.socket:
    """Connect to the worker that a command would use.

    Raises:
        Unavailable: If it cannot be told which, or another user listens there.
        OSError: If nobody does.
    """
    python = command.interpreter(env)
    if python is None:
        raise Unavailable("its interpreter cannot be told")
    base = client.address(python, env)
    client.check_private(os.path.dirname(base))
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.setblocking(False)
    try:
        link.connect(base + ".sock")
    except OSError:
        link.close()
        raise
    if client.peer_user(link) != os.getuid():
        link.close()
        raise Unavailable("another user listens there")
    return link


@cache
def _mask() -> int:
    """Return what this process takes away from the mode of files; it can only be set and read."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
