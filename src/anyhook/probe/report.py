"""The result of a probe: for each hook whether it works in the agent, and why not."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Diagnostic, Severity
from anyhook.model.record import Record
from anyhook.probe.configured import diagnostics_about

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from anyhook.engine.engine import Engine
    from anyhook.probe.configured import ConfiguredHook
    from anyhook.probe.evidence import TrialObservation
    from anyhook.probe.trial import ProbeTrial

MAX_REASONS = 3
"""Reasons that are given for one hook."""
FIRST_LINES = 3
"""Lines of an agent's output that are shown where it fails."""
DEAD = frozenset({"dead-matcher", "condition-not-here", "type-not-here"})
"""Diagnostics of hooks that never run."""
SHELL_FAILURES: dict[int | None, str] = {
    126: "may not be executed",
    127: "is not there",
}
"""Exit code of a shell that cannot start a command, to what is wrong with the command."""


class ProbeVerdict(StrEnum):
    """Whether a hook does what it should."""

    WORKS = "works"
    BROKEN = "broken"
    """It does not run, or its answer has no effect."""
    OFF = "off"
    """The settings switch it off."""
    UNTESTED = "untested"
    """The probe leads to no event that reaches it."""


class HookReport(Record, kw_only=False):
    """What a probe found out about one hook."""

    hook: ConfiguredHook
    verdict: ProbeVerdict
    reasons: tuple[str, ...]
    """Why not, and what to change."""
    observations: tuple[TrialObservation, ...]
    """Its events."""

    @property
    def fired(self) -> bool | None:
        """Whether it ran on every event on which it should; `None` if there was none."""
        return _all_true(seen.fired for seen in self.observations if seen.expected or seen.fired)

    def held(self, *, in_subagent: bool = False) -> bool | None:
        """Return whether its denials held; `None` if there was none."""
        return _all_true(seen.held for seen in self.observations if seen.in_subagent is in_subagent)

    @property
    def context(self) -> bool | None:
        """Whether its texts for the model reached it; `None` if there was none."""
        return _all_true(seen.context for seen in self.observations)

    @property
    def fired_in_subagent(self) -> bool | None:
        """Whether it ran on the events of a subagent; `None` if there was none."""
        return _all_true(seen.fired for seen in self.observations if seen.in_subagent)


def _all_true(results: Iterable[bool | None]) -> bool | None:
    """Return whether all results that were observed are true; `None` if there are none."""
    observed = [result for result in results if result is not None]
    if not observed:
        return None
    return all(observed)


class AgentReport(Record, kw_only=False):
    """What a probe found out about one agent."""

    name: str
    title: str
    """Its name for people."""
    program: str = ""
    """What starts its program; empty if it is not installed."""
    version: str = ""
    rules: str = ""
    """The rules that predict what it does: `observed@VERSION`."""
    hooks: tuple[HookReport, ...] = ()
    problems: tuple[str, ...] = ()
    """What concerns no single hook: files that it does not read."""
    notes: tuple[str, ...] = ()
    """What is different from a session at the terminal."""
    missing: str = ""
    """Why it was not tried; empty if it was."""
    calls: tuple[str, ...] = ()
    """The calls that were made."""
    seconds: float = 0.0
    """How long its runs took."""

    @property
    def is_broken(self) -> bool:
        """Whether something does not work."""
        if self.problems:
            return True
        return any(hook.verdict is ProbeVerdict.BROKEN for hook in self.hooks)


class Circumstances(Record, kw_only=False):
    """What holds for all hooks of an agent."""

    engine: Engine
    diagnostics: tuple[Diagnostic, ...]
    """What `anyhook check` reports."""
    trials: Sequence[ProbeTrial]
    silent_files: frozenset[Path] = frozenset()
    """Settings files of which no hook ran although some should have."""

    @property
    def failure(self) -> str:
        """Why the program itself failed; empty if it did its work."""
        title = self.engine.agent.title
        for trial in self.trials:
            run = trial.run
            if run.timed_out:
                return f"{title} did not end in time; give it longer with --timeout"
            # A hook that stops the session ends the program with 0, too.
            if not trial.reached_model and (run.exit_code != 0 or not trial.records):
                output = run.stderr.strip() or run.stdout.strip()
                beginning = "; ".join(line.strip() for line in output.splitlines()[:FIRST_LINES])
                return f"{title} ended with {run.exit_code} before it asked its model: {beginning}"
        return ""


def judge(
    hook: ConfiguredHook, observations: Sequence[TrialObservation], around: Circumstances
) -> HookReport:
    """Return whether a hook works, and why not, the most important reason first."""
    verdict, reasons = _conclude(hook, observations, around)
    return HookReport(
        hook, verdict, tuple(dict.fromkeys(reasons))[:MAX_REASONS], tuple(observations)
    )


def _conclude(
    hook: ConfiguredHook, observations: Sequence[TrialObservation], around: Circumstances
) -> tuple[ProbeVerdict, list[str]]:
    title = around.engine.agent.title
    if hook.handler is None or hook.spec is None:
        reasons = _mistakes(hook, around)
        return (
            ProbeVerdict.BROKEN,
            reasons or [f"{title} does not read it; see: anyhook check"],
        )
    has_fired = any(seen.fired for seen in observations)
    switch = around.engine.hooks.switched_off(hook.handler, around.engine.rules)
    if switch is not None and not has_fired:
        return ProbeVerdict.OFF, [f"it is switched off by {switch}"]
    if hook.tap is None:
        reason = f"it is of type {hook.handler.kind}, which runs no command"
        if hook.handler.kind == "command":
            reason = f"{hook.file} is not copied, so its hooks run without a record"
        return ProbeVerdict.UNTESTED, [reason]
    if not observations:
        dead = [d.message for d in diagnostics_about(hook, around.diagnostics) if d.code in DEAD]
        if dead:
            return ProbeVerdict.BROKEN, dead
    if around.failure and not has_fired:
        return ProbeVerdict.UNTESTED, [around.failure]
    if not observations:
        reason = f"the probe leads to no {hook.event}"
        if hook.spec.canonical in ("after_tool", "post_tool_use_failure"):
            reason = (
                f"no call that {hook.matcher!r} matches was carried out, so it got no {hook.event}"
            )
        elif hook.spec.subject == "tool_name":
            example = """--call 'TOOL {"ARGUMENT": …}'"""
            reason = (
                f"no call of the probe is of a tool that {hook.matcher!r} matches; add {example}"
            )
        return ProbeVerdict.UNTESTED, [reason]
    reasons = _why_broken(hook, observations, around, has_fired=has_fired)
    return (ProbeVerdict.BROKEN if reasons else ProbeVerdict.WORKS), reasons


def _why_broken(
    hook: ConfiguredHook,
    observations: Sequence[TrialObservation],
    around: Circumstances,
    *,
    has_fired: bool,
) -> list[str]:
    """Return what went wrong on the events of a hook; empty if it did what it should."""
    reasons: list[str] = []
    silent = [seen for seen in observations if seen.expected and not seen.fired]
    if silent:
        first = silent[0]
        if around.failure:
            reason = around.failure
        elif has_fired and first.in_subagent:
            reason = f"it does not run for calls of a subagent ({first.call or first.event})"
        elif hook.file in around.silent_files:
            title = around.engine.agent.title
            reason = (
                f"{title} ran no hook of {hook.file}: it drops the whole file for a wrong entry"
            )
        else:
            denial = ", which it would deny" if first.denied else ""
            reason = f"it did not run{_where(first)}{denial}"
        # What `anyhook check` reports may be the cause, so it stands next to the symptom.
        reasons += [reason, *_mistakes(hook, around)]
    for seen in observations:
        if seen.fired:
            reasons += _faults(seen, hook, around)
    if not reasons:
        return []
    # A mistake that was also observed has been reported above in the words of the run.
    observed_codes: set[str] = set()
    for seen in observations:
        observed_codes.update([problem.code for problem in seen.problems])
    return [*reasons, *_mistakes(hook, around, without=observed_codes)]


def _faults(seen: TrialObservation, hook: ConfiguredHook, around: Circumstances) -> list[str]:
    """Return what went wrong on an event on which the hook ran."""
    agent = around.engine.agent
    if seen.killed:
        timeout = agent.default_timeout
        if hook.handler is not None:
            timeout = hook.handler.timeout
        unit = "seconds" if agent.settings.timeout_unit == 1.0 else "milliseconds"
        limit = f"its timeout is {timeout:g} s (the settings count in {unit})"
        return [f"{agent.title} killed it{_where(seen)}: {limit}"]
    if seen.exit_code in SHELL_FAILURES:
        reason = f"its command {SHELL_FAILURES[seen.exit_code]}: {seen.stderr}"
        if seen.denied:
            reason += f"; {agent.title} denies every call for that"
        return [reason]
    reasons = [diagnostic.message for diagnostic in seen.problems]
    if seen.held is False:
        caller = "a subagent" if seen.in_subagent else agent.title
        reasons.append(f"{caller} did not obey its denial{_where(seen)}")
    if seen.context is False:
        reasons.append(f"its text for the model did not reach the model{_where(seen)}")
    return reasons


def _mistakes(
    hook: ConfiguredHook, around: Circumstances, without: Collection[str] = ()
) -> list[str]:
    """Return what `anyhook check` reports about a hook, without diagnostics of some codes."""
    diagnostics = diagnostics_about(hook, around.diagnostics)
    if hook.handler is None:
        # What is reported about the event or the definition may be why it was dropped.
        for diagnostic in around.diagnostics:
            place = diagnostic.place
            if place is None or place.file != hook.place.file or diagnostic.handler is not None:
                continue
            if place.line == hook.place.line or repr(hook.event) in diagnostic.message:
                diagnostics.append(diagnostic)
    messages: list[str] = []
    for diagnostic in diagnostics:
        is_mistake = diagnostic.severity is not Severity.INFO
        if is_mistake and diagnostic.code not in without:
            messages.append(diagnostic.message)
    return messages


def _where(seen: TrialObservation) -> str:
    return f" on {seen.call!r}" if seen.call else f" on {seen.event}"
