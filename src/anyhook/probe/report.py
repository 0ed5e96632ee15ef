"""The result of a probe: for each hook whether it works in the agent, and why not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from anyhook.agents.program import AgentProgram
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.probe.configured import ConfiguredHook, Findings
    from anyhook.probe.evidence import TrialObservation
    from anyhook.probe.trial import ProbeTrial

MAX_REASONS = 3
"""Reasons that are given for one hook."""
FIRST_LINES = 3
"""Lines of an agent's output that are shown where it fails."""
CALLED = frozenset({"after_tool", "post_tool_use_failure"})
"""Events of calls that were carried out."""
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


@dataclass(frozen=True, slots=True)
class HookReport:
    """What a probe found out about one hook.

    Attributes:
        hook: The hook.
        verdict: Whether it works.
        reasons: Why not, and what to change.
        observations: Its events.
    """

    hook: ConfiguredHook
    verdict: ProbeVerdict
    reasons: tuple[str, ...]
    observations: tuple[TrialObservation, ...]

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


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What a probe found out about one agent.

    Attributes:
        name: Name of the agent.
        title: Its name for people.
        program: What starts its program; empty if it is not installed.
        version: Its version.
        rules: The rules that predict what it does: `observed@VERSION`.
        hooks: Its hooks.
        problems: What concerns no single hook: files that it does not read.
        notes: What is different from a session at the terminal.
        missing: Why it was not tried; empty if it was.
        calls: The calls that were made.
        seconds: How long its runs took.
    """

    name: str
    title: str
    program: str = ""
    version: str = ""
    rules: str = ""
    hooks: tuple[HookReport, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""
    calls: tuple[str, ...] = ()
    seconds: float = 0.0

    def without_tables(self) -> AgentReport:
        """Return the report without the tables of the agent, which do not leave a sandbox."""
        hooks = [replace(one, hook=replace(one.hook, spec=None)) for one in self.hooks]
        return replace(self, hooks=tuple(hooks))

    @property
    def is_broken(self) -> bool:
        """Whether something does not work."""
        if self.problems:
            return True
        return any(hook.verdict is ProbeVerdict.BROKEN for hook in self.hooks)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What holds for all hooks of an agent.

    Attributes:
        engine: The engine with the settings.
        program: The agent.
        findings: What `anyhook check` reports.
        trials: The runs.
        silent_files: Settings files of which no hook ran although some should have.
    """

    engine: Engine
    program: AgentProgram
    findings: Findings
    trials: Sequence[ProbeTrial]
    silent_files: frozenset[Path] = frozenset()

    @property
    def failure(self) -> str:
        """Why the program itself failed; empty if it did its work."""
        title = self.engine.agent.title
        for trial in self.trials:
            run = trial.run
            if run.timed_out:
                return f"{title} did not end in time; give it longer with --timeout"
            if run.exit_code != 0 and not trial.reached_model:
                output = run.stderr.strip() or run.stdout.strip()
                shown = "; ".join(line.strip() for line in output.splitlines()[:FIRST_LINES])
                return f"{title} ended with {run.exit_code} before it asked its model: {shown}"
        return ""


@dataclass(frozen=True, slots=True)
class _Conclusion:
    """The verdict about a hook and its reasons, the most important one first."""

    verdict: ProbeVerdict
    reasons: Sequence[str] = ()


def judge(
    hook: ConfiguredHook, observations: Sequence[TrialObservation], around: Circumstances
) -> HookReport:
    """Return whether a hook works, and why not.

    Args:
        hook: The hook.
        observations: Its events.
        around: What holds for all hooks of the agent.
    """
    conclusion = _conclude(hook, observations, around)
    reasons = tuple(dict.fromkeys(conclusion.reasons))[:MAX_REASONS]
    return HookReport(hook, conclusion.verdict, reasons, tuple(observations))


def _conclude(
    hook: ConfiguredHook, observations: Sequence[TrialObservation], around: Circumstances
) -> _Conclusion:
    if hook.handler is None or hook.spec is None:
        return _Conclusion(ProbeVerdict.BROKEN, _why_dropped(hook, around))
    has_fired = any(seen.fired for seen in observations)
    switch = around.engine.hooks.switched_off(hook.handler, around.engine.rules)
    if switch is not None and not has_fired:
        return _Conclusion(ProbeVerdict.OFF, [f"it is switched off by {switch}"])
    if hook.tap is None:
        return _Conclusion(ProbeVerdict.UNTESTED, [_why_unrecorded(hook, hook.handler)])
    if not observations:
        return _conclude_unobserved(hook, around)
    reasons = _why_broken(hook, observations, around, has_fired=has_fired)
    if reasons:
        return _Conclusion(ProbeVerdict.BROKEN, reasons)
    return _Conclusion(ProbeVerdict.WORKS)


def _conclude_unobserved(hook: ConfiguredHook, around: Circumstances) -> _Conclusion:
    """Return the verdict about a hook for which the runs had no event."""
    dead = [d.message for d in around.findings.about(hook) if d.code in DEAD]
    if dead:
        return _Conclusion(ProbeVerdict.BROKEN, dead)
    if around.failure:
        return _Conclusion(ProbeVerdict.UNTESTED, [around.failure])
    return _Conclusion(ProbeVerdict.UNTESTED, [_why_untested(hook)])


def _why_dropped(hook: ConfiguredHook, around: Circumstances) -> list[str]:
    """Return why an agent does not read a hook."""
    mistakes = _mistakes(hook, around)
    if mistakes:
        return mistakes
    return [f"{around.engine.agent.title} does not read it; see: anyhook check"]


def _why_unrecorded(hook: ConfiguredHook, handler: HandlerSpec) -> str:
    if handler.kind == "command":
        return f"{hook.file} is not copied, so its hooks run without a record"
    return f"it is of type {handler.kind}, which runs no command"


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
        # What `anyhook check` reports may be the cause, so it stands next to the symptom.
        reasons.append(_why_silent(hook, silent[0], around, has_fired=has_fired))
        reasons += _mistakes(hook, around)
    for seen in observations:
        reasons += _faults(seen, hook, around)
    if not reasons:
        return []
    # A mistake that was also observed has been reported above in the words of the run.
    observed_codes = {problem.code for seen in observations for problem in seen.problems}
    return [*reasons, *_mistakes(hook, around, without=observed_codes)]


def _mistakes(
    hook: ConfiguredHook, around: Circumstances, without: Collection[str] = ()
) -> list[str]:
    """Return what `anyhook check` reports about a hook, without diagnostics of some codes."""
    diagnostics = around.findings.about(hook)
    if hook.handler is None:
        diagnostics += [d for d in around.findings.diagnostics if _is_around(d, hook)]
    messages: list[str] = []
    for diagnostic in diagnostics:
        is_mistake = diagnostic.severity is not Severity.INFO
        if is_mistake and diagnostic.code not in without:
            messages.append(diagnostic.message)
    return messages


def _is_around(diagnostic: Diagnostic, hook: ConfiguredHook) -> bool:
    """Return whether a diagnostic is about the event or the definition of a dropped hook."""
    place = diagnostic.place
    if place is None or place.file != hook.place.file or diagnostic.handler is not None:
        return False
    return place.line == hook.place.line or repr(hook.event) in diagnostic.message


def _faults(seen: TrialObservation, hook: ConfiguredHook, around: Circumstances) -> list[str]:
    """Return what went wrong on an event on which the hook ran."""
    if not seen.fired:
        return []
    title = around.engine.agent.title
    if seen.killed:
        return [_why_killed(hook, seen, around)]
    if seen.exit_code in SHELL_FAILURES:
        reason = f"its command {SHELL_FAILURES[seen.exit_code]}: {seen.stderr}"
        if seen.denied:
            reason += f"; {title} denies every call for that"
        return [reason]
    reasons = [diagnostic.message for diagnostic in seen.problems]
    if seen.held is False:
        agent = "a subagent" if seen.in_subagent else title
        reasons.append(f"{agent} did not obey its denial{_where(seen)}")
    if seen.context is False:
        reasons.append(f"its text for the model did not reach the model{_where(seen)}")
    return reasons


def _where(seen: TrialObservation) -> str:
    if seen.call:
        return f" on {seen.call!r}"
    return f" on {seen.event}"


def _why_killed(hook: ConfiguredHook, seen: TrialObservation, around: Circumstances) -> str:
    agent = around.engine.agent
    timeout = agent.default_timeout
    if hook.handler is not None:
        timeout = hook.handler.timeout
    unit = "seconds" if agent.timeout_unit == 1.0 else "milliseconds"
    return (
        f"{agent.title} killed it{_where(seen)}: its timeout is {timeout:g} s (the settings count "
        f"in {unit})"
    )


def _why_silent(
    hook: ConfiguredHook, seen: TrialObservation, around: Circumstances, *, has_fired: bool
) -> str:
    """Return why a hook did not run although the rules predict it."""
    if around.failure:
        return around.failure
    if has_fired and seen.in_subagent:
        return f"it does not run for calls of a subagent ({seen.call or seen.event})"
    if hook.file in around.silent_files:
        title = around.engine.agent.title
        return f"{title} ran no hook of {hook.file}: it drops the whole file for a wrong entry"
    denial = ", which it would deny" if seen.denied else ""
    return f"it did not run{_where(seen)}{denial}"


def _why_untested(hook: ConfiguredHook) -> str:
    if hook.spec is None:
        return f"the probe leads to no {hook.event}"
    if hook.spec.canonical in CALLED:
        return f"no call that {hook.matcher!r} matches was carried out, so it got no {hook.event}"
    if hook.spec.subject == "tool_name":
        example = """--call 'TOOL {"ARGUMENT": …}'"""
        return f"no call of the probe is of a tool that {hook.matcher!r} matches; add {example}"
    return f"the probe leads to no {hook.event}"
