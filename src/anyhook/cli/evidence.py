"""Keep the results of trials, and say so if that fails."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyhook.cli.colors import CAUTION
from anyhook.cli.output import console
from anyhook.errors import HistoryError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def evidence_may_be_lost() -> Iterator[None]:
    """Let a command go on that could not keep what it has seen; its result is the same."""
    try:
        yield
    except HistoryError as error:
        text = f"the result is not kept as evidence: {error}"
        console(stderr=True).print(text, style=CAUTION, soft_wrap=True)
