"""Results of trials: what a hook did when `probe` or `test` tried it.

The newest trial of a kind stands for each hook, agent, entry and content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.history.rows import marks_for, storable
from anyhook.model.record import Record, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.history.store import History

PROBE = "probe"
"""Kind of a trial in the program of the agent."""
TEST = "test"
"""Kind of a trial with examples or cases."""


class Trial(Record, kw_only=False):
    """The result of a trial of one hook."""

    kind: str
    """`PROBE` or `TEST`."""
    agent: str
    release: str
    """Version of its program; empty if none ran."""
    event: str
    hook: str
    entry: str
    """Digest of its entry in the settings; empty if it was tried without one."""
    content: str
    file: str
    """Its first file; empty if it has none."""
    time: float
    """Unix timestamp."""
    is_good: bool
    has_decided: bool
    detail: str
    calls: str = "[]"
    """JSON list of the calls that it was tried with, if it was tried without an entry: each with
    the subject that matchers see, the arguments of the tool, and whether the hook decided."""


_NAMES = ", ".join(Trial.record_fields)


def keep_trials(history: History, trials: Iterable[Trial]) -> None:
    """Store trials in place of earlier ones of the same hooks.

    Raises:
        HistoryError: If the store cannot be written.
    """
    marks = marks_for(Trial.record_fields)
    with history.transaction():
        history.connection.executemany(
            f"INSERT OR REPLACE INTO trials ({_NAMES}) VALUES ({marks})", map(_row_of, trials)
        )


def _row_of(trial: Trial) -> list[Any]:
    values = trial.as_dict().values()
    return [storable(value) if isinstance(value, str) else value for value in values]


def trials_of(history: History, agent: str, event: str, *, entry: str, file: str) -> list[Trial]:
    """Return the trials of a hook with any content, the newest first.

    `entry` is the digest of its entry in the settings, `file` its first file; empty if it has none.
    """
    rows = history.connection.execute(
        f"SELECT {_NAMES} FROM trials WHERE agent = ? AND event = ?"
        " AND (entry = ? OR (file <> '' AND file = ?)) ORDER BY time DESC",
        (agent, event, entry, storable(file)),
    )
    trials: list[Trial] = []
    for row in rows:
        trial = Trial(*row)
        is_good, has_decided = bool(trial.is_good), bool(trial.has_decided)
        trials.append(replace(trial, is_good=is_good, has_decided=has_decided))
    return trials
