"""The private interfaces of CPython that the package uses, each with its reason.

Everything else uses public ones, so that a new release of Python is tested here first. A cold hook
imports this module.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import sys

# The modules `contextvars` and `signal` around these are files to load, and `signal` makes an enum
# of every number and handler: 1 ms of a cold hook.
from _contextvars import ContextVar as ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any

signals = _signal
"""Numbers, handlers and functions of `signal`, without its enums."""


def start_alarm(seconds: float, on_alarm: Callable[[], object]) -> Callable[[], None]:
    """Call a function in the main thread after some seconds, between two of its instructions.

    Returns:
        A function that stops the alarm and restores the handler of `SIGALRM`.

    Raises:
        ImportError: If the platform has no such timers.
        ValueError: If the caller is not the main thread.
    """
    from _signal import (  # the timers are not on every platform
        ITIMER_REAL,
        SIGALRM,
        setitimer,
        signal,
    )

    previous = signal(SIGALRM, lambda _number, _frame: on_alarm())
    setitimer(ITIMER_REAL, seconds)

    def stop() -> None:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, previous)

    return stop


def hold_write_signals() -> Callable[[], None]:
    """Block the signals by which a write can end the process; it then raises `OSError` only.

    The interpreter ignores them, but a hook may have restored their defaults.

    Returns:
        A function that unblocks them. After a write that failed it ends the process.
    """
    if not hasattr(_signal, "pthread_sigmask"):
        return lambda: None
    previous = _signal.pthread_sigmask(_signal.SIG_BLOCK, _write_signals())
    return lambda: _signal.pthread_sigmask(_signal.SIG_SETMASK, previous)


def discard_write_signals() -> None:
    """Discard the blocked signals of a write that failed, so that they do not end the process."""
    if hasattr(_signal, "sigwait"):
        for number in _signal.sigpending() & _write_signals():
            _signal.sigwait((number,))


def _write_signals() -> set[int]:
    return {_signal.SIGPIPE, _signal.SIGXFSZ}


def unblock_signals() -> None:
    """Unblock every signal."""
    if hasattr(_signal, "pthread_sigmask"):
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def has_exit_functions() -> bool:
    """Return whether anything is registered with `atexit`; there is no public way to ask."""
    atexit = sys.modules.get("atexit")
    return atexit is not None and atexit._ncallbacks() > 0


def run_exit_functions() -> None:
    """Call what was registered with `atexit`: `os._exit` does not, and there is no public way."""
    import atexit

    atexit._run_exitfuncs()


def count_threads() -> int:
    """Return the number of threads that Python code has started.

    `threading.active_count` leaves out those started with `_thread`, and imports a module that a
    hook file may not have imported itself.
    """
    return _thread._count()


def stored_variables(environ: Mapping[str, str]) -> dict[Any, Any]:
    """Return a copy of an environment as it is stored, to find out whether it has changed.

    `os.environ` stores bytes; copying those is ten times faster than decoding each value.
    """
    return dict(getattr(environ, "_data", environ))


def caller(depth: int) -> FrameType:
    """Return the frame of a caller; 1 is the caller of the function that calls this one.

    `inspect.currentframe` costs the import of `inspect`: 10 ms of a cold hook.
    """
    return sys._getframe(depth + 1)
