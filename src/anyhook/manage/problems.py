"""What is wrong with the hooks of a project: what `anyhook check`, the panel and the page show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyhook.checks.rules import check_settings
from anyhook.model.diagnostics import Diagnostic, Place, Severity
from anyhook.model.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyhook.engine.engine import Engine


class Finding(Record, kw_only=False):
    """A diagnostic about the hooks of one agent."""

    agent: str
    diagnostic: Diagnostic


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the errors first and the notes last."""
    severities = list(Severity)
    return sorted(findings, key=lambda finding: severities.index(finding.diagnostic.severity))


def find_problems(engines: Iterable[Engine]) -> list[Finding]:
    """Return what `anyhook check` reports about the hooks of some agents, sorted by place."""
    findings: list[Finding] = []
    for engine in engines:
        # Several hooks can lead to the same diagnostic.
        unique = dict.fromkeys(check_settings(engine))
        findings += [Finding(engine.agent.name, diagnostic) for diagnostic in unique]

    def sort_key(finding: Finding) -> tuple[str, int, int, str]:
        place = finding.diagnostic.place or Place("")
        return place.file, place.line or 0, place.column or 0, finding.diagnostic.code

    return sorted(findings, key=sort_key)
