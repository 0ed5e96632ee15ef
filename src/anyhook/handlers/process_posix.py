"""Child processes on Linux and macOS.

Everything that can happen to a child (its input can be written, its output read, it exited) is
watched through one selector, whose own descriptor is readable when any of it happens. So the
moving of bytes is a plain state machine without tasks, and one `wait_readable` makes it run on
every event loop.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import anyio

from anyhook.handlers.process import DRAIN, DRAIN_SILENT, ProcessResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyhook.handlers.plain import Direct

CHUNK = 64 * 1024
"""Bytes in one read: the capacity of a pipe on Linux."""
READS = 16
"""Reads from one stream before the others and the event loop get their turn."""
STATUS_LOST = (
    "its exit status is lost: something in this process reaps all children (a handler of SIGCHLD, "
    "or SIGCHLD is ignored)"
)
QUIET = 0.015
"""Seconds in which only the end of a command is watched: a quick one costs one wake-up instead of
four. Its output waits in the pipe; a command that fills the pipe waits no longer than this."""
HURRY = 0.25
"""Seconds from SIGTERM to SIGKILL where somebody cancels twice."""
REAP = 1.0
"""Seconds to wait for the end of a killed process; more would mean a stuck kernel call."""


async def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes,
    timeout: float | None,
    grace: float,
    output_limit: int,
    direct: Direct | None,
) -> ProcessResult:
    """Run a command; see `anyhook.handlers.process.run_process`."""
    started = time.perf_counter()
    try:
        child = _Child(argv, cwd, env, stdin, output_limit, direct=direct)
    except (OSError, ValueError) as error:
        return ProcessResult(error=_spawn_error(error, argv, cwd))
    timed_out = False
    try:
        if child.input_is_done and (timeout is None or timeout > QUIET):
            with anyio.move_on_after(QUIET):
                await anyio.wait_readable(child.exit_fd)
            timeout = None if timeout is None else timeout - QUIET
        timed_out = not await _until(child, lambda: child.exited, timeout)
        if not timed_out:
            child.pump()
            bound = DRAIN if child.stdout.started else DRAIN_SILENT
            await _until(child, lambda: child.closed, bound)
    finally:
        held_open = not child.closed
        try:
            if timed_out or not child.exited or held_open:
                with anyio.CancelScope(shield=True):
                    await _end(child, grace if not child.exited else 0.0)
        except BaseException:  # cancelled again, past the shield: asyncio's own way
            child.kill_now()
            raise
        finally:
            child.close()
    return child.result(timed_out, held_open and not timed_out, time.perf_counter() - started)


async def _until(child: _Child, done: Callable[[], bool], timeout: float | None) -> bool:
    """Move bytes until something holds. Returns whether it does."""
    child.pump()
    if done():
        return True
    with anyio.move_on_after(timeout):
        while not done():
            await anyio.wait_readable(child.fileno())
            child.pump()
    return done()


async def _end(child: _Child, grace: float) -> None:
    """End the whole group, politely first. Bounded: grace, then the time to reap."""
    if grace > 0:
        child.send(signal.SIGTERM)
        await _until(child, lambda: child.exited and child.closed, grace)
    child.send(signal.SIGKILL)
    await _until(child, lambda: child.exited, REAP)


def _spawn_error(error: Exception, argv: Sequence[str], cwd: str) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.isdir(cwd):  # noqa: PTH112
        return f"the working directory {cwd!r} does not exist"
    text = getattr(error, "strerror", None) or str(error)
    return f"{argv[0]!r} cannot be started: {text}"


class _Child:
    """A running command, the pipes to it, and what it has said so far."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes,
        output_limit: int,
        *,
        direct: Direct | None,
    ) -> None:
        self.exited = False
        self.status_lost = False
        self._pending = memoryview(stdin)
        self._selector = selectors.DefaultSelector()
        with contextlib.ExitStack() as undo:
            undo.callback(self._selector.close)
            child_ends, (write_end, *read_ends) = _pipes(undo)
            self._process = _start(argv, cwd, env, child_ends, direct)
            for end in child_ends:
                os.close(end)
            undo.pop_all()
        self.stdout, self.stderr = (_Stream(fd, output_limit) for fd in read_ends)
        self._streams = {stream.fd: stream for stream in (self.stdout, self.stderr)}
        self._stdin = write_end
        with contextlib.ExitStack() as undo:
            undo.callback(self._abandon, (write_end, *read_ends))
            self._watch(undo)
            undo.pop_all()
        self._write()

    def _watch(self, undo: contextlib.ExitStack) -> None:
        self.exit_fd, self._exit_closer = _watch_exit(self._process.pid)
        undo.callback(self._exit_closer)
        for fd in self._streams:
            self._selector.register(fd, selectors.EVENT_READ)
        self._selector.register(self.exit_fd, selectors.EVENT_READ)
        self._selector.register(self._stdin, selectors.EVENT_WRITE)

    def _abandon(self, descriptors: tuple[int, ...]) -> None:
        """End a command that cannot be watched (no descriptor is left); it must not outlive us."""
        self.send(signal.SIGKILL)
        self._process.wait()
        for fd in descriptors:
            os.close(fd)
        self._selector.close()

    @property
    def input_is_done(self) -> bool:
        """Whether nothing is left to write."""
        return self._stdin < 0

    @property
    def closed(self) -> bool:
        """Whether nobody holds the output any more."""
        return not self._streams

    def fileno(self) -> int:
        """A descriptor that is readable when there is something to do."""
        selector: Any = self._selector  # every selector with a descriptor of its own has this
        number: int = selector.fileno()
        return number

    def pump(self) -> None:
        """Do what can be done now, without waiting."""
        for key, _ in self._selector.select(0):
            if key.fd == self.exit_fd:
                self.exited = True
                self._selector.unregister(self.exit_fd)
            elif key.fd == self._stdin:
                self._write()
            else:
                self._read(self._streams[key.fd])

    def send(self, number: signal.Signals) -> None:
        """Signal the whole group. The command is not reaped yet, so its number is its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def kill_now(self) -> None:
        """End the whole group, with little patience, and wait for that without an event loop."""
        for number, patience in ((signal.SIGTERM, HURRY), (signal.SIGKILL, REAP)):
            self.send(number)
            deadline = time.monotonic() + patience
            while not self.exited and time.monotonic() < deadline:
                self._selector.select(deadline - time.monotonic())
                self.pump()

    def close(self) -> None:
        """Let go of everything and reap the command."""
        self._close_stdin()
        for stream in (self.stdout, self.stderr):
            self._close_stream(stream)
        self._exit_closer()
        self._selector.close()
        if self.exited:
            self._reap()
        else:  # stuck in the kernel; the interpreter reaps it when it lets go
            self._process.poll()

    def _reap(self) -> None:
        """Take the exit status, and notice if somebody else took it.

        `Popen.wait` says 0 when a handler of SIGCHLD in the host was faster, which would turn a
        block into an approval.
        """
        try:
            _, status = os.waitpid(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            self.status_lost = True
            self._process.returncode = 0  # so that nobody waits for it any more

    def result(self, timed_out: bool, held_open: bool, duration: float) -> ProcessResult:
        """Say how it ended."""
        code = self._process.returncode if not self.status_lost else None
        killed_by = -code if code is not None and code < 0 else None
        return ProcessResult(
            exit_code=code if killed_by is None else None,
            signal=_signal_name(killed_by) if killed_by else None,
            stdout=self.stdout.text(),
            stderr=self.stderr.text(),
            stdout_truncated=self.stdout.truncated,
            stderr_truncated=self.stderr.truncated,
            timed_out=timed_out,
            held_open=held_open,
            duration=duration,
            error=STATUS_LOST if self.status_lost and not timed_out else None,
        )

    def _write(self) -> None:
        try:
            while self._pending:
                self._pending = self._pending[_write(self._stdin, self._pending[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # the command does not read its input, which is its right
            pass
        self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._selector.unregister(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    def _read(self, stream: _Stream) -> None:
        for _ in range(READS):
            try:
                chunk = os.read(stream.fd, CHUNK)
            except BlockingIOError:
                return
            except OSError:
                chunk = b""
            if not chunk:
                self._close_stream(stream)
                return
            stream.keep(chunk)

    def _close_stream(self, stream: _Stream) -> None:
        if self._streams.pop(stream.fd, None):
            self._selector.unregister(stream.fd)
            os.close(stream.fd)


def _start(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    ends: Sequence[int],
    direct: Direct | None,
) -> subprocess.Popen[bytes]:
    if direct is not None:
        with contextlib.suppress(OSError):
            return _spawn(direct.argv, cwd, direct.env, ends, direct.program)
    return _spawn(argv, cwd, env, ends)


def _spawn(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    ends: Sequence[int],
    program: str | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        list(argv),
        executable=program,
        stdin=ends[0],
        stdout=ends[1],
        stderr=ends[2],
        cwd=cwd,
        env=env,
        start_new_session=True,
    )


def _write(fd: int, data: memoryview) -> int:
    """Write to a pipe whose reader may be gone, also in a host that lets SIGPIPE kill it."""
    if signal.getsignal(signal.SIGPIPE) is not signal.SIG_DFL:
        return os.write(fd, data)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        return os.write(fd, data)
    except BrokenPipeError:
        if signal.SIGPIPE not in before:
            signal.sigwait({signal.SIGPIPE})
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Stream:
    """One output stream, kept up to a limit."""

    def __init__(self, fd: int, limit: int) -> None:
        self.fd = fd
        self.started = False
        self.truncated = False
        self._room = limit
        self._chunks: list[bytes] = []

    def keep(self, chunk: bytes) -> None:
        self.started = True
        if len(chunk) > self._room:
            self.truncated = True
            chunk = chunk[: self._room]
        if chunk:
            self._chunks.append(chunk)
            self._room -= len(chunk)

    def text(self) -> str:
        return b"".join(self._chunks).decode("utf-8", "replace")


def _pipes(undo: contextlib.ExitStack) -> tuple[list[int], list[int]]:
    """Make the pipes. Returns the child's ends (stdin, stdout, stderr) and ours, not blocking."""
    child_ends, our_ends = [], []
    for is_input in (True, False, False):
        read_end, write_end = os.pipe()
        undo.callback(os.close, read_end)
        undo.callback(os.close, write_end)
        child_ends.append(read_end if is_input else write_end)
        our_ends.append(write_end if is_input else read_end)
        os.set_blocking(our_ends[-1], False)
    return child_ends, our_ends


def _watch_exit(pid: int) -> tuple[int, Callable[[], None]]:
    """Return a descriptor that becomes readable when a child exits, and what closes it."""
    for watch in (_watch_pidfd, _watch_kqueue):
        try:
            return watch(pid)
        except (OSError, AttributeError):
            continue  # not on this platform, or not allowed in this sandbox
    return _watch_thread(pid)


def _watch_pidfd(pid: int) -> tuple[int, Callable[[], None]]:
    fd = os.pidfd_open(pid)
    return fd, lambda: os.close(fd)


def _watch_kqueue(pid: int) -> tuple[int, Callable[[], None]]:
    kqueue_module: Any = select
    queue = kqueue_module.kqueue()
    event = kqueue_module.kevent(
        pid,
        filter=kqueue_module.KQ_FILTER_PROC,
        flags=kqueue_module.KQ_EV_ADD,
        fflags=kqueue_module.KQ_NOTE_EXIT,
    )
    try:
        queue.control([event], 0)
    except ProcessLookupError:  # it exited already and waits to be reaped
        queue.close()
        read_end, write_end = os.pipe()
        os.close(write_end)
        return read_end, lambda: os.close(read_end)
    except OSError:
        queue.close()
        raise
    return queue.fileno(), queue.close


def _watch_thread(pid: int) -> tuple[int, Callable[[], None]]:
    read_end, write_end = os.pipe()

    def wait() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        os.close(write_end)

    threading.Thread(target=wait, name=f"anyhook-wait-{pid}", daemon=True).start()
    return read_end, lambda: os.close(read_end)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
