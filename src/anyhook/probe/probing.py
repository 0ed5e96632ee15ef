"""Try the hooks of one agent: copy, plan, run, compare."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import get_agent
from anyhook.agents.program import Workplace, get_program
from anyhook.checks.trust import report_native_trust
from anyhook.engine.engine import Engine
from anyhook.engine.guard import TrustGuard
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.files import DATA_VARIABLE
from anyhook.model.diagnostics import Place
from anyhook.probe.configured import find_configured, find_problems, misplaced_files
from anyhook.probe.evidence import TrialObserver
from anyhook.probe.plan import CallRequest, plan_steps
from anyhook.probe.report import AgentReport, Circumstances, judge
from anyhook.probe.scratch import Scratch, make_scratch
from anyhook.probe.start import program_version
from anyhook.probe.taps import Taps
from anyhook.probe.trial import Driver, ProbeTrial
from anyhook.settings.hookset import load_hooks
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyhook.agents.program import AgentProgram
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.probe.configured import ConfiguredHook
    from anyhook.probe.evidence import TrialObservation
    from anyhook.probe.plan import PlanStep
    from anyhook.probe.report import HookReport
    from anyhook.sandbox.keeper import SandboxRun
    from anyhook.settings.sources import Location

SECONDS = 60.0
"""Limit of one run of a program; it commonly takes two to ten seconds."""


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """How an agent is tried.

    Attributes:
        command: What starts its program.
        calls: Calls that the user wants to be made.
        seconds: Limit of one run of the program.
        links_packages: Whether its copies may link directories of packages, as nothing can be
            written through a link.
    """

    command: tuple[str, ...]
    calls: tuple[CallRequest, ...] = ()
    seconds: float = SECONDS
    links_packages: bool = False


def probe_in_sandbox(
    run: SandboxRun, location: Location, name: str, options: ProbeOptions
) -> AgentReport:
    """Try the hooks of an agent, as a function of a sandbox.

    Args:
        run: Sends what is done.
        location: The project, the home and the environment, at their paths in the sandbox.
        name: Name of the agent.
        options: How it is tried.

    Raises:
        UsageError: As `probe_agent`.
    """
    program = get_program(name)
    if program is None:
        raise UsageError(f"{get_agent(name).title} cannot be started without a user")
    return probe_agent(program, location, options, run.send).without_tables()


def probe_agent(
    program: AgentProgram,
    real: Location,
    options: ProbeOptions,
    progress: Callable[[str], object],
) -> AgentReport:
    """Try the hooks of an agent in copies of a project and a home.

    The hooks run; the caller has made sure that the user trusts them.

    Args:
        program: The agent.
        real: The project, the home and the environment.
        options: How it is tried.
        progress: Receives what is done.

    Raises:
        UsageError: If the program cannot be started, or the project is too large to copy.
    """
    agent = get_agent(program.name)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="anyhook-probe-", ignore_cleanup_errors=True) as path:
        root = Path(os.path.realpath(path))
        (root / "version").mkdir()
        version = program_version(options.command, program, root / "version")
        progress("copying the project")
        plain = make_scratch(agent, program, real, root / "plain", options.links_packages)
        tapped = make_scratch(agent, program, real, root / "tapped", options.links_packages)
        (root / "records").mkdir()
        taps = Taps(agent, root / "records", tapped.in_copy)
        engine = _load_engine(plain, version)
        wrapped = _wrap_settings(engine, plain, tapped, taps)
        _trust_copy(tapped, version)
        hooks = find_configured(engine, taps, wrapped)
        steps = plan_steps(engine, program, options.calls, progress)
        driver = Driver(
            program,
            options.command,
            tapped,
            taps,
            options.seconds,
            progress,
        )
        trials = _try_hooks(driver, hooks, steps)
        report = _report(engine, program, hooks, trials)
        problems = (*_not_trusted(program, real), *report.problems)
        report = _with_originals(replace(report, problems=problems), plain)
        return replace(
            report,
            program=" ".join(options.command),
            version=version,
            calls=tuple(step.text for step in steps),
            seconds=time.monotonic() - started,
        )


def _load_engine(scratch: Scratch, version: str) -> Engine:
    """Load the engine with the rules of a release, or the newest ones for another release."""
    agent = scratch.agent
    rules = f"observed@{version}"
    newest = agent.rule_sets.get("observed", agent.documented)
    has_rules = rules in agent.rule_set_names or newest.version == version
    if not has_rules:
        rules = newest.name
    return Engine.load(
        scratch.copy.project,
        agent=agent.name,
        rules=rules,
        home=scratch.copy.home,
        environ=scratch.copy.environ,
        trust_once=True,
        warm=False,
        on_message=discard,
    )


def _trust_copy(scratch: Scratch, version: str) -> None:
    """Trust the hooks of a copy, where anyhook itself runs the hooks (`AgentSpec.companions`).

    The record is in the data directory that the program of the agent names for a run.
    """
    directory = scratch.copy.environ.get(DATA_VARIABLE)
    if not scratch.agent.companions or directory is None:
        return
    project = scratch.copy.project
    store = TrustStore(Path(directory) / "trust")
    definitions = tuple(_load_engine(scratch, version).hooks.definitions)
    subjects = TrustGuard(scratch.agent, project, store, definitions).subjects()
    store.trust(project, subjects, agent=scratch.agent.name)


def _wrap_settings(engine: Engine, plain: Scratch, tapped: Scratch, taps: Taps) -> frozenset[Path]:
    """Record the commands in the second copy, which the agent works in.

    Returns:
        The files whose commands are recorded; those of the system are read where they are.
    """
    wrapped_files: set[Path] = set()
    for file in engine.hooks.files:
        path = file.source.path
        if not file.exists or not path.is_relative_to(plain.root):
            continue
        copy = tapped.root / path.relative_to(plain.root)
        hooks_path = file.source.hooks_path or engine.agent.hooks_path
        text = copy.read_text(encoding="utf-8", errors="surrogateescape")
        wrapped = taps.wrap(text, str(path), hooks_path)
        copy.write_text(wrapped, encoding="utf-8", errors="surrogateescape")
        wrapped_files.add(path)
    return frozenset(wrapped_files)


def _try_hooks(
    driver: Driver, hooks: Sequence[ConfiguredHook], steps: Sequence[PlanStep]
) -> list[ProbeTrial]:
    """Make the calls, and again in a subagent where that may make a difference."""
    if not hooks:
        return []
    trials = driver.try_steps(steps)
    if _needs_subagent(driver.program, hooks, trials):
        trials.append(driver.try_in_subagent(_subagent_steps(steps)))
    return trials


def _needs_subagent(
    program: AgentProgram, hooks: Sequence[ConfiguredHook], trials: Sequence[ProbeTrial]
) -> bool:
    """Return whether a subagent can be tried, and a hook may run for it."""
    if program.subagent_call is None or not all(trial.reached_model for trial in trials):
        return False
    events = program.subagent_events | {"before_tool", "after_tool"}
    return any(hook.spec is not None and hook.spec.canonical in events for hook in hooks)


def _subagent_steps(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Choose the calls for a subagent: all but those that a call before them would prevent."""
    others = [step for step in steps if not step.ends_run]
    endings = [step for step in steps if step.ends_run]
    return others + endings[:1]


def _report(
    engine: Engine,
    program: AgentProgram,
    hooks: Sequence[ConfiguredHook],
    trials: Sequence[ProbeTrial],
) -> AgentReport:
    observer = TrialObserver(engine, program, trials)
    observed = [(hook, observer.observe(hook)) for hook in hooks]
    around = Circumstances(engine, program, find_problems(engine), trials, _silent_files(observed))
    agent = engine.agent
    problems = [
        f"{agent.title} does not read {path}; move its hooks to {_project_file(engine)}"
        for path in misplaced_files(agent, engine)
    ]
    broken = [file.source.path for file in engine.hooks.files if file.is_broken]
    problems += [
        f"{diagnostic.place}: {diagnostic.message}; {agent.title} runs no hook of this file"
        for diagnostic in around.findings.about_files(broken)
    ]
    return AgentReport(
        agent.name,
        agent.title,
        rules=f"{engine.rules.name} ({engine.rules.release})",
        hooks=tuple(judge(hook, seen, around) for hook, seen in observed),
        problems=tuple(problems),
        notes=program.notes,
    )


def _not_trusted(program: AgentProgram, real: Location) -> Iterator[str]:
    """Yield what the user has not trusted in the agent; in the copy all of it is trusted."""
    agent = get_agent(program.name)
    if not program.is_trusted(Workplace(real.home, real.project, real.environ)):
        yield (
            f"the project is not trusted in {agent.title}, so it runs no hooks here yet: "
            f"{program.trust_advice}. The table shows what they do then."
        )
    for diagnostic in report_native_trust(load_hooks(agent, real)):
        yield f"{diagnostic.place}: {diagnostic.message}. The table shows what it does then."


def _silent_files(
    observed: Sequence[tuple[ConfiguredHook, list[TrialObservation]]],
) -> frozenset[Path]:
    """Return the files of which no hook ran, if hooks of other files did or errors explain it."""
    expected: set[Path] = set()
    fired: set[Path] = set()
    for hook, observations in observed:
        if any(seen.expected for seen in observations):
            expected.add(hook.file)
        if any(seen.fired for seen in observations):
            fired.add(hook.file)
    return frozenset(expected - fired)


def _project_file(engine: Engine) -> Path:
    """Return the first settings file in the project, where hooks can be moved to."""
    paths = [file.source.path for file in engine.hooks.files]
    for path in paths:
        if path.is_relative_to(engine.project_dir):
            return path
    return paths[0]


def _with_originals(report: AgentReport, scratch: Scratch) -> AgentReport:
    """Put the paths of the originals in place of those of the copies."""
    hooks = tuple(_original_hook(scratch, hook) for hook in report.hooks)
    problems = tuple(map(scratch.original, report.problems))
    return replace(report, hooks=hooks, problems=problems)


def _original_hook(scratch: Scratch, report: HookReport) -> HookReport:
    hook = replace(
        report.hook,
        place=_original_place(scratch, report.hook.place),
        file=Path(scratch.original(str(report.hook.file))),
    )
    reasons = tuple(map(scratch.original, report.reasons))
    observations = tuple(_original_observation(scratch, seen) for seen in report.observations)
    return replace(report, hook=hook, reasons=reasons, observations=observations)


def _original_observation(scratch: Scratch, seen: TrialObservation) -> TrialObservation:
    problems: list[Diagnostic] = []
    for problem in seen.problems:
        place = problem.place
        if place is not None:
            place = _original_place(scratch, place)
        problems.append(problem.replace(place=place, message=scratch.original(problem.message)))
    return replace(seen, problems=tuple(problems), stderr=scratch.original(seen.stderr))


def _original_place(scratch: Scratch, place: Place) -> Place:
    return Place(scratch.original(place.file), place.line, place.column)
