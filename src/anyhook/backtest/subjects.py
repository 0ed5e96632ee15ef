"""What a backtest evaluates: a hook file, or the hooks of a project."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyhook.backtest.failures import Failure
    from anyhook.backtest.results import Result
    from anyhook.backtest.sources import EventRow


class Evaluator(Protocol):
    """Hooks that are ready to decide recorded events."""

    @property
    def events(self) -> frozenset[str]:
        """Canonical names of the events that they decide."""
        ...

    def labels(self) -> list[str]:
        """Return the names of the hooks."""
        ...

    def set_limit(self, seconds: float, on_start: Callable[[], object]) -> float:
        """Limit the time of an event.

        Args:
            seconds: The limit.
            on_start: Called when the time of an event begins, again if it is decided again.

        Returns:
            Seconds after which the process must be killed.
        """
        ...

    def evaluate(self, row: EventRow, result: Result) -> None:
        """Decide a recorded event, and add what comes out to a result.

        Raises:
            UnreadableEventError: If its payload cannot be read.
        """
        ...

    def fail(self, row: EventRow, failure: Failure, result: Result) -> None:
        """Count an event on which the process ended or was killed, and run nothing.

        Raises:
            UnreadableEventError: If its payload cannot be read.
        """
        ...

    def read_files(self) -> Mapping[str, str] | None:
        """Return the files on which decisions depend, each with a hash of its content.

        It is `None` if a result must not be kept.
        """
        ...


@dataclass(frozen=True, slots=True)
class Subject:
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
