"""The channel on which a host learns what is wrong: on by default, each problem once."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyhook.model.diagnostics import Diagnostic

log = logging.getLogger("anyhook")

MAX_PROBLEMS = 4096
"""Problems that are remembered, so that a hook whose message always differs fills no memory."""
_NUMBER = re.compile(r"\d+")


def discard(_text: str) -> None:
    """Deliver nothing: for commands that show every diagnostic themselves."""


class MessageChannel:
    """Delivers messages to the host, and each problem only once.

    Args:
        on_message: Gets every message as one text; by default the logger `anyhook` gets them, at
            the level WARNING.
    """

    def __init__(self, on_message: Callable[[str], object] | None = None) -> None:
        self.on_message = on_message
        self._reported: set[tuple[object, ...]] = set()

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Deliver the errors and warnings that were not delivered before."""
        for diagnostic in diagnostics:
            if diagnostic.severity is not Severity.INFO:
                self._report_once(diagnostic)

    def skip(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Treat problems as delivered, because another message covers them."""
        for diagnostic in diagnostics:
            self._remember(diagnostic)

    def _report_once(self, diagnostic: Diagnostic) -> None:
        if self._remember(diagnostic):
            self.send(str(diagnostic))

    def _remember(self, diagnostic: Diagnostic) -> bool:
        """Remember a problem. Returns whether it is new."""
        # Numbers differ between two reports of one problem: seconds, process ids, offsets.
        kind_of_message = _NUMBER.sub("#", diagnostic.message)
        problem = (diagnostic.code, diagnostic.place, diagnostic.handler, kind_of_message)
        if problem in self._reported:
            return False
        if len(self._reported) >= MAX_PROBLEMS:
            self._reported.clear()
        self._reported.add(problem)
        return True

    def send(self, text: str) -> None:
        """Deliver a text. A function of the host that fails must not cost a hook its answer."""
        if self.on_message is None:
            log.warning("%s", text)
            return
        try:
            self.on_message(text)
        except Exception:
            log.exception("on_message failed; the message was: %s", text)
