"""A deadline for code that runs in the main thread."""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def deadline(seconds: float, then: Callable[[], None]) -> Iterator[None]:
    """Call a function when the block takes too long.

    On POSIX it is called in the main thread between two steps of the block, which no `except` of
    the block can swallow; elsewhere in a thread beside it.

    Args:
        seconds: From now.
        then: Ends the process.
    """
    try:
        from signal import ITIMER_REAL, SIGALRM, setitimer, signal
    except ImportError:
        from threading import Timer

        timer = Timer(seconds, then)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        return
    before = signal(SIGALRM, lambda _number, _frame: then())
    setitimer(ITIMER_REAL, seconds)
    try:
        yield
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)
