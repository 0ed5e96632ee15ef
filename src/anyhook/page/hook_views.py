"""The views of hooks: those of the settings, what hooks did, and problems of the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from anyio.to_thread import run_sync
from starlette.responses import RedirectResponse, Response

from anyhook.errors import UsageError
from anyhook.history.queries import get_event
from anyhook.page import queries
from anyhook.page.charts import SERIES, latency_chart, outcome_chart
from anyhook.page.page import Page, read_form

if TYPE_CHECKING:
    from starlette.requests import Request

    from anyhook.history.events import RecordedEvent

LATEST = 10
"""Decisions that the view of a hook shows."""


@dataclass(frozen=True, slots=True)
class HookViews:
    """The views of hooks.

    Attributes:
        page: What every view uses.
    """

    page: Page

    def show_hooks(self, request: Request) -> Response:
        """Show the hooks of the settings, and what hooks did."""
        with self.page.history() as history:
            found = queries.hook_summaries(history)
        return self.page.show(
            "hooks.html",
            "/hooks",
            hooks=found,
            configured=self.page.settings.hooks(),
            is_limited=sum(hook.runs for hook in found) >= queries.LATEST_RUNS,
            latest_runs=queries.LATEST_RUNS,
            notice=request.query_params.get("notice", ""),
        )

    def show_hook(self, request: Request) -> Response:
        """Show what a hook decided and how long it took, over time."""
        name = request.query_params.get("name", "")
        place = request.query_params.get("place", "")
        with self.page.history() as history:
            versions = queries.hook_versions(history, name, place)
            if not versions:
                raise UsageError(f"the history has no hook {name!r} at {place!r}")
            runs = queries.hook_runs(history, versions)
            latest: dict[int, RecordedEvent] = {}
            for run in runs:
                if run.outcome != "none" and len(latest) < LATEST:
                    latest[run.event_id] = get_event(history, run.event_id)
        spans = queries.spans_of(runs)
        return self.page.show(
            "hook.html",
            "/hooks",
            hook=queries.summary_of(name, place, runs),
            versions=queries.used_versions(versions, runs),
            spans=spans,
            series=[one for one in SERIES if any(span.outcomes[one] for span in spans)],
            outcome_chart=outcome_chart(spans),
            latency_chart=latency_chart(spans),
            percentile=queries.percentile,
            is_limited=len(runs) >= queries.LATEST_RUNS,
            latest=sorted(latest.values(), key=lambda event: -event.time),
            search=urlencode({"hook": name}),
        )

    async def switch(self, request: Request) -> Response:
        """Switch a hook of the settings on or off."""
        fields = await read_form(request, self.page.access)
        is_on = fields.get("state") == "on"

        def switch() -> str:
            switched = self.page.settings.switch(
                fields.get("agent", ""), fields.get("hook", ""), is_on=is_on
            )
            return switched.message

        message = await run_sync(switch)
        return RedirectResponse(f"/hooks?{urlencode({'notice': message})}", 303)

    def show_problems(self, _request: Request) -> Response:
        """Show the mistakes in the settings."""
        return self.page.show(
            "problems.html",
            "/problems",
            problems=self.page.settings.problems(),
            journal_problems=self.page.live.problems,
        )
