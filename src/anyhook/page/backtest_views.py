"""The views of backtests: those that were made, and the comparison of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyhook.page.kept import kept_backtest, kept_backtests
from anyhook.page.report import compare_reports, shown_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from anyhook.page.page import Page


@dataclass(frozen=True, slots=True)
class BacktestViews:
    """The views of backtests."""

    page: Page

    def show_all(self, _request: Request) -> Response:
        """Show the backtests that were made."""
        rows = []
        for kept in kept_backtests(self.page.directory):
            outcomes = {name: rate["events"] for name, rate in kept.report["outcomes"].items()}
            rows.append(
                {
                    "name": kept.name,
                    "made": kept.made,
                    "events": kept.events,
                    "report": {"baseline": None, "changes": None, **kept.report},
                    "outcomes": outcomes,
                }
            )
        return self.page.show("backtests.html", "/backtests", kept=rows)

    def show_one(self, request: Request) -> Response:
        """Show the result of a backtest."""
        kept = kept_backtest(self.page.directory, request.path_params["name"])
        return self._show_result(kept.events, shown_report(kept.report))

    def _show_result(self, events: str, values: Mapping[str, Any]) -> Response:
        return self.page.show("backtest.html", "/backtests", events=events, **values)

    def compare(self, request: Request) -> Response:
        """Show what two backtests decide differently."""
        parameters = request.query_params
        before = kept_backtest(self.page.directory, parameters.get("before", ""))
        after = kept_backtest(self.page.directory, parameters.get("after", ""))
        return self._show_result(after.events, compare_reports(before.report, after.report))
