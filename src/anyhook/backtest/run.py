"""One run of a backtest: its parts are evaluated and added up."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.backtest.item_table import ItemTable
from anyhook.backtest.pool import Pool
from anyhook.backtest.results import Decided, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.backtest.on_ray import RayExecutor
    from anyhook.backtest.sources import Part
    from anyhook.backtest.subjects import BacktestSubject

TIMEOUT = 60.0
"""Seconds after which an event counts as timed out."""


@dataclass(slots=True)
class BacktestProgress:
    """How far a run is."""

    parts: int
    done: int = 0
    events: int = 0
    seconds: float = 0.0
    """Seconds since the start."""
    seconds_waited: float = 0.0
    """Seconds that events took in this run on which a hook ran into its timeout, of all processes
    together."""

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds if self.seconds else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, if the rest is like what was done; `None` at the start."""
        if not self.done:
            return None
        return self.seconds / self.done * (self.parts - self.done)


@dataclass(slots=True)
class BacktestRun:
    """The outcome of a run."""

    subject: BacktestSubject
    result: Result
    progress: BacktestProgress
    is_complete: bool = True
    timeout: float = TIMEOUT
    """Seconds after which an event counts as timed out."""


def run_backtest(
    subject: BacktestSubject,
    parts: Sequence[Part],
    *,
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    executor: RayExecutor | None = None,
    on_progress: Callable[[BacktestProgress], object] = lambda _progress: None,
) -> BacktestRun:
    """Let hooks decide recorded events.

    Ctrl-C ends it with the parts that are done.

    Args:
        subject: The hooks.
        parts: The events.
        jobs: Number of processes; by default that of the processors.
        timeout: Seconds after which an event counts as timed out.
        executor: Evaluates the parts on a cluster; by default processes of this machine do.
        on_progress: Called whenever a part is done.

    Returns:
        The sum of what is done.

    Raises:
        UsageError: If the hooks cannot be loaded.
    """
    started = time.monotonic()
    decided = ItemTable[Decided]()
    run = BacktestRun(
        subject, Result(decided=decided), BacktestProgress(len(parts)), timeout=timeout
    )
    pool = executor or Pool(subject, jobs or available_processors(), timeout)
    try:
        results = pool.run(enumerate(parts)) if parts else ()
        for part in results:
            result = part.result
            run.result.add(result)
            decided.extend(result.decided, part.number)
            run.progress.done += 1
            run.progress.events += result.total
            run.progress.seconds_waited += result.seconds_waited
            run.progress.seconds = time.monotonic() - started
            on_progress(run.progress)
    except KeyboardInterrupt:
        run.is_complete = False
    return run


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
