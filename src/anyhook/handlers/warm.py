"""Hook files without a process of their own: the engine asks the server that has the file loaded.

It is what the clients of command lines do (`anyhook.worker.client`). If no server answers, the
engine runs the command as a program, which then starts the server.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio

from anyhook.processes.child import DRAIN
from anyhook.processes.result import ProcessResult, result_of_reply
from anyhook.worker.client import (
    ACCEPT_TIMEOUT,
    ACCEPTED,
    DONE,
    HEAD,
    MAX_FRAME,
    WORKER_ENV,
    WorkerUnavailable,
    absolute,
    address,
    connect,
    current_umask,
    ignored_signals,
    pack_run,
)
from anyhook.worker.protocol import FrameError, body_size, unpack_reply

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

    from anyhook.worker.commands import HookCommand

READ_SIZE = 65536


class LateError(Exception):
    """There is no reply at the deadline."""


async def run_warm(
    command: HookCommand,
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes,
    timeout: float,
    output_limit: int,
) -> ProcessResult | None:
    """Run a hook file on its server.

    A hook that is still running when the call ends, also by cancellation, is ended by the server.

    Args:
        command: The command line that a client would run.
        cwd: Working directory.
        env: The whole environment.
        stdin: The event.
        timeout: Seconds.
        output_limit: Bytes of each stream that are kept; see `result_of_reply`.

    Returns:
        The result that `run_process` would return; `None` if the command must be run as a process,
        in the time that is left.
    """
    if env.get(WORKER_ENV) == "off" or os.name != "posix":
        return None
    started = time.perf_counter()
    deadline = anyio.current_time() + timeout
    try:
        request = pack_run(
            cwd,
            command.words,
            env,
            umask=current_umask(),
            ignored_signals=ignored_signals(),
            payload=stdin,
        )
        if len(request) > MAX_FRAME:
            return None
        python = command.interpreter(env)
        if python is None:
            return None
        base = address(python, absolute(command.words[0], cwd), env)
        with connect(base, timeout=0) as link:
            reply = unpack_reply(await _ask(link, request, deadline))
    except LateError:
        return ProcessResult(timed_out=True, duration=time.perf_counter() - started)
    except (WorkerUnavailable, OSError, FrameError, UnicodeError):
        return None
    return result_of_reply(
        reply.code,
        reply.out,
        reply.err,
        output_limit=output_limit,
        duration=time.perf_counter() - started,
    )


async def _ask(link: socket.socket, request: bytes, deadline: float) -> bytes:
    """Send a request; return the body of the reply.

    Args:
        link: The connection; it does not block.
        request: The frame.
        deadline: On the clock of the event loop. What has arrived by then counts, also if the host
            was stopped and looks only later.

    Raises:
        LateError: If there is no reply at the deadline.
        WorkerUnavailable: If the hook must be run cold.
        OSError: If the connection ends.
        FrameError: If the server speaks another protocol.
    """
    await _send(link, request, deadline)
    data = bytearray()
    accept_deadline = anyio.current_time() + ACCEPT_TIMEOUT
    try:
        body = await _receive(link, data, min(deadline, accept_deadline))
    except LateError:
        if accept_deadline < deadline:
            raise WorkerUnavailable("the server is too busy") from None
        raise
    if body[:1] == ACCEPTED:
        body = await _receive(link, data, deadline)
    if body[:1] != DONE:
        raise WorkerUnavailable(body[1:].decode("utf-8", "replace"))
    return body


async def _send(link: socket.socket, data: bytes, deadline: float) -> None:
    view = memoryview(data)
    while True:
        with suppress(BlockingIOError):
            view = view[link.send(view) :]
        if not view:
            return
        if anyio.current_time() >= deadline:
            raise LateError
        with anyio.CancelScope(deadline=deadline):
            await anyio.wait_writable(link)


async def _receive(link: socket.socket, data: bytearray, deadline: float) -> bytes:
    """Return the body of the next frame; `data` keeps what has arrived behind it."""
    has_begun = False
    while len(data) < HEAD or len(data) < HEAD + body_size(bytes(data[:HEAD])):
        if data and not has_begun:  # the hook has decided: the rest of a long reply is on its way
            has_begun = True
            deadline = max(deadline, anyio.current_time() + DRAIN)
        with anyio.CancelScope(deadline=deadline):
            await anyio.wait_readable(link)
        try:
            chunk = link.recv(READ_SIZE)
        except BlockingIOError:
            if anyio.current_time() >= deadline:
                raise LateError from None
            continue
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        data += chunk
    end = HEAD + body_size(bytes(data[:HEAD]))
    body = bytes(data[HEAD:end])
    del data[:end]
    return body
