"""The result of a probe: for each hook whether it works in the agent, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from anyhook.model.diagnostics import Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from anyhook.agents.program import AgentProgram
    from anyhook.engine.engine import Engine
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.probe.configured import ConfiguredHook, Findings
    from anyhook.probe.evidence import Observation
    from anyhook.probe.trial import Trial

MAX_REASONS = 3
"""Reasons that are given for one hook."""
FIRST_LINES = 3
"""Lines of an agent's output that are shown where it fails."""
NOT_FOUND, NOT_EXECUTABLE = 127, 126


class Verdict(StrEnum):
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
    verdict: Verdict
    reasons: tuple[str, ...]
    observations: tuple[Observation, ...]

    @property
    def fired(self) -> bool | None:
        """Whether it ran on every event on which it should; `None` if there was none."""
        events = [seen for seen in self.observations if seen.expected or seen.fired]
        return all(seen.fired for seen in events) if events else None

    def held(self, *, in_subagent: bool = False) -> bool | None:
        """Return whether its denials held; `None` if there was none."""
        seen = [o.held for o in self.observations if o.in_subagent is in_subagent]
        results = [held for held in seen if held is not None]
        return all(results) if results else None

    @property
    def context(self) -> bool | None:
        """Whether its texts for the model reached it; `None` if there was none."""
        results = [seen.context for seen in self.observations if seen.context is not None]
        return all(results) if results else None

    @property
    def fired_in_subagent(self) -> bool | None:
        """Whether it ran on the events of a subagent; `None` if there was none."""
        events = [seen for seen in self.observations if seen.in_subagent]
        return all(seen.fired for seen in events) if events else None


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

    @property
    def is_broken(self) -> bool:
        """Whether something does not work."""
        return bool(self.problems) or any(h.verdict is Verdict.BROKEN for h in self.hooks)


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
    trials: Sequence[Trial]
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
                output = (run.stderr.strip() or run.stdout.strip()).splitlines()
                shown = "; ".join(line.strip() for line in output[:FIRST_LINES])
                return f"{title} ended with {run.exit_code} before it asked its model: {shown}"
        return ""


def judge(
    hook: ConfiguredHook, observations: Sequence[Observation], around: Circumstances
) -> HookReport:
    """Return whether a hook works, and why not.

    Args:
        hook: The hook.
        observations: Its events.
        around: What holds for all hooks of the agent.
    """
    verdict, reasons = _judge(hook, observations, around)
    unique = tuple(dict.fromkeys(reasons))[:MAX_REASONS]
    return HookReport(hook, verdict, unique, tuple(observations))


def _judge(
    hook: ConfiguredHook, observations: Sequence[Observation], around: Circumstances
) -> tuple[Verdict, list[str]]:
    title = around.engine.agent.title
    mistakes = _mistakes(hook, around)
    if hook.handler is None or hook.spec is None:
        if not mistakes:
            mistakes = [f"{title} does not read it; see: anyhook check"]
        return Verdict.BROKEN, mistakes
    switch = around.engine.hooks.switched_off(hook.handler, around.engine.rules)
    has_fired = any(seen.fired for seen in observations)
    if switch is not None and not has_fired:
        return Verdict.OFF, [f"it is switched off by {switch}"]
    if hook.tap is None:
        why = f"it is of type {hook.handler.kind}, which runs no command"
        if hook.handler.kind == "command":
            why = f"{hook.file} is not copied, so its hooks run without a record"
        return Verdict.UNTESTED, [why]
    reasons = [reason for seen in observations for reason in _faults(seen, hook, around)]
    silent = [seen for seen in observations if seen.expected and not seen.fired]
    if silent:
        reasons = [_why_silent(hook, silent[0], around, has_fired=has_fired), *mistakes, *reasons]
    if reasons:
        seen_codes = {problem.code for seen in observations for problem in seen.problems}
        return Verdict.BROKEN, [*reasons, *_mistakes(hook, around, without=seen_codes)]
    if not observations:
        dead = [d.message for d in around.findings.about(hook) if d.code in DEAD]
        if dead:
            return Verdict.BROKEN, dead
        if around.failure:
            return Verdict.UNTESTED, [around.failure]
        return Verdict.UNTESTED, [_why_untested(hook)]
    return Verdict.WORKS, []


CALLED = frozenset({"after_tool", "post_tool_use_failure"})
"""Events of calls that were carried out."""
DEAD = frozenset({"dead-matcher", "condition-not-here", "type-not-here"})
"""Diagnostics of hooks that never run."""


def _mistakes(
    hook: ConfiguredHook, around: Circumstances, without: Collection[str] = ()
) -> list[str]:
    """Return what `anyhook check` reports about a hook, without diagnostics of some codes."""
    found = around.findings.about(hook)
    if hook.handler is None:
        found += [d for d in around.findings.diagnostics if _is_around(d, hook)]
    found = [d for d in found if d.severity is not Severity.INFO and d.code not in without]
    return [diagnostic.message for diagnostic in found]


def _is_around(diagnostic: Diagnostic, hook: ConfiguredHook) -> bool:
    """Return whether a diagnostic is about the event or the definition of a dropped hook."""
    place = diagnostic.place
    if place is None or place.file != hook.place.file or diagnostic.handler is not None:
        return False
    return place.line == hook.place.line or repr(hook.event) in diagnostic.message


def _faults(seen: Observation, hook: ConfiguredHook, around: Circumstances) -> list[str]:
    """Return what went wrong on an event on which the hook ran."""
    if not seen.fired:
        return []
    title = around.engine.agent.title
    where = f" on {seen.call!r}" if seen.call else f" on {seen.event}"
    if seen.killed:
        return [_why_killed(hook, around, where)]
    if seen.exit_code in (NOT_FOUND, NOT_EXECUTABLE):
        what = "is not there" if seen.exit_code == NOT_FOUND else "may not be executed"
        effect = f"; {title} denies every call for that" if seen.denied else ""
        return [f"its command {what}: {seen.stderr}{effect}"]
    reasons = [diagnostic.message for diagnostic in seen.problems]
    if seen.held is False:
        agent = "a subagent" if seen.in_subagent else title
        reasons.append(f"{agent} did not obey its denial{where}")
    if seen.context is False:
        reasons.append(f"its text for the model did not reach the model{where}")
    return reasons


def _why_killed(hook: ConfiguredHook, around: Circumstances, where: str) -> str:
    agent = around.engine.agent
    timeout = hook.handler.timeout if hook.handler is not None else agent.default_timeout
    unit = "seconds" if agent.timeout_unit == 1.0 else "milliseconds"
    return (
        f"{agent.title} killed it{where}: its timeout is {timeout:g} s (the settings count in "
        f"{unit})"
    )


def _why_silent(
    hook: ConfiguredHook, seen: Observation, around: Circumstances, *, has_fired: bool
) -> str:
    """Return why a hook did not run although the rules predict it."""
    title = around.engine.agent.title
    where = f" on {seen.call!r}" if seen.call else f" on {seen.event}"
    if around.failure:
        return around.failure
    if has_fired and seen.in_subagent:
        return f"it does not run for calls of a subagent ({seen.call or seen.event})"
    if hook.file in around.silent_files:
        return f"{title} ran no hook of {hook.file}: it drops the whole file for a wrong entry"
    denial = ", which it would deny" if seen.denied else ""
    return f"it did not run{where}{denial}"


def _why_untested(hook: ConfiguredHook) -> str:
    if hook.spec is not None and hook.spec.canonical in CALLED:
        return f"no call that {hook.matcher!r} matches was carried out, so it got no {hook.event}"
    if hook.spec is not None and hook.spec.subject == "tool_name":
        example = """--call 'TOOL {"ARGUMENT": …}'"""
        return f"no call of the probe is of a tool that {hook.matcher!r} matches; add {example}"
    return f"the probe leads to no {hook.event}"
