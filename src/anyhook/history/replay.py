"""The events of the history for backtests, and what was decided when they happened."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.history.rows import uncompressed
from anyhook.history.verdicts import HAS_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyhook.history.filters import Filter
    from anyhook.history.store import History


def has_events(history: History, chosen: Filter) -> bool:
    """Return whether the history has an event that a filter describes."""
    condition, values = chosen.backtest_condition()
    query = f"SELECT 1 FROM events JOIN sessions ON sessions.id = session_id WHERE {condition}"
    return history.connection.execute(f"{query} LIMIT 1", values).fetchone() is not None


# -- the events of a range of sessions


@dataclass(frozen=True, slots=True)
class SessionRange:
    """The events of the sessions whose numbers are in a range."""

    first: int
    end: int
    chosen: Filter

    def count(self, history: History) -> list[tuple[str, str, int]]:
        """Return the canonical names of events with `AGENT/SESSION` and their number."""
        columns = "event, agent || '/' || session, count(*)"
        return list(self._query(history, columns, "GROUP BY event, events.session_id"))

    def count_unseen(self, history: History) -> int:
        """Return how many calls the agent refused before hooks got them, if they are left out."""
        if self.chosen.refused:
            return 0
        condition, values = self.chosen._replace(refused=True).backtest_condition()
        ((number,),) = history.connection.execute(
            "SELECT count(*) FROM events JOIN sessions ON sessions.id = session_id"
            f" WHERE session_id >= ? AND session_id < ? AND {condition} AND NOT reached_hooks",
            (self.first, self.end, *values),
        )
        return int(number)

    def read(self, history: History, names: Iterable[str] | None) -> list[tuple[Any, ...]]:
        """Return the events.

        `names` are canonical names of events; `None` for all. A row has the number, agent, event,
        tool, `AGENT/SESSION`, JSON text of the payload, reconstructed members, number of replaced
        secrets, and whether the call was refused.
        """
        of_names = ""
        if names is not None:
            listed = ", ".join(f"'{name}'" for name in sorted(names))
            of_names = f"AND event IN ({listed}) "
        columns = (
            "CAST(events.id AS TEXT), agent, event, tool, agent || '/' || session, payload,"
            " reconstructed, redacted, refusal IS NOT NULL"
        )
        join = "JOIN bodies ON bodies.event_id = events.id"
        rows = self._query(history, columns, f"{of_names}ORDER BY events.id", join)
        events: list[tuple[Any, ...]] = []
        for *columns_before, payload, reconstructed, redacted, is_refused in rows:
            event = (*columns_before, uncompressed(payload), reconstructed, redacted, is_refused)
            events.append(event)
        return events

    def _query(self, history: History, columns: str, rest: str, join: str = "") -> Iterable[Any]:
        condition, values = self.chosen.backtest_condition()
        return history.connection.execute(
            f"SELECT {columns} FROM events JOIN sessions ON sessions.id = session_id {join}"
            f" WHERE session_id >= ? AND session_id < ? AND {condition} {rest}",
            (self.first, self.end, *values),
        )


# -- what was decided


@dataclass(frozen=True, slots=True)
class PastDecision:
    """What was decided on an event when it happened."""

    event_id: int
    session: str
    """`AGENT/SESSION`."""
    event: str
    tool: str | None
    """Canonical name of the tool; `None` for other events."""
    payload: dict[str, Any]
    answers: list[dict[str, Any]]
    """The combined decision alone, or the answers of the versions of one hook."""
    hooks: tuple[str, ...]
    error: str | None


def versions_of_file(history: History, path: str) -> list[int]:
    """Return the versions of the hook that is a file.

    A hook of the same name counts if its file is not there any more: it was moved.
    """
    paths, name = (path, os.path.realpath(path)), Path(path).name
    own: list[int] = []
    moved: list[int] = []
    rows = history.connection.execute("SELECT id, label, place, file FROM hooks")
    for number, label, place, of_version in rows:
        file = of_version or place.rpartition(":")[0] or place
        if file and os.path.realpath(file) in paths:
            own.append(number)
        elif label == name and not (file and os.path.exists(file)):  # noqa: PTH110 - a text
            moved.append(number)
    return own or moved


def count_events_of_versions(history: History, chosen: Filter, versions: Iterable[int]) -> int:
    """Return on how many events that a filter describes versions of a hook ran."""
    condition, values = chosen.backtest_condition()
    ((number,),) = history.connection.execute(
        "SELECT count(DISTINCT events.id) FROM results JOIN events ON events.id = results.event_id"
        f" JOIN sessions ON sessions.id = session_id WHERE {condition}"
        f" AND hook_id IN ({_listed(versions)})",
        values,
    )
    return int(number)


def past_answers(
    history: History, chosen: Filter, versions: Iterable[int]
) -> Iterator[PastDecision]:
    """Yield the events on which versions of a hook had an answer or failed."""
    condition, values = chosen.backtest_condition()
    rows = history.connection.execute(
        "SELECT events.id, agent || '/' || session, event, tool, payload,"
        " json_group_array(json(answer)) FILTER (WHERE answer IS NOT NULL),"
        f" max(CASE WHEN {HAS_FAILED} THEN {_PROBLEM} END), group_concat(DISTINCT label)"
        " FROM results JOIN hooks ON hooks.id = hook_id"
        " JOIN events ON events.id = results.event_id JOIN sessions ON sessions.id = session_id"
        " JOIN bodies ON bodies.event_id = events.id"
        f" WHERE {condition} AND hook_id IN ({_listed(versions)})"
        f" AND (answer IS NOT NULL OR {HAS_FAILED}) GROUP BY events.id ORDER BY events.id",
        values,
    )
    for number, session, event, tool, payload, answers, error, label in rows:
        yield PastDecision(
            number,
            session,
            event,
            tool,
            json.loads(uncompressed(payload)),
            json.loads(answers),
            (label,),
            error,
        )


def past_decisions(history: History, chosen: Filter) -> Iterator[PastDecision]:
    """Yield the events on which all hooks together had an answer, or one failed."""
    condition, values = chosen.backtest_condition()
    rows = history.connection.execute(
        "SELECT events.id, agent || '/' || session, event, tool, payload, decision,"
        " (SELECT group_concat(label, char(10)) FROM results JOIN hooks ON hooks.id = hook_id"
        "  WHERE results.event_id = events.id AND answer IS NOT NULL),"
        f" (SELECT max({_PROBLEM}) FROM results"
        f"  WHERE results.event_id = events.id AND {HAS_FAILED}) AS failure FROM events"
        " JOIN sessions ON sessions.id = session_id JOIN bodies ON bodies.event_id = events.id"
        f" WHERE {condition} AND (verdict <> 'none' OR failure IS NOT NULL) ORDER BY events.id",
        values,
    )
    for number, session, event, tool, payload, decision, labels, error in rows:
        answer = json.loads(decision) if decision else {}
        answer.pop("blame", None)
        hooks = tuple(sorted(labels.split("\n"))) if labels else ()
        yield PastDecision(
            number, session, event, tool, json.loads(uncompressed(payload)), [answer], hooks, error
        )


_PROBLEM = "coalesce(error, 'exit code ' || exit_code, signal, status)"
"""Why a hook failed, as far as it was recorded."""


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
