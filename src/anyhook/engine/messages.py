"""The channel through which a host gets the problems of its hooks, each of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from logging import Logger

    from anyhook.model.diagnostics import Diagnostic

MAX_PROBLEMS = 4096
"""Problems that are remembered: a hook whose message always differs must not fill the memory."""


def _logger() -> Logger:
    import logging  # late: most commands show the messages themselves

    return logging.getLogger("anyhook")


def discard(_text: str) -> None:
    """Discard a message: for commands that show every diagnostic themselves."""


class MessageChannel:
    """Delivers messages to the host, and each problem only once.

    By default the logger `anyhook` receives them at level WARNING.
    """

    def __init__(self, on_message: Callable[[str], object] | None = None) -> None:
        self.on_message = on_message
        self._reported: set[tuple[object, ...]] = set()
        self._skipped: list[Iterable[Diagnostic]] = []

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Deliver the errors and warnings that were not delivered before."""
        for diagnostic in diagnostics:
            if diagnostic.severity is Severity.INFO:
                continue
            while self._skipped:
                for skipped in self._skipped.pop():
                    self._is_new(skipped)
            if self._is_new(diagnostic):
                self.send(str(diagnostic))

    def skip(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Treat problems as delivered, because another message covers them.

        They are read when the next problem is reported, which most sessions never see.
        """
        self._skipped.append(diagnostics)

    def _is_new(self, diagnostic: Diagnostic) -> bool:
        """Remember a problem, and return whether it is new."""
        problem = diagnostic.identity
        if problem in self._reported:
            return False
        if len(self._reported) >= MAX_PROBLEMS:
            self._reported.clear()
        self._reported.add(problem)
        return True

    def send(self, text: str) -> None:
        """Deliver a message. An exception of the receiver is only logged."""
        if self.on_message is None:
            _logger().warning("%s", text)
            return
        try:
            self.on_message(text)
        except Exception:  # noqa: BLE001 - it is logged
            _logger().exception("on_message failed; the message was: %s", text)
