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
from math import inf
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import RunVar

from anyhook.processes.child import DRAIN
from anyhook.processes.result import ProcessResult, result_of_reply
from anyhook.worker import client
from anyhook.worker.client import (
    COLD,
    DONE,
    HEAD,
    LEASE,
    MAGIC,
    RUN,
    SWITCH,
    TAKEN,
    WorkerUnavailable,
)
from anyhook.worker.frames import FrameError, body_size, parse_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyhook.worker.commands import HookCommand

    Key = tuple[str, HookCommand]

EAGER = max(2, min(8, os.cpu_count() or 2))
"""Leases of one hook file that are asked for without waiting whether one gets free."""
SOON = 0.03
"""Seconds that an event may run before more leases are asked for: an executor more helps against
slow hooks, and makes things worse where there are just many events for few cores."""
MOST = 16
"""Leases of one hook file in one engine."""
GRANTED = 0.25
"""Seconds in which a worker grants another lease; else the event waits for one of those there."""
READ = 65536
MOVES = 2
"""How often an event is given to yet another executor, because the file keeps changing."""


class LateError(Exception):
    """An executor has not answered by the deadline."""


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

    def fits(self, env: Mapping[str, str]) -> bool:
        """Take an environment; returns whether that needs no other worker, and its own lives."""
        is_same = env == self.env or _addressed(env) == _addressed(self.env)
        if not is_same or not self.is_alive():
            return False
        self.wear(env)
        return True

    def is_alive(self) -> bool:
        """Tell whether the executor still holds its end."""
        try:
            return bool(self.link.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def ask(self, payload: bytes, deadline: float) -> bytes:
        """Send an event; returns the body of the reply.

        Args:
            payload: The event.
            deadline: On the clock of the event loop. What has arrived by then counts, also if the
                host was stopped and looks only later.

        Raises:
            LateError: If there is no reply at the deadline.
            Unavailable: If there is none, because the event must be run cold.
            OSError: If the executor is gone.
            FrameError: If it speaks nonsense.
        """
        frame = self._frame(RUN, payload)
        await self._send(frame, deadline)
        moved = 0
        while True:
            body = await self._receive(deadline)
            if body[:1] == DONE:
                return body
            if body[:1] == LEASE and moved < MOVES:
                moved += 1  # the file has changed: another executor loads it anew
                await self._send(frame, deadline)
            elif body[:1] == COLD:
                raise WorkerUnavailable(body[1:].decode("utf-8", "replace"))
            elif body[:1] != TAKEN:
                raise FrameError("a worker said something unknown")

    async def begin(self) -> None:
        """Be given an executor.

        Raises:
            Unavailable: If there is none.
            OSError: If the worker is gone.
            FrameError: If it speaks nonsense.
        """
        with anyio.fail_after(client.PATIENCE):
            await self._send(self._frame(LEASE, b""))
            body = await self._receive()
        while body[:1] != LEASE:
            if body[:1] != TAKEN:
                raise WorkerUnavailable(body[1:].decode("utf-8", "replace"))
            body = await self._receive()

    def close(self) -> None:
        """Give the executor back; a hook that still runs on it is ended."""
        self.link.close()

    def _frame(self, kind: bytes, payload: bytes) -> bytes:
        size = (1 + len(self._middle) + len(payload)).to_bytes(4, "little")
        return b"".join((MAGIC, size, kind, self._middle, payload))

    async def _send(self, frame: bytes, deadline: float = inf) -> None:
        sent = 0
        while True:
            with suppress(BlockingIOError):
                sent += self.link.send(memoryview(frame)[sent:])
            if sent == len(frame):
                return
            if anyio.current_time() >= deadline:
                raise LateError
            with anyio.CancelScope(deadline=deadline):
                await anyio.wait_writable(self.link)

    async def _receive(self, deadline: float = inf) -> bytes:
        data = self._data
        while len(data) < HEAD or len(data) < HEAD + body_size(bytes(data[:HEAD])):
            with anyio.CancelScope(deadline=deadline):
                await anyio.wait_readable(self.link)
            try:
                chunk = self.link.recv(READ)
            except BlockingIOError:
                if anyio.current_time() >= deadline:
                    raise LateError from None
                continue
            if not chunk:
                raise ConnectionResetError("the executor is gone")
            if not data:  # the hook has decided, and the rest of a long reply is on its way
                deadline = max(deadline, anyio.current_time() + DRAIN)
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
        self._held: dict[Key, int] = {}
        self._running: dict[Key, dict[Lease, float]] = {}
        self._asking: set[Key] = set()
        self._pid = os.getpid()
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
        may_run: Callable[[], bool] = lambda: True,
    ) -> ProcessResult | None:
        """Run a hook file on an executor.

        `may_run` is asked after a wait for an executor, because the file may have changed; the
        other arguments are those of `run_process`, and so is the result.

        Returns:
            `None` if no worker serves it: then it must be run as a process, in the time that is
            left.
        """
        if env.get(SWITCH) == "off" or os.name != "posix":
            return None
        started = time.perf_counter()
        deadline = inf if timeout is None else anyio.current_time() + timeout
        try:
            lease = await self._free_lease((cwd, command), env, deadline, may_run)
            reply = parse_reply(await self._ask(lease, (cwd, command), stdin, deadline))
        except LateError:
            return ProcessResult(timed_out=True, duration=time.perf_counter() - started)
        except (WorkerUnavailable, OSError, FrameError, UnicodeError):
            return None
        duration = time.perf_counter() - started
        return result_of_reply(
            reply.code, reply.out, reply.err, output_limit=output_limit, duration=duration
        )

    async def _free_lease(
        self, key: Key, env: Mapping[str, str], deadline: float, may_run: Callable[[], bool]
    ) -> Lease:
        """Return a lease that is free, or another one if none gets free soon.

        Raises:
            LateError: If there is none at the deadline.
            Unavailable: If there is none at all, or the hook must not run any more.
            OSError, FrameError: As `_another`.
        """
        if self._pid != os.getpid():
            self._begin_anew()
        lease = self._idle_one(key, env)
        if lease is not None:
            return lease
        is_free = self._held.get(key, 0) < EAGER
        with anyio.CancelScope(deadline=deadline):
            lease = await (self._another(key, env) if is_free else self._freed(key, env))
        if lease is None:
            raise LateError
        if not may_run():
            self._give_back(key, lease)
            raise WorkerUnavailable("the hook must not run any more")
        return lease

    async def _ask(self, lease: Lease, key: Key, payload: bytes, deadline: float) -> bytes:
        """Send an event to an executor, and give the lease back.

        Raises:
            LateError: If there is no reply at the deadline.
            Unavailable, OSError, FrameError: As `Lease.ask`.
        """
        running = self._running.setdefault(key, {})
        running[lease] = time.monotonic()
        try:
            body = await lease.ask(payload, deadline)
        except BaseException:
            self._drop(key, lease)
            raise
        finally:
            del running[lease]
        self._give_back(key, lease)
        return body

    def _begin_anew(self) -> None:
        """Leave the leases to the process that this one was forked from."""
        for leases in self._idle.values():
            for lease in leases:
                lease.close()
        self._idle.clear()
        self._held.clear()
        self._running.clear()
        self._asking.clear()
        self._waiting = RunVar("anyhook-leases")
        self._pid = os.getpid()

    def _idle_one(self, key: Key, env: Mapping[str, str]) -> Lease | None:
        idle = self._idle.get(key)
        while idle:
            lease = idle.pop()
            if lease.fits(env):
                return lease
            self._drop(key, lease)
        return None

    async def _another(self, key: Key, env: Mapping[str, str]) -> Lease:
        """Be given one more lease.

        Raises:
            Unavailable: If there is none.
            OSError: If there is no worker.
            FrameError: If it speaks nonsense.
        """
        cwd, command = key
        self._held[key] = self._held.get(key, 0) + 1
        lease = None
        try:
            lease = Lease(_connect(command, env), command, cwd, env)
            await lease.begin()
        except BaseException:
            self._drop(key, lease)
            raise
        return lease

    async def _freed(self, key: Key, env: Mapping[str, str]) -> Lease:
        """Wait for a lease to get free; if those there are are slow, see to it that there are more.

        Raises:
            As `_another`.
        """
        queue = self._queues().setdefault(key, deque())
        waiter = _Waiter()
        queue.append(waiter)
        try:
            while waiter.lease is None:
                with anyio.move_on_after(SOON):
                    await waiter.event.wait()
                if waiter.lease is None and self._needs_more(key):
                    await self._ask_for_more(key, env)
        except BaseException:
            if waiter.lease is not None:
                self._give_back(key, waiter.lease)
            raise
        finally:
            if waiter in queue:
                queue.remove(waiter)
        lease = waiter.lease
        if lease.fits(env):
            return lease
        self._drop(key, lease)
        return await self._another(key, env)

    def _needs_more(self, key: Key) -> bool:
        """Tell whether one more executor would help: there is none, or all are busy for long."""
        if key in self._asking or self._held[key] >= MOST:
            return False
        running = self._running.get(key)
        return not running or time.monotonic() - max(running.values()) > SOON

    async def _ask_for_more(self, key: Key, env: Mapping[str, str]) -> None:
        """Ask for one more lease, for whoever waits longest."""
        self._asking.add(key)
        try:
            with anyio.move_on_after(GRANTED):
                self._give_back(key, await self._another(key, env))
        finally:
            self._asking.discard(key)

    def _drop(self, key: Key, lease: Lease | None) -> None:
        self._held[key] -= 1
        if lease is not None:
            lease.close()

    def _queues(self) -> dict[Key, deque[_Waiter]]:
        """Return who waits on this event loop."""
        try:
            return self._waiting.get()
        except LookupError:
            made: dict[Key, deque[_Waiter]] = {}
            self._waiting.set(made)
            return made

    def _give_back(self, key: Key, lease: Lease) -> None:
        queue = self._queues().get(key)
        idle = self._idle.setdefault(key, [])
        if queue:
            waiter = queue.popleft()
            waiter.lease = lease
            waiter.event.set()
        elif self._closed or len(idle) >= EAGER:
            self._drop(key, lease)
        else:
            idle.append(lease)


def _connect(command: HookCommand, env: Mapping[str, str]) -> socket.socket:
    """Connect to the worker that a command would use.

    Raises:
        Unavailable: If it cannot be told which, or another user listens there.
        OSError: If nobody does.
    """
    python = command.interpreter(env)
    if python is None:
        raise WorkerUnavailable("its interpreter cannot be told")
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
        raise WorkerUnavailable("another user listens there")
    return link


def _addressed(env: Mapping[str, str]) -> tuple[object, ...]:
    """Return what decides which worker a command would ask."""
    return env.get("PATH"), env.get(client.DIRECTORY), client.watched(env)


@cache
def _mask() -> int:
    """Return what this process takes away from the mode of files; it can only be set and read."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
