"""Decide the recorded events of one session, in a process of a sandbox.

Each session begins in a new process that loads the hooks, as they are loaded for an agent. So what
hooks remember belongs to their session, and results do not depend on which process decides which
session.
"""

from __future__ import annotations

import datetime
import mmap
import os
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.backtest.results import Result
from anyhook.backtest.sources import EventRow, UnreadableEventError
from anyhook.backtest.subjects import BacktestSubject, Opinion
from anyhook.sandbox.world import move_paths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyhook.backtest.hook_file import HookFile
    from anyhook.backtest.project import ProjectHooks
    from anyhook.backtest.subjects import Failure
    from anyhook.sandbox.keeper import SandboxRun

    Evaluator = HookFile | ProjectHooks


SCRATCH = "/run"
"""A directory on the file system in which a sandbox keeps what is written."""
LOADING = -1
"""The step of a process that loads hooks; other steps are the numbers of events."""


@dataclass(frozen=True, slots=True)
class SessionCircumstances:
    """How events are decided, if not as they are."""

    without: tuple[str, ...] = ()
    has_placeholders: bool = False
    """Whether payloads have placeholders for secrets, as they are stored, and not examples."""
    is_shuffled: bool = False

    def payload_of(self, row: EventRow) -> Mapping[str, Any]:
        """Return the payload that hooks get.

        Raises:
            UnreadableEventError: If it cannot be read.
        """
        payload = row.read_stored_payload() if self.has_placeholders else row.read_payload()
        if not self.without:
            return payload
        return {name: value for name, value in payload.items() if name not in self.without}


AS_RECORDED = SessionCircumstances()


@dataclass(slots=True)
class SessionResult:
    """What came of the events of a session."""

    counts: Result
    opinions: dict[int, Opinion] = field(default_factory=dict)
    """Number of an event in the session to what hooks made of it, if they had an opinion or failed
    or there is something to report."""
    reads: frozenset[str] = frozenset()
    """The files and variables that hooks have read, as `Reads.names`."""
    modules: tuple[str, ...] = ()


def find_events(run: SandboxRun, subject: BacktestSubject, limit: float) -> frozenset[str]:
    """Load hooks, and return the canonical names of the events that they decide.

    Raises:
        UsageError: If they cannot be loaded.
    """
    return _load(run, subject, limit).events


def _load(run: SandboxRun, subject: BacktestSubject, limit: float) -> Evaluator:
    from anyhook.backtest.hook_file import load_hooks_of

    run.begin(LOADING, limit)
    return load_hooks_of(subject, limit)


@dataclass(frozen=True, slots=True)
class SessionEvents:
    """The events of a session on their way to a sandbox."""

    rows: Sequence[EventRow]
    failures: Mapping[int, Failure]
    """Number of an event to why it is not decided again."""
    circumstances: SessionCircumstances
    paths: Sequence[tuple[str, str]]
    """Real paths to the paths in the sandbox."""


class Batch(NamedTuple):
    """Sessions that are decided with hooks that are loaded once."""

    sessions: Sequence[SessionEvents]
    clock_shift: float = 0.0
    """Seconds by which the clock is ahead."""


def decide_sessions(run: SandboxRun, subject: BacktestSubject, limit: float, batch: Batch) -> None:
    """Load hooks, and let them decide sessions, each as if they had just been loaded.

    A process decides one session after the other as long as the hooks remember nothing. It ends
    early if they have written files, because the next session needs the files as they were. `run`
    notes the number of each event, and sends each `SessionResult` with its number.

    Raises:
        UsageError: If the hooks cannot be loaded.
    """
    modules_before = set(sys.modules)
    if batch.clock_shift:
        shift_clock(batch.clock_shift)
    evaluator = _load(run, subject, limit)
    files = _FileState(is_copied=bool(batch.sessions[0].paths))
    decided = mmap.mmap(-1, 1 + len(batch.sessions).bit_length() // 8)
    number = 0
    while number < len(batch.sessions) and not (number and files.have_changed()):
        process = os.fork()
        if not process:
            for at in range(number, len(batch.sessions)):
                result = _decide(run, evaluator, batch.sessions[at])
                result.modules = tuple(name for name in sys.modules if name not in modules_before)
                run.send((at, result))
                decided[:] = (at + 1).to_bytes(len(decided), "big")
                if evaluator.has_changed() or files.have_changed():
                    break
            os._exit(0)
        _, status = os.waitpid(process, 0)
        before, number = number, int.from_bytes(decided[:], "big")
        if status or number == before:  # a hook may end its process with any code
            # This process ends as the other one has ended.
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                with suppress(OSError, ValueError):  # SIGKILL has no handler
                    signal.signal(-code, signal.SIG_DFL)
                os.kill(os.getpid(), -code)
            os._exit(code)


class _FileState:
    """The state of the files in this sandbox.

    What is written is in one file system in memory, which counts its files. Copies are on a disk,
    which other programs use, too.
    """

    def __init__(self, *, is_copied: bool) -> None:
        self._is_copied = is_copied
        self._before = self._read()

    def have_changed(self) -> bool:
        """Return whether files may have been written since."""
        return self._is_copied or self._read() != self._before

    def _read(self) -> tuple[int, int]:
        system = os.statvfs(SCRATCH)
        return system.f_files - system.f_ffree, system.f_bfree


def _decide(run: SandboxRun, evaluator: Evaluator, events: SessionEvents) -> SessionResult:
    """Let hooks decide the events of a session, in order."""
    rows, circumstances = events.rows, events.circumstances
    result = Result()
    opinions: dict[int, Opinion] = {}
    numbers = list(range(len(rows)))
    if circumstances.is_shuffled:  # each event gets other neighbors and another place
        middle = len(rows) // 2
        numbers = [*reversed(numbers[:middle]), *reversed(numbers[middle:])]
    directory: object = ""
    streams = _Streams()
    for number in numbers:
        row = rows[number]
        if not evaluator.may_decide(row):
            continue
        try:
            payload = move_paths(circumstances.payload_of(row), events.paths)
        except UnreadableEventError as error:
            problem = f"event {row.ref} of {row.session}: {error}; skipped"
            opinions[number] = Opinion({}, problem=problem)
            continue
        if payload.get("cwd") != directory:
            directory = payload.get("cwd")
            if isinstance(directory, str):
                with suppress(OSError, ValueError):  # it does not exist any more
                    os.chdir(directory)
        streams.reopen()
        failure = events.failures.get(number)
        if failure is None:
            run.begin(number, evaluator.limit)
            opinion = evaluator.evaluate(row, payload, result)
        else:
            opinion = evaluator.fail(row, payload, failure, result)
        if opinion.counts or opinion.problem:
            opinions[number] = opinion
    run.begin(len(rows))
    return SessionResult(result, opinions, evaluator.reads())


# -- the standard streams

STREAMS = ("stdin", "stdout", "stderr")
"""Names of the streams in the order of their descriptors."""


class _Streams:
    """The three streams, which a hook may close.

    The next hook starts with all of them. A closed descriptor would also be that of the next file
    or connection of this process.
    """

    def __init__(self) -> None:
        self._poll = None
        if sys.platform != "win32":  # one call in place of three
            self._poll = select.poll()
            for descriptor in range(len(STREAMS)):
                self._poll.register(descriptor, 0)

    def reopen(self) -> None:
        """Open those that are closed."""
        if self._poll is None or self._poll.poll(0):
            for descriptor in range(len(STREAMS)):
                try:
                    os.fstat(descriptor)
                except OSError:
                    null = os.open(os.devnull, os.O_RDWR)
                    if null == descriptor:  # the lowest one that is closed
                        os.set_inheritable(null, True)  # programs that the hook starts have it, too
                    else:
                        os.dup2(null, descriptor)
                        os.close(null)
        for descriptor, name in enumerate(STREAMS):
            stream = getattr(sys, name)
            if stream is None or stream.closed:
                mode = "r" if name == "stdin" else "w"
                setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))


# -- another time, to find out whether decisions depend on it


def shift_clock(seconds: float) -> None:
    """Let Python's clocks be ahead in this process, for modules that are loaded from now on.

    Clocks that measure durations stay, and programs that are started have the real time.
    """
    real_time, real_time_ns = time.time, time.time_ns

    def now() -> float:
        return real_time() + seconds

    def of_now(function: Any) -> Any:
        def shifted(*arguments: Any) -> Any:
            return function(*(arguments or (now(),)))

        return shifted

    real_strftime, localtime = time.strftime, of_now(time.localtime)

    def strftime(form: str, moment: Any = None) -> Any:
        return real_strftime(form, localtime() if moment is None else moment)

    class ShiftedDate(datetime.date):
        """A date whose today is ahead."""

        @classmethod
        def today(cls) -> ShiftedDate:
            return cls.fromtimestamp(now())

    class ShiftedDatetime(datetime.datetime):
        """A time whose now is ahead."""

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> ShiftedDatetime:
            return cls.fromtimestamp(now(), tz)

        @classmethod
        def today(cls) -> ShiftedDatetime:
            return cls.fromtimestamp(now())

        @classmethod
        def utcnow(cls) -> ShiftedDatetime:
            return cls.fromtimestamp(now(), datetime.UTC).replace(tzinfo=None)

    changes: dict[Any, dict[str, Any]] = {
        time: {
            "time": now,
            "time_ns": lambda: real_time_ns() + int(seconds * 1e9),
            "localtime": localtime,
            "gmtime": of_now(time.gmtime),
            "ctime": of_now(time.ctime),
            "strftime": strftime,
        },
        datetime: {"date": ShiftedDate, "datetime": ShiftedDatetime},
    }
    for module, attributes in changes.items():
        for name, value in attributes.items():
            setattr(module, name, value)
