"""The end of a hook: by `sys.exit`, at its deadline, and when it has answered.

What a hook does to its own process must not change its answer. So everything that delivers an
answer is taken here, before the file of the hook runs: it may replace functions of `os` later.

It is one module because a cold hook imports all of it, and each further module costs 0.1 ms.
"""

from __future__ import annotations

import gc
import os
import sys
from _thread import allocate_lock, start_new_thread

from anyhook._compat import (
    ContextVar,
    has_exit_functions,
    hold_write_signals,
    run_exit_functions,
    signals,
    start_alarm,
    unblock_signals,
)
from anyhook.model.answers import BLOCKING_EXIT, NO_OPINION, Answer, Outcome
from anyhook.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager
    from typing import Any, NoReturn, Self, TextIO

exit_now, getpid = os._exit, os.getpid
_close, _dup, _dup2, _fstat, _write = os.close, os.dup, os.dup2, os.fstat, os.write
_fork: Callable[[], int] | None = getattr(os, "fork", None)
_waitpid, _kill = os.waitpid, os.kill
NEED_TEARDOWN = frozenset("_ctypes _curses _dbm _gdbm _sqlite3 _tkinter readline threading".split())
"""Modules of the interpreter that do something when it ends: files, screens, threads, libraries."""
MAX_REASON = 16_384
"""Characters of standard error that are kept for the reason of a denial."""
EXIT_SECONDS = 5.0
"""Seconds that a denial waits for exit functions and finalizers, at most."""
ERROR_FIELD = "{why}"
"""Replaced in the message of a `FallbackExit` by the reason."""


def file_identity(descriptor: int) -> tuple[int, int] | None:
    """Return what identifies the file behind a descriptor; `None` if it is closed."""
    try:
        status = _fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


_STDOUT_AT_START = file_identity(1)
"""The standard output that the agent reads: the file of the hook may replace it when it runs."""


def answer_of_exit(end: SystemExit, name: str, printed: str) -> Answer:
    """Return what `sys.exit` inside a hook function means.

    It means what the exit code of a command means to an agent: 0 means no opinion, 2 a denial with
    what was printed on standard error as its reason.

    Raises:
        SystemExit: For every other code, and for a text: the hook failed.
    """
    code = 0 if end.code is None else end.code
    if not isinstance(code, int) or code & 0xFF not in (0, BLOCKING_EXIT):
        raise end
    if code & 0xFF == 0:
        return NO_OPINION
    return Answer(outcome=Outcome.DENY, reason=printed.strip() or f"blocked by hook {name}")


class StderrRecord:
    """Records what a block writes to `sys.stderr`, which still gets it.

    Functions of one host run side by side in threads and tasks, so `sys.stderr` is replaced once
    for all of them, and a text goes to the record of the context that wrote it.

    Attributes:
        text: The beginning of what was written, at least `MAX_REASON` characters.
    """

    def __init__(self) -> None:
        self.text = ""

    def __enter__(self) -> Self:
        self._token = _record.set(self)
        _stderr.watch()
        return self

    def __exit__(self, *_error: object) -> None:
        _stderr.release()
        _record.reset(self._token)

    def add(self, text: object) -> None:
        """Keep a text."""
        if isinstance(text, str) and len(self.text) < MAX_REASON:
            self.text += text


class _RecordedStderr:
    """Stands in for `sys.stderr` while functions run."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        record = _record.get(None)
        if record is not None:
            record.add(text)
        return self.stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _SharedStderr:
    """Replaces `sys.stderr` from the first function that starts to the last that ends."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._users = 0

    def watch(self) -> None:
        with self._lock:
            self._users += 1
            current = getattr(sys, "stderr", None)
            if self._users == 1 and current is not None:
                sys.stderr = _RecordedStderr(current)

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            current: object = getattr(sys, "stderr", None)  # the hook may have deleted it
            if self._users == 0 and isinstance(current, _RecordedStderr):
                sys.stderr = current.stream


_record: ContextVar[StderrRecord] = ContextVar("stderr_record")
_stderr = _SharedStderr()


class Deadline:
    """Calls a function when a block takes too long.

    On POSIX it is called in the main thread between two steps of the block, which no `except` of
    the block can swallow; elsewhere in another thread. The function ends the process.
    """

    def __init__(self, seconds: float, on_late: Callable[[], None]) -> None:
        self._seconds = seconds
        self._on_late = on_late
        self._stop: Callable[[], None] = lambda: None

    def __enter__(self) -> None:
        """Start the clock."""
        try:
            self._stop = start_alarm(self._seconds, self._on_late)
        except (ImportError, ValueError):  # another platform, or not the main thread
            from threading import Timer

            timer = Timer(self._seconds, self._on_late)
            timer.daemon = True
            timer.start()
            self._stop = timer.cancel

    def __exit__(self, *_error: object) -> None:
        """Stop the clock."""
        self._stop()


class Watchdog:
    """Calls a function in another thread when a block takes too long.

    In contrast to a `Deadline` it works in a block that blocks or ignores signals, or that waits
    in compiled code. It does not work in compiled code that keeps the interpreter's lock. The
    function ends the process.
    """

    def __init__(self, seconds: float, on_late: Callable[[], None]) -> None:
        self._seconds = seconds
        # The thread may end late, also after a fork. If it referred to objects of the hook then,
        # open files of the hook would not be written.
        self._calls = [on_late]
        self._is_running = allocate_lock()

    def __enter__(self) -> None:
        """Start the thread; without one, when there are too many, the block just runs."""
        self._is_running.acquire()
        try:
            start_new_thread(_call_late, (self._is_running, self._seconds, self._calls))
        except RuntimeError:
            return

    def __exit__(self, *_error: object) -> None:
        """End the thread."""
        self._calls.clear()
        self._is_running.release()


def _call_late(is_running: LockType, seconds: float, calls: list[Callable[[], None]]) -> None:
    if not is_running.acquire(timeout=seconds):
        for call in calls:
            call()


def hold_prints() -> None:
    """Keep back what a hook file prints while it is loaded, until `release_prints`.

    In front of the answer it would make the reply unreadable. Python holds it back by itself,
    unless `-u` or PYTHONUNBUFFERED is set.
    """
    stream: Any = sys.stdout
    if getattr(stream, "write_through", False):
        stream.reconfigure(write_through=False)
        _held_streams.append(stream)


def release_prints() -> None:
    """Write what `hold_prints` has kept back, and from now on everything at once again."""
    for stream in _held_streams:
        try:
            stream.reconfigure(write_through=True)
        except Exception:  # noqa: BLE001, S112 - the hook has closed it
            continue
    _held_streams.clear()


_held_streams: list[Any] = []


class FallbackExit(Record):
    """What happens if an answer cannot be delivered: an exit code can still deny.

    The message is for standard error.
    """

    message: str
    code: int

    def text(self, why: str) -> bytes:
        """Return the message as a line, with the reason why the answer cannot be delivered."""
        return (self.message.replace(ERROR_FIELD, why) + "\n").encode("utf-8", "replace")


class Output:
    """Takes the answer to one event.

    Attributes:
        code: The exit code that belongs to the answer.
        is_denial: Whether the answer denies.
        exit_seconds: Seconds that a denial waits for exit functions and finalizers.
        record: Records the event; to be called when the answer is delivered.
    """

    code = 0
    is_denial = False
    exit_seconds = EXIT_SECONDS
    record: Callable[[], None] = staticmethod(lambda: None)

    def watch(self, seconds: float, on_late: Callable[[], None]) -> AbstractContextManager[None]:
        """Return the context in which functions run that signals may not stop.

        After so many seconds `on_late` answers in their place and ends the process.
        """
        raise NotImplementedError

    def write(self, text: bytes, fallback: FallbackExit) -> None:
        """Take the whole answer, and what happens if it cannot be delivered."""
        raise NotImplementedError

    def fail(self, fallback: FallbackExit, why: str) -> None:
        """Take an exit code in place of an answer that cannot be delivered, and why it cannot."""
        raise NotImplementedError

    def leave(self) -> NoReturn:
        """Deliver the answer and end the process at once; at the deadline, in any thread."""
        raise NotImplementedError


class StandardOutput(Output):
    """Takes standard output for the answer; everything else is sent to standard error."""

    def __init__(self) -> None:
        self._descriptor = -1
        try:
            # Without a standard output, its number may have become that of another file.
            if sys.__stdout__ is not None and file_identity(1) == _STDOUT_AT_START:
                self._descriptor = _dup(1)
            _dup2(2, 1)
        except OSError:  # too many open files, or no standard error
            return

    def watch(self, seconds: float, on_late: Callable[[], None]) -> AbstractContextManager[None]:
        """Return a thread that watches the functions."""
        return Watchdog(seconds, on_late)

    def write(self, text: bytes, fallback: FallbackExit) -> None:
        """Write the whole answer, or end with the fallback."""
        if not text:
            return
        if not self._is_open():
            self.fail(fallback, "standard output is closed or replaced")
            return
        release_signals = hold_write_signals()
        try:
            while text:
                text = text[_write(self._descriptor, text) :]
        except OSError as error:
            self.fail(fallback, error.strerror or "")
        else:
            release_signals()

    def fail(self, fallback: FallbackExit, why: str) -> None:
        """Print the message, past a `sys.stderr` that the hook may have replaced."""
        self.code = fallback.code
        self.is_denial = fallback.code == BLOCKING_EXIT
        try:
            _write(2, fallback.text(why))
        except OSError:  # the code counts
            return

    def close(self) -> None:
        """Report the end of the answer to the agent."""
        if self._is_open():
            _close(self._descriptor)
        self._descriptor = -1

    def _is_open(self) -> bool:
        identity = file_identity(self._descriptor)
        return identity is not None and identity == _STDOUT_AT_START

    def leave(self) -> NoReturn:
        """End the process at once."""
        try:
            flush_streams()
            self.close()
            self.record()
        finally:
            exit_now(self.code)


def end_process(output: Output) -> NoReturn:
    """End the process of a cold hook.

    To tear an interpreter down costs an eighth of a cold hook, so that is left out where it could
    do nothing visible. The output has delivered the answer. The exit code of a denial stays,
    whatever exit functions and finalizers do.

    Raises:
        SystemExit: If the interpreter has something to do.
    """
    code = output.code
    try:
        must_end_now = has_running_threads()  # the answer counts when the process has ended
        needs_teardown = not must_end_now and not (_is_plain_run() and _is_all_written())
    except Exception:  # noqa: BLE001 - objects of the hook may raise anything
        must_end_now, needs_teardown = False, True
    if must_end_now:
        flush_streams()
        exit_now(code)
    if output.is_denial and (needs_teardown or has_exit_functions()):
        _leave_rest_to_copy(code, output.exit_seconds)
    if needs_teardown:
        sys.exit(code)
    run_exit_functions()
    flush_streams()
    exit_now(code)


def _leave_rest_to_copy(code: int, seconds: float) -> None:
    """Return in a copy of the process, and end the process itself with a code after the copy.

    Exit functions and finalizers of the hook can change an exit code: by `os._exit`, a crash of
    compiled code, or because they never end.
    """
    if _fork is None:
        return
    try:
        copy = _fork()
    except OSError:  # too many processes
        exit_now(code)
    if copy == 0:
        return
    try:
        unblock_signals()
        with Deadline(seconds, lambda: _kill(copy, signals.SIGKILL)):
            _waitpid(copy, 0)
    finally:
        exit_now(code)


def end_warm_hook(*, has_open_files: bool) -> None:
    """Do what the interpreter of a cold hook does at its end, in a process that ends without it.

    A file that the hook left open holds what it wrote.
    """
    if has_running_threads():
        return
    run_exit_functions()
    if not has_open_files:
        return
    from io import BufferedRandom, BufferedWriter, TextIOWrapper

    sys.modules["__main__"].__dict__.clear()  # a file is written and closed by its finaliser
    gc.collect()
    for stream in gc.get_objects():
        if type(stream) in (BufferedWriter, BufferedRandom, TextIOWrapper):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue


def has_running_threads() -> bool:
    """Return whether a function left a thread running for which the interpreter would wait."""
    threading = sys.modules.get("threading")
    return threading is not None and any(
        not thread.daemon and thread is not threading.main_thread()
        for thread in threading.enumerate()
    )


def flush_streams() -> None:
    """Write what was printed, as far as the streams are still open."""
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        stream = getattr(sys, name, None)
        try:
            if stream is not None:
                stream.flush()
        except Exception:  # noqa: BLE001, S112 - they may be objects of the hook
            continue


def _is_plain_run() -> bool:
    """Return whether the interpreter runs just this file, with nothing around that goes on."""
    flags, argv = sys.flags, sys.argv
    file = sys.modules["__main__"].__dict__.get("__file__")
    if not isinstance(file, str) or not file.endswith(argv[0]):
        return False  # a program given with `-c` runs the file
    return not (
        flags.inspect
        or flags.dev_mode
        or sys.warnoptions
        or os.environ.get("PYTHONINSPECT")
        or sys.gettrace()
        or sys.getprofile()
        or len(sys.orig_argv) <= len(argv)  # `-m profiler hook.py`, or a program that runs files
        or sys.orig_argv[-len(argv) :] != argv
        or not NEED_TEARDOWN.isdisjoint(sys.modules)
        or any(map(_is_foreign, list(sys.modules.values())))
    )


def _is_foreign(module: object) -> bool:
    """Return whether a module is compiled code that is not the interpreter's own."""
    # not getattr(), which would load a lazy module
    file: object = object.__getattribute__(module, "__dict__").get("__file__") or ""
    if not isinstance(file, str):
        return True
    return file.endswith((".so", ".pyd")) and "lib-dynload" not in file


def _is_all_written() -> bool:
    """Return whether no object waits for its finaliser: no open file, and none of the hook's."""
    from collections import Counter

    parts = {}
    try:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            buffer = stream.buffer
            for part in (stream, buffer, getattr(buffer, "raw", buffer)):
                parts[id(part)] = type(part)
            stream.flush()
    except (AttributeError, OSError, ValueError):  # the hook replaced or closed them
        return False
    standard = list(parts.values())
    counts = Counter(map(type, gc.get_objects()))
    return all(
        count == standard.count(kind) for kind, count in counts.items() if hasattr(kind, "__del__")
    )
