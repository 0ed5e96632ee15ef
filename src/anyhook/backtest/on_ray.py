"""Backtests on a Ray cluster.

Ray starts tasks again whose worker or node was lost. A task does not run hooks itself: it hands its
part to a `Pool` of one process, as a run on one machine does, which finds out on which event a hook
ended the process or hangs. So the results are the same.
"""

from __future__ import annotations

import atexit
import logging
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.backtest.hook_file import file_with_modules
from anyhook.backtest.pool import Done, Pool
from anyhook.backtest.sources import EventRow, EventRows, HistoryPart, Part
from anyhook.errors import AnyhookError, MissingLibraryError, UsageError
from anyhook.model.record import replace

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from anyhook.backtest.subjects import BacktestSubject

TASKS_OF_PROCESSOR = 2
"""Tasks that are submitted for each processor of the cluster: one runs, one waits."""
SETTLE = 5.0
"""Seconds after which the number of processors is looked up again."""


@dataclass(frozen=True, slots=True)
class ShippedSubject:
    """Hooks with their code, for a machine that has no copy."""

    subject: BacktestSubject
    files: tuple[tuple[str, bytes], ...]
    """Name of a file, relative to the directory of the hook file, to its content; empty for a
    project, which must be at the same path on every node."""

    @classmethod
    def of(cls, subject: BacktestSubject) -> ShippedSubject:
        """Read the code of hooks."""
        if subject.is_project:
            return cls(subject, ())
        file = Path(subject.path)
        paths: list[Path] = []
        for path in file_with_modules(file):
            is_package = path.name == "__init__.py"
            paths += sorted(path.parent.rglob("*.py")) if is_package else [path]
        files = [(str(path.relative_to(file.parent)), path.read_bytes()) for path in paths]
        return cls(subject, tuple(files))

    def unpack(self, directory: str) -> BacktestSubject:
        """Write the code to a directory, and return the hooks in it."""
        if not self.files:
            return self.subject
        for name, content in self.files:
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return replace(self.subject, path=str(Path(directory, Path(self.subject.path).name)))


@dataclass(frozen=True, slots=True)
class ShippedPart:
    """The events of a part that only this machine can read."""

    events: Counter[str]
    """Canonical name to number of events."""
    sessions: set[str]
    rows: tuple[EventRow, ...]
    unseen: int = 0
    title = "the history"

    @classmethod
    def of(cls, part: HistoryPart) -> ShippedPart:
        """Read the events of a part."""
        rows = part.read(None)
        return cls(rows.events, rows.sessions, tuple(rows.rows), rows.unseen)

    def read(self, names: frozenset[str] | None) -> EventRows:
        """Return the events."""
        rows = [row for row in self.rows if names is None or row.event in names]
        return EventRows(self.events, self.sessions, rows, self.unseen)


class RayExecutor:
    """Evaluates parts on a Ray cluster.

    Events of the history are sent to the nodes; files are read there, so that their paths or URIs
    must mean the same on every node, which must have anyhook installed.

    Args:
        subject: The hooks.
        address: Address of the cluster; by default the one of `RAY_ADDRESS`, or Ray on this
            machine.
        timeout: Seconds after which an event counts as timed out.

    Raises:
        UsageError: If Ray is not installed, or the cluster cannot be reached.
    """

    def __init__(
        self, subject: BacktestSubject, address: str | None = None, *, timeout: float
    ) -> None:
        self._subject = ShippedSubject.of(subject)
        self._timeout = timeout
        try:
            import ray
        except ImportError as error:
            raise MissingLibraryError("a backtest on a cluster", "Ray", "ray") from error
        if not ray.is_initialized():
            try:
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR)
            except (ConnectionError, ValueError) as error:
                raise UsageError(f"no Ray cluster at {address}: {error}") from error
        self._ray: Any = ray

    def run(self, parts: Iterable[tuple[int, Part]]) -> Iterator[Done]:
        """Evaluate numbered parts, and yield the results in any order.

        Raises:
            UsageError: If the hooks cannot be loaded, or a part cannot be read.
        """
        ray = self._ray
        # A task is started again as often as its worker or node is lost.
        task = ray.remote(num_cpus=1, max_retries=-1)(_evaluate)
        subject = ray.put(self._subject)
        waiting = iter(parts)
        running: set[Any] = set()
        try:
            while True:
                self._submit(task, subject, waiting, running)
                if not running:
                    return
                ready, _ = ray.wait(list(running), timeout=SETTLE)
                for reference in ready:
                    running.remove(reference)
                    answer: Done | str = ray.get(reference)
                    if isinstance(answer, str):
                        raise UsageError(answer)
                    yield answer
        finally:
            for reference in running:
                ray.cancel(reference, force=True)

    def _submit(
        self, task: Any, subject: Any, waiting: Iterator[tuple[int, Part]], running: set[Any]
    ) -> None:
        """Submit tasks up to the limit, which follows the size of the cluster."""
        processors = int(self._ray.cluster_resources().get("CPU", 1))
        while len(running) < max(1, processors) * TASKS_OF_PROCESSOR:
            item = next(waiting, None)
            if item is None:
                return
            number, part = item
            if isinstance(part, HistoryPart):
                part = ShippedPart.of(part)
            running.add(task.remote(subject, self._timeout, number, part))


# -- on a node


def _evaluate(subject: ShippedSubject, timeout: float, number: int, part: Part) -> Done | str:
    """Evaluate a part in the process that this worker keeps for these hooks.

    A text is why hooks cannot be loaded or the part cannot be read.
    """
    try:
        return next(_pool(subject, timeout).evaluate([(number, part)]))
    except AnyhookError as error:
        _pool.cache_clear()
        return str(error)


@lru_cache(maxsize=1)
def _pool(subject: ShippedSubject, timeout: float) -> Pool:
    directory = tempfile.TemporaryDirectory(prefix="anyhook-backtest-")
    pool = Pool(subject.unpack(directory.name), 1, timeout)
    atexit.register(directory.cleanup)
    atexit.register(pool.close)
    return pool
