"""A hook file as the subject of a backtest: its functions are called in this process."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.authoring.degrade import EVENT_FIELDS, UnsupportedError, fit
from anyhook.authoring.functions import (
    MAX_TIMEOUT,
    call_function,
    describe_crash,
    drop_wrong_fields,
    subject_names,
    to_answer,
)
from anyhook.authoring.load import load_hooks
from anyhook.backtest.alarm import Alarm
from anyhook.backtest.decided import crash_text, decided_of, dependencies
from anyhook.backtest.failures import (
    OUT_OF_TIME,
    Failure,
    OutOfTimeError,
    answer_of_end,
    report_failure,
)
from anyhook.backtest.read_files import ReadFiles
from anyhook.backtest.results import CRASH, Crash, Result, bucket_of, outcome_of
from anyhook.history.record import answer_record
from anyhook.model.answers import NO_OPINION, Answer, Outcome
from anyhook.model.sequence import combine_answers
from anyhook.model.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anyhook.agents.spec import AgentSpec
    from anyhook.authoring.functions import HookFunction
    from anyhook.backtest.sources import EventRow
    from anyhook.model.events import Event
GRACE = 0.5
"""Seconds from the time limit to the end of a process in which a function goes on."""


class HookFile:
    """The functions of a hook file, called on recorded events.

    Args:
        path: The file.

    Raises:
        UsageError: If it is no hook file, or cannot be imported.
    """

    def __init__(self, path: str) -> None:
        self._reads = ReadFiles(str(Path(path).resolve().parent))
        with self._reads:
            self._hooks = load_hooks(path)
        self.events = frozenset(function.event for function in self._hooks.functions)
        self._by_label = {function.name: function for function in self._hooks.functions}
        self._agents: dict[str, AgentSpec] = {}
        self._covered: dict[tuple[str, str | None], bool] = {}
        self._limit = self._hooks.timeout or MAX_TIMEOUT
        self._on_start: Callable[[], object] = lambda: None
        self._alarm = Alarm()

    def set_limit(self, seconds: float, on_start: Callable[[], object]) -> float:
        """Limit the time of the functions of an event.

        Args:
            seconds: The limit; that of the file counts if it is shorter.
            on_start: Called when the time of an event begins.

        Returns:
            Seconds after which the process must be killed: a function may catch the exception
            that ends it, or be in code that is not Python's.
        """
        self._limit = min(seconds, self._hooks.timeout or MAX_TIMEOUT)
        self._on_start = on_start
        self._alarm.install()
        return self._limit + GRACE

    def labels(self) -> list[str]:
        """Return the names of the functions."""
        return list(self._by_label)

    def evaluate(self, row: EventRow, result: Result) -> None:
        """Decide a recorded event, and add what comes out to a result."""
        if not self._may_cover(row.event, row.tool):
            return
        payload = row.read_payload()
        self._add(row, payload, self._run(row, payload), result)

    def fail(self, row: EventRow, failure: Failure, result: Result) -> None:
        """Count a recorded event on which the process ended or was killed at the time limit.

        No function is called again. The other functions of the event have no effect either: they
        share the process.
        """
        payload = row.read_payload()
        agent = self._agent(row.agent).form_of(payload)
        event, _ = decode_event(agent, payload)
        names = subject_names(event, agent)
        functions = [f for f in self._hooks.functions if f.event == event.name and f.covers(names)]
        function = functions[0] if len(functions) == 1 else None
        label = f"a hook on {row.event}" if function is None else function.name
        if failure.seconds:
            call = self._late_call(agent, event, label, function)
        else:
            answer, has_crashed = answer_of_end(agent, event, failure)
            call = _Call(label, None, failure.problem if has_crashed else "", answer)
            report_failure(row, label, failure.problem, result)
        self._add(row, payload, _Run(agent, event, call.answer, [call]), result)

    def _add(self, row: EventRow, payload: Mapping[str, Any], run: _Run, result: Result) -> None:
        """Add what came of an event to a result."""
        _count(run.calls, result)
        if run.is_late:
            result.add_timeouts(1, self._limit)
            result.limit = self._limit
            report_failure(row, run.calls[-1].label, OUT_OF_TIME, result)
        if run.answer is NO_OPINION and not run.crash:
            return
        decision = self._decision_of(run)
        if not decision and not run.crash:
            return

        def decide(rest: Mapping[str, Any]) -> Mapping[str, Any]:
            again = self._run(row, rest)
            return decision if again.has_decision_of(run) else self._decision_of(again)

        made_up = () if run.has_failed else dependencies(row, payload, decision, decide)
        decided = decided_of(
            row, payload, decision, run.labels, reconstructed=made_up, crash=run.crash
        )
        result.add_decided(decided)

    def _may_cover(self, event: str, tool: str | None) -> bool:
        """Return whether a function may cover the events of a tool, before they are parsed."""
        known = self._covered.get((event, tool))
        if known is None:
            functions = [f for f in self._hooks.functions if f.event == event]
            known = any(_may_cover(function, tool) for function in functions)
            self._covered[event, tool] = known
        return known

    def read_files(self) -> Mapping[str, str] | None:
        """Return the files that the hook file has read, as `ReadFiles.digests`."""
        return self._reads.digests()

    def _run(self, row: EventRow, payload: Mapping[str, Any]) -> _Run:
        """Call the functions that cover an event."""
        agent = self._agent(row.agent).form_of(payload)
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

        self._on_start()
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
        return _Run(agent, event, answer, calls)

    def _late_call(
        self, agent: AgentSpec, event: Event, label: str, function: HookFunction | None
    ) -> _Call:
        """Return the call of a function that ran out of time, with the answer to that."""
        answer = self._answer_crash(agent, event, describe_crash(function, "ran out of time"))
        return _Call(label, None, OUT_OF_TIME, answer)

    def _decision_of(self, run: _Run) -> dict[str, Any]:
        """Return what the agent makes of an answer."""
        if run.answer is NO_OPINION:
            return {}
        agent, event = run.agent, run.event
        must_refuse = self._hooks.unsupported == "refuse"
        try:
            fitted, _ = fit(agent, event, run.answer, refuse=must_refuse)
        except UnsupportedError as error:
            last = self._by_label.get(run.labels[-1])
            problem = describe_crash(last, f"is refused: {error}")
            fitted, _ = fit(agent, event, self._answer_crash(agent, event, problem))
        return answer_record(fitted)

    def _agent(self, name: str) -> AgentSpec:
        agent = self._agents.get(name)
        if agent is None:
            agent = self._agents[name] = get_agent(name)
        return agent

    def _answer_crash(self, agent: AgentSpec, event: Event, problem: str) -> Answer:
        """Return what a hook file answers when a function fails."""
        spec = agent.by_canonical.get(event.name)
        can_deny = spec is not None and spec.can_fail_closed
        return self._hooks.answer_crash(problem, can_deny=can_deny)


class _Call(NamedTuple):
    """A call of a function.

    Attributes:
        label: Name of the function.
        seconds: How long it took; `None` if it did not return.
        crash: What it raised, or why it did not return; empty if it did not fail.
        answer: Its answer, or what the file answers for a crash.
    """

    label: str
    seconds: float | None
    crash: str
    answer: Answer


class _Run(NamedTuple):
    """The functions were called with a payload.

    Attributes:
        agent: The agent.
        event: The event of the payload.
        answer: The answer of all functions.
        calls: The calls, in order.
    """

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

    def has_decision_of(self, other: _Run) -> bool:
        """Return whether the decision is that of another run, as far as that is known at once."""
        if vars(self.answer) != vars(other.answer) or self.labels != other.labels:
            return False
        if self.agent is not other.agent or type(self.event) is not type(other.event):
            return False
        mine, theirs = self.event.__dict__, other.event.__dict__
        return all(mine.get(name) == theirs.get(name) for name in EVENT_FIELDS)


def _count(calls: Iterable[_Call], result: Result) -> None:
    """Add calls to the results of their functions."""
    for call in calls:
        tally = result.tally(call.label)
        tally.matched += 1
        if call.seconds is not None:
            tally.durations[bucket_of(call.seconds)] += 1
        verdict = "none" if call.answer is NO_OPINION else _verdict_of(call.answer)
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
    """Return an exception with its text and its line, without secrets.

    Args:
        error: The exception.
        file: The hook file. The last line of it that was run is named, or that of another file if
            none of it was.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the code of a hook
        text = ""
    name = type(error).__name__
    message = f"{name}: {text}" if text else name
    return f"{crash_text(message)}{_line_of(error, file)}"


def _line_of(error: BaseException, file: str) -> str:
    """Return the last line of a hook file that was run, else of any file: ` (guard.py:7)`."""
    last, last_own = "", ""
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        last = f" ({Path(name).name}:{traceback.tb_lineno})"
        if name == file:
            last_own = last
        traceback = traceback.tb_next
    return last_own or last


def _verdict_of(answer: Answer) -> str:
    """Return the verdict of an answer that is an opinion (`outcome_of`)."""
    if answer.outcome is not Outcome.NONE:
        return str(answer.outcome)
    return outcome_of(answer_record(answer))


def _may_cover(function: HookFunction, tool: str | None) -> bool:
    """Return whether a function may cover a tool by its canonical name or by an agent's."""
    has_other_names = any(name not in TOOLS for name in function.subjects)
    return tool is None or has_other_names or function.covers([tool])
