"""A started command: its pipes, its output, and how it is ended. Nothing here waits.

The two ways to wait, `run` (on an event loop) and `blocking`, drive the same steps: a generator
does what can be done at once, then yields how many seconds to wait at most until one of the
child's descriptors is ready.
"""

from __future__ import annotations

import os
import signal
import time

from anyhook.processes.exit_watch import reap, watch_exit
from anyhook.processes.result import REPLY_LIMIT, KeptOutput, ProcessResult
from anyhook.processes.tree import POLL, RUN_VARIABLE, ProcessTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    Spawn = Callable[[Sequence[str], Mapping[str, str], Sequence[int]], int]
    """Starts a program from arguments, environment and three descriptors; returns its ID."""
    Steps = Generator[float, None, None]
    """Seconds to wait at most for a descriptor before the next step."""

CHUNK = 64 * 1024
"""Bytes in one read: the capacity of a pipe on Linux."""
READS = 16
"""Reads from one stream before the others and the event loop get their turn."""
GRACE = 1.0
"""Seconds from SIGTERM to SIGKILL: enough to remove a temporary file, short enough to wait for."""
REAP_TIMEOUT = 1.0
"""Seconds to wait for the end of a killed process; more would mean a stuck kernel call."""
DRAIN = 0.2
"""Seconds that the streams may stay open after the command ended. Its own output is there already;
this is for the last lines of a `| tee` behind it."""
DRAIN_SILENT = 1.0
"""The same while standard output is still empty: then the last lines are its whole answer."""
STATUS_LOST = (
    "its exit status is lost: something in this process reaps all children (a handler of SIGCHLD, "
    "or SIGCHLD is ignored)"
)


class Child:
    """A running command in a process group of its own.

    `spawn` starts the command as the leader of a new process group. `output_limit` is in bytes of
    each stream; of a JSON reply, `REPLY_LIMIT` are kept.

    Raises:
        OSError: If it cannot be started or watched. Nothing is left then.
        ValueError: If the system cannot take the arguments or the environment.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        stdin: bytes,
        *,
        spawn: Spawn,
        output_limit: int,
    ) -> None:
        self.exited = False
        self.was_killed = False
        self._started = time.monotonic()
        self._timed_out = False
        self._held_open = False
        self._survivors: list[int] = []
        self._status: int | None = None
        self._unsent = memoryview(stdin)
        self._tree = ProcessTree(env)
        env = {**env, RUN_VARIABLE: self._tree.variable}
        child_ends, own_ends = _open_pipes()
        try:
            self.pid = self._tree.leader = spawn(argv, env, child_ends)
        except BaseException as error:
            _close_all(own_ends)
            if not isinstance(error, OSError | ValueError):
                # A signal interrupts this process: the command may run already, and only its mark
                # is known.
                _reap(self._tree.send(signal.SIGKILL))
            raise
        finally:
            _close_all(child_ends)
        for fd in own_ends:
            os.set_blocking(fd, False)
        stdin_fd, stdout_fd, stderr_fd = own_ends
        self._stdin: int | None = stdin_fd
        self._stdout = KeptOutput(output_limit, REPLY_LIMIT)
        self._stderr = KeptOutput(output_limit)
        self._outputs = {stdout_fd: self._stdout, stderr_fd: self._stderr}
        try:
            self._exit_watch = watch_exit(self.pid)
        except BaseException:  # a command that cannot be watched must not run on
            self._signal_all(signal.SIGKILL)
            self._close_pipes()
            reap(self.pid, -1)
            raise
        self._write()

    # -- what a driver waits for

    @property
    def exit_fd(self) -> int:
        """Becomes readable when the command exits."""
        return self._exit_watch.fd

    @property
    def has_unsent_input(self) -> bool:
        """Whether the command has not taken all of its input."""
        return self._stdin is not None

    @property
    def is_finished(self) -> bool:
        """Whether the command has ended and all holders of its output have closed it."""
        return self.exited and not self._outputs

    def fds_to_read(self) -> list[int]:
        """Return the descriptors that make the next step due when they are readable."""
        return [*self._outputs] if self.exited else [self.exit_fd, *self._outputs]

    def fds_to_write(self) -> list[int]:
        """Return the descriptors that make the next step due when they are writable."""
        return [] if self._stdin is None else [self._stdin]

    # -- steps

    def run(self, timeout: float | None) -> Steps:
        """Move input and output until the command has ended, at most until its deadline.

        The timeout counts in seconds from the start; `None` for no limit.
        """
        deadline = float("inf") if timeout is None else self._started + timeout
        has_exited = yield from self._move_until(lambda: self.exited, deadline)
        if not has_exited:
            self._timed_out = True
            return
        deadline = time.monotonic() + (DRAIN_SILENT if self._stdout.is_empty else DRAIN)
        self._held_open = not (yield from self._move_until(lambda: self.is_finished, deadline))

    def stop(self, grace: float) -> Steps:
        """Kill what is left: all processes, or what still holds the output of an ended command.

        Bounded by `grace`, from SIGTERM to SIGKILL, plus `REAP_TIMEOUT`. It may be called again
        if the steps of a first call were left.
        """
        if self.exited and not self.was_killed:
            if self._outputs:
                self._signal_group(signal.SIGKILL)
            return
        self.was_killed = True
        deadline = time.monotonic() + grace
        others = self._signal_all(signal.SIGTERM)
        yield from self._move_until(lambda: self.is_finished, deadline)
        while others and time.monotonic() < deadline:
            yield from self._pause()
            others = self._tree.others()
        deadline = time.monotonic() + REAP_TIMEOUT
        self._survivors = self._signal_all(signal.SIGKILL)
        yield from self._move_until(lambda: self.exited, deadline)
        while self._survivors and time.monotonic() < deadline:
            yield from self._pause()
            self._survivors = self._tree.send(signal.SIGKILL)

    def _move_until(
        self, is_done: Callable[[], bool], deadline: float
    ) -> Generator[float, None, bool]:
        """Move bytes until a condition holds. Returns whether it does."""
        while True:
            # The clock comes before the last look: a host that was stopped past the deadline
            # still finds what the command did in time.
            is_late = time.monotonic() >= deadline
            self._move()
            if is_done():
                return True
            if is_late:
                return False
            yield max(0.0, deadline - time.monotonic())

    def _pause(self) -> Steps:
        """Give killed processes a moment to disappear, and keep their output flowing."""
        self._move()
        yield POLL

    def _move(self) -> None:
        """Do what can be done now: notice the exit, read output, write input."""
        if not self.exited:
            self.exited = self._exit_watch.has_exited()
        for fd in [*self._outputs]:
            self._read(fd)
        self._write()

    def _read(self, fd: int) -> None:
        for _ in range(READS):
            try:
                chunk = os.read(fd, CHUNK)
            except BlockingIOError:
                return
            except OSError:
                chunk = b""
            if not chunk:
                del self._outputs[fd]
                os.close(fd)
                return
            self._outputs[fd].add(chunk)

    def _write(self) -> None:
        if self._stdin is None:
            return
        try:
            while self._unsent:
                self._unsent = self._unsent[_write(self._stdin, self._unsent[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # a command does not have to read its input
            pass
        os.close(self._stdin)
        self._stdin = None

    def _signal_all(self, number: signal.Signals) -> list[int]:
        """Signal every process of the command.

        Return the IDs of all processes but the command itself that still ran.
        """
        # The tree first: a process whose parent has ended can no longer be found by its parent.
        others = self._tree.send(number)
        self._signal_group(number)
        return others

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)  # it is not reaped, so the ID is its own
        except (ProcessLookupError, PermissionError):
            return

    # -- the end

    def close(self) -> None:
        """Close the pipes and reap the command. One that is stuck in the kernel is a survivor."""
        self._close_pipes()
        if self.exited:
            self._status = reap(self.pid, self.exit_fd)
        else:
            self._survivors = sorted({self.pid, *self._survivors})
        self._exit_watch.close()

    def _close_pipes(self) -> None:
        _close_all(self._outputs)
        self._outputs.clear()
        if self._stdin is not None:
            os.close(self._stdin)
            self._stdin = None

    def result(self) -> ProcessResult:
        """Return how the command ended; after `close`."""
        exit_code, signal_name, error = self._status, None, None
        if exit_code is None:
            if self.exited and not self._timed_out:
                error = STATUS_LOST
        elif exit_code < 0:
            number, exit_code = -exit_code, None
            try:
                signal_name = signal.Signals(number).name
            except ValueError:
                signal_name = f"signal {number}"
        return ProcessResult(
            exit_code=exit_code,
            signal=signal_name,
            stdout_bytes=self._stdout.content(),
            stderr_bytes=self._stderr.content(),
            stdout_truncated=self._stdout.truncated,
            stderr_truncated=self._stderr.truncated,
            timed_out=self._timed_out,
            survivors=tuple(self._survivors),
            held_open=self._held_open,
            duration=time.monotonic() - self._started,
            error=error,
        )


def describe_start_error(error: Exception, argv: Sequence[str], cwd: str | None = None) -> str:
    """Say why a command could not be started."""
    is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
    if is_missing and cwd is not None and not os.path.isdir(cwd):
        return f"the working directory {cwd!r} does not exist"
    return f"{argv[0]!r} cannot be started: {getattr(error, 'strerror', None) or error}"


def _open_pipes() -> tuple[list[int], list[int]]:
    """Open three pipes whose ends are not 0 to 2, even if the standard streams are closed.

    `posix_spawn` would leave an end that is where it belongs close-on-exec.

    Return the ends of the child and the ends of this process: input, output, errors.
    """
    pipes: list[tuple[int, int]] = []
    standard: list[int] = []
    try:
        while len(pipes) < 3:
            pipe = os.pipe()
            if min(pipe) < 3:
                standard += pipe
            else:
                pipes.append(pipe)
    except OSError:
        for pipe in pipes:
            _close_all(pipe)
        raise
    finally:
        _close_all(standard)
    (stdin_read, stdin_write), (stdout_read, stdout_write), (stderr_read, stderr_write) = pipes
    return [stdin_read, stdout_write, stderr_write], [stdin_write, stdout_read, stderr_read]


def _reap(pids: Iterable[int]) -> None:
    """Reap processes that were killed, as far as they are children of this one."""
    for pid in pids:
        try:
            os.waitpid(pid, 0)
        except ChildProcessError:  # a child of the command
            continue


def _close_all(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)


def _write(fd: int, data: memoryview) -> int:
    """Write to a pipe whose reader may be gone, also in a host that SIGPIPE would kill."""
    if signal.getsignal(signal.SIGPIPE) is not signal.SIG_DFL:
        return os.write(fd, data)
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        return os.write(fd, data)
    except BrokenPipeError:
        if signal.SIGPIPE not in previous:
            signal.sigwait({signal.SIGPIPE})
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
