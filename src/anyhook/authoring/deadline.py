"""A deadline for code that runs in the main thread."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


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
