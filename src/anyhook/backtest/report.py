"""The report of a backtest: what a program, a table and a page show of it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from anyhook.backtest.changes import (
    EXAMPLES,
    Change,
    ChangeGroup,
    find_changes,
    group_changes,
    new_denials,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyhook.backtest.results import Decided, Result, Tally
    from anyhook.backtest.run import Run

PERCENTILES = (0.5, 0.95, 0.99)
MOST_DECIDED = 10_000
"""Decided events in a report; `outcomes` counts all of them."""
STRICT = ("deny", "stop")
"""Verdicts of which examples are shown first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A baseline, and what is decided differently.

    Attributes:
        title: What the baseline is.
        result: The result of the baseline.
        changes: The events that are decided differently.
        groups: The same, grouped, the largest group first.
    """

    title: str
    result: Result
    changes: Sequence[Change]
    groups: list[ChangeGroup]

    @property
    def new_denials(self) -> Sequence[Change]:
        """The changes that deny or stop what was not denied or stopped before."""
        return new_denials(self.changes)


def compare(title: str, before: Result, after: Result) -> Comparison:
    """Compare two results on the same events."""
    changes = find_changes(before, after)
    return Comparison(title, before, changes, group_changes(changes))


def report_json(run: Run, comparison: Comparison | None) -> dict[str, Any]:
    """Return the report for programs. Durations are seconds, rates are parts of one."""
    progress = run.progress
    report: dict[str, Any] = {
        "subject": run.subject.title,
        "complete": run.is_complete,
        "parts": {"all": progress.parts, "done": progress.done, "kept": progress.kept},
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
        "decided": [decided_json(found) for found in islice(run.result.decided, MOST_DECIDED)],
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


def _result_json(result: Result) -> dict[str, Any]:
    outcomes = result.outcomes()
    sessions = len(result.sessions)
    rates: dict[str, Any] = {}
    for outcome, number in outcomes.items():
        in_sessions = result.sessions_with(outcome)
        rates[outcome] = {
            "events": number,
            "of_events": number / result.total if result.total else 0.0,
            "sessions": in_sessions,
            "of_sessions": in_sessions / sessions if sessions else 0.0,
        }
    return {
        "events": result.total,
        "by_event": dict(result.events),
        "sessions": sessions,
        "outcomes": rates,
        "hooks": {hook: _tally_json(tally) for hook, tally in result.hooks.items()},
    }


def _tally_json(tally: Tally) -> dict[str, Any]:
    percentiles = {f"p{share * 100:g}": tally.percentile(share) for share in PERCENTILES}
    return {
        "matched": tally.matched,
        "outcomes": dict(tally.outcomes),
        "crashed": tally.crashed,
        "timed_out": tally.timed_out,
        "duration": percentiles,
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


def change_json(change: Change) -> dict[str, Any]:
    """Return a change for programs."""
    return {
        "ref": change.event.ref,
        "session": change.event.session,
        "text": change.event.text,
        "before": None if change.before is None else dict(change.before.decision),
        "after": None if change.after is None else dict(change.after.decision),
        "reconstructed": sorted(
            {*(change.before.reconstructed if change.before else ())}
            | {*(change.after.reconstructed if change.after else ())}
        ),
    }


def decided_json(found: Decided) -> dict[str, Any]:
    """Return a decided event for programs."""
    return {
        "ref": found.ref,
        "session": found.session,
        "event": found.event,
        "tool": found.tool,
        "text": found.text,
        "outcome": found.outcome,
        "decision": dict(found.decision),
        "hooks": list(found.hooks),
        "reconstructed": list(found.reconstructed),
        "crash": found.crash,
    }


def examples(decided: Iterable[Decided], number: int) -> list[Decided]:
    """Return some decided events: denials first, and of different texts and sessions."""
    found: dict[tuple[str, str], Decided] = {}
    others: dict[tuple[str, str], Decided] = {}
    for one in decided:  # there may be millions
        chosen = found if one.outcome in STRICT else others
        if len(chosen) < number:
            chosen.setdefault((one.outcome, one.text), one)
        if len(found) >= number:
            break
    return [*found.values(), *others.values()][:number]
