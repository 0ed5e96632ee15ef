"""Child processes on Linux and macOS.

Everything that can happen to a child (its input can be written, its output read, it exited) is
watched through one selector, whose own descriptor is readable when any of it happens. So the
moving of bytes is a plain state machine without tasks, and one `wait_readable` makes it run on
every event loop. A command that takes its input at once and ends soon needs none of that: only
its end is waited for.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import selectors
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from anyhook.processes.child import DRAIN
from anyhook.processes.result import DRAIN_SILENT, REPLY_LIMIT, KeptOutput, ProcessResult
from anyhook.processes.start import start
from anyhook.processes.tree import MARK, POLL, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyhook.shell.plain import Direct

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
SCARCE = 512
"""With fewer descriptors than this that may still be opened, everything is opened beforehand."""
HURRY = 0.25
"""Seconds from SIGTERM to SIGKILL where somebody cancels twice."""
REAP = 1.0
"""Seconds to wait for the end of a killed process; more would mean a stuck kernel call."""


async def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes | Callable[[], bytes],
    timeout: float | None,
    grace: float,
    output_limit: int,
    direct: Direct | None,
) -> ProcessResult:
    """Run a command; see `anyhook.processes.process.run_process`."""
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
                child.read_the_rest()
            timeout = None if timeout is None else timeout - QUIET
        if not child.exited:
            timed_out = not await _until(child, lambda: child.exited, timeout)
        if not timed_out and not child.closed:
            child.pump()
            bound = DRAIN if child.stdout.started else DRAIN_SILENT
            await _until(child, lambda: child.closed, bound)
    except OSError as error:
        if not child.ended_by_itself:
            return ProcessResult(error=_watch_error(error, argv))
    finally:
        held_open = not child.closed
        try:
            if timed_out or not child.exited or held_open:
                with anyio.CancelScope(shield=True):
                    await (_end_group(child) if child.exited else _end(child, grace))
        except OSError:
            child.kill_now()
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
    if not done():  # the host may have been stopped past the deadline, and the command was in time
        child.pump()
    return done()


async def _end(child: _Child, grace: float) -> None:
    """End everything that the command started, politely first.

    Bounded: grace, then the time to reap.
    """
    polite_until = time.monotonic() + grace
    # The tree first: a process whose parent has ended can no longer be found by its parent.
    others = child.tree.send(signal.SIGTERM)
    child.send(signal.SIGTERM)
    await _until(child, lambda: child.exited and child.closed, grace)
    while others and time.monotonic() < polite_until:
        await anyio.sleep(POLL)
        others = child.tree.others()
    child.send(signal.SIGKILL)
    deadline = time.monotonic() + REAP
    child.survivors = child.tree.send(signal.SIGKILL)
    await _until(child, lambda: child.exited, REAP)
    while child.survivors and time.monotonic() < deadline:
        await anyio.sleep(POLL)
        child.survivors = child.tree.send(signal.SIGKILL)


async def _end_group(child: _Child) -> None:
    """End what a command that has ended left in its group, and what still holds its output."""
    child.send(signal.SIGKILL)
    await _until(child, lambda: child.exited, REAP)


def _spawn_error(error: Exception, argv: Sequence[str], cwd: str) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.isdir(cwd):  # noqa: PTH112
        return f"the working directory {cwd!r} does not exist"
    text = getattr(error, "strerror", None) or str(error)
    return f"{argv[0]!r} cannot be started: {text}"


def _nothing() -> None:
    """Do nothing."""


def _watch_error(error: OSError, argv: Sequence[str]) -> str:
    return f"{argv[0]!r} cannot be watched, and was ended: {error.strerror or error}"


class _Child:
    """A running command, the pipes to it, and what it has said so far."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes | Callable[[], bytes],
        output_limit: int,
        *,
        direct: Direct | None,
    ) -> None:
        self.exited = False
        self.ended_by_itself = False
        self.survivors: list[int] = []
        self._is_closed = False
        self.exit_fd, self._exit_closer = -1, _nothing
        self._code: int | None = None
        self._selector: selectors.BaseSelector | None = None
        ends = _pipes()
        self._spare: selectors.BaseSelector | None = None
        try:
            if max(ends.ours) + SCARCE > resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 0:
                self._spare = selectors.DefaultSelector()  # before there is anything to lose
            self.tree = ProcessTree(env)
            self._pid = self.tree.leader = _start(
                argv, cwd, env, ends.theirs, direct, extra=(MARK, self.tree.variable)
            )
        except BaseException:
            ends.close(*ends.ours)
            self._close_spare()
            raise
        finally:
            ends.close(*ends.theirs)
        self._stdin, *read_ends = ends.ours
        out, err = read_ends
        self.stdout = _Stream(out, KeptOutput(output_limit, REPLY_LIMIT))
        self.stderr = _Stream(err, KeptOutput(output_limit))
        self._streams = {stream.fd: stream for stream in (self.stdout, self.stderr)}
        try:
            self.exit_fd, self._exit_closer = _watch_exit(self._pid)
            self._pending = memoryview(stdin() if callable(stdin) else stdin)
            self._write()
        except BaseException:
            self._abandon()
            raise

    def _watch(self) -> selectors.BaseSelector:
        """Watch all that can happen to it. Most commands end before that takes a selector."""
        if self._selector is not None:
            return self._selector
        self.ended_by_itself = self.exited
        selector = None
        try:
            selector, self._spare = self._spare or selectors.DefaultSelector(), None
            for fd in self._streams:
                selector.register(fd, selectors.EVENT_READ)
            if not self.exited:
                selector.register(self.exit_fd, selectors.EVENT_READ)
            if self._stdin >= 0:
                selector.register(self._stdin, selectors.EVENT_WRITE)
        except OSError:
            if selector is not None:
                selector.close()
            self._abandon()
            raise
        self._selector = selector
        return selector

    def _abandon(self) -> None:
        """End a command that cannot be watched; it must not outlive us."""
        self.send(signal.SIGKILL)
        self.tree.send(signal.SIGKILL)
        self.exited = True
        self.close()

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
        selector: Any = self._watch()  # every selector with a descriptor of its own has this
        number: int = selector.fileno()
        return number

    def pump(self) -> None:
        """Do what can be done now, without waiting."""
        selector = self._watch()
        for key, _ in selector.select(0):
            if key.fd == self.exit_fd:
                self.exited = True
                selector.unregister(self.exit_fd)
            elif key.fd == self._stdin:
                self._write()
            else:
                self._read(self._streams[key.fd])

    def read_the_rest(self) -> None:
        """Take what is there of a command that has ended."""
        self.exited = True
        for stream in (self.stdout, self.stderr):
            self._read(stream)

    def _close_spare(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def send(self, number: signal.Signals) -> None:
        """Signal the whole group. The command is not reaped yet, so its number is its own."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def kill_now(self) -> None:
        """End everything, with little patience, and wait for that without an event loop."""
        had_ended = self.exited
        for number, patience in ((signal.SIGTERM, HURRY), (signal.SIGKILL, REAP)):
            left = [] if had_ended else self.tree.send(number)
            self.send(number)
            deadline = time.monotonic() + patience
            with contextlib.suppress(OSError):
                while not self.exited and time.monotonic() < deadline:
                    self._watch().select(deadline - time.monotonic())
                    self.pump()
            while left and time.monotonic() < deadline:
                time.sleep(POLL)
                kills = number is signal.SIGKILL
                left = self.tree.send(number) if kills else self.tree.others()

    def close(self) -> None:
        """Let go of everything and reap the command."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._selector is not None:
            self._selector.close()
            self._selector = None
        self._close_spare()
        self._close_stdin()
        for stream in (self.stdout, self.stderr):
            self._close_stream(stream)
        if self.exited:
            self._code = _reap(self._pid, 0)
            if self._code is None:
                self._code = _code_of_reaped(self.exit_fd)
        self._exit_closer()
        if not self.exited:  # stuck in the kernel
            _stuck.append(self._pid)
            self.survivors = sorted({self._pid, *self.survivors})

    def result(self, timed_out: bool, held_open: bool, duration: float) -> ProcessResult:
        """Say how it ended."""
        code = self._code
        is_lost = self.exited and code is None
        killed_by = -code if code is not None and code < 0 else None
        return ProcessResult(
            exit_code=code if killed_by is None else None,
            signal=_signal_name(killed_by) if killed_by else None,
            stdout=self.stdout.kept.text(),
            stderr=self.stderr.kept.text(),
            stdout_truncated=self.stdout.kept.truncated,
            stderr_truncated=self.stderr.kept.truncated,
            timed_out=timed_out,
            survivors=tuple(self.survivors),
            held_open=held_open,
            duration=duration,
            error=STATUS_LOST if is_lost and not timed_out else None,
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
            self._unwatch(self._stdin)
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
            stream.started = True
            stream.kept.add(chunk)

    def _close_stream(self, stream: _Stream) -> None:
        if self._streams.pop(stream.fd, None):
            self._unwatch(stream.fd)
            os.close(stream.fd)

    def _unwatch(self, fd: int) -> None:
        if self._selector is not None:
            self._selector.unregister(fd)


_stuck: list[int] = []
"""Killed processes that had not ended when they were last looked at."""


def _reap(pid: int, options: int) -> int | None:
    """Take an exit status: a code, minus a signal, or `None` if it is not to be had.

    `Popen.wait` says 0 when a handler of SIGCHLD in the host was faster, which would turn a block
    into an approval.
    """
    try:
        reaped, status = os.waitpid(pid, options)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if reaped else None


PIDFD_GET_INFO = 3 << 30 | 64 << 16 | 0xFF << 8 | 11
"""`_IOWR(0xFF, 11, struct pidfd_info)`, whose first release has 64 bytes (linux/pidfd.h)."""
PIDFD_INFO_EXIT = 1 << 3
_EXIT_STATUS_AT = 60
"""Where the exit status stands in that structure."""


def _code_of_reaped(exit_fd: int) -> int | None:
    """Return the exit code of a child that something else has reaped.

    Linux 6.15 and later keep it for whoever holds a pidfd; `None` where the system does not.
    """
    import fcntl
    import struct

    info = bytearray(64)
    struct.pack_into("Q", info, 0, PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(exit_fd, PIDFD_GET_INFO, info)
    except OSError:
        return None
    (known,) = struct.unpack_from("Q", info)
    if not known & PIDFD_INFO_EXIT:
        return None
    (status,) = struct.unpack_from("i", info, _EXIT_STATUS_AT)
    return os.waitstatus_to_exitcode(status)


def _is_running(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


def _start(
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    ends: Sequence[int],
    direct: Direct | None,
    *,
    extra: tuple[str, str],
) -> int:
    _stuck[:] = [pid for pid in _stuck if _is_running(pid)]
    if direct is not None:
        with contextlib.suppress(OSError):
            return start(
                direct.argv,
                cwd=cwd,
                env=direct.env,
                ends=ends,
                program=direct.program,
                extra=extra,
            )
    return start(argv, cwd=cwd, env=env, ends=ends, extra=extra)


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
    """One output stream: its descriptor, and what came out of it."""

    def __init__(self, fd: int, kept: KeptOutput) -> None:
        self.fd = fd
        self.kept = kept
        self.started = False


class _Ends(NamedTuple):
    """The ends of three pipes: for standard input, output and error."""

    theirs: tuple[int, ...]
    ours: tuple[int, ...]

    @staticmethod
    def close(*descriptors: int) -> None:
        for fd in descriptors:
            os.close(fd)


def _pipes() -> _Ends:
    """Make the pipes; our ends do not block."""
    made: list[int] = []
    try:
        for _ in range(3):
            made += os.pipe()
    except OSError:
        _Ends.close(*made)
        raise
    in_read, in_write, out_read, out_write, err_read, err_write = made
    ours = (in_write, out_read, err_read)
    for fd in ours:
        os.set_blocking(fd, False)
    return _Ends((in_read, out_write, err_write), ours)


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
