"""The views of backtests: those that were made, starting one, and comparing two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from starlette.responses import RedirectResponse, Response

from anyhook.errors import AnyhookError
from anyhook.history.describe import parse_since
from anyhook.history.filters import Filter
from anyhook.history.hooks import hook_files
from anyhook.history.sessions import agents_of
from anyhook.model.tools import TOOLS
from anyhook.page.compared import compare_reports, shown_report
from anyhook.page.jobs import JobRequest, Jobs
from anyhook.page.kept import kept_backtest, kept_backtests
from anyhook.page.page import Page, read_form
from anyhook.page.past_views import attachment
from anyhook.page.report import render_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request as HttpRequest

FIELDS = ("path", "against", "since", "tool", "agent")
"""Fields of the form that starts a backtest."""


@dataclass(frozen=True, slots=True)
class BacktestViews:
    """The views of backtests."""

    page: Page
    jobs: Jobs

    def show_all(self, _request: HttpRequest) -> Response:
        """Show the backtests that were made, and the one that runs."""
        return self._show_all({})

    def _show_all(self, fields: Mapping[str, str], message: str = "") -> Response:
        with self.page.history() as history:
            agents = agents_of(history)
            files = hook_files(history)
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
        return self.page.show(
            "backtests.html",
            "/backtests",
            status=400 if message else 200,
            kept=rows,
            job=self.jobs.job,
            message=message,
            fields={name: fields.get(name, "") for name in FIELDS},
            tools=sorted(TOOLS),
            agents=agents,
            files=files,
        )

    async def start(self, request: HttpRequest) -> Response:
        """Start a backtest."""
        fields = await read_form(request, self.page.access)

        def start() -> None:
            selection = Filter(
                since=parse_since(fields.get("since", "")),
                agent=fields.get("agent", ""),
                tool=fields.get("tool", ""),
            )
            path, against = fields.get("path", "").strip(), fields.get("against", "").strip()
            self.jobs.start(JobRequest(path, against, selection))

        try:
            await run_sync(start)
        except AnyhookError as error:
            return await run_sync(self._show_all, fields, str(error))
        return RedirectResponse("/backtests", 303)

    async def end(self, request: HttpRequest) -> Response:
        """End the backtest that runs."""
        await read_form(request, self.page.access)
        self.jobs.end()
        return RedirectResponse("/backtests", 303)

    def show_one(self, request: HttpRequest) -> Response:
        """Show the result of a backtest."""
        kept = kept_backtest(self.page.directory, request.path_params["name"])
        return self._show_result(kept.name, kept.events, shown_report(kept.report))

    def _show_result(self, name: str, events: str, values: Mapping[str, Any]) -> Response:
        return self.page.show("backtest.html", "/backtests", name=name, events=events, **values)

    def save_one(self, request: HttpRequest) -> Response:
        """Send the result of a backtest as a report that is one file."""
        kept = kept_backtest(self.page.directory, request.path_params["name"])
        return attachment(render_report(kept.report, kept.events), f"backtest-{kept.name}")

    def compare(self, request: HttpRequest) -> Response:
        """Show what two backtests decide differently."""
        parameters = request.query_params
        before = kept_backtest(self.page.directory, parameters.get("before", ""))
        after = kept_backtest(self.page.directory, parameters.get("after", ""))
        return self._show_result("", after.events, compare_reports(before.report, after.report))
