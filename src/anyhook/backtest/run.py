"""One run of a backtest: what is kept, what must be evaluated, and the sum."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anyhook.backtest.cache import ResultCache
from anyhook.backtest.loading import digest_of
from anyhook.backtest.pool import Done, Pool
from anyhook.backtest.results import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from anyhook.backtest.sources import Part
    from anyhook.backtest.subjects import BacktestSubject

TIMEOUT = 60.0
"""Seconds after which an event counts as timed out."""


class Executor(Protocol):
    """Evaluates parts somewhere: in processes of this machine, or on a cluster."""

    def run(self, parts: Iterable[tuple[int, Part]]) -> Iterator[Done]:
        """Evaluate numbered parts, and yield the results in any order."""
        ...


@dataclass(slots=True)
class BacktestProgress:
    """How far a run is.

    Attributes:
        parts: Number of parts.
        done: Number of parts that are done.
        kept: How many of them had been evaluated before.
        events: Number of events that are done.
        seconds: Seconds since the start.
        seconds_waited: Seconds that events took in this run on which a hook ran into its timeout,
            of all processes together.
    """

    parts: int
    done: int = 0
    kept: int = 0
    events: int = 0
    seconds: float = 0.0
    seconds_waited: float = 0.0

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds if self.seconds else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds that are left, if the rest is like what was done; `None` at the start."""
        fresh = self.done - self.kept
        if not fresh:
            return None
        return self.seconds / fresh * (self.parts - self.done)


@dataclass(slots=True)
class BacktestRun:
    """The outcome of a run.

    Attributes:
        subject: What was evaluated.
        result: The sum over all parts that are done.
        progress: How far it came.
        is_complete: Whether all parts are done.
        timeout: Seconds after which an event counts as timed out.
    """

    subject: BacktestSubject
    result: Result
    progress: BacktestProgress
    is_complete: bool = True
    timeout: float = TIMEOUT


def run_backtest(
    subject: BacktestSubject,
    parts: Sequence[Part],
    directory: str,
    *,
    jobs: int | None = None,
    timeout: float = TIMEOUT,
    executor: Executor | None = None,
    on_progress: Callable[[BacktestProgress], object] = lambda _progress: None,
) -> BacktestRun:
    """Let hooks decide recorded events.

    Ctrl-C ends it; what was done is kept, and the next run continues there.

    Args:
        subject: The hooks.
        parts: The events.
        directory: Directory in which results are kept.
        jobs: Number of processes; by default that of the processors.
        timeout: Seconds after which an event counts as timed out.
        executor: Evaluates the parts; by default processes of this machine.
        on_progress: Called whenever a part is done.

    Returns:
        The sum of what is done.

    Raises:
        UsageError: If the hooks cannot be loaded.
    """
    started = time.monotonic()
    run = BacktestRun(subject, Result(), BacktestProgress(len(parts)), timeout=timeout)
    digest, root = digest_of(subject), str(Path(subject.path).resolve().parent)
    # With another limit, an event on which a hook was ended may be decided.
    limited_digest = f"{digest} {timeout:g}"

    def add(number: int, result: Result) -> None:
        run.result.add(number, result)
        run.progress.done += 1
        run.progress.events += result.total
        run.progress.seconds = time.monotonic() - started
        on_progress(run.progress)

    with ResultCache(directory) as cache:
        missing: list[tuple[int, Part]] = []
        # Reading what identifies ten million events takes a minute.
        digests = [name for name in (digest, limited_digest) if cache.has_results(name)]
        for number, part in enumerate(parts):
            content = cache.digest_of(part) if digests else None
            known = None if content is None else _kept(cache, digests, content, root)
            if known is None:
                missing.append((number, part))
            else:
                run.progress.kept += 1
                add(number, known)
        executor = executor or Pool(subject, jobs or available_processors(), timeout)
        try:
            for done in executor.run(missing) if missing else ():
                result = done.evaluated.result
                run.progress.seconds_waited += result.seconds_waited
                cache.put(limited_digest if result.timeouts else digest, done.evaluated)
                cache.put_digest(parts[done.number], done.evaluated.digest)
                add(done.number, result)
        except KeyboardInterrupt:
            run.is_complete = False
    return run


def _kept(cache: ResultCache, digests: list[str], content: str, root: str) -> Result | None:
    """Return the kept result on a part under one of several hashes of the hooks."""
    for digest in digests:
        known = cache.get(digest, content, root)
        if known is not None:
            return known
    return None


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
