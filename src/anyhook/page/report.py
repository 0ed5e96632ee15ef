"""Reports that are one file: the views of the page without a server and without scripts."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from anyhook import __version__
from anyhook.agents import AGENTS
from anyhook.backtest.report import (
    examples,
    find_changes,
    group_changes,
    group_json,
    new_denials,
    report_json,
)
from anyhook.backtest.results import Decided, Result
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.history.sessions import SessionSummary, events_of
from anyhook.history.verdicts import DENYING
from anyhook.manage.health import health
from anyhook.model.record import replace
from anyhook.page.render import ReportLinks, asset, author_results, render
from anyhook.secrets.redact import redact_json, redact_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyhook.backtest.evaluation import Evaluation
    from anyhook.history.events import RecordedResult
    from anyhook.history.store import History


MAX_EVENTS = 3000
"""Events of one report; a browser shows a longer page slowly."""


def session_report(history: History, session: SessionSummary, *, everything: bool = False) -> str:
    """Return a session as one page; with `everything`, also events without hooks and decisions."""
    events = events_of(history, session, limit=MAX_EVENTS)
    listed = events
    if not everything:
        decided = [event for event in events if event.decision or author_results(event)]
        listed = decided or events
    # This release may know more kinds of secrets than the one that has stored the events.
    redacted = [
        event._replace(
            payload=_redacted(event.payload),
            decision=_redacted(event.decision),
            project=redact_text(event.project),
            results=tuple(map(_result_without_secrets, event.results)),
        )
        for event in listed
    ]
    return _render(
        "session.html",
        ReportLinks(frozenset(event.id for event in redacted)),
        session=replace(session, project=redact_text(session.project)),
        events=redacted,
        health=_health_of(session),
        left_out=session.events - len(listed),
        next="",
    )


def _health_of(session: SessionSummary) -> list[dict[str, str]]:
    """Return whether the hooks of a session's project work now; empty if it is not here."""
    if session.agent not in AGENTS or not Path(session.project or "-").is_dir():
        return []
    engine = Engine.load(session.project, agent=session.agent, on_message=discard)
    rows: list[dict[str, str]] = []
    for hook in health(engine, stores_first=False).hooks:
        row = {"hook": hook.row.label, "event": hook.row.event, "word": str(hook.word)}
        row |= {"evidence": hook.evidence, "settle": hook.settle}
        rows.append({name: redact_text(text) for name, text in row.items()})
    return rows


def backtest_report(evaluation: Evaluation) -> str:
    """Return the report of a backtest as one page."""
    values = shown_report(_redacted(report_json(evaluation.run, evaluation.comparison)))
    return _render("backtest.html", ReportLinks(), events="", **values)


def score_report(scores: Mapping[str, Any]) -> str:
    """Return what `anyhook score --json` writes as one page."""
    return _render("score.html", ReportLinks(), **_redacted(scores))


def _render(template: str, links: ReportLinks, **values: Any) -> str:
    style = asset("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return render(
        template,
        links,
        layout="report.html",
        version=__version__,
        style=Markup(style),  # noqa: S704 - it is a file of this package
        style_hash=f"sha256-{digest}",
        **values,
    )


def _result_without_secrets(result: RecordedResult) -> RecordedResult:
    return replace(
        result,
        hook=redact_text(result.hook),
        place=redact_text(result.place),
        answer=_redacted(result.answer),
        stdout=redact_text(result.stdout),
        stderr=redact_text(result.stderr),
        error=redact_text(result.error) if result.error is not None else None,
    )


def _redacted(value: Any) -> Any:
    """Return a JSON value without secrets."""
    return json.loads(redact_json(json.dumps(value, ensure_ascii=False))[0])


# -- what the view of a backtest shows

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
    return Result(decided=[Decided.from_json(event) for event in report["decided"]])
