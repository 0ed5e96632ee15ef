"""The end of a hook: by `sys.exit`, at its deadline, and without needless work of the interpreter.

Taking an interpreter down costs an eighth of a cold hook. It is left out where it could do nothing
that anybody sees: nothing to run, to write, to wait for or to tear down. Everywhere else the
process ends as usual.
"""

from __future__ import annotations

import gc
import os
import sys
from _contextvars import ContextVar  # the module around it is one more file to load
from _thread import allocate_lock

from anyhook.model.answers import NO_OPINION, Answer, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType
    from typing import Any, Self, TextIO

HAVE_ENDS = frozenset(
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
"""The interpreter's own modules that have something to end: files, screens, threads, libraries."""


BLOCKED = 2
"""The exit code by which a hook denies, in every agent."""
LONGEST_REASON = 16_384
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
    """Keeps a copy of what a block writes to `sys.stderr`, which still gets it.

    Functions of one host run side by side in threads and tasks, so `sys.stderr` is replaced once
    for all of them, and a text goes to the record of the context that wrote it.

    Attributes:
        text: The beginning of what was written, at least `LONGEST_REASON` characters.
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
        if isinstance(text, str) and len(self.text) < LONGEST_REASON:
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
    the block can swallow; elsewhere in a thread beside it.

    Args:
        seconds: From the beginning of the block.
        then: Ends the process.
    """

    def __init__(self, seconds: float, then: Callable[[], None]) -> None:
        self._seconds = seconds
        self._then = then
        self._end: Callable[[], None] = lambda: None

    def __enter__(self) -> None:
        """Start the clock."""
        try:
            # the module `signal` around it makes an enum of every number and handler
            from _signal import (  # type: ignore[import-not-found]
                ITIMER_REAL,
                SIGALRM,
                setitimer,
                signal,
            )

            before = signal(SIGALRM, lambda _number, _frame: self._then())
        except (ImportError, ValueError):  # another platform, or not the main thread
            self._watch_from_a_thread()
            return
        setitimer(ITIMER_REAL, self._seconds)

        def end() -> None:
            setitimer(ITIMER_REAL, 0)
            signal(SIGALRM, before)

        self._end = end

    def __exit__(self, *_error: object) -> None:
        """Stop the clock."""
        self._end()

    def _watch_from_a_thread(self) -> None:
        from threading import Timer

        timer = Timer(self._seconds, self._then)
        timer.daemon = True
        timer.start()
        self._end = timer.cancel


def end_if_done(caller: FrameType | None) -> None:
    """End the process with exit code 0, if nothing is left to do; return otherwise.

    Args:
        caller: Who called the last function that has something to do; `None` if that is unknown.
    """
    try:
        is_done = _is_last(caller) and _is_usual() and _is_all_written()
    except Exception:  # noqa: BLE001 - what is looked at may be anything, and the answer is given
        return
    if is_done:
        os._exit(0)


def _is_last(caller: FrameType | None) -> bool:
    """Tell whether a frame is that of the process's own file, with no statement left."""
    main = sys.modules.get("__main__")
    if caller is None or caller.f_back is not None or main is None:
        return False
    if caller.f_globals is not main.__dict__:
        return False
    left = _operations(caller.f_code, caller.f_lasti)[1:].lstrip(b"\0")  # the call, and its caches
    return left.startswith(_ending() or b"?")


def _ending() -> bytes:
    """Return what follows the last statement of any code, if that is an expression."""
    return _operations(_name.__code__, 0)[2:].lstrip(b"\0")  # behind the start and the name


def _name() -> None:
    sys  # noqa: B018 - only its code is looked at


def _operations(code: CodeType, begin: int) -> bytes:
    return code.co_code[begin::2]


def _is_usual() -> bool:
    """Tell whether the interpreter runs a file as it usually does, with nothing of others in it."""
    flags, given = sys.flags, sys.argv
    return not (
        flags.inspect
        or flags.dev_mode
        or sys.warnoptions
        or os.environ.get("PYTHONINSPECT")
        or sys.gettrace()
        or sys.getprofile()
        or len(sys.orig_argv) <= len(given)  # another program may be around this interpreter
        or sys.orig_argv[-len(given) :] != given
        or not HAVE_ENDS.isdisjoint(sys.modules)
        or any(map(_is_foreign, list(sys.modules.values())))
    )


def _is_foreign(module: object) -> bool:
    """Tell whether a module is compiled code that is not the interpreter's own."""
    # past what a module does when it is looked at, which may be to load itself
    file: object = object.__getattribute__(module, "__dict__").get("__file__") or ""
    if not isinstance(file, str):
        return True
    return file.endswith((".so", ".pyd")) and "lib-dynload" not in file


def _is_all_written() -> bool:
    """Tell whether nothing waits to be written, called or finalised."""
    import atexit
    from collections import Counter

    if atexit._ncallbacks():  # noqa: SLF001 - there is no other way to know
        return False
    parts = {}
    try:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            buffer = stream.buffer
            for part in (stream, buffer, getattr(buffer, "raw", buffer)):
                parts[id(part)] = type(part)
            stream.flush()
    except (AttributeError, OSError, ValueError):  # they are not what they were
        return False
    usual = list(parts.values())
    found = Counter(map(type, gc.get_objects()))
    return all(
        number == usual.count(kind) for kind, number in found.items() if hasattr(kind, "__del__")
    )
