"""What a backtest evaluates: a hook file, or the hooks of a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.backtest.failures import Failure
    from anyhook.backtest.results import Result
    from anyhook.backtest.sources import EventRow


class Opinion(NamedTuple):
    """What hooks made of an event."""

    decision: Mapping[str, Any]
    """The decision without empty fields, with its secrets."""
    hooks: tuple[str, ...] = ()
    crash: str = ""
    """The error of the first hook that failed; empty if none did."""
    problem: str = ""
    """What is reported about the event; empty if there is nothing."""
    has_returned: bool = True

    @property
    def counts(self) -> bool:
        """Whether hooks had an opinion, or failed."""
        return bool(self.decision or self.crash)


class Evaluator(Protocol):
    """Hooks that are ready to decide recorded events, in a sandbox."""

    @property
    def events(self) -> frozenset[str]:
        """Canonical names of the events that they decide."""
        ...

    @property
    def limit(self) -> float:
        """Seconds on an event after which the process must be killed."""
        ...

    def may_decide(self, row: EventRow) -> bool:
        """Return whether a hook may decide an event, before its payload is read."""
        ...

    def evaluate(self, row: EventRow, payload: Mapping[str, Any], result: Result) -> Opinion:
        """Decide a recorded event, and count what comes out."""
        ...

    def fail(
        self, row: EventRow, payload: Mapping[str, Any], failure: Failure, result: Result
    ) -> Opinion:
        """Count an event on which the process ended or was killed, and run nothing."""
        ...

    def has_changed(self) -> bool:
        """Return whether the hooks may remember an event."""
        ...

    def reads(self) -> frozenset[str]:
        """Return the files and variables that hooks have read, as `Reads.names`."""
        ...


class BacktestSubject(Record, kw_only=False):
    """What is evaluated; it can be sent to another process.

    Attributes:
        path: A hook file, or the directory of a project.
        title: What it is called in reports: the path, with a revision of git.
        agent: The agent whose settings count in a project; empty to find out.
        trusted: Whether the commands of a project may run.
    """

    path: str
    title: str
    agent: str = ""
    trusted: bool = False

    @property
    def is_project(self) -> bool:
        """Whether it is the directory of a project."""
        return Path(self.path).is_dir()
