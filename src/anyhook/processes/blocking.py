"""Run a command without an event loop, for programs that an agent starts on every event.

They import little: `subprocess` alone would cost the shim 6 ms of CPU time, a sixth of its run.
"""

from __future__ import annotations

import os
import select
import signal

from anyhook.processes.child import GRACE, Child, describe_start_error
from anyhook.processes.programs import find_program
from anyhook.processes.result import OUTPUT_LIMIT, ProcessResult

ENOENT = 2
ENOEXEC = 8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType
    from typing import Any, Self

    from anyhook.processes.child import Spawn, Steps


def run_blocking(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: bytes,
    timeout: float | None,
    output_limit: int,
) -> ProcessResult:
    """Run a command to its end, in its own process group.

    Call it from the main thread. SIGTERM, SIGINT and SIGHUP end the command and then this process.

    The program is looked up on the `PATH` of `env`, which is the whole environment. The timeout is
    in seconds. The result of a command that cannot be started has an `error`.
    """
    if os.name != "posix":
        return ProcessResult(error="command hooks run on Linux and macOS; on Windows, use WSL")
    with _Interrupts() as interrupts:
        try:
            child = Child(argv, env, stdin, spawn=_spawn, output_limit=output_limit)
        except (OSError, ValueError) as error:
            return ProcessResult(error=describe_start_error(error, argv))
        try:
            drive_blocking(child, child.run(timeout), interrupts)
            if interrupts.number is None:
                drive_blocking(child, child.stop(GRACE), interrupts)
            if interrupts.number is not None:
                drive_blocking(child, child.stop(GRACE / 2))
                os._exit(128 + interrupts.number)
        finally:
            child.close()
    return child.result()


def run_in_thread(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], stdin: bytes, timeout: float
) -> ProcessResult:
    """Run a command to its end, from any thread. An exception, like Ctrl-C, kills the command.

    The timeout is in seconds. The result of a command that cannot be started has an `error`.
    """
    if os.name != "posix":
        return ProcessResult(error="commands run on Linux and macOS; on Windows, use WSL")
    try:
        child = Child(argv, env, stdin, spawn=spawn_in(cwd), output_limit=OUTPUT_LIMIT)
    except (OSError, ValueError) as error:
        return ProcessResult(error=describe_start_error(error, argv, cwd))
    try:
        drive_blocking(child, child.run(timeout))
    finally:
        if not child.is_finished:
            drive_blocking(child, child.stop(GRACE))
        child.close()
    return child.result()


def drive_blocking(child: Child, steps: Steps, interrupts: _Interrupts | None = None) -> None:
    """Take the steps of a child until they end, or until a signal interrupts them."""
    for seconds in steps:
        if interrupts is not None and interrupts.number is not None:
            return
        poll = select.poll()
        for fd in child.fds_to_read():
            poll.register(fd, select.POLLIN)
        for fd in child.fds_to_write():
            poll.register(fd, select.POLLOUT)
        if interrupts is not None:
            poll.register(interrupts.fd, select.POLLIN)
        poll.poll(None if seconds == float("inf") else seconds * 1000)


def start_detached(argv: Sequence[str], *, env: Mapping[str, str], stdin: bytes) -> None:
    """Start a command that outlives this process and whose output is discarded.

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


def spawn_in(directory: str) -> Spawn:
    """Return a function that starts a program in a directory, in a session of its own."""
    import subprocess

    def spawn(argv: Sequence[str], env: Mapping[str, str], fds: Sequence[int]) -> int:
        stdin_fd, stdout_fd, stderr_fd = fds
        process = subprocess.Popen(
            argv,
            cwd=directory,
            env=env,
            stdin=stdin_fd,
            stdout=stdout_fd,
            stderr=stderr_fd,
            start_new_session=True,
        )
        process.returncode = 0  # `Child` reaps it; see `exit_watch.reap`
        return process.pid

    return spawn


class _Interrupts:
    """Records the signals that would end this process, so that its command is ended first.

    Attributes:
        number: The signal that arrived.
        fd: Becomes readable when a signal arrives.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.fd, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # a host may protect its hooks
                self._previous[number] = signal.signal(number, self._record)
        # Ignored, it would make the kernel discard the exit code.
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            self._previous[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        os.close(self.fd)
        os.close(self._write_end)

    def _record(self, number: int, _frame: FrameType | None) -> None:
        self.number = number


def _spawn(argv: Sequence[str], env: Mapping[str, str], fds: Sequence[int]) -> int:
    """Start a program in a process group of its own."""
    path = find_program(argv[0], env)
    if path is None:
        raise FileNotFoundError(ENOENT, "No such file or directory", argv[0])
    try:
        return _posix_spawn(path, argv, env, fds)
    except OSError as error:
        if error.errno != ENOEXEC:
            raise
    # A script without a first line that names its interpreter: every shell runs it itself.
    return _posix_spawn("/bin/sh", ["/bin/sh", path, *argv[1:]], env, fds)


def _posix_spawn(path: str, argv: Sequence[str], env: Mapping[str, str], fds: Sequence[int]) -> int:
    return os.posix_spawn(
        path,
        list(argv),
        dict(env),
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(fds)],
        setpgroup=0,
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # which Python ignores
    )
