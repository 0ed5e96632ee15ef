"""The end of a hook: at its deadline, and without what the interpreter would do for nothing.

Taking an interpreter down costs an eighth of a cold hook. It is left out where it could do nothing
that anybody sees: nothing to run, to write, to wait for or to tear down. Everywhere else the
process ends as usual.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

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
