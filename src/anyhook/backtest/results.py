"""What a backtest finds: counts, durations and decisions, per hook and in total."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from anyhook.history.verdicts import verdict_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.backtest.item_table import ItemTable


STEPS = 8
"""Buckets of a histogram in which durations double: percentiles are exact to 9 %."""
SHORTEST = 1e-7
"""Seconds of the first bucket."""
MAX_PROBLEMS = 100
"""Problems that are kept; further ones are counted."""
MAX_CRASHES = 100
"""Different crashes that are kept; further ones are counted by hook."""
CHANCE, TIME, ORDER = "chance", "the time", "earlier events of the session"
"""On what decisions may depend, for people."""


def bucket_of(seconds: float) -> int:
    """Return the number of the bucket of a duration."""
    return int(math.log2(max(seconds, SHORTEST) / SHORTEST) * STEPS)


def seconds_of(bucket: int) -> float:
    """Return the middle of a bucket, in seconds."""
    return float(SHORTEST * 2 ** ((bucket + 0.5) / STEPS))


@dataclass(slots=True)
class Tally:
    """The results of one hook."""

    matched: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """Verdict to number; a stop without a verdict is `stop`, a failure without one is `crash`."""
    crashed: int = 0
    timed_out: int = 0
    durations: Counter[int] = field(default_factory=Counter)
    """Bucket (`bucket_of`) to number of events."""

    def add(self, other: Tally) -> None:
        """Add the results of further events."""
        self.matched += other.matched
        self.outcomes += other.outcomes
        self.crashed += other.crashed
        self.timed_out += other.timed_out
        self.durations += other.durations

    def percentile(self, share: float) -> float | None:
        """Return a percentile of the durations in seconds; `None` without events."""
        total = sum(self.durations.values())
        if not total:
            return None
        rank = math.ceil(total * share)
        seen = 0
        for bucket in sorted(self.durations):
            seen += self.durations[bucket]
            if seen >= rank:
                return seconds_of(bucket)
        return None


@dataclass(frozen=True, slots=True)
class Decided:
    """An event on which hooks had an opinion."""

    ref: str
    session: str
    event: str
    tool: str | None
    """Canonical name of the tool; `None` for other events."""
    text: str
    """What it was about, for people: the command, the path, the prompt."""
    decision: Mapping[str, Any]
    hooks: tuple[str, ...]
    reconstructed: tuple[str, ...] = ()
    """Members that the decision depended on and that were made up or inferred, or whose secrets
    were replaced."""
    crash: str = ""
    """The error of the first hook that failed; empty if none did."""
    is_refused: bool = False

    @property
    def outcome(self) -> str:
        """The verdict; if there is none, `stop` if the agent's loop ends, `crash` if a hook failed.

        A message about the crash alone is not a verdict.
        """
        return verdict_of(self.decision, has_failed=bool(self.crash))

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> Decided:
        """Return an event from its members in a report."""
        return cls(
            members["ref"],
            members["session"],
            members["event"],
            members["tool"],
            members["text"],
            members["decision"],
            tuple(members["hooks"]),
            tuple(members["reconstructed"]),
            members["crash"],
        )


class Crash(NamedTuple):
    """A way in which a hook failed."""

    hook: str
    error: str


@dataclass(slots=True)
class Result:
    """The results on some events; those of several parts can be added up."""

    events: Counter[str] = field(default_factory=Counter)
    """Canonical name of an event to how many there were, whether hooks ran on it or not."""
    sessions: set[str] = field(default_factory=set)
    hooks: dict[str, Tally] = field(default_factory=dict)
    crashes: Counter[Crash] = field(default_factory=Counter)
    timeouts: int = 0
    seconds_waited: float = 0.0
    limit: float = 0.0
    """The longest time limit that a hook file reached, in seconds."""
    decided: list[Decided] | ItemTable[Decided] = field(default_factory=list)
    """The events on which hooks had an opinion, in the order of the source."""
    verdicts: Counter[str] = field(default_factory=Counter)
    verdict_sessions: dict[str, set[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    """The first problems: what could not be read, each with its file and line, and the events on
    which hooks ended their process or hung."""
    problem_count: int = 0
    sampled: int = 0
    depends: Counter[str] = field(default_factory=Counter)
    """On what decisions depend, except the event, to how many of these they were."""
    reads: set[str] = field(default_factory=set)
    """The variables and files that hook files read; variables begin with `$`."""
    split_sessions: int = 0
    """Sessions whose events are in several parts: hooks do not remember the earlier ones."""
    refused: Counter[str] = field(default_factory=Counter)
    """Verdict to the number of calls that got it and were not executed."""
    unseen: int = 0
    """Number of calls that the agent refused before hooks got them; they are left out."""

    @property
    def total(self) -> int:
        """Number of events."""
        return sum(self.events.values())

    def tally(self, hook: str) -> Tally:
        """Return the results of a hook, to be added to."""
        tally = self.hooks.get(hook)
        if tally is None:
            tally = self.hooks[hook] = Tally()
        return tally

    def add_crash(self, crash: Crash, events: int = 1) -> None:
        """Count events on which a hook failed."""
        is_kept = crash in self.crashes or len(self.crashes) < MAX_CRASHES
        self.crashes[crash if is_kept else Crash(crash.hook, "other errors")] += events

    def add_timeouts(self, events: int, seconds: float) -> None:
        """Count events on which a hook ran into its timeout."""
        self.timeouts += events
        self.seconds_waited += seconds

    def add_decided(self, decided: Decided) -> None:
        """Add an event on which hooks had an opinion."""
        self.decided.append(decided)
        self.verdicts[decided.outcome] += 1
        if decided.is_refused:
            self.refused[decided.outcome] += 1
        self.verdict_sessions.setdefault(decided.outcome, set()).add(decided.session)

    def add(self, other: Result) -> None:
        """Add the counts of other events, which may come in any order; not the decisions."""
        self.events += other.events
        self.split_sessions += other.split_sessions + len(self.sessions & other.sessions)
        self.sessions |= other.sessions
        self.sampled += other.sampled
        self.depends += other.depends
        self.reads |= other.reads
        for hook, tally in other.hooks.items():
            self.tally(hook).add(tally)
        for crash, events in other.crashes.items():
            self.add_crash(crash, events)
        self.add_timeouts(other.timeouts, other.seconds_waited)
        self.limit = max(self.limit, other.limit)
        self.verdicts += other.verdicts
        self.refused += other.refused
        self.unseen += other.unseen
        for verdict, sessions in other.verdict_sessions.items():
            self.verdict_sessions.setdefault(verdict, set()).update(sessions)
        self.add_problems(other.problems, other.problem_count)

    def add_problems(self, first: list[str], count: int) -> None:
        """Add problems."""
        self.problems += first[: MAX_PROBLEMS - len(self.problems)]
        self.problem_count += count

    def seconds(self) -> float:
        """Return how long hooks took together, about."""
        total = self.seconds_waited
        for tally in self.hooks.values():
            total += sum(seconds_of(bucket) * count for bucket, count in tally.durations.items())
        return total

    def outcomes(self) -> Counter[str]:
        """Return the verdict to the number of events that got it."""
        return Counter(self.verdicts)

    def sessions_with(self, outcome: str) -> int:
        """Return the number of sessions with at least one event of a verdict."""
        return len(self.verdict_sessions.get(outcome, ()))
