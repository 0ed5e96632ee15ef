"""Run the command of a hook in place of an agent, and keep what it got and how it ended.

    python tap.py SINK SHELL 9<COMMAND_LINE     a command line, as SHELL -c runs it
    python tap.py SINK -- PROGRAM ARGUMENT...   a program with its arguments

Standard input, output, errors, exit code and signals pass through unchanged, and a process that the
command leaves behind keeps the streams open as it would without this program. It is run by its
path, starts on every event, and imports nothing of the package before the agent has its answer.

SINK is one of

    files DIRECTORY NUMBER   files for `anyhook probe`, named by time and process:
                             .start  JSON: `tap`, the number; `time`, seconds since the epoch
                             .in .out .err  what went through
                             .end    JSON: `exit_code`, or `signal`; `seconds`. Missing if the agent
                                     killed it.
    history AGENT            a line in the journal of the user's history, without secrets. Nothing
                             is written to a disk before the secrets are replaced.
    shadow AGENT             the same; the output is discarded and the exit code is 0
    tapped-shadow AGENT      the same as `shadow`, of a command that `history` recorded before

It is three processes: this one, which ends as the command ends and forwards signals to it; the
command; and the pump, in a session of its own, which copies the streams and survives a kill of the
whole group to record it. One thing differs: a signal to the whole group may reach the command
twice, because this process cannot know that it was not the only one to get it. It is one module
because it is run by its path.
"""

# ruff: noqa: PTH100, PTH109, PTH120, PTH123, PTH208, S606 - it imports little

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found] # `signal` makes enums: 5 ms
import os
import select
import sys
import time

LINE_DESCRIPTOR = 9
CHUNK = 65536
SAFE_WRITE = 4096
"""Bytes that a pipe or a socket takes without blocking when it can be written at all."""
GRACE = 0.2
"""Seconds in which the output that a command has left in its pipes is passed on after its end."""
LINGER = 1.0
"""Seconds for which the history waits for the rest of the streams after the end of a command."""
INPUT_WAIT = 0.05
"""Seconds in which an agent writes an event that the command did not wait for."""
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
NOT_FOUND, NOT_EXECUTABLE = 127, 126
SHELL = "/bin/sh"
SHADOWS = ("shadow", "tapped-shadow")
RECORDED = "ANYHOOK_RECORDED"
"""Environment variable of commands whose result another process records."""
LESS_URGENT = 10
"""Added to the niceness of the process that records when the agent has its answer."""
MAX_INPUT_SIZE = 16 * 1024 * 1024
MAX_OUTPUT_SIZE = 1024 * 1024
"""Bytes of a stream that the history keeps."""
BROKEN = select.POLLERR | select.POLLHUP | select.POLLNVAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn


def main(kind: str, *arguments: str) -> NoReturn:
    """Run a command line or a program, and end as it ends."""
    sink_words = 2 if kind == "files" else 1
    words = arguments[sink_words:]
    if words[0] == "--":
        command = list(words[1:])
    else:
        with os.fdopen(LINE_DESCRIPTOR, encoding="utf-8", errors="surrogateescape") as file:
            # The here-document adds a line break.
            command = [words[0], "-c", file.read().removesuffix("\n")]
    is_shadow = kind in SHADOWS
    sink: Sink
    if kind == "files":
        sink = Files(arguments[0], int(arguments[1]))
    else:
        if os.environ.get(RECORDED) and not is_shadow:
            _execute(command)
        os.environ[RECORDED] = "1"
        tapped = words[1:] if words[0] == "--" else command[2:]
        sink = Journal(arguments[0], tapped, is_shadow=is_shadow)
    Tap(command, sink, is_shadow=is_shadow).run()


def _execute(command: list[str]) -> NoReturn:
    """Become a command."""
    # The interpreter ignores them, and a program inherits that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        try:
            os.execvp(command[0], command)
        except OSError as error:
            import errno

            if error.errno != errno.ENOEXEC:
                raise
            # A script without an interpreter is run by the shell, as `execvp` of C does.
            os.execv(SHELL, [SHELL, *command])
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        is_missing = isinstance(error, FileNotFoundError)
        os._exit(NOT_FOUND if is_missing else NOT_EXECUTABLE)


class Tap:
    """The process that the agent has started."""

    def __init__(self, command: list[str], sink: Sink, *, is_shadow: bool) -> None:
        self._command = command
        self._sink = sink
        self._is_shadow = is_shadow
        self._child = 0
        self._is_waiting = True

    def run(self) -> NoReturn:
        """Run the command, and end as it ends."""
        self._sink.begin()
        closed = _open_standard_streams()
        forwarded = [n for n in FORWARDED if signal.getsignal(n) is not signal.SIG_IGN]
        signal.pthread_sigmask(signal.SIG_BLOCK, forwarded)
        stdin_read, stdin_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.dup2(stdin_read, 0)
            os.dup2(out_write, 1)
            os.dup2(err_write, 2)
            for descriptor in closed:
                os.close(descriptor)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, forwarded)
            _execute(self._command)
        for descriptor in (stdin_read, out_write, err_write):
            os.close(descriptor)
        self._fork_pump(stdin_write, out_read, err_read)
        for descriptor in (stdin_write, out_read, err_read):
            os.close(descriptor)
        # The streams end when the pump closes them.
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)

        def forward(number: int, _frame: object) -> None:
            if not self._is_waiting:
                _end_by(number)
            _kill(self._child, number)

        for number in forwarded:
            signal.signal(number, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, forwarded)
        code = os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])
        self._is_waiting = False
        self._finish_pump(code)
        if self._is_shadow:
            os._exit(0)
        if code < 0:
            _end_by(-code)
        os._exit(code)

    def _fork_pump(self, stdin_write: int, out_read: int, err_read: int) -> None:
        """Start the pump, which is not a child of this process and in no group of the agent."""
        status_read, self._status = os.pipe()
        self._drained, drained_write = os.pipe()
        between = os.fork()
        if between:
            os.close(status_read)
            os.close(drained_write)
            os.waitpid(between, 0)
            return
        try:
            os.setsid()
            if os.fork():
                os._exit(0)
            _close_all_but({0, 1, 2, stdin_write, out_read, err_read, status_read, drained_write})
            stdin = Stream(0, stdin_write, self._sink.largest_input)
            size, is_shadow = self._sink.largest_output, self._is_shadow
            out = Stream(out_read, 1, size, is_discarded=is_shadow)
            err = Stream(err_read, 2, size, is_discarded=is_shadow)
            stdin.keeps_reading = True
            Pump(self._child, stdin, (out, err), (status_read, drained_write), self._sink).run()
        finally:
            os._exit(0)

    def _finish_pump(self, code: int) -> None:
        """Report the end of the command to the pump, and wait until its output has passed."""
        try:
            os.write(self._status, f"{code}\n".encode())
            os.read(self._drained, 1)
        except OSError:
            return


def _end_by(number: int) -> NoReturn:
    """End this process by a signal."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


class Stream:
    """One direction of what passes through.

    `limit` is the number of bytes that are kept.
    """

    def __init__(self, source: int, target: int, limit: int, *, is_discarded: bool = False) -> None:
        self.source = source
        self.target = target
        self.content = bytearray()
        self.size = 0
        self.is_discarded = is_discarded
        self.keeps_reading = False
        self.has_source = True
        self.has_target = True
        self._limit = limit
        self._waiting = b""

    def register(self, poll: select.poll) -> None:
        """Wait for what has to happen next, and always for the end of the reader."""
        if self.has_target:
            events = select.POLLOUT if self._waiting else 0
            poll.register(self.target, events)
        if self.has_source and not self._waiting:
            poll.register(self.source, select.POLLIN)

    def handle(self, events: Mapping[int, int]) -> None:
        """Copy a part."""
        if self.has_target and events.get(self.target, 0) & BROKEN and not self.is_discarded:
            self._lose_reader()
        if self._waiting and events.get(self.target, 0) & select.POLLOUT:
            self._write()
        elif self.has_source and not self._waiting and events.get(self.source, 0):
            self._read()

    def _read(self) -> None:
        try:
            data = os.read(self.source, CHUNK)
        except OSError:
            data = b""
        if not data:
            self.close_source()
            self._close_target()
            return
        self.size += len(data)
        room = self._limit - len(self.content)
        self.content += data[: max(0, room)]
        if self.has_target and not self.is_discarded:
            self._waiting = data

    def _write(self) -> None:
        try:
            count = os.write(self.target, self._waiting[:SAFE_WRITE])
        except BlockingIOError:
            return
        except OSError:
            self._lose_reader()
            return
        self._waiting = self._waiting[count:]

    def _lose_reader(self) -> None:
        """Stop writing: an output that is not read must fail for the command, too."""
        self._waiting = b""
        self._close_target()
        if not self.keeps_reading:
            self.close_source()

    def close_source(self) -> None:
        """Stop reading."""
        if self.has_source:
            self.has_source = False
            os.close(self.source)

    def _close_target(self) -> None:
        if self.has_target:
            self.has_target = False
            os.close(self.target)

    @property
    def is_idle(self) -> bool:
        """Whether everything that was read is written."""
        return not self._waiting


class Pump:
    """The process that copies the streams and records them.

    `control` holds a descriptor with the exit code of the command, and one that takes a byte when
    its output has passed.
    """

    def __init__(
        self,
        child: int,
        stdin: Stream,
        outputs: tuple[Stream, Stream],
        control: tuple[int, int],
        sink: Sink,
    ) -> None:
        self._child = child
        self._stdin = stdin
        self._outputs = outputs
        self._status, self._drained = control
        self._sink = sink
        self._started = time.time()
        self._clock = time.monotonic()
        self._ended_at: float | None = None
        self._code: int | None = None
        self._is_drained = False
        self._is_recorded = False

    def run(self) -> None:
        """Copy until all streams have ended."""
        streams = (self._stdin, *self._outputs)
        while not self._is_recorded or any(stream.has_source for stream in self._outputs):
            poll = select.poll()
            for stream in streams:
                stream.register(poll)
            if self._ended_at is None:
                poll.register(self._status, select.POLLIN)
            milliseconds = None
            if self._ended_at is not None and not self._is_recorded:
                milliseconds = 10.0 if self._is_drained else 0.0
            events = dict(poll.poll(milliseconds))
            for stream in streams:
                stream.handle(events)
            if events.get(self._status) and self._ended_at is None:
                text = os.read(self._status, 64)
                self._ended_at = time.monotonic()
                if text:
                    self._code = int(text)
                else:
                    # The agent has killed the process that it started, and means the command.
                    _kill(self._child, signal.SIGKILL)
                    self._is_drained = True
            elif self._ended_at is not None:
                self._after_end(has_events=bool(events))

    def _after_end(self, *, has_events: bool) -> None:
        """Let the agent go on as soon as the output has passed, and record."""
        waited = time.monotonic() - (self._ended_at or 0.0)
        is_quiet = not has_events and all(stream.is_idle for stream in self._outputs)
        have_ended = not any(stream.has_source for stream in self._outputs)
        if not self._is_drained and (is_quiet or have_ended or waited > GRACE):
            if self._sink.is_awaited and self._stdin.has_source and waited < INPUT_WAIT:
                return
            if self._sink.is_awaited:
                self._record()
            self._is_drained = True
            self._release_agent()
        elif self._is_drained and not self._is_recorded:
            have_ended = have_ended and not self._stdin.has_source
            if have_ended or waited > LINGER:
                self._record()

    def _release_agent(self) -> None:
        try:
            os.write(self._drained, b"D")
        except OSError:
            return

    def _record(self) -> None:
        """Hand the streams to the sink, in another process if some of them go on."""
        self._is_recorded = True
        self._stdin.close_source()
        goes_on = any(stream.has_source for stream in self._outputs)
        if goes_on and not self._sink.is_awaited and os.fork():
            return
        if goes_on and not self._sink.is_awaited:
            _close_all_but(set())
        out, err = self._outputs
        seconds = (self._ended_at or time.monotonic()) - self._clock
        self._sink.record(self._started, seconds, self._code, (self._stdin, out, err))
        if goes_on and not self._sink.is_awaited:
            os._exit(0)


# -- what takes the record


class Sink:
    """Takes what went through."""

    is_awaited = False
    """Whether the agent waits until it was recorded."""
    largest_input = MAX_INPUT_SIZE
    """Bytes of standard input that are kept."""
    largest_output = MAX_OUTPUT_SIZE
    """Bytes of each output that are kept."""

    def begin(self) -> None:
        """Take note of the start."""

    def record(
        self, started: float, seconds: float, code: int | None, streams: tuple[Stream, ...]
    ) -> None:
        """Take the streams.

        `started` is a Unix timestamp, `code` an exit code or the negative number of a signal;
        `None` if the agent killed the command. The streams are standard input, output and error.
        """
        raise NotImplementedError


class Files(Sink):
    """Writes files, for `anyhook probe`, which removes them."""

    is_awaited = True
    largest_input = largest_output = 1 << 40

    def __init__(self, directory: str, number: int) -> None:
        self._number = number
        self._name = f"{directory}/{time.time_ns()}-{os.getpid()}"

    def begin(self) -> None:
        """Write that a command has started."""
        self._write("start", f'{{"tap": {self._number}, "time": {time.time()!r}}}'.encode())

    def record(
        self, started: float, seconds: float, code: int | None, streams: tuple[Stream, ...]
    ) -> None:
        """Write what went through; the time is in the file of the start."""
        del started
        for suffix, stream in zip(("in", "out", "err"), streams, strict=True):
            self._write(suffix, stream.content)
        if code is not None:
            end = f'"exit_code": {code}' if code >= 0 else f'"signal": {-code}'
            self._write("end", f'{{{end}, "seconds": {seconds!r}}}'.encode())

    def _write(self, suffix: str, content: bytes | bytearray) -> None:
        with open(f"{self._name}.{suffix}", "xb") as file:
            file.write(content)


class Journal(Sink):
    """Appends a line to the journal of the user's history."""

    def __init__(
        self, agent: str, command: list[str] | tuple[str, ...], *, is_shadow: bool
    ) -> None:
        self._agent = agent
        self._command = command
        self._is_shadow = is_shadow
        self._directory = os.getcwd()

    def record(
        self, started: float, seconds: float, code: int | None, streams: tuple[Stream, ...]
    ) -> None:
        """Append the record."""
        os.nice(LESS_URGENT)
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        sys.path.insert(0, package)
        from anyhook.history.tap_record import record_tap

        stdin, out, err = streams
        run: dict[str, Any] = {
            "agent": self._agent,
            "command": [*self._command],
            "cwd": self._directory,
            "started": started,
            "duration": seconds,
            "code": code,
            "shadow": self._is_shadow,
            "stdin": bytes(stdin.content),
            "stdout": bytes(out.content),
            "stderr": bytes(err.content),
            "truncated": any(stream.size > len(stream.content) for stream in streams),
        }
        record_tap(run)


# -- processes and descriptors


def _open_standard_streams() -> list[int]:
    """Open the standard streams that are closed: their numbers would be those of pipes."""
    closed: list[int] = []
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.append(descriptor)
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    return closed


def _close_all_but(kept: set[int]) -> None:
    """Close descriptors: another copy of a pipe's end would keep its reader waiting."""
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        numbers = list(range(256))
    for descriptor in numbers:
        if descriptor not in kept:
            try:
                os.close(descriptor)
            except OSError:
                continue


def _kill(process: int, number: int) -> None:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
