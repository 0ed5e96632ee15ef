"""Threads for plain functions: reused, and never joined at the end of the program.

The pool of the async library is not used: a function that hangs in one of its threads keeps the
program from ending.
"""

from __future__ import annotations

import contextvars
import os
import queue
import socket
import threading
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

IDLE = 8
"""Idle threads that are kept for the next call."""


async def call_in_thread(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function in a thread and wait for it, on any event loop.

    When the wait is cancelled the thread is left behind; it does not keep the program from ending.

    The function is called in a copy of the context.

    Raises:
        BaseException: What it raises.
    """
    ours, theirs = socket.socketpair()
    outcome: list[tuple[bool, Any]] = []
    context = contextvars.copy_context()

    def job() -> None:
        try:
            outcome.append((True, context.run(function, *arguments)))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is awaited
            outcome.append((False, error))
        theirs.close()

    with ours:
        try:
            worker = _idle.pop()
        except IndexError:
            worker = _Worker()
            worker.start()
        worker.jobs.put(job)
        await anyio.wait_readable(ours)
    succeeded, value = outcome[0]
    if succeeded:
        return value
    raise value


class _Worker(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="anyhook-function", daemon=True)
        self.jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def run(self) -> None:
        while True:
            job = self.jobs.get()
            job()
            del job  # it holds the arguments and the outcome of its call
            if len(_idle) >= IDLE:
                return
            _idle.append(self)


_idle: list[_Worker] = []
"""Threads without work. Appending and popping are atomic."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # threads do not survive a fork
