"""A hook file as the subject of a backtest: its functions are called in a process of a sandbox."""

from __future__ import annotations

import hashlib
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook import __version__
from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.authoring.degrade import UnsupportedError, fit
from anyhook.authoring.functions import (
    LATE,
    MAX_TIMEOUT,
    HookFunction,
    call_function,
    describe_crash,
    drop_wrong_fields,
    subject_names,
    to_answer,
)
from anyhook.authoring.load import load_hooks
from anyhook.backtest.reads import Memory, Reads
from anyhook.backtest.results import Crash, Result, bucket_of
from anyhook.backtest.sources import crash_text
from anyhook.backtest.subjects import (
    OUT_OF_TIME,
    Failure,
    Opinion,
    OutOfTimeError,
    answer_of_end,
    failure_text,
)
from anyhook.history.events import DIGEST_SIZE
from anyhook.history.verdicts import CRASH, verdict_of
from anyhook.journal.records import answer_record
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.sequence import combine_answers
from anyhook.model.tools import TOOLS
from anyhook.trust.following import Follower
from anyhook.trust.name_search import ProjectFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.backtest.project import ProjectHooks
    from anyhook.backtest.sources import EventRow
    from anyhook.backtest.subjects import BacktestSubject
    from anyhook.model.events import Event


GRACE = 0.5
"""Seconds from the time limit to the end of a process in which a function goes on."""
NONE = Opinion({})


class HookFile:
    """The functions of a hook file, called on recorded events.

    `limit` is how many seconds the functions of an event may take; that of the file counts if it is
    shorter.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
    """

    def __init__(self, path: str, limit: float) -> None:
        self._reads = Reads(str(Path(path).resolve().parent))
        with self._reads:
            self._hooks = load_hooks(path)
        self.events = frozenset(function.event for function in self._hooks.functions)
        self._by_label = {function.name: function for function in self._hooks.functions}
        self._covered: dict[tuple[str, str | None], bool] = {}
        self._limit = min(limit, self._hooks.timeout or MAX_TIMEOUT)
        self.limit = self._limit + GRACE
        self._alarm = _Alarm()
        self._alarm.install()
        self._memory = Memory()

    def evaluate(self, row: EventRow, payload: Mapping[str, Any], result: Result) -> Opinion:
        """Decide a recorded event, and count what comes out."""
        agent = get_agent(row.agent).form_of(payload)
        event, _ = decode_event(agent, payload)
        calls: list[_Call] = []
        current: HookFunction | None = None
        alarm = self._alarm

        def call(function: HookFunction, copied: Any) -> Answer:
            nonlocal current
            current = function
            started = time.perf_counter()
            answer, error = _call(function, copied)
            seconds = time.perf_counter() - started
            if alarm.has_rung:  # the function has caught the exception
                raise OutOfTimeError
            if error is not None:
                problem = describe_crash(function, f"failed ({type(error).__name__})")
                answer = self._answer_crash(agent, event, problem)
            crash = "" if error is None else describe_error(error, function.file)
            calls.append(_Call(function.name, seconds, crash, answer))
            return answer

        try:
            with self._reads:
                alarm.start(self._limit)
                answer = self._hooks.decide(event, agent, call)
        except OutOfTimeError:
            label = f"a hook on {row.event}" if current is None else current.name
            calls.append(self._late_call(agent, event, label, current))
            answer = combine_answers([call.answer for call in calls])
        finally:
            alarm.stop()
        return self._opinion(row, _Run(agent, event, answer, calls), result)

    def fail(
        self, row: EventRow, payload: Mapping[str, Any], failure: Failure, result: Result
    ) -> Opinion:
        """Count a recorded event on which the process ended or was killed at the time limit.

        No function is called again. The other functions of the event have no effect either: they
        share the process.
        """
        agent = get_agent(row.agent).form_of(payload)
        event, _ = decode_event(agent, payload)
        names = subject_names(event, agent)
        functions = [f for f in self._hooks.functions if f.event == event.name and f.covers(names)]
        function = functions[0] if len(functions) == 1 else None
        label = f"a hook on {row.event}" if function is None else function.name
        problem = ""
        if failure.seconds:
            call = self._late_call(agent, event, label, function)
        else:
            answer = answer_of_end(agent, event, failure)
            call = _Call(label, None, "", answer or NO_OPINION)
            if answer is None:
                call = call._replace(crash=failure.problem)
            problem = failure_text(row, label, failure.problem)
        opinion = self._opinion(row, _Run(agent, event, call.answer, [call]), result)
        return opinion._replace(problem=problem) if problem else opinion

    def _opinion(self, row: EventRow, run: _Run, result: Result) -> Opinion:
        """Count what came of an event, and return what the agent makes of it."""
        _count(run.calls, result)
        problem = ""
        if run.is_late:
            result.add_timeouts(1, self._limit)
            result.limit = self._limit
            problem = failure_text(row, run.calls[-1].label, OUT_OF_TIME)
        if run.answer is NO_OPINION:
            if not run.crash:
                return NONE
            return Opinion({}, tuple(run.labels), run.crash, problem, not run.has_failed)
        agent, event, name = run.agent, run.event, self._hooks.name
        must_refuse = self._hooks.unsupported == "refuse"
        try:
            fitted, _ = fit(agent, event, run.answer, name=name, refuse=must_refuse)
        except UnsupportedError as error:
            last = self._by_label.get(run.labels[-1])
            text = describe_crash(last, f"is refused: {error}")
            crash = self._answer_crash(agent, event, text)
            # As in the process of a hook, an answer that denied still denies.
            if run.answer.outcome is Outcome.DENY:
                crash = crash.replace(outcome=Outcome.DENY, reason=run.answer.reason)
            fitted, _ = fit(agent, event, crash)
        decision = answer_record(fitted)
        return Opinion(decision, tuple(run.labels), run.crash, problem, not run.has_failed)

    def may_decide(self, row: EventRow) -> bool:
        """Return whether a function may cover an event, before its payload is read."""
        key = (row.event, row.tool)
        if key not in self._covered:
            self._covered[key] = False
            for function in self._hooks.functions:
                if function.event != row.event:
                    continue
                # The tool has its canonical name; a function may have the name of an agent.
                has_other_names = any(name not in TOOLS for name in function.subjects)
                if row.tool is None or has_other_names or function.covers([row.tool]):
                    self._covered[key] = True
                    break
        return self._covered[key]

    def has_changed(self) -> bool:
        """Return whether the hook file may remember something."""
        return self._memory.has_changed()

    def reads(self) -> frozenset[str]:
        """Return the files and variables that the hook file has read, as `Reads.names`."""
        return self._reads.names()

    def _late_call(
        self, agent: AgentSpec, event: Event, label: str, function: HookFunction | None
    ) -> _Call:
        """Return the call of a function that ran out of time, with the answer to that."""
        answer = self._answer_crash(agent, event, describe_crash(function, LATE))
        return _Call(label, None, OUT_OF_TIME, answer)

    def _answer_crash(self, agent: AgentSpec, event: Event, problem: str) -> Answer:
        """Return what a hook file answers when a function fails."""
        spec = agent.by_canonical.get(event.name)
        can_deny = spec is not None and spec.can_fail_closed
        return self._hooks.answer_crash(problem, can_deny=can_deny)


class _Call(NamedTuple):
    """A call of a function."""

    label: str
    seconds: float | None
    """How long it took; `None` if it did not return."""
    crash: str
    """What it raised, or why it did not return; empty if it did not fail."""
    answer: Answer


class _Run(NamedTuple):
    """The functions were called with a payload."""

    agent: AgentSpec
    event: Event
    answer: Answer
    calls: list[_Call]

    @property
    def labels(self) -> list[str]:
        """The names of the functions with an opinion, and of those that failed."""
        return [call.label for call in self.calls if call.crash or call.answer is not NO_OPINION]

    @property
    def crash(self) -> str:
        """The error of the first function that failed; empty if none did."""
        return next((call.crash for call in self.calls if call.crash), "")

    @property
    def is_late(self) -> bool:
        """Whether the functions ran out of time."""
        return bool(self.calls) and self.calls[-1].crash == OUT_OF_TIME

    @property
    def has_failed(self) -> bool:
        """Whether a function did not return."""
        return bool(self.calls) and self.calls[-1].seconds is None


def _count(calls: Iterable[_Call], result: Result) -> None:
    """Add calls to the results of their functions."""
    for call in calls:
        tally = result.tally(call.label)
        tally.matched += 1
        if call.seconds is not None:
            tally.durations[bucket_of(call.seconds)] += 1
        if call.answer is NO_OPINION:
            verdict = "none"
        elif call.answer.outcome is not Outcome.NONE:
            verdict = str(call.answer.outcome)
        else:
            verdict = verdict_of(answer_record(call.answer))
        if call.crash == OUT_OF_TIME:
            tally.timed_out += 1
        elif call.crash:
            tally.crashed += 1
            result.add_crash(Crash(call.label, call.crash))
        if call.crash:
            verdict = CRASH if verdict in ("none", "change") else verdict
        tally.outcomes[verdict] += 1


def _call(function: HookFunction, event: Any) -> tuple[Answer, BaseException | None]:
    """Call a function, and return its answer and what it raised."""
    try:
        answer = to_answer(function, call_function(function, event))
        return answer if answer is NO_OPINION else drop_wrong_fields(answer)[0], None
    except (KeyboardInterrupt, OutOfTimeError):
        raise
    except BaseException as error:  # noqa: BLE001 - an exit is a crash too
        return NO_OPINION, error


def describe_error(error: BaseException, file: str) -> str:
    """Return an exception with its text and its line, without secrets: `…: … (guard.py:7)`.

    The last line of the hook file that was run is named, or that of another file if none of it was.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the code of a hook
        text = ""
    name = type(error).__name__
    message = f"{name}: {text}" if text else name
    last, last_own = "", ""
    traceback = error.__traceback__
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        last = f" ({Path(path).name}:{traceback.tb_lineno})"
        if path == file:
            last_own = last
        traceback = traceback.tb_next
    return f"{crash_text(message)}{last_own or last}"


class _Alarm:
    """Raises `OutOfTimeError` in the main thread, where the platform has timers.

    `anyhook.authoring.process_exit.Deadline` sets a handler each time, which takes 5 µs; a process
    decides ten thousand events a second. Here it stays, and a timer that is not stopped is replaced
    by the next one, which takes 1 µs.
    """

    def __init__(self) -> None:
        self.has_rung = False
        self._is_on = False

    def install(self) -> None:
        """Set the handler of the signal, as a hook may have set another one, and no time."""
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._ring)

    def start(self, seconds: float) -> None:
        """Start the clock."""
        self.has_rung = False
        self._is_on = True
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        """Stop the clock."""
        self._is_on = False

    def _ring(self, _number: int, _frame: object) -> None:
        if self._is_on:
            self.has_rung = True
            raise OutOfTimeError


def load_hooks_of(subject: BacktestSubject, limit: float) -> HookFile | ProjectHooks:
    """Load the hooks of a subject, which runs the code of a hook file.

    `limit` is how many seconds an event may take.

    Raises:
        UsageError: If they cannot be loaded.
    """
    if subject.is_project:
        from anyhook.backtest.project import ProjectHooks  # an engine takes 0.2 s to import

        return ProjectHooks(subject, limit)
    return HookFile(subject.path, limit)


def digest_of(file: Path) -> str:
    """Return a hash of the code of a hook file, the modules next to it, Python and anyhook."""
    hasher = hashlib.blake2b(f"{__version__} {sys.version}".encode(), digest_size=DIGEST_SIZE)
    source, *modules = file_with_modules(file)
    hasher.update(source.read_bytes())
    for path in modules:
        hasher.update(b"\0" + path.name.encode("utf-8", "replace") + b"\0" + path.read_bytes())
    return hasher.hexdigest()


def file_with_modules(file: Path) -> list[Path]:
    """Return a hook file, and the modules next to it that it may load."""
    follower = Follower(file.parent, file.parent, ProjectFiles())
    followed = follower.follow("", [file])
    modules = sorted(map(Path, followed.files))
    return [file, *[path for path in modules if path != file]]
