"""Events of nobody, answered before the first fork.

The interpreter writes into the code that it runs until it has found the fastest way through it, and
into its tables whenever it looks something up for the first time. What was written before a fork is
shared by all executors; what is written after it, each copies.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.agents.payloads import encode_event
from anyhook.model.events import BeforeTool
from anyhook.worker.client import HEAD, RUN, pack_run
from anyhook.worker.executor import Executor, scratch
from anyhook.worker.frames import parse_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import NoReturn

    from anyhook.worker.frames import Request

LOADS = 8
"""The interpreter looks for a faster way through code that it has run this often."""
SAMPLE = str(Path(__file__).with_name("sample.py"))
TOOL = "write_file"
ARGUMENTS = {"file_path": "", "content": "no"}
MASK = 0o077
"""What the worker takes away from the mode of files."""


class RehearsalError(Exception):
    """Here a real executor would have ended."""


class _Understudy(Executor):
    """An executor that does not end the process, which is the worker's."""

    def _has_writers(self) -> bool:
        super()._has_writers()
        return False  # the worker's own lock is a file

    def _is_spoiled(self) -> bool:
        super()._is_spoiled()
        return False  # the most that it held may be that of who started it

    def end(self) -> NoReturn:
        raise RehearsalError


def rehearse() -> None:
    """Load a hook file and let it answer events, as an executor does, in every agent's form.

    Whatever goes wrong is no error: then less is shared.
    """
    gc.freeze()  # what is there already needs no looking at
    try:
        _rehearse()
    except Exception:  # noqa: BLE001 - see above
        return
    finally:
        gc.unfreeze()


def _rehearse() -> None:
    with ExitStack() as stack:
        stack.callback(_put_back, sys.modules["__main__"], sys.argv, sys.orig_argv, sys.path[0])
        stack.callback(_put_streams_back, sys.stdin, sys.stdout, sys.stderr)
        for number in range(3):
            stack.callback(_put_descriptor_back, os.dup(number), number)
        ours, theirs = socket.socketpair()
        stack.callback(ours.close)
        stack.callback(theirs.close)
        capture = scratch()
        stack.callback(os.close, capture)
        for _ in range(LOADS):
            executor = _Understudy(theirs, capture)
            stack.callback(executor.close)
            for request in _requests():
                executor.put_in_place(request)
                executor.run(theirs, request, leased=True)
                ours.recv(1 << 16)


def _requests() -> Iterator[Request]:
    """Make an event of every agent."""
    for name in CODING_AGENTS:
        agent = get_agent(name)
        words = agent.vocabulary
        event = BeforeTool(
            session_id="",
            transcript_path="",
            cwd="/",
            timestamp="",
            tool_name=words.name(TOOL) or TOOL,
            tool_input=words.arguments(TOOL, ARGUMENTS),
        )
        payload = json.dumps(encode_event(agent, event)).encode()
        argv = [SAMPLE, "--agent", name]
        frame = pack_run(RUN, str(Path.cwd()), argv, os.environ, mask=MASK, payload=payload)
        yield parse_request(frame[HEAD:])


def _put_back(main: ModuleType, argv: list[str], orig_argv: list[str], path: str) -> None:
    sys.modules["__main__"] = main
    sys.argv, sys.orig_argv, sys.path[0] = argv, orig_argv, path


def _put_streams_back(*streams: Any) -> None:
    sys.stdin, sys.stdout, sys.stderr = streams


def _put_descriptor_back(kept: int, number: int) -> None:
    os.dup2(kept, number, inheritable=number < 3)
    os.close(kept)
