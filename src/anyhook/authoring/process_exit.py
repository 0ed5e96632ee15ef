"""The end of a hook: by `sys.exit`, at its deadline, and when it has answered."""

from __future__ import annotations

import gc
import os
import sys
from _thread import allocate_lock

from anyhook._compat import ContextVar, run_exit_functions, start_alarm
from anyhook.model.answers import NO_OPINION, Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn, Self, TextIO

NEED_TEARDOWN = frozenset(
    {
        "_ctypes",
        "_curses",
        "_dbm",
        "_gdbm",
        "_sqlite3",
        "_tkinter",
        "readline",
        "threading",
    }
)
"""Modules of the interpreter that do something when it ends: files, screens, threads, libraries."""
BLOCKED = 2
"""The exit code by which a hook denies, in every agent."""
MAX_REASON = 16_384
"""Characters of standard error that are kept for the reason of a denial."""


def answer_of_exit(end: SystemExit, name: str, printed: str) -> Answer:
    """Return what `sys.exit` inside a hook function means.

    It means what the exit code of a command means to an agent: 0 is no opinion, 2 is a denial with
    standard error as its reason.

    Args:
        end: What was raised.
        name: Name of the hook, for a denial without a reason.
        printed: What it wrote to standard error.

    Raises:
        SystemExit: For every other code, and for a text: the hook failed.
    """
    code = 0 if end.code is None else end.code
    if not isinstance(code, int) or code & 0xFF not in (0, BLOCKED):
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
            if self._users == 1 and sys.stderr is not None:
                sys.stderr = _RecordedStderr(sys.stderr)

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            current: object = sys.stderr
            if self._users == 0 and isinstance(current, _RecordedStderr):
                sys.stderr = current.stream


_record: ContextVar[StderrRecord] = ContextVar("stderr_record")
_stderr = _SharedStderr()


class Deadline:
    """Calls a function when a block takes too long.

    On POSIX it is called in the main thread between two steps of the block, which no `except` of
    the block can swallow; elsewhere in another thread.

    Args:
        seconds: From the beginning of the block.
        on_late: Ends the process.
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


def end_process(code: int) -> NoReturn:
    """End the process of a cold hook.

    To tear an interpreter down costs an eighth of a cold hook, so that is left out where it could
    do nothing visible.

    Args:
        code: The exit code.

    Raises:
        SystemExit: If the interpreter has something to do.
    """
    if has_running_threads():  # the answer counts when the process has ended
        sys.stderr.flush()
        os._exit(code)
    try:
        needs_teardown = not _is_plain_run() or not _is_all_written()
    except Exception:  # noqa: BLE001 - objects of the hook may raise anything
        needs_teardown = True
    if needs_teardown:
        sys.exit(code)
    run_exit_functions()
    flush_streams()
    os._exit(code)


def end_warm_hook(*, has_open_files: bool) -> None:
    """Do what the interpreter of a cold hook does at its end, in a process that ends without it.

    Args:
        has_open_files: Whether the hook left a file open, which holds what it wrote.
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
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
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
