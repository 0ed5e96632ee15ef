"""Processes that evaluate parts. They run no hooks themselves: each has a sandbox for that.

Several processes share a part of a project by slices: the events of some of its sessions. An event
of a project takes as long as its commands, a thousand times as long as a function, and a few
thousand events are one part. The events of a session stay together and in order, because hooks may
set variables for the later hooks of their session. Each process has its own copy of the project, so
that commands that run at the same time do not meet in it.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sqlite3
import threading
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from operator import itemgetter
from typing import TYPE_CHECKING

from anyhook.backtest.results import Decided, Result
from anyhook.backtest.runner import SAMPLE, DecidedSession, SessionRunner
from anyhook.backtest.sources import EventRow, EventRows, Part, read_errors
from anyhook.errors import AnyhookError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from multiprocessing.process import BaseProcess

    from anyhook.backtest.subjects import BacktestSubject


MAX_HELD_SIZE = 64 * 1024**2
"""Characters of payloads that are held until their sessions are decided. The rest of a longer part
is decided as if it were another part. Only parts of a history are so long."""
SAMPLED_PARTS, SAMPLED_SESSIONS = 8, 4
"""Of one part in so many, so many sessions are decided again in other circumstances."""
END_SECONDS = 10.0
"""Seconds that a process without a task has to end, with its sandbox."""
_SPAWN = multiprocessing.get_context("spawn")  # a fork would copy threads and connections


# -- slices of a part

SLICES_OF_PROCESS = 8
"""Slices for each process, if there are not as many parts: sessions are of different lengths."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Which sessions of a part."""

    number: int = 0
    count: int = 1

    def takes(self, rank: int) -> bool:
        """Return whether a session belongs to the slice, by its rank among those of the part."""
        return rank % self.count == self.number

    def count_below(self, rank: int) -> int:
        """Return how many sessions before a rank belong to the slice."""
        return len(range(self.number, rank, self.count))


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The results on a part or a slice of it."""

    result: Result
    """The first slice counts all events of the part."""
    positions: Sequence[int]
    """Position in the part of each event on which hooks had an opinion."""


def slices_of(parts: int, processes: int) -> list[Slice]:
    """Return the slices of each part."""
    count = 1
    if processes > 1:
        count = math.ceil(processes * SLICES_OF_PROCESS / parts)
    return [Slice(number, count) for number in range(count)]


def merge_slices(slices: Sequence[Evaluated]) -> Result:
    """Return the results on a part from those of all its slices."""
    merged = Result()
    decided: list[tuple[int, Decided]] = []
    for piece in slices:
        merged.add(piece.result)
        decided += zip(piece.positions, piece.result.decided, strict=True)
    decided.sort(key=itemgetter(0))
    merged.decided = [item for _, item in decided]
    return merged


WHOLE = Slice()


# -- a part


@dataclass(frozen=True, slots=True)
class PoolTask:
    """A part, or a slice of one, on its way."""

    number: int
    part: Part
    chosen: Slice = WHOLE
    is_second_try: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A part that was evaluated."""

    number: int
    result: Result


def evaluate_part(
    runner: SessionRunner, part: Part, chosen: Slice = WHOLE, *, is_sampled: bool = True
) -> Evaluated:
    """Let hooks decide the events of a part, one session after the other.

    If it `is_sampled`, some events are decided again in other circumstances.

    Raises:
        UsageError, HistoryError, sqlite3.DatabaseError: If the part cannot be read, or the hooks
            cannot be loaded.
    """
    is_whole = chosen.count == 1
    with read_errors(part):
        rows = part.read(runner.events) if is_whole else _read_once(part, runner.events)
    count = chosen.count_below(SAMPLED_SESSIONS) if is_sampled else 0
    evaluation = _PartEvaluation(runner, count)
    ranks: dict[str, int] = {}
    for position, row in enumerate(_iterate(rows, part)):
        if chosen.takes(ranks.setdefault(row.session, len(ranks))):
            evaluation.add(position, row)
    evaluation.decide()
    result = evaluation.result
    result.reads = evaluation.reads
    if chosen.number:  # the first slice counts for the whole part
        result.split_sessions = 0
    else:
        result.events, result.sessions = rows.events, rows.sessions
        result.unseen = rows.unseen
        result.add_problems(rows.problems, rows.problem_count)
    return Evaluated(result, sorted(evaluation.decided))


class _PartEvaluation:
    """Collects the events of each session of a part, and lets hooks decide them."""

    def __init__(self, runner: SessionRunner, sampled_sessions: int) -> None:
        self._runner = runner
        self._sampled_sessions = sampled_sessions
        self._sessions: dict[str, dict[int, EventRow]] = {}
        self._held = 0
        self._decided_sessions: set[str] = set()
        self._problems: dict[int, str] = {}
        self.decided: dict[int, Decided] = {}
        self.reads: set[str] = set()
        self._counts = Result()

    def add(self, position: int, row: EventRow) -> None:
        """Add an event; when too many are held, decide them."""
        self._sessions.setdefault(row.session, {})[position] = row
        if isinstance(row.payload, str):
            self._held += len(row.payload)
        if self._held > MAX_HELD_SIZE:
            self.decide()

    def decide(self) -> None:
        """Decide the events that are held."""
        sessions = [list(rows.values()) for rows in self._sessions.values()]
        decided = self._runner.decide(sessions)
        for (session, positioned), outcome in zip(self._sessions.items(), decided, strict=True):
            positions = list(positioned)
            self._counts.add(outcome.result)
            self.reads |= outcome.reads
            for number, decision in outcome.decided.items():
                self.decided[positions[number]] = decision
            for number, problem in outcome.problems.items():
                self._problems[positions[number]] = problem
            if session in self._decided_sessions:
                self._counts.split_sessions += 1
            self._decided_sessions.add(session)
        if self._sampled_sessions:
            sampled: list[list[EventRow]] = []
            before: list[DecidedSession] = []
            for rows, outcome in zip(sessions, decided, strict=True):
                if len(rows) > 1 and len(sampled) < self._sampled_sessions:
                    sampled.append(rows)
                    before.append(outcome)
                    self._counts.sampled += min(len(rows), SAMPLE)
            self._counts.depends += self._runner.sample(sampled, before)
            self._sampled_sessions = 0
        self._sessions.clear()
        self._held = 0

    @property
    def result(self) -> Result:
        """The results, in the order of the events."""
        result = self._counts
        for position in sorted(self.decided):
            result.add_decided(self.decided[position])
        problems = [self._problems[position] for position in sorted(self._problems)]
        result.add_problems(problems, len(problems))
        return result


@lru_cache(maxsize=1)
def _read_once(part: Part, names: frozenset[str]) -> EventRows:
    """Read a part of which this process evaluates several slices."""
    rows = part.read(names)
    rows.rows = list(rows.rows)
    return rows


def _iterate(rows: EventRows, part: Part) -> Iterator[EventRow]:
    """Yield the events of a part; an error of the source is not one of the hooks."""
    with read_errors(part):
        yield from rows.rows


class Pool:
    """Processes that evaluate the parts of a source with the same hooks.

    `timeout` is the number of seconds after which an event counts as timed out.
    """

    def __init__(self, subject: BacktestSubject, jobs: int, timeout: float) -> None:
        self._subject = subject
        self._timeout = timeout
        self._jobs = jobs
        self._workers: list[_Worker] = []
        self._slices: dict[int, dict[int, Evaluated]] = {}

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
        numbered = list(parts)
        slices = [WHOLE]
        if self._subject.is_project and numbered:  # a project has few parts
            slices = slices_of(len(numbered), self._jobs)
        waiting: deque[PoolTask] = deque()
        for number, part in numbered:
            waiting.extend([PoolTask(number, part, chosen) for chosen in slices])
        while len(self._workers) < min(self._jobs, len(waiting)):
            self._workers.append(_Worker(self._subject, self._timeout))
        while waiting or any(worker.task for worker in self._workers):
            for worker in self._workers:
                if worker.task is None and waiting:
                    worker.give(waiting.popleft())
            for task, evaluated in self._collect(waiting):
                result = self._add_slice(task, evaluated)
                if result is not None:
                    yield Done(task.number, result)

    def _add_slice(self, task: PoolTask, evaluated: Evaluated) -> Result | None:
        """Return the results on a whole part, as soon as all of its slices are there."""
        if task.chosen.count == 1:
            return evaluated.result
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

    def _collect(self, waiting: deque[PoolTask]) -> Iterator[tuple[PoolTask, Evaluated]]:
        """Wait for something to happen, and yield what was done.

        A process may be killed from outside; what it did is done again once.
        """
        busy = {worker.connection: worker for worker in self._workers if worker.task}
        for connection in wait(list(busy)):
            worker = busy[connection]  # type: ignore[index] # only connections were waited for
            task, evaluated = worker.task, worker.take()
            if task is None:
                continue
            if evaluated is not None:
                yield task, evaluated
                continue
            if task.is_second_try:
                raise UsageError(
                    f"{task.part.title} cannot be read: the process that reads it was killed twice"
                )
            worker.end()
            self._workers[self._workers.index(worker)] = _Worker(self._subject, self._timeout)
            waiting.appendleft(PoolTask(task.number, task.part, task.chosen, is_second_try=True))


class _Worker:
    """One process."""

    def __init__(self, subject: BacktestSubject, limit: float) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self.task: PoolTask | None = None
        self._process: BaseProcess = _SPAWN.Process(
            target=_work, args=(subject, limit, theirs), daemon=True
        )
        self._process.start()
        theirs.close()

    def give(self, task: PoolTask) -> None:
        """Let it do a task."""
        self.task = task
        try:
            self.connection.send(task)
        except OSError:  # it has ended, which `take` finds out
            return

    def take(self) -> Evaluated | None:
        """Return what came of its task; `None` if the process has ended.

        Raises:
            UsageError: If the hooks cannot be loaded, or the part cannot be read.
            sqlite3.DatabaseError: If a part of the history cannot be read.
        """
        self.task = None
        try:
            answer: Evaluated | Exception = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> None:
        """End the process and its sandbox."""
        self.connection.close()
        if self.task is None:
            self._process.join(END_SECONDS)
        self._process.kill()
        self._process.join()


def _work(subject: BacktestSubject, limit: float, connection: Connection) -> None:
    """Evaluate tasks in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that adds up
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runner: SessionRunner | None = None
    while True:
        try:
            task: PoolTask = connection.recv()
        except EOFError:
            break
        answer: Evaluated | Exception
        try:
            if runner is None:
                runner = SessionRunner(subject, limit)
                runner.load()
            is_sampled = task.number % SAMPLED_PARTS == 0
            answer = evaluate_part(runner, task.part, task.chosen, is_sampled=is_sampled)
        except AnyhookError as error:
            answer = UsageError(str(error))
        except sqlite3.DatabaseError as error:
            answer = error
        connection.send(answer)
    if runner is not None:
        runner.close()


def _end_with_parent() -> None:
    """End this process when the one that started it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
