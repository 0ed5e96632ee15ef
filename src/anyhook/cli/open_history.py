"""Open the history in a command, with all that was recorded until now."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyhook.cli.render import print_problems
from anyhook.errors import HistoryError
from anyhook.history.ingest import ingest
from anyhook.history.store import History, is_damaged

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_history() -> Iterator[History]:
    """Open the history with everything that was recorded until now, and report its problems.

    Raises:
        HistoryError: If it cannot be opened.
    """
    with History.open() as history:
        try:
            problems = ingest(history).problems
            if history.set_aside:
                problems.insert(0, history.set_aside)
            print_problems(problems)
            yield history
        except sqlite3.DatabaseError as error:
            if not is_damaged(error):
                raise HistoryError(f"{history.path} cannot be read: {error}") from error
            raise HistoryError(
                f"{history.path} is damaged ({error}). Rename it, and a new one is begun with what "
                "was recorded in the last two days; anyhook history import reads older sessions "
                "again"
            ) from error
