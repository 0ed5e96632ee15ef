"""What the view of a backtest shows, and how two backtests differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.backtest.changes import find_changes, group_changes, new_denials
from anyhook.backtest.report import examples, group_json
from anyhook.backtest.results import Decided, Result
from anyhook.history.verdicts import DENYING

if TYPE_CHECKING:
    from collections.abc import Mapping

EXAMPLES = 60
"""Decided events that a view shows."""
CRASHES = 40
"""Different crashes that a view shows."""
GROUPS = 40
"""Groups of changes that a view shows."""


def shown_report(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the template of a backtest shows of a report."""
    changes = report.get("changes")

    def weight(group: Mapping[str, Any]) -> tuple[bool, bool, int]:
        is_new_denial = group["after"] in DENYING and group["before"] not in DENYING
        has_same_verdict = group["before"] == group["after"]
        return not is_new_denial, has_same_verdict, -group["number"]

    # New denials first, then other verdicts, then other fields.
    groups = sorted(changes["groups"], key=weight) if changes else []
    return {
        "report": report,
        "timeouts": report["timeouts"],
        "depends": report["depends"],
        "crashes": report["crashes"][:CRASHES],
        "baseline": report.get("baseline"),
        "changes": changes,
        "groups": groups[:GROUPS],
        "examples": examples(_result_of(report).decided, EXAMPLES),
    }


def compare_reports(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two backtests decide differently, for the same template."""
    changes = find_changes(_result_of(before), _result_of(after))
    groups = [group_json(group) for group in group_changes(changes)]
    differences = {
        "number": len(changes),
        "new_denials": len(new_denials(changes)),
        "sessions": len({change.event.session for change in changes}),
        "groups": groups,
    }
    return shown_report({**after, "baseline": before, "changes": differences})


def _result_of(report: Mapping[str, Any]) -> Result:
    """Return the decided events of a report."""
    names = "ref session event tool text decision hooks reconstructed crash".split()
    events = report["decided"]
    return Result(decided=[Decided.from_json(event[name] for name in names) for event in events])
