"""The report of a backtest: what a program, a table and a page show of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from anyhook.backtest.item_table import ItemTable
from anyhook.backtest.reads import VARIABLE, WHOLE
from anyhook.backtest.results import ORDER, Decided, Result, Tally
from anyhook.history.verdicts import CRASH, DENYING
from anyhook.model.text import count_of
from anyhook.trust.approvals import without_offer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.backtest.run import BacktestRun


PERCENTILES = (0.5, 0.95, 0.99)
MAX_DECIDED = 10_000
"""Decided events in a report; `outcomes` counts all of them."""


@dataclass(frozen=True, slots=True)
class BacktestComparison:
    """A baseline, and what is decided differently."""

    title: str
    result: Result
    changes: Sequence[DecisionChange]
    groups: list[ChangeGroup]
    """The same, grouped, the largest group first."""

    @property
    def new_denials(self) -> Sequence[DecisionChange]:
        """The changes that deny or stop what was not denied or stopped before."""
        return new_denials(self.changes)


def compare(title: str, before: Result, after: Result) -> BacktestComparison:
    """Compare two results on the same events."""
    changes = find_changes(before, after)
    return BacktestComparison(title, before, changes, group_changes(changes))


def report_json(run: BacktestRun, comparison: BacktestComparison | None) -> dict[str, Any]:
    """Return the report for programs. Durations are seconds, rates are parts of one."""
    progress = run.progress
    report: dict[str, Any] = {
        "subject": run.subject.title,
        "complete": run.is_complete,
        "parts": {"all": progress.parts, "done": progress.done},
        "seconds": progress.seconds,
        **_result_json(run.result),
        "crashes": [
            {"hook": crash.hook, "error": crash.error, "events": events}
            for crash, events in run.result.crashes.most_common()
        ],
        "timeouts": {
            "events": run.result.timeouts,
            "limit": run.result.limit or run.timeout,
            "seconds_waited": progress.seconds_waited,
        },
        "problems": {"number": run.result.problem_count, "first": run.result.problems},
        "depends": asdict(dependencies_of(run.result)),
        "decided": [decided_json(decided) for decided in islice(run.result.decided, MAX_DECIDED)],
    }
    if comparison is not None:
        report["baseline"] = {"subject": comparison.title, **_result_json(comparison.result)}
        report["changes"] = {
            "number": len(comparison.changes),
            "new_denials": len(comparison.new_denials),
            "sessions": len({change.event.session for change in comparison.changes}),
            "groups": [group_json(group) for group in comparison.groups],
        }
    return report


@dataclass(frozen=True, slots=True)
class Dependencies:
    """On what decisions depend, except the recorded event: another run may decide otherwise."""

    sampled: int
    on: dict[str, int]
    """What changed decisions, to the number of them: chance, the time, earlier events."""
    variables: list[str]
    files: list[str]
    """Files that hook files read, without their code."""
    split_sessions: int

    def texts(self) -> list[str]:
        """Return it as sentences, for people."""
        texts: list[str] = []
        changes = [f"{what} ({events} of {self.sampled:,})" for what, events in self.on.items()]
        if changes:
            texts.append(
                f"Decisions depend on more than the event. Of a sample that was decided again, "
                f"these changed: {', '.join(changes)}."
            )
        names = [f"${name}" for name in self.variables if name != WHOLE] + self.files
        if WHOLE in self.variables:
            names = ["all variables", *self.files]
        if names:
            texts.append(f"They may depend on what the hook file reads: {', '.join(names)}.")
        if ORDER in self.on and self.split_sessions:
            texts.append(
                f"{self.split_sessions:,} of the sessions are in several parts of the files, so "
                "that hooks do not remember their earlier events; import the files, which keeps "
                "sessions together: anyhook history import"
            )
        return texts


def dependencies_of(result: Result) -> Dependencies:
    """Return on what the decisions of a result depend."""
    variables: list[str] = []
    files: list[str] = []
    for name in sorted(result.reads):
        if name.startswith(VARIABLE):
            variables.append(name.removeprefix(VARIABLE))
        elif not name.endswith(".py"):
            files.append(name)
    if WHOLE in variables:
        variables = [WHOLE]
    depends = dict(result.depends.most_common())
    return Dependencies(result.sampled, depends, variables, files, result.split_sessions)


def summary_text(result: Result) -> str:
    """Return the answer to the question of a backtest: how many events are denied."""
    calls = result.events["before_tool"]
    is_about_calls = calls == result.total
    noun = "call" if is_about_calls else "event"
    return (
        f"would have denied {result.verdicts['deny']:,} of {count_of(result.total, noun)} in "
        f"{count_of(len(result.sessions), 'session')}"
    )


def refusals_of(result: Result) -> list[str]:
    """Return what a reader has to know about calls that were not executed, as sentences."""
    texts: list[str] = []
    refused = sum(result.refused.values())
    if refused:
        denied = result.refused["deny"]
        texts.append(
            f"{refused:,} of the decided calls were not executed when they happened: the agent, "
            f"its user or a hook refused them ({denied:,} of them are denied here)."
        )
    if result.unseen:
        texts.append(
            f"{result.unseen:,} further calls are left out: the agent refused them before hooks "
            "got them. --refused decides refused calls only, these too."
        )
    return texts


def _result_json(result: Result) -> dict[str, Any]:
    outcomes = result.outcomes()
    sessions = len(result.sessions)
    rates: dict[str, Any] = {}
    for outcome, number in outcomes.items():
        in_sessions = result.sessions_with(outcome)
        # Without events or sessions, every rate is 0.
        rates[outcome] = {
            "events": number,
            "of_events": number / max(result.total, 1),
            "sessions": in_sessions,
            "of_sessions": in_sessions / max(sessions, 1),
        }
    return {
        "events": result.total,
        "by_event": dict(result.events),
        "sessions": sessions,
        "outcomes": rates,
        "refused": dict(result.refused),
        "unseen": result.unseen,
        "hooks": {hook: _tally_json(tally) for hook, tally in result.hooks.items()},
    }


def _tally_json(tally: Tally) -> dict[str, Any]:
    return {
        "matched": tally.matched,
        "outcomes": dict(tally.outcomes),
        "crashed": tally.crashed,
        "timed_out": tally.timed_out,
        "duration": {f"p{share * 100:g}": tally.percentile(share) for share in PERCENTILES},
    }


def group_json(group: ChangeGroup) -> dict[str, Any]:
    """Return a group of changes with some examples for programs."""
    return {
        "before": group.before,
        "after": group.after,
        "event": group.event,
        "tool": group.tool,
        "hooks": list(group.hooks),
        "fields": list(group.fields),
        "number": len(group.changes),
        "sessions": group.sessions,
        "examples": [change_json(change) for change in group.changes[:EXAMPLES]],
    }


def change_json(change: DecisionChange) -> dict[str, Any]:
    """Return a change for programs."""
    reconstructed: set[str] = set()
    for decided in change.sides:
        reconstructed.update(decided.reconstructed)
    return {
        "ref": change.event.ref,
        "session": change.event.session,
        "text": change.event.text,
        "before": dict(change.before.decision) if change.before else None,
        "after": dict(change.after.decision) if change.after else None,
        "reconstructed": sorted(reconstructed),
    }


def decided_json(event: Decided) -> dict[str, Any]:
    """Return a decided event for programs."""
    members = asdict(event)
    del members["is_refused"]
    return {**members, "outcome": event.outcome}


def examples(decided: Iterable[Decided], number: int) -> list[Decided]:
    """Return some decided events: denials first, and of different texts and sessions."""
    denials: dict[tuple[str, str], Decided] = {}
    others: dict[tuple[str, str], Decided] = {}
    for event in decided:  # there may be millions
        chosen = denials if event.outcome in DENYING else others
        if len(chosen) < number:
            chosen.setdefault((event.outcome, event.text), event)
        if len(denials) >= number:
            break
    return [*denials.values(), *others.values()][:number]


# -- changes

EXAMPLES = 5
"""Examples of a group of changes."""


@dataclass(frozen=True, slots=True)
class DecisionChange:
    """An event on which two sides decide differently."""

    before: Decided | None
    """The decision of the baseline; `None` if it had no opinion, as `after`."""
    after: Decided | None
    fields: tuple[str, ...]
    """Names of the fields that differ; `crash` if only one side failed on the event."""

    @property
    def sides(self) -> list[Decided]:
        """The decisions that there are, one or two of them."""
        return [decided for decided in (self.before, self.after) if decided is not None]

    @property
    def event(self) -> Decided:
        """The event, as one of the sides describes it."""
        return self.sides[-1]

    @property
    def outcomes(self) -> tuple[str, str]:
        """The verdicts before and after."""
        before = "none" if self.before is None else self.before.outcome
        after = "none" if self.after is None else self.after.outcome
        return before, after


@dataclass(slots=True)
class ChangeGroup:
    """Changes of one kind."""

    before: str
    after: str
    event: str
    tool: str | None
    """Canonical name of the tool; `None` for other events."""
    hooks: tuple[str, ...]
    fields: tuple[str, ...]
    changes: ItemTable[DecisionChange] = field(default_factory=ItemTable)

    @property
    def sessions(self) -> int:
        """Number of sessions with such a change."""
        return len({change.event.session for change in self.changes})


def find_changes(before: Result, after: Result) -> ItemTable[DecisionChange]:
    """Compare the decisions of two results on the same events.

    Of two runs on the same parts, the parts that both have evaluated are compared.
    """
    changes = ItemTable[DecisionChange]()
    first, second = before.decided, after.decided
    if isinstance(first, ItemTable) and isinstance(second, ItemTable):
        for number in sorted({*first.segments} & {*second.segments}):
            _compare(first.segment(number), second.segment(number), changes)
    else:
        _compare(first, second, changes)
    return changes


def _compare(
    before: Iterable[Decided], after: Iterable[Decided], changes: ItemTable[DecisionChange]
) -> None:
    first = {decided.ref: decided for decided in before}
    second = {decided.ref: decided for decided in after}
    for ref in dict.fromkeys([*second, *first]):
        old, new = first.get(ref), second.get(ref)
        of_old, of_new = _compared_fields(old), _compared_fields(new)
        names = sorted({*of_old, *of_new})
        fields = tuple(name for name in names if of_old.get(name) != of_new.get(name))
        if not fields and _has_crashed(old) != _has_crashed(new):
            fields = (CRASH,)
        if fields:
            changes.append(DecisionChange(old, new, fields))


def _compared_fields(decided: Decided | None) -> dict[str, Any]:
    """Return a decision without its blame, in one form for both sides.

    The reason of a stop is `stop_reason` in the answer of a hook, and `reason` in the decision of
    several. The offer to allow a denied call once is recorded where a command printed it.
    """
    fields = dict(decided.decision) if decided is not None else {}
    fields.pop("blame", None)
    stop_reason = fields.pop("stop_reason", None)
    if fields.get("stop") and stop_reason:
        fields["reason"] = stop_reason
    if "system_messages" in fields:
        messages = [without_offer(str(message)) for message in fields.pop("system_messages")]
        fields["system_messages"] = [message for message in messages if message]
    return {name: value for name, value in fields.items() if value != []}


def _has_crashed(decided: Decided | None) -> bool:
    return decided is not None and decided.outcome == CRASH


def group_changes(changes: Iterable[DecisionChange]) -> list[ChangeGroup]:
    """Group changes by verdicts, event, tool, hooks and fields, the largest group first."""
    groups: dict[tuple[Any, ...], ChangeGroup] = {}
    for change in changes:
        event = change.event
        hooks: set[str] = set()
        for decided in change.sides:
            hooks.update(decided.hooks)
        key = (*change.outcomes, event.event, event.tool, tuple(sorted(hooks)), change.fields)
        group = groups.get(key)
        if group is None:
            group = groups[key] = ChangeGroup(*key)
        group.changes.append(change)
    return sorted(groups.values(), key=lambda group: -len(group.changes))


def new_denials(changes: Iterable[DecisionChange]) -> ItemTable[DecisionChange]:
    """Return the changes that deny or stop what was not denied or stopped before."""
    denials = ItemTable[DecisionChange]()
    for change in changes:
        before, after = change.outcomes
        if after in DENYING and before not in DENYING:
            denials.append(change)
    return denials
