"""Keep what `probe` and `test` have seen of hooks, as evidence that they work."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from anyhook.agents import get_agent
from anyhook.agents.payloads import decode_event
from anyhook.engine.asked import asked_call
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.history.store import History
from anyhook.history.trials import PROBE, TEST, Trial, keep_trials
from anyhook.history.verdicts import HOLDING
from anyhook.manage.evidence import digest_of_files, hook_identity
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.record import Record, replace
from anyhook.model.text import count_of
from anyhook.probe.report import AgentReport, ProbeVerdict
from anyhook.secrets.redact import redact_json
from anyhook.testing.examples import ExampleResult, ExampleStatus, TriedFile, try_file
from anyhook.trust.observed import add_observed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anyhook.model.diagnostics import Place
    from anyhook.sandbox.sandbox import Sandbox

JUDGED = frozenset({ExampleStatus.OK, ExampleStatus.FAILED})
"""Results of examples that say something about the hook: the others are about the agent."""


class CaseRun(Record, kw_only=False):
    """A run of a configured hook in a case that ended as it was expected.

    Attributes:
        event: Canonical name of the event.
        place: Where the hook is in the settings.
        verdict: What it answered.
    """

    event: str
    label: str
    place: Place
    verdict: str
    case: str


def keep_probe(project: Path, report: AgentReport) -> None:
    """Keep what a probe has seen of the hooks of an agent.

    Raises:
        HistoryError: If the history cannot be written.
    """
    engine = Engine.load(project, agent=report.name, on_message=discard)
    # Settings may be written in one line, so the column tells their hooks apart.
    by_place = {}
    for definition, handler in each_handler(engine.definitions):
        by_place[handler.place, handler.label] = (definition, handler)
    trials: list[Trial] = []
    for hook in report.hooks:
        place = hook.hook.place
        configured = by_place.get((place, hook.hook.label))
        if configured is None or hook.verdict not in (ProbeVerdict.WORKS, ProbeVerdict.BROKEN):
            continue
        has_held = hook.held() is True
        detail = "its denial held" if has_held else "it ran"
        if hook.verdict is ProbeVerdict.BROKEN:
            detail = "; ".join(hook.reasons)
        trial = _trial_of(engine, *configured, detail, has_decided=has_held)
        release = f"{engine.agent.title} {report.version}".strip()
        is_good = hook.verdict is ProbeVerdict.WORKS
        trials.append(replace(trial, kind=PROBE, release=release, is_good=is_good))
    _keep(trials)


def try_hook_file(sandbox: Sandbox, file: Path, agents: Sequence[str]) -> TriedFile:
    """Run the examples of a hook file in a sandbox, and note which files it loads.

    Examples that name no agents are run for the given ones.

    Raises:
        UsageError: If it is not a hook file, or cannot be imported.
    """
    path = str(file.resolve())
    tried = sandbox.run(try_file, sandbox.inside(path), list(agents))
    # Tests run also if the data directory cannot be written.
    with suppress(OSError):
        add_observed(path, sandbox.outside(tried.code), sandbox.outside(tried.data))
    return tried


def keep_examples(file: Path, tried: TriedFile) -> None:
    """Keep what the examples of a hook file have shown, for each agent and event.

    A shadow has decided none of them.

    Raises:
        HistoryError: If the history cannot be written.
    """
    groups: dict[tuple[str, str], list[ExampleResult]] = {}
    for result in tried.results:
        if result.status in JUDGED:
            groups.setdefault((result.agent, result.example.event), []).append(result)
    content = digest_of_files([file])
    trials: list[Trial] = []
    for (agent, event), group in groups.items():
        failed = [result for result in group if result.status is ExampleStatus.FAILED]
        calls: list[tuple[str | None, Mapping[str, Any], bool]] = []
        for result in group:
            if result.run is not None:
                form = get_agent(result.agent).form_of(result.run.payload)
                decoded, _diagnostics = decode_event(form, result.run.payload)
                call = asked_call(form.by_canonical[decoded.name], decoded)
                calls.append((call.subject, call.tool_input, _has_decided(result)))
        calls_text, _redacted = redact_json(json.dumps(calls))
        detail = count_of(len(group), "example")
        if failed:
            detail = f"{len(failed)} of {detail} failed, the first at {failed[0].example.place}"
        trials.append(
            Trial(
                kind=TEST,
                agent=agent,
                release="",
                event=event,
                hook=file.name,
                entry="",
                content=content,
                file=os.path.realpath(file),
                time=time.time(),
                is_good=not failed,
                has_decided=not tried.is_shadow and any(map(_has_decided, group)),
                detail=detail,
                calls=calls_text,
            )
        )
    _keep(trials)


def _has_decided(result: ExampleResult) -> bool:
    return result.example.expect in HOLDING


def keep_cases(engine: Engine, runs: Sequence[CaseRun]) -> None:
    """Keep which configured hooks have run in cases that ended as it was expected.

    Raises:
        HistoryError: If the history cannot be written.
    """
    trials: dict[str, Trial] = {}
    for definition, handler in each_handler(engine.definitions):
        name = (definition.event, handler.label, handler.place)
        of_hook = [run for run in runs if (run.event, run.label, run.place) == name]
        if not of_hook:
            continue
        decided = [run for run in of_hook if run.verdict in HOLDING]
        telling = decided or of_hook
        what = "decided" if decided else "ran in"
        detail = f"it {what} {count_of(len(telling), 'case')}, the first {telling[0].case!r}"
        trial = _trial_of(engine, definition, handler, detail, has_decided=bool(decided))
        trials[trial.entry] = trial
    _keep([*trials.values()])


def _trial_of(
    engine: Engine,
    definition: HookDefinition,
    handler: HandlerSpec,
    detail: str,
    *,
    has_decided: bool,
) -> Trial:
    """Return a trial with cases in which a configured hook did as it was expected."""
    return Trial(
        kind=TEST,
        agent=engine.agent.name,
        release="",
        event=definition.event,
        hook=handler.label,
        **hook_identity(engine, definition, handler)._asdict(),
        time=time.time(),
        is_good=True,
        has_decided=has_decided,
        detail=detail,
    )


def _keep(trials: list[Trial]) -> None:
    if trials:
        with History.open() as history:
            keep_trials(history, trials)
