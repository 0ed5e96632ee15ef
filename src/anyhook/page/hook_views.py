"""The views of hooks: those of the settings, what hooks did, and problems of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from anyio.to_thread import run_sync
from starlette.responses import RedirectResponse, Response

from anyhook.checks.rules import find_problems, worst_first
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.errors import AnyhookError, UsageError
from anyhook.history import hooks as hook_history
from anyhook.history.hooks import StoredRun, percentile
from anyhook.history.verdicts import NO_VERDICT
from anyhook.manage.health import HealthWord, HookHealth, health, healths_of
from anyhook.manage.hooks import UNTRUSTED, HookRow, hook_rows, split_recorder
from anyhook.manage.scope import scope_of
from anyhook.manage.switching import SwitchResult, switch_hook
from anyhook.page.charts import SERIES, latency_chart, outcome_chart, spans_of
from anyhook.page.page import Page, read_form
from anyhook.settings.changes import exclusive_edits

if TYPE_CHECKING:
    from starlette.requests import Request

    from anyhook.history.events import RecordedEvent, RecordedResult


class LatestResults(NamedTuple):
    """The newest results of a kind, the newest first."""

    results: list[tuple[RecordedEvent, RecordedResult]]
    rest: int


def show_hooks(page: Page, request: Request) -> Response:
    """Show the hooks of the settings, and what hooks did."""
    with page.history() as history:
        summaries = hook_history.hook_summaries(history)
    # The hooks of every agent with their health; the recorder of an agent has none.
    configured: list[tuple[HookRow, HookHealth | None]] = []
    for engine in scope_of(page.project, None).engines(default=True):
        configured += [(hook.row, hook) for hook in health(engine).hooks]
        _rows, recorder = split_recorder(hook_rows(engine))
        if recorder is not None:
            configured.append((recorder, None))
    return page.show(
        "hooks.html",
        "/hooks",
        hooks=summaries.hooks,
        configured=configured,
        has_untrusted=any(row.state in UNTRUSTED for row, _health in configured),
        is_limited=summaries.is_limited,
        latest_runs=sum(hook.runs for hook in summaries.hooks),
        notice=request.query_params.get("notice", ""),
    )


def show_hook(page: Page, request: Request) -> Response:
    """Show what a hook decided and how long it took, over time."""
    name = request.query_params.get("name", "")
    place = request.query_params.get("place", "")
    with page.history() as history:
        versions = hook_history.hook_versions(history, name, place)
        if not versions:
            raise UsageError(f"the history has no hook {name!r} at {place!r}")
        hook_name = hook_history.HookName(name, place)
        recorded = [
            hook_history.RecordedHook(number, hook_name, digest)
            for number, (digest, _file) in versions.items()
        ]
        runs = hook_history.hook_runs(history, versions)
        hook = hook_history.summary_of(name, place, runs)

        def latest(of_kind: list[StoredRun]) -> LatestResults:
            limit = hook_history.MAX_RESULTS
            results = hook_history.latest_results(history, recorded, of_kind, limit)
            return LatestResults(results, max(0, len(of_kind) - limit))

        decided = [run for run in runs if run.verdict != NO_VERDICT]
        decisions = latest([run for run in decided if not run.shadow])
        shadow_decisions = latest([run for run in decided if run.shadow])
        failures = latest([run for run in runs if run.trouble is not None])
    spans = spans_of(runs)
    return page.show(
        "hook.html",
        "/hooks",
        hook=hook,
        versions=hook_history.used_versions(versions, runs),
        spans=spans,
        series=[name for name in SERIES if any(span.outcomes[name] for span in spans)],
        outcome_chart=outcome_chart(spans),
        latency_chart=latency_chart(spans),
        percentile=percentile,
        is_limited=len(runs) >= hook_history.MAX_RUNS,
        search=urlencode({"hook": name}),
        decisions=decisions,
        shadow_decisions=shadow_decisions,
        failures=failures,
    )


async def switch(page: Page, request: Request) -> Response:
    """Switch a hook of the settings on or off."""
    fields = await read_form(request, page.access)
    agent, name = fields.get("agent", ""), fields.get("hook", "")
    is_on = fields.get("state") == "on"

    def switch() -> SwitchResult:
        with exclusive_edits():
            engine = Engine.load(page.project, agent=agent, on_message=discard)
            return switch_hook(engine, name, is_on=is_on)

    try:
        result = await run_sync(switch)
    except AnyhookError as error:
        message = str(error)
    else:
        verb = "is now" if result.changed else "was already"
        message = f"{name} {verb} {result.state}{result.extent}"
        if result.switched_off_by and is_on:
            message += f": {result.switched_off_by} switches it off"
    return RedirectResponse(f"/hooks?{urlencode({'notice': message})}", 303)


def show_problems(page: Page, _request: Request) -> Response:
    """Show the mistakes in the settings, the worst first, and the broken hooks."""
    engines = list(scope_of(page.project, None).engines(default=True))
    findings = find_problems(engines)
    broken: list[HookHealth] = []
    for agent_health in healths_of(engines, findings):
        broken += [hook for hook in agent_health.hooks if hook.word is HealthWord.BROKEN]
    return page.show(
        "problems.html",
        "/problems",
        problems=worst_first(findings),
        broken=broken,
        journal_problems=page.live.problems,
    )
