"""The views of hooks: those of the settings, what hooks did, and problems of the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from anyio.to_thread import run_sync
from starlette.responses import RedirectResponse, Response

from anyhook.errors import UsageError
from anyhook.page import hook_results
from anyhook.page.charts import SERIES, latency_chart, outcome_chart
from anyhook.page.page import Page, read_form

if TYPE_CHECKING:
    from starlette.requests import Request

    from anyhook.page.hook_results import HookRun


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
            found = hook_results.hook_summaries(history)
        return self.page.show(
            "hooks.html",
            "/hooks",
            hooks=found.hooks,
            configured=self.page.settings.hooks(),
            is_limited=found.is_limited,
            latest_runs=sum(hook.runs for hook in found.hooks),
            notice=request.query_params.get("notice", ""),
        )

    def show_hook(self, request: Request) -> Response:
        """Show what a hook decided and how long it took, over time."""
        name = request.query_params.get("name", "")
        place = request.query_params.get("place", "")
        with self.page.history() as history:
            versions = hook_results.hook_versions(history, name, place)
            if not versions:
                raise UsageError(f"the history has no hook {name!r} at {place!r}")
            runs = hook_results.hook_runs(history, versions)
            hook = hook_results.summary_of(name, place, runs)
            decisions = hook_results.latest_results(history, hook, runs, _decides)
            shadow_decisions = hook_results.latest_results(history, hook, runs, _would_decide)
            failures = hook_results.latest_results(history, hook, runs, _fails)
        spans = hook_results.spans_of(runs)
        return self.page.show(
            "hook.html",
            "/hooks",
            hook=hook,
            versions=hook_results.used_versions(versions, runs),
            spans=spans,
            series=[one for one in SERIES if any(span.outcomes[one] for span in spans)],
            outcome_chart=outcome_chart(spans),
            latency_chart=latency_chart(spans),
            percentile=hook_results.percentile,
            is_limited=len(runs) >= hook_results.LATEST_RUNS,
            search=urlencode({"hook": name}),
            decisions=decisions,
            shadow_decisions=shadow_decisions,
            failures=failures,
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


def _decides(run: HookRun) -> bool:
    return run.outcome != "none" and not run.shadow


def _would_decide(run: HookRun) -> bool:
    return run.outcome != "none" and bool(run.shadow)


def _fails(run: HookRun) -> bool:
    return run.status in (*hook_results.FAILED, "warned")
