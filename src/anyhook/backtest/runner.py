"""Decides sessions in a sandbox, and finds out on what the decisions depend."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from anyhook.backtest.reads import VARIABLE
from anyhook.backtest.results import CHANCE, ORDER, TIME, Decided, Result
from anyhook.backtest.session import (
    AS_RECORDED,
    LOADING,
    Batch,
    SessionCircumstances,
    SessionEvents,
    SessionResult,
    decide_sessions,
    find_events,
)
from anyhook.backtest.sources import decided_of
from anyhook.backtest.subjects import BacktestSubject, Failure, Opinion
from anyhook.errors import RunEndedError, SandboxError, UsageError
from anyhook.model.record import replace
from anyhook.sandbox.sandbox import Sandbox
from anyhook.settings.directories import find_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anyhook.backtest.sources import EventRow

SAMPLE = 64
"""Events of a session that are decided again, to find out on what decisions depend."""
MAX_SAMPLE_SECONDS = 2.0
"""Seconds that they may take; a session of slow commands is not decided again."""
CLOCK_SHIFT = 401 * 86400.0 + 11 * 3600 + 17 * 60
"""Seconds: another year, month, day of the week, hour and minute."""
SECRETS = "secrets"
"""Stands for the secrets that were replaced, among names of members."""


class DecidedSession(NamedTuple):
    """What came of a session."""

    result: Result
    decided: dict[int, Decided]
    """By the number of the event in the session, as `problems` and `opinions`."""
    problems: dict[int, str]
    reads: frozenset[str]
    """As `SessionResult.reads`."""
    opinions: Mapping[int, Opinion]


class SessionRunner:
    """Decides sessions with the same hooks, in one sandbox.

    `limit` is how many seconds an event may take.

    Raises:
        UsageError: If the hooks cannot be loaded.
        SandboxError: If no sandbox can be made.
    """

    def __init__(self, subject: BacktestSubject, limit: float) -> None:
        self._limit = limit
        path = Path(subject.path)
        project = path if subject.is_project else find_root(path.resolve().parent)
        self._sandbox = Sandbox.for_project(project, discards_output=True)
        self._path = subject.path
        self._subject = replace(subject, path=self._sandbox.inside(subject.path))
        self.events: frozenset[str] = frozenset()
        self._decides_first = True

    def load(self) -> None:
        """Find out which events the hooks decide.

        Raises:
            UsageError: If they cannot be loaded.
        """
        project = ("anyhook.backtest.project",) if self._subject.is_project else ()
        self._sandbox.preload(("anyhook.backtest.hook_file", *project))
        try:
            self.events = self._sandbox.run(find_events, self._subject, self._limit)
        except RunEndedError as error:
            raise self._loading_error(error) from None

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()

    def decide(self, sessions: Sequence[Sequence[EventRow]]) -> list[DecidedSession]:
        """Decide the events of sessions.

        Raises:
            UsageError: If the hooks cannot be loaded.
        """
        # The first session alone shows which modules the others need.
        first = 1 if self._decides_first else 0
        results = self._run([(rows, AS_RECORDED) for rows in sessions[:first]])
        if results:
            self._decides_first = False
            self._sandbox.preload(results[0].modules)
        results += self._run([(rows, AS_RECORDED) for rows in sessions[first:]])
        dependencies = self._find_dependencies(sessions, results)
        decided_sessions: list[DecidedSession] = []
        for rows, session, members in zip(sessions, results, dependencies, strict=True):
            decided: dict[int, Decided] = {}
            problems: dict[int, str] = {}
            for number, opinion in session.opinions.items():
                row = rows[number]
                if opinion.problem:
                    problems[number] = opinion.problem
                if opinion.counts:
                    decided[number] = decided_of(
                        row,
                        row.read_payload(),
                        self._sandbox.outside(opinion.decision),
                        opinion.hooks,
                        reconstructed=tuple(members.get(number, ())),
                        crash=self._sandbox.outside(opinion.crash),
                    )
            decided_sessions.append(
                DecidedSession(session.counts, decided, problems, session.reads, session.opinions)
            )
        return decided_sessions

    def sample(
        self, sessions: Sequence[Sequence[EventRow]], outcomes: Sequence[DecidedSession]
    ) -> Counter[str]:
        """Return on what decisions depend: decide some events again in other circumstances.

        They are decided again once, at another time and in another order. Only if a decision
        differs, further runs find out on what it depends.
        """
        sampled: list[Sequence[EventRow]] = []
        expected: list[dict[int, object]] = []
        for rows, decided in zip(sessions, outcomes, strict=True):
            if decided.result.seconds() <= MAX_SAMPLE_SECONDS:
                sampled.append(rows[:SAMPLE])
                expected.append(_outcomes(decided.opinions))

        def differing(circumstances: SessionCircumstances, clock_shift: float = 0.0) -> int:
            results = self._run([(rows, circumstances) for rows in sampled], clock_shift)
            count = 0
            for before, result in zip(expected, results, strict=True):
                after = _outcomes(result.opinions)
                numbers = {*before, *after}
                count += sum(before.get(number) != after.get(number) for number in numbers)
            return count

        shuffled = SessionCircumstances(is_shuffled=True)
        try:
            if not differing(shuffled, CLOCK_SHIFT):
                return Counter()
        except UsageError:  # the file cannot be loaded at another time
            pass
        by_chance = differing(AS_RECORDED)
        if by_chance:  # whatever else they depend on does not show
            return Counter({CHANCE: by_chance})
        counts = {ORDER: differing(shuffled)}
        try:
            counts[TIME] = differing(AS_RECORDED, CLOCK_SHIFT)
        except UsageError:
            counts[TIME] = sum(map(len, expected))
        return Counter({name: count for name, count in counts.items() if count})

    def _find_dependencies(
        self, sessions: Sequence[Sequence[EventRow]], results: Sequence[SessionResult]
    ) -> list[_Dependencies]:
        """Return on which members that were not recorded each decision depends.

        Sessions are decided again without all of them, and if that changes a decision, without
        each one. A decision depends on `secrets` if it is another one for the payloads as they are
        stored, with placeholders for secrets.
        """
        dependencies: list[_Dependencies] = [{} for _ in sessions]
        questions: list[_Question] = []
        for number, (rows, result) in enumerate(zip(sessions, results, strict=True)):
            opinions = _complete(result)
            if any(rows[event].redacted for event in opinions):
                questions.append(_Question(number, (SECRETS,), AS_STORED))
            members: dict[str, None] = {}
            for event in opinions:
                members.update(dict.fromkeys(_reconstructed(rows[event])))
            if members:
                names = tuple(members)
                questions.append(_Question(number, names, SessionCircumstances(names)))
        further: list[_Question] = []
        for question, changed in self._ask(questions, sessions, results):
            session, names = question.session, question.names
            if len(names) == 1:
                _add_dependency(dependencies[session], names[0], changed, sessions[session])
            elif changed:
                further += [
                    _Question(session, (name,), SessionCircumstances((name,))) for name in names
                ]
        for question, changed in self._ask(further, sessions, results):
            rows = sessions[question.session]
            _add_dependency(dependencies[question.session], question.names[0], changed, rows)
        return dependencies

    def _ask(
        self,
        questions: Sequence[_Question],
        sessions: Sequence[Sequence[EventRow]],
        results: Sequence[SessionResult],
    ) -> Iterator[tuple[_Question, set[int]]]:
        """Decide sessions again, and yield the events that are decided differently."""
        reruns: list[tuple[Sequence[EventRow], SessionCircumstances]] = []
        for question in questions:
            last = max(_complete(results[question.session]))  # later events have no opinion
            reruns.append((sessions[question.session][: last + 1], question.circumstances))
        for question, again in zip(questions, self._run(reruns), strict=True):
            changed: set[int] = set()
            for number, opinion in _complete(results[question.session]).items():
                if again.opinions.get(number, NONE).decision != opinion.decision:
                    changed.add(number)
            yield question, changed

    # -- processes that end

    def _run(
        self,
        reruns: Sequence[tuple[Sequence[EventRow], SessionCircumstances]],
        clock_shift: float = 0.0,
    ) -> list[SessionResult]:
        """Decide sessions, with hooks that are loaded once as long as nothing happens."""
        results: dict[int, SessionResult] = {}
        while missing := [number for number in range(len(reruns)) if number not in results]:
            batch = [self._events(*reruns[number]) for number in missing]

            def take(message: tuple[int, SessionResult], numbers: list[int] = missing) -> None:
                results[numbers[message[0]]] = message[1]

            count = len(results)
            try:
                self._run_batch(Batch(batch, clock_shift), take)
            except RunEndedError as error:
                number = next(number for number in missing if number not in results)
                results[number] = self._run_again(*reruns[number], clock_shift, error)
            if len(results) == count:
                raise SandboxError(f"{self._subject.title} ends before it decides anything")
        return [results[number] for number in range(len(reruns))]

    def _run_again(
        self,
        rows: Sequence[EventRow],
        circumstances: SessionCircumstances,
        clock_shift: float,
        error: RunEndedError,
    ) -> SessionResult:
        """Decide a session on which a process has ended, without the event on which it has.

        If processes end again, each event is decided in a process of its own.
        """
        failures = self._failures(error)
        try:
            return self._run_one(rows, circumstances, clock_shift, failures)
        except RunEndedError as again:
            self._failures(again)
        result = Result()
        opinions: dict[int, Opinion] = {}
        reads: set[str] = set()
        for number, row in enumerate(rows):
            try:
                session = self._run_one([row], circumstances, clock_shift, {})
            except RunEndedError as last:
                failure = Failure.of_run(last, self._limit)
                session = self._run_one([row], circumstances, clock_shift, {0: failure})
            result.add(session.counts)
            if 0 in session.opinions:
                opinions[number] = session.opinions[0]
            reads |= session.reads
        return SessionResult(result, opinions, frozenset(reads))

    def _failures(self, error: RunEndedError) -> dict[int, Failure]:
        """Return on which event a process ended, unless it may have been killed from outside."""
        if error.step == LOADING:
            raise self._loading_error(error)
        if error.exit_code < 0 and not error.is_late:
            return {}
        return {error.step: Failure.of_run(error, self._limit)}

    def _run_one(
        self,
        rows: Sequence[EventRow],
        circumstances: SessionCircumstances,
        clock_shift: float,
        failures: Mapping[int, Failure],
    ) -> SessionResult:
        results: list[SessionResult] = []
        batch = Batch([self._events(rows, circumstances, failures)], clock_shift)
        self._run_batch(batch, lambda message: results.append(message[1]))
        return results[0]

    def _events(
        self,
        rows: Sequence[EventRow],
        circumstances: SessionCircumstances,
        failures: Mapping[int, Failure] = MappingProxyType({}),
    ) -> SessionEvents:
        return SessionEvents(rows, dict(failures), circumstances, self._sandbox.paths)

    def _run_batch(self, batch: Batch, take: Callable[[tuple[int, SessionResult]], object]) -> None:
        root = Path(self._path).parent

        def receive(message: tuple[int, SessionResult]) -> None:
            number, result = message
            if number not in range(len(batch.sessions)) or not isinstance(result, SessionResult):
                raise SandboxError(
                    "the sandbox returned something that is not the result of a session"
                )
            # Without the files that hooks have made in the sandbox.
            paths = [self._sandbox.outside(name) for name in result.reads]
            result.reads = frozenset(
                [path for path in paths if path.startswith(VARIABLE) or (root / path).exists()]
            )
            take((number, result))

        self._sandbox.run(decide_sessions, self._subject, self._limit, batch, on_message=receive)

    def _loading_error(self, error: RunEndedError) -> UsageError:
        title = self._subject.title
        if error.is_late:
            return UsageError(
                f"{title} was not loaded within {self._limit:g} s; for another limit: "
                "--timeout SECONDS"
            )
        end = Failure.of_run(error, self._limit).end
        return UsageError(f"{title} ends its process while it is loaded ({end})")


NONE = Opinion({})
AS_STORED = SessionCircumstances(has_placeholders=True)
_Dependencies = dict[int, list[str]]
"""Number of an event in its session to the members on which its decision depends."""


class _Question(NamedTuple):
    """Whether decisions of a session depend on something."""

    session: int
    names: tuple[str, ...]
    """On what: members that were not recorded, or `SECRETS`."""
    circumstances: SessionCircumstances


def _complete(session: SessionResult) -> dict[int, Opinion]:
    """Return the opinions of hooks that all returned."""
    opinions = session.opinions.items()
    return {number: each for number, each in opinions if each.has_returned and each.counts}


def _add_dependency(
    dependencies: _Dependencies, name: str, numbers: set[int], rows: Sequence[EventRow]
) -> None:
    for number in numbers:
        row = rows[number]
        may_depend = name in _reconstructed(row)
        if name == SECRETS:
            may_depend = bool(row.redacted)
        if may_depend:
            dependencies.setdefault(number, []).append(name)


def _outcomes(opinions: Mapping[int, Opinion]) -> dict[int, object]:
    """Return what hooks made of the first events, in a form that can be compared."""
    outcomes: dict[int, object] = {}
    for number, opinion in opinions.items():
        if number < SAMPLE:
            outcomes[number] = (opinion.decision, opinion.hooks, bool(opinion.crash))
    return outcomes


def _reconstructed(row: EventRow) -> list[str]:
    return [name for name in (row.reconstructed or "").split(",") if name]
