"""One command run by a small program that does nothing else: no event loop, few imports.

The engine runs commands with `anyhook.processes.process`; this is for programs that an agent starts
on every event, where each import costs the agent a millisecond.
"""

from __future__ import annotations

import os

from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

CHUNK = 64 * 1024
OUTPUT_LIMIT = 16 * 1024 * 1024
"""Bytes of each stream that are kept; the rest is read and thrown away."""
GRACE = 1.0
"""Seconds from SIGTERM to SIGKILL."""
DRAIN = 0.2
"""Seconds that the streams may stay open after the command ended."""
DRAIN_SILENT = 1.0
"""The same while standard output is still empty."""
POLL = 0.02
"""Seconds between two looks for processes that are being ended."""
NO_PROGRAM = 8
"""ENOEXEC: a file that may be run and does not say how."""


class PlainEnd(Record, kw_only=False):
    """How a command ended.

    Attributes:
        code: Exit code; `None` if a signal or its deadline ended it, or it never started.
        signal: The number of the signal.
        stdout: What it printed.
        stderr: What it printed there.
        truncated: Standard output was longer than the limit.
        timed_out: It did not end by its deadline.
        survivors: Numbers of its processes that could not be ended then.
        error: Why it could not be started.
    """

    code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False
    timed_out: bool = False
    survivors: tuple[int, ...] = ()
    error: str | None = None


def run_plain(
    argv: Sequence[str], *, env: Mapping[str, str], stdin: bytes, timeout: float | None = None
) -> PlainEnd:
    """Run a command to its end.

    While it runs, SIGTERM, SIGINT and SIGHUP end it and then this process too.

    Args:
        argv: Program, looked for on the PATH of `env`, and arguments.
        env: Its whole environment.
        stdin: What it reads.
        timeout: Seconds; `None` for no deadline.

    Returns:
        How it ended. What goes wrong is a value, not an exception.
    """
    run = _run_posix if os.name == "posix" else _run_elsewhere
    try:
        return run(argv, env, stdin, timeout)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
        return PlainEnd(error=f"{argv[0]} cannot be run: {said}")


def start_detached(argv: Sequence[str], *, env: Mapping[str, str], stdin: bytes) -> None:
    """Start a command that outlives this process and whose output nobody reads.

    Raises:
        OSError: If it cannot be started.
    """
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        subprocess.Popen(
            argv,
            env=dict(env),
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


# -- Linux and macOS


def _run_posix(
    argv: Sequence[str], env: Mapping[str, str], stdin: bytes, timeout: float | None
) -> PlainEnd:
    child = _Child(stdin)
    try:
        child.start(argv, env)
        timed_out = not child.move(timeout)
        if timed_out:
            child.end()
        return child.result(timed_out=timed_out)
    finally:
        child.close()


def _find(program: str, env: Mapping[str, str]) -> str:
    """Look a program up on the PATH of the command, not of this process."""
    if "/" in program:
        return program
    for directory in os.get_exec_path(dict(env)):
        path = f"{directory or '.'}/{program}"
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - no pathlib here
            return path
    raise FileNotFoundError(2, "No such file or directory", program)


class _Child:
    """A child process in a group of its own, and the bytes that go in and out."""

    def __init__(self, stdin: bytes) -> None:
        import select
        import signal

        self.pid = 0
        self.code: int | None = None
        self.signal: int | None = None
        self.unsent = memoryview(stdin)
        self.kept: dict[int, bytearray] = {}
        self.truncated = False
        self.open: set[int] = set()
        self.poll = select.poll()
        self.before: dict[int, Any] = {}
        self.interrupted = 0
        self.survivors: list[int] = []
        self.drained = False
        self._select = select
        self._signal = signal

    def start(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start the command.

        Raises:
            OSError: If that fails; `close` has to follow all the same.
        """
        signal, select = self._signal, self._select
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # a host may protect its hooks
                self.before[number] = signal.signal(number, self._interrupted)
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # it would eat the exit code
            self.before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        from anyhook.processes.tree import MARK, ProcessTree

        self.tree = ProcessTree(env)
        env = {**env, MARK: self.tree.variable}
        inner, outer = _pipes()
        try:
            self.pid = self._spawn(_find(argv[0], env), argv, env, inner)
        except OSError as error:
            if error.errno != NO_PROGRAM:
                raise
            script = ["/bin/sh", _find(argv[0], env), *argv[1:]]  # as every shell does
            self.pid = self._spawn(script[0], script, env, inner)
        finally:
            self.open.update(outer)
            for fd in inner:
                os.close(fd)
        self.tree.leader = self.pid
        if self.interrupted:  # while it was being started
            self._interrupted(self.interrupted, None)
        self.stdin, self.stdout, self.stderr = outer
        self.kept = {self.stdout: bytearray(), self.stderr: bytearray()}
        for fd, mask in (
            (self.stdin, select.POLLOUT),
            (self.stdout, select.POLLIN),
            (self.stderr, select.POLLIN),
        ):
            os.set_blocking(fd, False)
            self.poll.register(fd, mask)
        self.wake = self._watch()
        self.open.add(self.wake)
        self.poll.register(self.wake, select.POLLIN)

    def _spawn(
        self, path: str, argv: Sequence[str], env: Mapping[str, str], streams: Sequence[int]
    ) -> int:
        return os.posix_spawn(
            path,
            list(argv),
            dict(env),
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in enumerate(streams)],
            setpgroup=0,
            setsigdef=[self._signal.SIGPIPE, self._signal.SIGXFSZ],
        )

    def _watch(self) -> int:
        """Return what becomes readable when the child has ended."""
        if hasattr(os, "pidfd_open"):
            try:
                return os.pidfd_open(self.pid)
            except OSError:  # an old kernel, or a jail that forbids it
                pass
        signal = self._signal
        read, write = os.pipe()
        self.open.update((read, write))
        for fd in (read, write):
            os.set_blocking(fd, False)
        before = signal.signal(signal.SIGCHLD, lambda *_args: None)
        self.before.setdefault(signal.SIGCHLD, before)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        os.write(write, b"x")  # it may have ended already
        self.drained = True
        return read

    def move(self, timeout: float | None) -> bool:
        """Move bytes until the child has ended and said all; `False` at the deadline."""
        import time

        deadline = None if timeout is None else time.monotonic() + timeout
        ended_at: float | None = None
        while True:
            limit = deadline
            if self._has_ended():
                if ended_at is None:
                    self._drop(self.stdin)
                    ended_at = time.monotonic()
                if not self.open & {self.stdout, self.stderr}:
                    return True
                limit = ended_at + (DRAIN if self.kept[self.stdout] else DRAIN_SILENT)
            wait = None if limit is None else (limit - time.monotonic()) * 1000
            if wait is not None and wait <= 0:
                return ended_at is not None
            for fd, _mask in self.poll.poll(wait):
                self._serve(fd)

    def _serve(self, fd: int) -> None:
        if fd not in self.open:
            return
        if fd == self.wake:
            if self.drained:  # a pipe, in which signals leave their numbers
                os.read(fd, CHUNK)
        elif fd == self.stdin:
            self._send()
        else:
            self._receive(fd)

    def _send(self) -> None:
        try:
            self.unsent = self.unsent[os.write(self.stdin, self.unsent[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it does not read its input
            self.unsent = self.unsent[:0]
        if not self.unsent:
            self._drop(self.stdin)

    def _receive(self, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._drop(fd)
            return
        room = OUTPUT_LIMIT - len(self.kept[fd])
        self.kept[fd] += data[:room]
        self.truncated = self.truncated or (fd == self.stdout and len(data) > room)

    def _drop(self, fd: int) -> None:
        if fd in self.open:
            self.poll.unregister(fd)
            self.open.discard(fd)
            os.close(fd)

    def _has_ended(self) -> bool:
        if self.code is not None or self.signal is not None:
            return True
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else reaped it: its status is lost
            pid, status = self.pid, 255 << 8
        if not pid:
            return False
        if os.WIFSIGNALED(status):
            self.signal = os.WTERMSIG(status)
        else:
            self.code = os.WEXITSTATUS(status)
        self._drop(self.wake)
        return True

    def end(self) -> None:
        """End everything that the child started: politely, then not."""
        import time

        polite_until = time.monotonic() + GRACE
        others = self._kill(self._signal.SIGTERM)
        has_ended = self.move(GRACE)
        while others and time.monotonic() < polite_until:
            time.sleep(POLL)
            others = self.tree.others()
        deadline = time.monotonic() + GRACE
        self.survivors = self._kill(self._signal.SIGKILL)
        if not has_ended and not self.move(GRACE):
            self.survivors = [self.pid, *self.survivors]
        while self.survivors and time.monotonic() < deadline:
            time.sleep(POLL)
            self.survivors = self._kill(self._signal.SIGKILL)

    def _kill(self, number: int) -> list[int]:
        """Signal everything; returns what still ran beside the child itself.

        The tree first: a process whose parent has ended can no longer be found by its parent.
        """
        others = self.tree.send(self._signal.Signals(number))
        self._kill_group(number)
        return others

    def _kill_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):  # the whole group is gone already
            return

    def _interrupted(self, number: int, _frame: object) -> None:
        """End the child before the host ends this process the hard way."""
        self.interrupted = number
        if not self.pid:  # it is being started: that comes to its end first
            return
        self._kill(self._signal.SIGTERM)
        self._signal.signal(self._signal.SIGALRM, self._leave)
        self._signal.setitimer(self._signal.ITIMER_REAL, GRACE / 2)
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:  # it has ended, or somebody else reaped it
            self.code = 255
        self._leave(number)

    def _leave(self, _number: int, _frame: object = None) -> None:
        self._kill(self._signal.SIGKILL)
        os._exit(128 + self.interrupted)

    def result(self, *, timed_out: bool) -> PlainEnd:
        """Return how it ended."""
        stdout, stderr = self.kept[self.stdout], self.kept[self.stderr]
        return PlainEnd(
            code=None if timed_out else self.code,
            signal=self.signal,
            stdout=bytes(stdout),
            stderr=bytes(stderr),
            truncated=self.truncated,
            timed_out=timed_out,
            survivors=tuple(self.survivors),
        )

    def close(self) -> None:
        """Give back descriptors and signal handlers, and leave no child behind that runs."""
        if self.pid and self.code is None and self.signal is None:
            self._kill(self._signal.SIGKILL)
        for number, handler in self.before.items():
            self._signal.signal(number, handler)
        if self.drained:
            self._signal.set_wakeup_fd(-1)
        for fd in self.open:
            os.close(fd)
        self.open.clear()


def _pipes() -> tuple[list[int], list[int]]:
    """Open three pipes whose ends are no standard streams, even if those are closed.

    Returns:
        The ends for the child and the ends for this process: input, output, errors.
    """
    fds: list[int] = []
    spare: list[int] = []
    try:
        while len(fds) < 6:
            pair = os.pipe()
            (spare if min(pair) < 3 else fds).extend(pair)
    except OSError:
        spare += fds
        raise
    finally:
        for fd in spare:
            os.close(fd)
    return [fds[0], fds[3], fds[5]], [fds[1], fds[2], fds[4]]


# -- elsewhere


def _run_elsewhere(
    argv: Sequence[str], env: Mapping[str, str], stdin: bytes, timeout: float | None
) -> PlainEnd:
    import subprocess

    try:
        done = subprocess.run(
            argv, env=dict(env), input=stdin, capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as late:
        return PlainEnd(stdout=late.stdout or b"", stderr=late.stderr or b"", timed_out=True)
    return PlainEnd(done.returncode, stdout=done.stdout, stderr=done.stderr)
