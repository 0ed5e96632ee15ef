"""Run the command of a hook in place of an agent, and record what it got and how it ended.

    python tap.py DIRECTORY NUMBER SHELL 9<COMMAND_LINE     a command line, as SHELL -c runs it
    python tap.py DIRECTORY NUMBER -- PROGRAM ARGUMENT...   a program with its arguments

Standard input, output, errors, exit code and signals pass through unchanged, and a process that the
command leaves behind keeps the streams open as it would without this program. It is run by its
path and imports nothing of the package.

Files in DIRECTORY, named by time and process:

    .start  JSON: `tap`, the number; `time`, seconds since the epoch
    .in .out .err  what went through
    .end    JSON: `exit_code`, or `signal`; `seconds`. Missing if the agent killed it.
"""

# ruff: noqa: PTH110, PTH123, PTH202, S606, SIM105 - it starts on every event and imports little

from __future__ import annotations

import os
import select
import signal
import sys
import time

LINE_DESCRIPTOR = 9
CHUNK = 65536
POLL = 0.05
"""Seconds between looks whether this program was killed."""
GRACE = 0.2
"""Seconds that streams may stay open, without output, after the command has ended."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
NOT_FOUND, NOT_EXECUTABLE = 127, 126

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn


def main(directory: str, tap: str, shell: str, *words: str) -> NoReturn:
    """Run a command line or a program, and end as it ends."""
    started = time.time()
    name = f"{directory}/{time.time_ns()}-{os.getpid()}"
    _write_json(f"{name}.start", {"tap": int(tap), "time": started})
    command = list(words) if shell == "--" else [shell, "-c", _read_line()]
    stdin_read, stdin_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    child = os.fork()
    if child == 0:
        _become(command, stdin_read, out_write, err_write)
    os.close(stdin_read)
    os.close(out_write)
    os.close(err_write)
    writer = _fork_pump({0: (stdin_write, f"{name}.in")}, child)
    os.close(stdin_write)
    outputs = {out_read: (1, f"{name}.out"), err_read: (2, f"{name}.err")}
    reader = _fork_pump(outputs, child)
    os.close(out_read)
    os.close(err_read)
    for forwarded in FORWARDED:
        signal.signal(forwarded, lambda number, _frame: _kill(child, number))
    status = _wait(child)
    _wait_for_streams(reader, [f"{name}.out", f"{name}.err"])
    _kill(writer, signal.SIGKILL)
    _wait(writer)
    code = os.waitstatus_to_exitcode(status)
    end = {"exit_code": code} if code >= 0 else {"signal": -code}
    _write_json(f"{name}.end", {**end, "seconds": time.time() - started})
    if code < 0:
        # End by the same signal.
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _read_line() -> str:
    with os.fdopen(LINE_DESCRIPTOR, encoding="utf-8", errors="surrogateescape") as file:
        # The here-document adds a line break.
        return file.read().removesuffix("\n")


def _become(command: list[str], stdin: int, stdout: int, stderr: int) -> NoReturn:
    """Become the command in the child process."""
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    # The interpreter ignores them, and a program inherits that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def _fork_pump(streams: Mapping[int, tuple[int, str]], child: int) -> int:
    process = os.fork()
    if process == 0:
        try:
            _pump(streams, child)
        finally:
            os._exit(0)
    return process


def _pump(streams: Mapping[int, tuple[int, str]], child: int) -> None:
    """Copy descriptors to descriptors and files until all have ended.

    Args:
        streams: Descriptor to the descriptor and the file that get its content.
        child: Process that is killed if this program was: it must not outlive it.
    """
    for number in FORWARDED:
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()
    kept = {number for pair in streams.items() for number in (pair[0], pair[1][0])}
    # Another copy of a pipe's end would keep its reader waiting.
    for descriptor in range(64):
        if descriptor not in kept:
            _close(descriptor)
    copies = {source: os.open(path, _NEW, 0o600) for source, (_, path) in streams.items()}
    targets = {source: target for source, (target, _) in streams.items()}
    waiting = set(streams)
    while waiting:
        ready, _, _ = select.select(list(waiting), [], [], POLL)
        if os.getppid() != parent:
            if 0 in streams:
                _kill(child, signal.SIGKILL)
            return
        for source in ready:
            data = os.read(source, CHUNK)
            if not data:
                waiting.discard(source)
                _close(targets[source])
                continue
            _write_all(copies[source], data)
            try:
                _write_all(targets[source], data)
            except OSError:
                # The command does not read its input, or the agent no longer reads its output. An
                # output that is not read must fail for the command, too.
                if source != 0:
                    waiting.discard(source)
                    _close(source)


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _wait(process: int) -> int:
    while True:
        try:
            return os.waitpid(process, 0)[1]
        except InterruptedError:
            continue


def _wait_for_streams(reader: int, files: list[str]) -> None:
    """Wait until the output has passed, or a process that was left behind holds it open."""
    size, quiet_since = -1, time.monotonic()
    while os.waitpid(reader, os.WNOHANG)[0] == 0:
        current = sum(os.path.getsize(file) for file in files if os.path.exists(file))
        if current != size:
            size, quiet_since = current, time.monotonic()
        elif time.monotonic() - quiet_since > GRACE:
            return
        time.sleep(0.001)


def _kill(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:
        pass


def _write_json(path: str, value: Mapping[str, float]) -> None:
    members = ", ".join(f'"{name}": {number!r}' for name, number in value.items())
    with open(path, "x", encoding="ascii") as file:
        file.write(f"{{{members}}}")


if __name__ == "__main__":
    main(*sys.argv[1:])
