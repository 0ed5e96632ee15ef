"""Which events of the history are wanted: by words, properties, hooks, projects and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.errors import UsageError
from anyhook.history.events import NOT_EXECUTED
from anyhook.history.rows import storable
from anyhook.history.text import mark, query_of
from anyhook.history.verdicts import HAS_FAILED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


ONLY_SEARCHED = ("verdict", "hook", "project", "failed", "shadow")
"""Fields of a filter that a search takes and a backtest does not: what was decided then does not
choose the events on which hooks are tried now."""


class Filter(NamedTuple):
    """Which events are wanted; an empty field means all.

    Attributes:
        text: Words that must occur; words in quotation marks in that order.
        agent: Name of the agent.
        event: Canonical name of the event.
        tool: Canonical name of the tool.
        verdict: A member of `anyhook.history.verdicts.VERDICTS`, or `none`. With a hook, that is
            what this hook answered.
        hook: Label of a hook that ran.
        session: Identifier of the session.
        project: Directory of the project, or one above it.
        failed: Whether a hook failed or timed out; with a hook, whether this one did.
        refused: Whether only calls count that were not executed.
        shadow: Whether hooks count that ran as shadows, and did not decide; with a verdict, what
            they answered.
        since: Unix timestamp of the first event.
        until: Unix timestamp after the last event.
    """

    text: str = ""
    agent: str = ""
    event: str = ""
    tool: str = ""
    verdict: str = ""
    hook: str = ""
    session: str = ""
    since: float = 0.0
    until: float = 0.0
    project: str = ""
    failed: bool = False
    refused: bool = False
    shadow: bool = False

    def index_query(self) -> str:
        """Return the query to the full-text index; empty if it is not needed."""
        words = [query_of(self.text)] if self.text else []
        for kind in ("agent", "event", "tool", "hook", "session"):
            value = getattr(self, kind)
            if value:
                words.append(f"marks:{mark(kind, value)}")
        # A hook may answer otherwise than all hooks together.
        if self.verdict and not (self.hook or self.shadow):
            words.append(f"marks:{mark('verdict', self.verdict)}")
        if self.refused:
            words.append(f"marks:{mark('result', NOT_EXECUTED)}")
        return " AND ".join(word for word in words if word)

    def backtest_condition(self) -> tuple[str, list[Any]]:
        """Return the condition of a backtest on `events` and `sessions`, and its values.

        Raises:
            UsageError: If a field is set that backtests do not take.
        """
        self.check_for_backtest()
        comparisons = (
            ("events.time >= ?", self.since),
            ("events.time < ?", self.until),
            ("sessions.agent = ?", self.agent),
            ("events.tool = ?", self.tool),
            ("events.event = ?", self.event),
            ("sessions.session = ?", self.session),
            (
                "events.id IN (SELECT rowid FROM texts WHERE texts MATCH ?)",
                query_of(self.text),
            ),
        )
        # Calls that hooks did not get would be events too many for a hook that remembers.
        conditions = ["events.refusal IS NOT NULL" if self.refused else "events.reached_hooks"]
        values: list[Any] = []
        for condition, value in comparisons:
            if value:
                conditions.append(condition)
                values.append(value)
        return " AND ".join(conditions), values

    def check_for_backtest(self) -> None:
        """Check that a backtest takes every field that is set.

        Raises:
            UsageError: If it does not.
        """
        ignored = [name for name in ONLY_SEARCHED if getattr(self, name)]
        if ignored:
            raise UsageError(f"a backtest does not choose events by {', '.join(ignored)}")

    def conditions(self, number: str, after: int, before: int) -> Iterator[tuple[str, list[Any]]]:
        """Yield the conditions that the index has no words for, each with its values.

        `number` is the column with the number of an event, `after` the number before the first
        event, `before` the one after the last; 0 for no limit.
        """
        # Few results are failures or have a verdict, so they are read first, unless the full-text
        # index is: with the plus sign, its events still come in the order of their numbers.
        sign = "" if number == "events.id" else "+"
        bounds, numbers = "event_id > ?", [after]
        if before:
            bounds, numbers = f"{bounds} AND event_id < ?", [after, before]
        if self.shadow:
            pairs = (("label", self.hook), ("verdict", self.verdict))
            members = {column: value for column, value in pairs if value}
            yield _has_result(number, "shadow", members), [*members.values()]
        elif self.hook and self.verdict:
            results = (
                "SELECT event_id FROM hooks CROSS JOIN results ON hooks.id = hook_id"
                f" WHERE label = ? AND verdict = ? AND NOT shadow AND {bounds}"
            )
            yield f"{sign}{number} IN ({results})", [self.hook, self.verdict, *numbers]
        if self.hook and self.failed:
            yield _has_result(number, HAS_FAILED, ("label",)), [self.hook]
        elif self.failed:
            results = f"SELECT event_id FROM results WHERE {bounds} AND {HAS_FAILED}"
            yield f"{sign}{number} IN ({results})", numbers
        if self.project:
            yield in_project(self.project)


def _has_result(number: str, condition: str, columns: Iterable[str]) -> str:
    """Return the condition that a hook has a result of a kind, with values in some columns."""
    results = "SELECT 1 FROM results JOIN hooks ON hooks.id = hook_id"
    equal = "".join([f" AND {column} = ?" for column in columns])
    return f"EXISTS ({results} WHERE event_id = {number} AND {condition}{equal})"


def in_project(directory: str) -> tuple[str, list[str]]:
    """Return the condition on sessions of a project and of those below it; empty for all."""
    if not directory:
        return "TRUE", []
    directory = storable(directory)
    below = directory.rstrip("/") + "/"
    # A range, because a name may hold the wildcards of LIKE.
    return "(project = ? OR project >= ? AND project < ?)", [directory, below, f"{below}\U0010ffff"]
