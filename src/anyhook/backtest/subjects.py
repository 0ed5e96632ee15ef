"""What a backtest evaluates: a hook file, or the hooks of a project; and how these fail."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.model.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.backtest.sources import EventRow
    from anyhook.errors import RunEndedError
    from anyhook.model.answers import Answer
    from anyhook.model.events import Event


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


# -- failures

OUT_OF_TIME = "did not end in time"
"""The problem of a hook that reached the time limit."""


class OutOfTimeError(BaseException):
    """Raised within a hook at its time limit; no `except Exception` of the hook takes it."""


class Failure(NamedTuple):
    """Why an event is not evaluated again."""

    seconds: float = 0.0
    """The time limit that it reached; 0 if the process ended."""
    exit_code: int | None = None
    """With which the process ended; `None` if that is not known."""
    signal: str = ""
    """Name of the signal that ended it; empty if none did."""

    @classmethod
    def of_run(cls, error: RunEndedError, limit: float) -> Failure:
        """Return the failure of a process that has ended."""
        if error.is_late:
            return cls(limit)
        if error.exit_code >= 0:
            return cls(exit_code=error.exit_code)
        try:
            name = signal.Signals(-error.exit_code).name
        except ValueError:
            name = f"signal {-error.exit_code}"
        return cls(signal=name)

    @property
    def problem(self) -> str:
        """What happened, for messages."""
        if self.seconds:
            return OUT_OF_TIME
        return f"ended its process ({self.end})"

    @property
    def end(self) -> str:
        """How the process ended."""
        return self.signal or f"exit code {self.exit_code}"


def answer_of_end(agent: AgentSpec, event: Event, failure: Failure) -> Answer | None:
    """Return what an agent makes of a hook that ended its process; `None` if it has crashed.

    The exit code counts as that of a command: 0 means no opinion and 2 a denial, where the agent's
    reference says so for the event. What was printed is not known.
    """
    from anyhook.agents.output import ProcessExit, decode_exit  # hardly any hook ends its process

    spec = agent.by_canonical.get(event.name)
    if spec is None or failure.exit_code is None:
        return None
    handler = HandlerSpec("command", Layer.RUNTIME, Place("<backtest>"), name="the hook")
    end = ProcessExit(failure.exit_code, None, "", "")
    output = decode_exit(agent, agent.documented, spec, handler, end)
    if output.status is not Status.RAN or output.failed:
        return None
    return output.answer


def failure_text(row: EventRow, label: str, problem: str) -> str:
    """Return what is reported about an event on which a hook ended its process or hung."""
    return f"event {row.ref} of {row.session}: {label} {problem}"
