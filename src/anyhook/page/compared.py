"""What the view of a backtest shows, and how two backtests differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyhook.backtest.changes import find_changes, group_changes, new_denials
from anyhook.backtest.report import group_json
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
        "timeouts": report.get("timeouts"),
        "depends": report.get("depends"),
        "crashes": report.get("crashes", [])[:CRASHES],
        "baseline": report.get("baseline"),
        "changes": changes,
        "groups": groups[:GROUPS],
        "examples": examples(report["decided"]),
    }


def examples(decided: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return some decided events of different texts, denials first."""
    examples: dict[tuple[str, str], dict[str, Any]] = {}
    for event in sorted(decided, key=lambda event: event["outcome"] not in DENYING):
        examples.setdefault((event["outcome"], event["text"]), event)
        if len(examples) >= EXAMPLES:
            break
    return list(examples.values())


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
    names = ("ref", "session", "event", "tool", "text", "decision", "hooks", "reconstructed")
    result = Result()
    for event in report["decided"]:
        # Reports that an older release has kept do not name crashes.
        values = [*[event[name] for name in names], event.get("crash", "")]
        result.decided.append(Decided.from_json(values))
    return result
