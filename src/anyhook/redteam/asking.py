"""Ask one hook many questions, each as its agent would, in a sandbox.

A Python hook file is imported once, and its functions are called; any other hook is started for
each question, by an engine with the rules that were observed in the agent. A question is what
happens in one session: one event, or a few in order.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.authoring.load import load_hooks
from anyhook.backtest.hook_file import HookFile
from anyhook.backtest.project import crash_of, load_project
from anyhook.backtest.results import Result
from anyhook.backtest.sources import EventRow
from anyhook.backtest.subjects import BacktestSubject, Failure, Opinion
from anyhook.engine.sync import SyncEngine
from anyhook.errors import RunEndedError, SandboxError, UsageError
from anyhook.history.verdicts import DENYING, NO_VERDICT, reason_of, verdict_of
from anyhook.journal.records import answer_record
from anyhook.model.definitions import HandlerSpec, HookDefinition, handlers_of
from anyhook.model.diagnostics import Place
from anyhook.model.layers import Layer
from anyhook.model.record import Record, replace
from anyhook.sandbox.sandbox import Sandbox
from anyhook.testing.events import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anyhook.authoring.hooks import Example
    from anyhook.engine.engine import Engine
    from anyhook.sandbox.keeper import SandboxRun

Payload = dict[str, Any]
Question = tuple[Payload, ...]
"""The events of one session, in order, as the agent sends them."""

LIMIT = 10.0
"""Seconds that a hook may take for an event."""
LOADING = -1
"""The step of a process that loads the hook; other steps are the numbers of questions."""
BATCH = 64
"""Answers that are sent at once."""
DENIED = frozenset({*DENYING, "defer"})
ASKED = "ask"
_NOTHING = Opinion({})


class Guard(Record, kw_only=False):
    """A hook that is asked; it can be sent to another process."""

    title: str
    """What it is called in reports."""
    agent: str
    project: str
    file: str = ""
    """A Python hook file; empty for a hook that is started as a command."""
    places: tuple[Place, ...] = ()
    """Where the hook is in the settings: each of its entries. With a hook file, they say which
    events reach it."""
    command: str = ""
    """A command line that is not a hook of the settings; it gets every call of a tool."""
    is_trusted: bool = False
    """Whether it may run although the user has not trusted it."""
    script: str = ""
    """The file that it runs, under which the history has its answers; empty if it names none."""


class TrialAnswer(NamedTuple):
    """What a hook answered to a question."""

    outcome: str = NO_VERDICT
    """A word of `anyhook.history.verdicts`: that of the first event that was stopped, else that of
    the last one."""
    reason: str = ""
    seconds: float = 0.0
    error: str = ""
    """Why it failed; empty if it did not."""

    @property
    def is_stopped(self) -> bool:
        """Whether a call does not run, unless a person agrees. One that is changed runs."""
        return self.outcome in DENIED or self.outcome == ASKED


class Asker:
    """Asks a hook in a sandbox. Use it in a `with` block.

    A hook file may take `LIMIT` seconds for an event; a command has its own timeout. A sandbox that
    there is for the project already is not closed.

    Raises:
        SandboxError: If no sandbox can be made.
    """

    def __init__(self, guard: Guard, *, sandbox: Sandbox | None = None) -> None:
        self.guard = guard
        self._is_own = sandbox is None
        self._sandbox = sandbox or Sandbox.for_project(Path(guard.project), discards_output=True)
        move = self._sandbox.inside
        places = tuple(Place(move(place.file), place.line, place.column) for place in guard.places)
        self._guard = replace(
            guard, project=move(guard.project), file=move(guard.file), places=places
        )

    def ask(
        self,
        questions: Sequence[Question],
        *,
        on_answer: Callable[[int, TrialAnswer], object] = lambda _number, _answer: None,
    ) -> list[TrialAnswer]:
        """Ask questions, each in a session of its own, as if the hook had just been loaded.

        A hook that ends its process or takes too long has failed on that question. What it writes
        to files lasts until all are answered.

        `on_answer` is called for each answer as it comes, with the number of its question.

        Raises:
            UsageError: If the hook cannot be loaded.
        """
        answers: dict[int, TrialAnswer] = {}
        failures: dict[int, Failure] = {}

        def take(message: list[tuple[int, TrialAnswer]]) -> None:
            for number, answer in message:
                answers[number] = answer
                on_answer(number, answer)

        while len(answers) < len(questions):
            missing = [number for number in range(len(questions)) if number not in answers]
            chosen = [(number, self._question(number, questions[number])) for number in missing]
            before = len(answers) + len(failures)
            try:
                self._sandbox.run(answer_questions, self._guard, chosen, failures, on_message=take)
            except RunEndedError as error:
                failure = Failure.of_run(error, LIMIT)
                if error.step == LOADING:
                    raise UsageError(
                        f"{self.guard.title} cannot be loaded: it {failure.problem}"
                    ) from None
                failures[error.step] = failure
            if len(answers) + len(failures) == before:
                raise SandboxError(f"{self.guard.title} ends before it answers anything")
        return [answers[number] for number in range(len(questions))]

    def _question(self, number: int, question: Question) -> Question:
        """Return a question in a session of its own, with the paths that files have inside."""
        payloads: list[Payload] = []
        for payload in question:
            members = dict(payload)
            for name, value in payload.items():
                if value == SESSION["session_id"]:
                    members[name] = f"session-{number}"
            payloads.append(self._sandbox.inside(members))
        return tuple(payloads)

    def examples(self) -> list[Example]:
        """Return the examples of a hook file; of any other hook nothing.

        Raises:
            UsageError: If it cannot be loaded.
        """
        if not self.guard.file:
            return []
        try:
            return self._sandbox.run(read_examples, self._guard.file)
        except RunEndedError as error:
            problem = Failure.of_run(error, LIMIT).problem
            raise UsageError(f"{self.guard.title} cannot be loaded: it {problem}") from None

    def close(self) -> None:
        """End the sandbox."""
        if self._is_own:
            self._sandbox.close()


# -- in the sandbox


def read_examples(run: SandboxRun, file: str) -> list[Example]:
    """Return the examples of a hook file, as a function of a sandbox.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
    """
    run.begin(LOADING, LIMIT)
    return list(load_hooks(file).examples)


def answer_questions(
    run: SandboxRun,
    guard: Guard,
    questions: Sequence[tuple[int, Question]],
    failures: Mapping[int, Failure],
) -> None:
    """Load a hook and let it answer questions, as a function of a sandbox.

    A process answers one question after the other as long as the hook remembers nothing; then it is
    replaced by one that has only loaded the hook.

    It sends lists of numbers and answers. On the questions in `failures` a process ended before.

    Raises:
        UsageError: If the hook cannot be loaded.
    """
    run.begin(LOADING, LIMIT)
    hook: _Hook = _File(guard) if guard.file else _Command(guard)
    position = 0
    while position < len(questions):
        reader, writer = os.pipe()
        process = os.fork()
        if not process:
            os.close(reader)
            answered = _answer_some(run, hook, questions[position:], failures)
            os.write(writer, str(answered).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as stream:
            answered = int(stream.read() or 0)
        _, status = os.waitpid(process, 0)
        if status or not answered:
            # The caller learns at which question this process ends.
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        position += answered


def _answer_some(
    run: SandboxRun,
    hook: _Hook,
    questions: Sequence[tuple[int, Question]],
    failures: Mapping[int, Failure],
) -> int:
    """Answer questions until the hook remembers one, and return how many were answered."""
    answers: list[tuple[int, TrialAnswer]] = []
    count = 0
    for number, question in questions:
        run.begin(number, len(question) * (hook.limit + 1))
        answer = _answer(hook, question, failures.get(number))
        answers.append((number, answer))
        count += 1
        if len(answers) == BATCH:
            run.send(answers)
            answers = []
        if hook.has_changed():
            break
    run.send(answers)
    return count


def _answer(hook: _Hook, question: Question, failure: Failure | None) -> TrialAnswer:
    started = time.perf_counter()
    answer = TrialAnswer()
    error = ""
    last = len(question) - 1
    for number, payload in enumerate(question):
        failure_now = failure if number == last else None
        opinion = hook.answer(payload, failure_now)
        record = opinion.decision
        error = error or opinion.crash
        answer = TrialAnswer(verdict_of(record), reason_of(record))
        if answer.is_stopped:
            break
    return answer._replace(seconds=time.perf_counter() - started, error=error)


class _Hook(Protocol):
    """A hook that has been loaded."""

    limit: float
    """Seconds that it may take for an event."""

    def answer(self, payload: Payload, failure: Failure | None) -> Opinion:
        """Answer an event, unless a process ended on it before."""
        ...

    def has_changed(self) -> bool:
        """Return whether it may remember an event."""
        ...


class _File:
    """A Python hook file, whose functions are called in this process."""

    def __init__(self, guard: Guard) -> None:
        self._agent = get_agent(guard.agent)
        self._engine = _engine_of(guard) if guard.places else None
        self._hook = HookFile(guard.file, LIMIT)
        self.limit = self._hook.limit
        self._directory = ""

    def answer(self, payload: Payload, failure: Failure | None) -> Opinion:
        event, _ = decode_event(self._agent, payload)
        if self._engine is not None and not self._engine.plan(event).handlers:
            return _NOTHING
        row = EventRow("", self._agent.name, event.name, None, "", payload)
        cwd = payload.get("cwd")
        if isinstance(cwd, str) and cwd != self._directory:
            with suppress(OSError, ValueError):
                os.chdir(cwd)
            self._directory = cwd
        if failure is not None:
            return self._hook.fail(row, payload, failure, Result())
        return self._hook.evaluate(row, payload, Result())

    def has_changed(self) -> bool:
        return self._hook.has_changed()


class _Command:
    """A command, alone in an engine that starts it as its agent does."""

    def __init__(self, guard: Guard) -> None:
        engine = _engine_of(guard)
        self._agent = engine.agent
        # The engine ends a command at its own timeout.
        timeouts = [handler.timeout for handler in handlers_of(engine.definitions)]
        self.limit = max(timeouts, default=LIMIT)
        self._engine = SyncEngine(engine)

    def answer(self, payload: Payload, failure: Failure | None) -> Opinion:
        if failure is not None:
            return _NOTHING._replace(crash=failure.problem)
        event, _ = decode_event(self._agent, payload)
        decision = self._engine.dispatch(event)
        error = next(filter(None, map(crash_of, decision.results)), "")
        return Opinion(answer_record(decision), crash=error)

    def has_changed(self) -> bool:
        return False


def _engine_of(guard: Guard) -> Engine:
    """Return an engine with one hook only."""
    subject = BacktestSubject(guard.project, guard.title, guard.agent, trusted=guard.is_trusted)
    engine = load_project(subject, Path(guard.project), rules="observed", warm=False).engine
    engine.hooks = engine.hooks.only(lambda _, handler: handler.place in guard.places)
    if guard.command:
        place = Place("<redteam>")
        handler = HandlerSpec("command", Layer.RUNTIME, place, command=guard.command)
        engine.define(HookDefinition("before_tool", Layer.RUNTIME, place, None, False, (handler,)))
    return engine
