"""The time limit of an event, which a process sets ten thousand times a second.

`anyhook.authoring.process_exit.Deadline` sets a handler each time, which takes 5 µs. Here it stays,
and a timer that is not stopped is replaced by the next one, which takes 1 µs.
"""

from __future__ import annotations

import signal
import sys

from anyhook.backtest.failures import OutOfTimeError


class Alarm:
    """Raises `OutOfTimeError` in the main thread, where the platform has timers."""

    def __init__(self) -> None:
        self.has_rung = False
        self._is_on = False

    def install(self) -> None:
        """Set the handler of the signal, as a hook may have set another one, and no time."""
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._ring)

    def start(self, seconds: float) -> None:
        """Start the clock."""
        self.has_rung = False
        self._is_on = True
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        """Stop the clock."""
        self._is_on = False

    def _ring(self, _number: int, _frame: object) -> None:
        if self._is_on:
            self.has_rung = True
            raise OutOfTimeError
