"""Processes that evaluate parts, and what happens if one of them dies or hangs.

`concurrent.futures` gives up all work when one process dies, and cannot say on which event. Here a
process notes the event that it is at in shared memory. If it dies, the part is evaluated again. If
it dies on the same event again, that event counts as a crash of the hook, as one does that is still
running after its timeout.
"""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import tempfile
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from anyhook.backtest.failures import Failure
from anyhook.backtest.loading import load_hooks_of
from anyhook.backtest.results import Result
from anyhook.backtest.slices import (
    Evaluated,
    Slice,
    leave_counts_to_first,
    merge_slices,
    slices_of,
)
from anyhook.backtest.sources import UnreadableEventError, read_errors
from anyhook.backtest.streams import Streams, silence
from anyhook.errors import AnyhookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.context import ForkServerContext, SpawnContext
    from multiprocessing.process import BaseProcess

    from anyhook.backtest.sources import EventRow, Part, Rows
    from anyhook.backtest.subjects import Evaluator, Subject

LOOK = 0.5
"""Seconds between looks whether an event runs for too long."""
MOST_DEATHS = 5
"""Processes that may die on a part before the event at which the last one was is skipped."""
WHOLE = Slice()
LOADING, READING = -1, -2
"""What a process does that is at no event."""
END_SECONDS = 1.0
"""Seconds that a process has to end when its connection is closed: its exit code counts."""
_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy threads and connections
_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload([__name__])


@dataclass(slots=True)
class Task:
    """A part, or a slice of one, on its way.

    Attributes:
        number: Its position in the source.
        part: The part.
        chosen: Which of its sessions.
        failures: Position of an event in the part to why it is not evaluated again.
        died_at: Position of the event at which a process died; -1 if none did.
        deaths: How often a process died since an event of the part was last skipped.
    """

    number: int
    part: Part
    chosen: Slice = WHOLE
    failures: dict[int, Failure] = field(default_factory=dict)
    died_at: int = -1
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """A part that was evaluated.

    Attributes:
        number: Its position in the source.
        evaluated: What came out.
    """

    number: int
    evaluated: Evaluated


def evaluate_part(
    evaluator: Evaluator,
    part: Part,
    *,
    chosen: Slice = WHOLE,
    failures: dict[int, Failure] | None = None,
    note: Callable[[int], None] = lambda _position: None,
) -> Evaluated:
    """Let hooks decide the events of a part.

    Args:
        evaluator: The hooks.
        part: The events.
        chosen: Of which sessions.
        failures: Position of an event to why it is not evaluated again.
        note: Called with the position of each event before it is evaluated.

    Raises:
        UsageError, HistoryError, sqlite3.DatabaseError: If the part cannot be read.
    """
    is_whole = chosen.count == 1
    with read_errors(part):
        rows = part.read(evaluator.events) if is_whole else _read_once(part, evaluator.events)
    result = Result(rows.events, rows.sessions)
    decided = result.decided
    positions: list[int] = []
    for position, row in enumerate(_iterate(rows, part)):
        if not chosen.takes(row.session):
            continue
        failure = failures.get(position) if failures else None
        count = len(decided)
        try:
            if failure is not None:
                evaluator.fail(row, failure, result)
            else:
                note(position)
                evaluator.evaluate(row, result)
        except UnreadableEventError as error:
            result.add_problems([f"event {row.ref} of {row.session}: {error}; skipped"], 1)
        if len(decided) > count:
            positions.append(position)
    if chosen.number:
        leave_counts_to_first(result)
    else:
        result.add_problems(rows.problems, rows.problem_count)
    return Evaluated(result, rows.digest, positions, evaluator.read_files())


@lru_cache(maxsize=1)
def _read_once(part: Part, wanted: frozenset[str]) -> Rows:
    """Read a part of which this process evaluates several slices."""
    rows = part.read(wanted)
    rows.rows = list(rows.rows)
    return rows


def _iterate(rows: Rows, part: Part) -> Iterator[EventRow]:
    """Yield the events of a part; an error of the source is not one of the hooks."""
    with read_errors(part):
        yield from rows.rows


class Pool:
    """Processes that evaluate the parts of a source with the same hooks.

    Args:
        subject: The hooks.
        jobs: Number of processes.
        timeout: Seconds after which an event counts as timed out.
    """

    def __init__(self, subject: Subject, jobs: int, timeout: float) -> None:
        self._subject = subject
        self._timeout = timeout
        self._jobs = jobs
        self._workers: list[_Worker] = []
        self._slices: dict[int, dict[int, Evaluated]] = {}
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def run(self, parts: Iterable[tuple[int, Part]]) -> Iterator[Done]:
        """Evaluate parts, yield the results in any order, and end the processes.

        Raises:
            UsageError: If the hooks cannot be loaded, or a part cannot be read.
            sqlite3.DatabaseError: If a part of the history cannot be read.
        """
        try:
            yield from self.evaluate(parts)
        finally:
            self.close()

    def evaluate(self, parts: Iterable[tuple[int, Part]]) -> Iterator[Done]:
        """Evaluate parts, yield the results in any order, and keep the processes for further ones.

        Raises:
            UsageError: If the hooks cannot be loaded, or a part cannot be read.
            sqlite3.DatabaseError: If a part of the history cannot be read.
        """
        waiting = self._tasks_of(list(parts))
        if self._directory is None:
            # A process that is killed cannot remove its copies of a project.
            self._directory = tempfile.TemporaryDirectory(prefix="anyhook-backtest-")
        while len(self._workers) < min(self._jobs, len(waiting)):
            self._workers.append(self._start_worker())
        while waiting or any(worker.task for worker in self._workers):
            for worker in self._workers:
                if worker.task is None and waiting:
                    worker.give(waiting.popleft())
            for task, evaluated in self._collect(waiting):
                whole = self._add_slice(task, evaluated)
                if whole is not None:
                    yield Done(task.number, whole)

    def _tasks_of(self, parts: list[tuple[int, Part]]) -> deque[Task]:
        """Return what is to be done: parts, or slices of the few parts of a project."""
        slices = [WHOLE]
        if self._subject.is_project and parts:
            slices = slices_of(len(parts), self._jobs)
        return deque(Task(number, part, chosen) for number, part in parts for chosen in slices)

    def _add_slice(self, task: Task, evaluated: Evaluated) -> Evaluated | None:
        """Return the results on a whole part, as soon as all of its slices are there."""
        if task.chosen.count == 1:
            return evaluated
        slices = self._slices.setdefault(task.number, {})
        slices[task.chosen.number] = evaluated
        if len(slices) < task.chosen.count:
            return None
        del self._slices[task.number]
        return merge_slices([slices[number] for number in sorted(slices)])

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None

    def _start_worker(self, context: SpawnContext | ForkServerContext = _SPAWN) -> _Worker:
        directory = "" if self._directory is None else self._directory.name
        return _Worker(self._subject, directory, self._timeout, context)

    def _collect(self, waiting: deque[Task]) -> Iterator[tuple[Task, Evaluated]]:
        """Wait for something to happen, and yield what was done."""
        busy = {worker.connection: worker for worker in self._workers if worker.task}
        ready = wait(list(busy), timeout=LOOK)
        for connection in ready:
            worker = busy[connection]  # type: ignore[index] # only connections were waited for
            task, evaluated = worker.task, worker.take()
            if task is not None and evaluated is not None:
                yield task, evaluated
            else:
                self._replace(worker, waiting)
        for worker in busy.values():
            if worker.task is not None and worker.seconds_on_event() > worker.limit:
                worker.task.failures[worker.position] = Failure(self._timeout)
                self._replace(worker, waiting, has_died=False)

    def _replace(self, worker: _Worker, waiting: deque[Task], *, has_died: bool = True) -> None:
        """Start another process in place of one that died or hangs."""
        task, position = worker.task, worker.position
        failure = Failure.of_process(worker.exit_code() if has_died else None)
        worker.end()
        # A hook may end the process at each event, and a fork is there in a tenth of the time. The
        # first processes are children of this one, so that the system adds up what they use.
        self._workers[self._workers.index(worker)] = self._start_worker(_FORKSERVER)
        if task is None:
            return
        if has_died:
            self._count_death(task, position, failure)
        waiting.appendleft(task)

    def _count_death(self, task: Task, position: int, failure: Failure) -> None:
        """Skip the event on which processes die; a hook may also die on another one each time.

        Raises:
            UsageError: If they die before the first event.
        """
        task.deaths += 1
        is_last_try = task.deaths >= MOST_DEATHS
        if position == READING and is_last_try:
            raise UsageError(
                f"{task.part.title} cannot be read: {failure.problem.replace('its', 'the')} that "
                f"reads it; it was tried {MOST_DEATHS} times"
            )
        if position == LOADING and is_last_try:
            raise UsageError(
                f"{self._subject.title} ends its process while it is loaded; it was tried "
                f"{MOST_DEATHS} times"
            )
        if position >= 0 and (task.died_at == position or is_last_try):
            task.failures[position] = failure
            task.deaths = 0
        task.died_at = position


class _Worker:
    """One process."""

    def __init__(
        self,
        subject: Subject,
        directory: str,
        limit: float,
        context: SpawnContext | ForkServerContext,
    ) -> None:
        self.connection, theirs = context.Pipe()
        # Position of the event in the part, and when it began on the monotonic clock.
        # Third, seconds on an event after which it must be killed.
        self._at = context.RawArray("d", [LOADING, 0.0, limit])
        self.task: Task | None = None
        self._process: BaseProcess = context.Process(
            target=_work, args=(subject, directory, limit, theirs, self._at), daemon=True
        )
        self._process.start()
        theirs.close()

    @property
    def position(self) -> int:
        """Position of the event that it is at, or `LOADING` or `READING`."""
        return int(self._at[0])

    @property
    def limit(self) -> float:
        """Seconds on an event after which it must be killed."""
        return float(self._at[2])

    def seconds_on_event(self) -> float:
        """Return how long it has been at this event."""
        return time.monotonic() - self._at[1] if self._at[0] >= 0 else 0.0

    def give(self, task: Task) -> None:
        """Let it do a task."""
        self.task = task
        self._at[0] = LOADING
        try:
            self.connection.send(task)
        except OSError:  # it has died, which is found when its answer is waited for
            return

    def take(self) -> Evaluated | None:
        """Return the results of its task; `None` if it has died.

        Raises:
            UsageError: If it cannot load the hooks, or read the part.
            sqlite3.DatabaseError: If it cannot read the history.
        """
        try:
            answer: Evaluated | str | sqlite3.DatabaseError = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, str):
            raise UsageError(answer)
        if isinstance(answer, sqlite3.DatabaseError):
            raise answer
        self.task = None
        return answer

    def exit_code(self) -> int | None:
        """Return the exit code of a process that has closed its connection; `None` if it runs."""
        self._process.join(END_SECONDS)
        return self._process.exitcode

    def end(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def _work(subject: Subject, directory: str, limit: float, connection: Connection, at: Any) -> None:
    """Evaluate parts until the connection is closed; runs in a process of its own."""
    silence()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    tempfile.tempdir = directory
    evaluator: Evaluator | None = None
    reopen_streams = Streams().reopen

    def start() -> None:
        reopen_streams()
        at[1] = time.monotonic()

    def note(position: int) -> None:
        at[1] = time.monotonic()
        at[0] = position

    while True:
        try:
            task: Task = connection.recv()
        except EOFError:
            return
        try:
            if evaluator is None:
                evaluator = load_hooks_of(subject)
            reopen_streams()
            at[2] = evaluator.set_limit(limit, start)
            at[0] = READING
            answer: Evaluated | str | sqlite3.DatabaseError = evaluate_part(
                evaluator, task.part, chosen=task.chosen, failures=task.failures, note=note
            )
        except AnyhookError as error:
            answer = str(error)
        except sqlite3.DatabaseError as error:
            answer = error
        at[0] = LOADING
        connection.send(answer)


def _end_with_parent() -> None:
    """End this process, whatever a hook does in it, when the one that started it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
