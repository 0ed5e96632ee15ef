"""The changes of all agents as a table or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.drift.compare import Change

HEADINGS = ("agent", "release", "subject", "name", "change")


@dataclass(slots=True)
class AgentReport:
    """What was found out about one agent.

    Attributes:
        agent: Name of the agent.
        observed: The release that the tables describe; empty if none was observed.
        newest: The release that was examined; empty if it could not be installed.
        changes: What is different.
        notes: What could not be examined, and why.
    """

    agent: str
    observed: str = ""
    newest: str = ""
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def to_json(reports: Sequence[AgentReport]) -> str:
    """Return the reports as JSON."""
    value: dict[str, Any] = {
        "changed": any(report.changes for report in reports),
        "agents": [asdict(report) for report in reports],
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


def to_table(reports: Sequence[AgentReport]) -> str:
    """Return the reports as a table of changes with notes below it."""
    lines: list[str] = []
    changes = [change for report in reports for change in report.changes]
    rows = [HEADINGS, *[(c.agent, c.release, c.subject, c.name, c.change) for c in changes]]
    if len(rows) > 1:
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        lines.append("")
    for report in reports:
        newest = report.newest or "not examined"
        state = f"{len(report.changes)} changes" if report.changes else "nothing changed"
        if not report.newest:
            state = "unknown"
        lines.append(f"{report.agent}: observed {report.observed or '-'}, newest {newest}: {state}")
        lines += [f"  {note}" for note in report.notes]
    return "\n".join(lines)
