"""A process that answers one event of a hook file and exits.

It is forked before the event arrives, from a server that has the file loaded. So every event finds
the module as loading left it, and nothing that one event does is seen by the next.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from anyhook.authoring.process_exit import (
    FallbackExit,
    Output,
    end_warm_hook,
    exit_now,
    file_identity,
    flush_streams,
    getpid,
)
from anyhook.authoring.run import answer
from anyhook.model.answers import BLOCKING_EXIT
from anyhook.shell.commands import forget_commands
from anyhook.worker.client import (
    ACCEPT_TIMEOUT,
    RUN,
    STATUS,
    STATUS_REPLY,
    STOP,
    WorkerUnavailable,
    peer_user,
    read_frame,
)
from anyhook.worker.process_state import (
    change_environment,
    ignore_signals,
    lowest_free_descriptor,
    read_output,
    redirect_streams,
    scratch_file,
)
from anyhook.worker.protocol import (
    FrameError,
    Reply,
    frame,
    pack_accepted,
    pack_cold,
    pack_reply,
    parse_request,
)
from anyhook.worker.sample import sample_hooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import NoReturn

    from anyhook.authoring.hooks import Hooks
    from anyhook.worker.code_report import CodeReport
    from anyhook.worker.load_trace import LoadTrace
    from anyhook.worker.protocol import WorkerRequest
    from anyhook.worker.slots import Slot

CONNECTED, ANSWERED, FINISHED, MUST_END = b"A", b"D", b"F", b"E"
"""What a child reports to its server: it took a connection, which it passes on with the file of its
output; it answered an event; it did what else was asked; the server has to end."""
MESSAGE_SIZE = 5
"""Bytes of a report: kind and process."""
LESS_URGENT = 10
"""Added to the niceness of a child that records: its client, the agent and others go first."""
LATE_DELAY = 0.25
"""Seconds from the deadline of the functions until the server ends a child that has not answered:
it blocks signals, or hangs in compiled code."""
_encode = json.JSONEncoder().encode
"""Taken before a hook can replace functions."""


@dataclass
class LoadedHookFile:
    """A hook file that is ready for events.

    Attributes:
        hooks: Its functions.
        arguments: What it passes to `hooks.run()`; `None` for the arguments of each event.
        trace: What loading read.
        report: Keeps the code that is loaded.
        set_variables: Variables that loading has set.
        removed_variables: Variables that loading has removed.
    """

    hooks: Hooks
    arguments: Sequence[str] | None
    trace: LoadTrace
    report: CodeReport
    set_variables: dict[bytes, bytes]
    removed_variables: frozenset[bytes]


class ServerState(Protocol):
    """What a child uses of the server from which it was forked (`anyhook.worker.server.Server`)."""

    loaded: LoadedHookFile
    listener: socket.socket
    lifeline: int
    child_control: socket.socket
    sample: bytes
    variables: dict[bytes, bytes]

    def status(self) -> dict[str, Any]:
        """Return the status of the server."""
        ...


class WorkerChild:
    """The process, before and while it answers.

    Args:
        server: The server that it was forked from.
        slot: What it shares with the server.
    """

    def __init__(self, server: ServerState, slot: Slot) -> None:
        self._server = server
        self._pid = getpid()
        self.slot = slot
        self._control = server.child_control
        self._output_file = scratch_file()
        self._link: socket.socket
        self._variables = server.variables

    def run(self) -> NoReturn:
        """Wait for a connection, do what is asked, and exit."""
        client_waits = _poll_exclusively(self._server.listener).poll(0)
        if not client_waits:  # it would wait longer than the rehearsal saves
            self.rehearse()
        redirect_streams(self._output_file)
        poll = _poll_exclusively(self._server.listener)
        poll.register(self._server.lifeline, select.POLLIN)
        link = None
        while link is None:  # a connection of another user does not count
            ready = {fd for fd, _ in poll.poll()}
            if self._server.lifeline in ready:
                os._exit(0)
            link = accept(self._server.listener)
        self._link = link
        fds = [self._link.fileno(), self._output_file]
        socket.send_fds(self._control, [self._message(CONNECTED)], fds)
        body = read_body(self._link)
        if body is None:
            self._exit(FINISHED)
        if body[:1] in (STATUS, STOP):
            send_quietly(self._link, status_frame(self._server.status()))
            self._exit(MUST_END if body[:1] == STOP else FINISHED)
        try:
            request = parse_request(body)
        except FrameError:
            self._exit(FINISHED)
        self._answer(request)

    def close(self) -> None:
        """Close the file of the output: this process runs no hook."""
        os.close(self._output_file)

    def rehearse(self) -> None:
        """Answer a sample event over a connection of this process with itself.

        It calls no function of the user. The first event that a process answers writes to pages
        that it shares with its server, and each of them is copied. Without a rehearsal in each
        child, an answer takes twice as long.
        """
        forget_commands()  # the server has read the sample's command line: a child would skip it
        try:
            with connected_pair() as (link, client):
                self._link = link
                client.sendall(frame(self._server.sample))
                request = parse_request(read_body(link) or b"")
                socket.send_fds(link, [self._message(CONNECTED)], [link.fileno()])
                self._reload_reason(request)
                self._begin(request)
                output = _Connection(self)
                answer(sample_hooks, (), request.payload, output)
                flush_streams()
                self.send(output)
            os.chdir("/")
        except (OSError, FrameError):  # the environment is larger than what a socket holds
            return
        finally:
            self.slot.clear()

    def _answer(self, request: WorkerRequest) -> NoReturn:
        reason = self._reload_reason(request)
        if reason is not None:
            send_quietly(self._link, pack_cold(reason))
            self._exit(MUST_END)
        try:
            self._begin(request)
        except OSError:  # the client runs the hook itself, or is gone
            self._exit(FINISHED)
        loaded = self._server.loaded
        arguments = sys.argv[1:] if loaded.arguments is None else loaded.arguments
        output = _Connection(self)
        answer(loaded.hooks, arguments, request.payload, output)
        with suppress(BaseException):  # the answer is fixed, and counts
            has_open_files = lowest_free_descriptor() != self._lowest_descriptor
            end_warm_hook(has_open_files=has_open_files)
        self.reply(output)

    def _begin(self, request: WorkerRequest) -> None:
        """Take an event, and make the process look as if it had been started for it.

        Raises:
            OSError: If the working directory is not there, or the client is gone.
        """
        loaded = self._server.loaded
        cwd, *argv = map(os.fsdecode, request.words)
        os.chdir(cwd)
        os.umask(request.umask)
        variables = {**request.environ, **loaded.set_variables}
        for name in loaded.removed_variables:
            variables.pop(name, None)
        change_environment(self._variables, variables)
        self._variables = variables
        sys.argv = argv
        sys.orig_argv = [sys.executable, *argv]
        ignore_signals(request.ignored_signals)
        self._link.sendall(pack_accepted(self._pid))
        self.slot.begin(self._pid)
        self._environ = request.environ
        self._files = [file_identity(file) for file in (self._link.fileno(), self._output_file)]
        self._lowest_descriptor = lowest_free_descriptor()

    def _reload_reason(self, request: WorkerRequest) -> str | None:
        """Return why the hook file must be loaded again for an event; `None` if it need not."""
        cwd, *argv = map(os.fsdecode, request.words)
        return self._server.loaded.trace.difference(request.environ, cwd, argv)

    def reply(self, output: _Connection) -> NoReturn:
        """Send the reply and exit."""
        if getpid() != self._pid:  # a process that an exit function forked
            exit_now(0)
        flush_streams()
        self.send(output)
        try:
            # The client waits no longer, and the server replaces this process.
            self._control.send(self._message(ANSWERED))
            os.nice(LESS_URGENT)
            with suppress(Exception):  # a full disk, or a hook that has replaced functions
                self._server.loaded.report.keep(self._environ)
            output.record()
        finally:  # the server may be gone
            exit_now(0)

    def send(self, output: _Connection) -> None:
        """Send the reply, unless that was done.

        If the hook has closed or replaced the descriptors, the process exits and leaves it to the
        server.
        """
        if output.is_sent:
            return
        files = [file_identity(file) for file in (self._link.fileno(), self._output_file)]
        if files != self._files:
            exit_now(0)
        reply = output.reply
        try:
            printed = read_output(self._output_file)
        except OSError:  # a thread of the hook has closed it since
            exit_now(0)
        packed = pack_reply(reply.replace(err=printed + reply.err))
        output.is_sent = True
        self.slot.begin_sending()
        send_quietly(self._link, packed)

    def _exit(self, report: bytes) -> NoReturn:
        try:
            self._control.send(self._message(report))
        finally:  # the server may be gone
            exit_now(0)

    def _message(self, kind: bytes) -> bytes:
        return kind + self._pid.to_bytes(MESSAGE_SIZE - 1, "little")


class _Connection(Output):
    """Shares the answer with the server until it is sent together with standard error.

    Attributes:
        reply: The answer and the exit code.
        is_sent: Whether it is sent.
    """

    def __init__(self, child: WorkerChild) -> None:
        self._child = child
        self.reply = Reply(code=0)
        self.is_sent = False

    def watch(
        self,
        seconds: float,
        on_late: Callable[[], None],  # noqa: ARG002 - the server has no functions to call
    ) -> AbstractContextManager[None]:
        """Let the server end the process; its client then runs the hook cold, without time."""
        return _Supervised(self._child.slot, seconds + LATE_DELAY)

    def write(self, text: bytes, fallback: FallbackExit) -> None:
        """Take the answer."""
        lost = fallback.text("its reader is gone")
        reply = Reply(code=self.code, out=text, fallback=lost, fallback_code=fallback.code)
        self._fix(reply)

    def fail(self, fallback: FallbackExit, why: str) -> None:
        """Take an exit code in place of an answer."""
        self.code = fallback.code
        self.is_denial = fallback.code == BLOCKING_EXIT
        self._fix(Reply(code=fallback.code, err=fallback.text(why)))

    def _fix(self, reply: Reply) -> None:
        self.reply = reply
        if self.is_denial:
            self._child.slot.end_in(self.exit_seconds)
        if not self._child.slot.fix(reply):
            self._child.send(self)  # without what exit functions print

    def leave(self) -> NoReturn:
        """Send the answer and exit: the functions have exceeded their time."""
        self._child.reply(self)


class _Supervised:
    """A block in which the server ends the process when it takes too long."""

    def __init__(self, slot: Slot, seconds: float) -> None:
        self._slot = slot
        self._seconds = seconds

    def __enter__(self) -> None:
        self._slot.end_in(self._seconds)

    def __exit__(self, *_error: object) -> None:
        self._slot.end_in(None)


# -- connections


def _poll_exclusively(listener: socket.socket) -> select.epoll | select.poll:
    """Return a poll object that wakes one of the waiting children for a connection.

    Without that, all of them wake up and compete for the processor with the one that answers.
    """
    if not hasattr(select, "epoll"):
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        return poll
    epoll = select.epoll()
    epoll.register(listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)
    return epoll


def accept(listener: socket.socket) -> socket.socket | None:
    """Accept a connection; `None` if another process took it or another user made it."""
    try:
        link, _ = listener.accept()
    except OSError:
        return None
    if peer_user(link) != os.getuid():
        link.close()
        return None
    return link


@contextmanager
def connected_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Return both ends of a connection of this process with itself, the accepted one first.

    Raises:
        OSError: If the system has no sockets without a name.
    """
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as client:
        listener.bind("")  # Linux chooses a name that is not a file
        listener.listen(1)
        client.setblocking(False)
        client.connect(listener.getsockname())
        link = accept(listener)
        if link is None:
            raise ConnectionError
        with link:
            yield link, client


def read_body(link: socket.socket) -> bytes | None:
    """Read a request; `None` if it is not one that a client of this package sends.

    A client has written all of it before it waits, so one that is slower is none of ours.
    """
    try:
        body = read_frame(link, ACCEPT_TIMEOUT)
    except (WorkerUnavailable, OSError):
        return None
    link.settimeout(None)
    return body if body[:1] in (RUN, STATUS, STOP) else None


def status_frame(status: dict[str, Any]) -> bytes:
    """Return the frame that answers `STATUS` and `STOP`."""
    return frame(STATUS_REPLY, _encode(status).encode())


def send_quietly(link: socket.socket, data: bytes) -> None:
    """Send data to a client, which may be gone."""
    try:
        link.sendall(data)
    except OSError:
        return
