"""Decides sessions in a sandbox, and finds out on what the decisions depend."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anyhook.backtest.decided import decided_of
from anyhook.backtest.failures import Failure
from anyhook.backtest.reads import VARIABLE
from anyhook.backtest.results import CHANCE, ORDER, TIME, Result
from anyhook.backtest.session import (
    AS_RECORDED,
    LOADING,
    Circumstances,
    SessionEvents,
    SessionResult,
    decide_session,
    describe_hooks,
)
from anyhook.backtest.subjects import Opinion
from anyhook.errors import RunEndedError, UsageError
from anyhook.sandbox.sandbox import Sandbox
from anyhook.settings.directories import find_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyhook.backtest.results import Decided
    from anyhook.backtest.sources import EventRow
    from anyhook.backtest.subjects import Subject

SAMPLE = 64
"""Events of a session that are decided again, to find out on what decisions depend."""
MAX_SAMPLE_SECONDS = 2.0
"""Seconds that they may take; a session of slow commands is not decided again."""
CLOCK_SHIFT = 401 * 86400.0 + 11 * 3600 + 17 * 60
"""Seconds: another year, month, day of the week, hour and minute."""
SECRETS = "secrets"


class DecidedSession(NamedTuple):
    """What came of a session.

    Attributes:
        result: The counts of hooks, crashes and timeouts.
        decided: Number of an event in the session to its decision.
        problems: Number of an event in the session to what is reported about it.
        reads: As `SessionResult.reads`.
        opinions: Number of an event in the session to what hooks made of it.
    """

    result: Result
    decided: dict[int, Decided]
    problems: dict[int, str]
    reads: Mapping[str, str] | None
    opinions: Mapping[int, Opinion]


class SessionRunner:
    """Decides sessions with the same hooks, in one sandbox.

    Args:
        subject: The hooks.
        limit: Seconds that an event may take.

    Raises:
        UsageError: If the hooks cannot be loaded.
        SandboxError: If no sandbox can be made.
    """

    def __init__(self, subject: Subject, limit: float) -> None:
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
        try:
            hooks = self._sandbox.run(describe_hooks, self._subject, self._limit)
        except RunEndedError as error:
            raise self._loading_error(error) from None
        self.events = hooks.events

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()

    def decide(self, rows: Sequence[EventRow]) -> DecidedSession:
        """Decide the events of a session.

        Raises:
            UsageError: If the hooks cannot be loaded.
        """
        session = self._run(rows)
        if self._decides_first:
            self._decides_first = False
            self._sandbox.preload(session.modules)
        result = Result.unpack(session.counts)
        dependencies = self._find_dependencies(rows, session)
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
                    reconstructed=dependencies.get(number, ()),
                    crash=self._sandbox.outside(opinion.crash),
                )
        return DecidedSession(result, decided, problems, session.reads, session.opinions)

    def sample(self, rows: Sequence[EventRow], before: DecidedSession) -> Counter[str]:
        """Decide the first events of a session again in other circumstances.

        Args:
            rows: The events of the session.
            before: What came of them.

        Returns:
            On what decisions depend, and how many of them.
        """
        rows = rows[:SAMPLE]
        seconds = before.result.seconds()
        if seconds > MAX_SAMPLE_SECONDS:
            return Counter()
        expected = _outcomes(before.opinions, len(rows))
        again = self._differing(rows, AS_RECORDED, expected)
        if again:  # whatever else they depend on does not show
            return Counter({CHANCE: len(again)})
        later = self._differing(rows, Circumstances(clock_shift=CLOCK_SHIFT), expected)
        order = self._differing(rows, Circumstances(is_shuffled=True), expected)
        counts = {TIME: len(later), ORDER: len(order)}
        return Counter({name: count for name, count in counts.items() if count})

    def _differing(
        self, rows: Sequence[EventRow], circumstances: Circumstances, expected: Mapping[int, object]
    ) -> set[int]:
        """Return the numbers of the events that are decided differently."""
        try:
            session = self._run(rows, circumstances)
        except UsageError:  # the file cannot be loaded at another time
            return set(expected)
        outcomes = _outcomes(session.opinions, len(rows))
        numbers = {*expected, *outcomes}
        return {number for number in numbers if expected.get(number) != outcomes.get(number)}

    def _find_dependencies(
        self, rows: Sequence[EventRow], session: SessionResult
    ) -> dict[int, tuple[str, ...]]:
        """Return on which members that were not recorded each decision depends.

        The session is decided again without all of them, and if that changes a decision, without
        each one. A decision depends on `secrets` if it is another one for the payloads as they are
        stored, with placeholders for secrets.
        """
        opinions = {n: opinion for n, opinion in session.opinions.items() if opinion.has_returned}
        opinions = {n: opinion for n, opinion in opinions.items() if opinion.counts}
        members = {n: _reconstructed(rows[n]) for n in opinions}
        found: dict[int, tuple[str, ...]] = {}

        def add(name: str, numbers: set[int]) -> None:
            for number in sorted(numbers):
                found[number] = (*found.get(number, ()), name)

        redacted = {number for number in opinions if rows[number].redacted}
        if redacted:
            changed = self._changed(rows, opinions, Circumstances(has_placeholders=True))
            add(SECRETS, redacted & changed)
        names = list(dict.fromkeys(name for listed in members.values() for name in listed))
        if len(names) > 1 and not self._changed(rows, opinions, Circumstances(tuple(names))):
            return found
        for name in names:
            changed = self._changed(rows, opinions, Circumstances((name,)))
            add(name, {number for number in changed if name in members[number]})
        return found

    def _changed(
        self,
        rows: Sequence[EventRow],
        opinions: Mapping[int, Opinion],
        circumstances: Circumstances,
    ) -> set[int]:
        """Return the numbers of the events on which hooks have another opinion."""
        session = self._run(rows, circumstances)
        decisions = {n: session.opinions.get(n, NONE).decision for n in opinions}
        return {n for n, opinion in opinions.items() if opinion.decision != decisions[n]}

    # -- processes that end

    def _run(
        self, rows: Sequence[EventRow], circumstances: Circumstances = AS_RECORDED
    ) -> SessionResult:
        """Decide events in one process; if it ends on one of them, in a second one without it.

        If processes end again, each event is decided in a process of its own.

        Raises:
            UsageError: If the hooks cannot be loaded.
        """
        try:
            return self._run_once(rows, circumstances)
        except RunEndedError as error:
            failures = self._failures(error)
        try:
            return self._run_once(rows, circumstances, failures)
        except RunEndedError as error:
            self._failures(error)
        return self._run_each(rows, circumstances)

    def _run_each(self, rows: Sequence[EventRow], circumstances: Circumstances) -> SessionResult:
        result = Result()
        opinions: dict[int, Opinion] = {}
        reads: dict[str, str] | None = {}
        for number, row in enumerate(rows):
            try:
                session = self._run_once([row], circumstances)
            except RunEndedError as error:
                failure = Failure.of_run(error, self._limit)
                session = self._run_once([row], circumstances, {0: failure})
            result.add(0, Result.unpack(session.counts))
            if 0 in session.opinions:
                opinions[number] = session.opinions[0]
            reads = merge_reads(reads, session.reads)
        return SessionResult(result.pack(), opinions, reads)

    def _failures(self, error: RunEndedError) -> dict[int, Failure]:
        """Return on which event a process ended, unless it may have been killed from outside.

        Raises:
            UsageError: If it ended while it loaded the hooks.
        """
        if error.step == LOADING:
            raise self._loading_error(error)
        if error.exit_code < 0 and not error.is_late:
            return {}
        return {error.step: Failure.of_run(error, self._limit)}

    def _run_once(
        self,
        rows: Sequence[EventRow],
        circumstances: Circumstances,
        failures: Mapping[int, Failure] | None = None,
    ) -> SessionResult:
        events = SessionEvents(rows, failures or {}, circumstances, self._sandbox.paths)
        result = self._sandbox.run(decide_session, self._subject, self._limit, events)
        result.reads = self._real_reads(result.reads)
        return result

    def _real_reads(self, reads: Mapping[str, str] | None) -> Mapping[str, str] | None:
        """Return what hooks have read without the files that they made in the sandbox."""
        if reads is None:
            return None
        root = str(Path(self._path).parent)
        real: dict[str, str] = {}
        for name, digest in reads.items():
            path = self._sandbox.outside(name)
            is_file = not name.startswith(VARIABLE) and digest
            if not (is_file and not Path(root, path).exists()):
                real[path] = digest
        return real

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


def _outcomes(opinions: Mapping[int, Opinion], count: int) -> dict[int, object]:
    """Return what hooks made of the first events, in a form that can be compared."""
    return {n: (o.decision, o.hooks, bool(o.crash)) for n, o in opinions.items() if n < count}


def _reconstructed(row: EventRow) -> list[str]:
    return [name for name in (row.reconstructed or "").split(",") if name]


def merge_reads(
    first: Mapping[str, str] | None, second: Mapping[str, str] | None
) -> dict[str, str] | None:
    """Return what two results depend on together; `None` if one of them must not be kept."""
    if first is None or second is None:
        return None
    if any(second.get(name, digest) != digest for name, digest in first.items()):
        return None
    return {**first, **second}
