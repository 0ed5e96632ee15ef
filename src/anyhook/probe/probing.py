"""Try the hooks of one agent: copy, plan, run, compare."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anyhook.agents import get_agent
from anyhook.agents.program import AgentProgram, Workplace, get_program
from anyhook.checks.rules import check_hooks
from anyhook.checks.settings import report_native_trust
from anyhook.engine.engine import Engine
from anyhook.engine.guard import TrustGuard
from anyhook.engine.messages import discard
from anyhook.errors import UsageError
from anyhook.files import DATA_VARIABLE
from anyhook.model.diagnostics import Diagnostic, Place, Severity
from anyhook.model.record import replace
from anyhook.probe.configured import ConfiguredHook, Taps, find_configured, misplaced_files
from anyhook.probe.evidence import TrialObservation, TrialObserver
from anyhook.probe.plan import TOOL_EVENTS, CallRequest, plan_steps
from anyhook.probe.report import AgentReport, Circumstances, HookReport, judge
from anyhook.probe.start import Scratch, make_scratch, program_version
from anyhook.probe.trial import Driver, ProbeTrial
from anyhook.settings.hookset import load_hook_set
from anyhook.trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anyhook.sandbox.keeper import SandboxRun
    from anyhook.settings.sources import Location

SECONDS = 60.0
"""Limit of one run of a program; it commonly takes two to ten seconds."""


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """How an agent is tried."""

    command: tuple[str, ...]
    """What starts its program."""
    calls: tuple[CallRequest, ...] = ()
    """Calls that the user wants to be made."""
    seconds: float = SECONDS
    """Limit of one run of the program."""
    links_packages: bool = False
    """Whether copies may link directories of packages: nothing can be written through a link."""


def probe_in_sandbox(
    run: SandboxRun, location: Location, name: str, options: ProbeOptions
) -> AgentReport:
    """Try the hooks of an agent, as a function of a sandbox.

    Raises:
        UsageError: As `probe_agent`.
    """
    program = get_program(name)
    if program is None:
        raise UsageError(f"{get_agent(name).title} cannot be started without a user")
    report = probe_agent(program, location, options, run.send)
    # The tables of the agent do not leave a sandbox.
    hooks = [replace(hook, hook=replace(hook.hook, spec=None)) for hook in report.hooks]
    return replace(report, hooks=tuple(hooks))


def probe_agent(
    program: AgentProgram,
    real: Location,
    options: ProbeOptions,
    progress: Callable[[str], object],
) -> AgentReport:
    """Try the hooks of an agent in copies of a project and a home.

    The hooks run; the caller has made sure that the user trusts them.

    Raises:
        UsageError: If the program cannot be started, or the project is too large to copy.
    """
    agent = get_agent(program.name)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="anyhook-probe-", ignore_cleanup_errors=True) as path:
        root = Path(os.path.realpath(path))
        (root / "version").mkdir()
        version = program_version(options.command, root / "version")
        progress("copying the project")
        plain = make_scratch(agent, program, real, root / "plain", options.links_packages)
        tapped = make_scratch(agent, program, real, root / "tapped", options.links_packages)
        (root / "records").mkdir()
        taps = Taps(agent, root / "records", tapped.in_copy)
        engine = _load_engine(plain, version)
        wrapped = _wrap_settings(engine, plain, tapped, taps)
        _trust_copy(tapped, version)
        hooks = find_configured(engine, taps, wrapped)
        steps = plan_steps(engine, program, options.calls, options.seconds, progress)
        driver = Driver(program, options.command, tapped, taps, options.seconds, progress)
        trials: list[ProbeTrial] = []
        if hooks:
            trials = driver.try_steps(steps)
        # In a subagent the calls are made again where that may make a difference.
        may_differ = program.subagent_events | TOOL_EVENTS
        events = {hook.spec.canonical for hook in hooks if hook.spec is not None}
        has_subagents = program.subagent_call is not None
        reached_model = all(trial.reached_model for trial in trials)
        if has_subagents and reached_model and events & may_differ:
            # A call that ends the run would prevent those after it.
            others = [step for step in steps if not step.ends_run]
            endings = [step for step in steps if step.ends_run]
            trials.append(driver.run(others + endings[:1], in_subagent=True))
        report = _report(engine, program, hooks, trials)
        problems = [*_not_trusted(program, real), *map(plain.original, report.problems)]
        return replace(
            report,
            program=" ".join(options.command),
            version=version,
            hooks=tuple(_with_originals(plain, hook) for hook in report.hooks),
            problems=tuple(problems),
            calls=tuple(step.text for step in steps),
            seconds=time.monotonic() - started,
        )


def _load_engine(scratch: Scratch, version: str) -> Engine:
    """Load the engine with the rules of a release, or the newest ones for another release."""
    agent = scratch.agent
    rules = f"observed@{version}"
    if rules not in agent.rule_set_names:
        rules = agent.newest_rules.name
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
    """Trust the hooks of a copy, where anyhook itself runs the hooks (`SettingsFormat.companions`).

    The record is in the data directory that the program of the agent names for a run.
    """
    directory = scratch.copy.environ.get(DATA_VARIABLE)
    if not scratch.agent.settings.companions or directory is None:
        return
    project = scratch.copy.project
    store = TrustStore(Path(directory) / "trust")
    definitions = tuple(_load_engine(scratch, version).hooks.definitions)
    subjects = TrustGuard(scratch.agent, project, store, definitions).subjects()
    store.trust(project, subjects, agent=scratch.agent.name)


def _wrap_settings(engine: Engine, plain: Scratch, tapped: Scratch, taps: Taps) -> frozenset[Path]:
    """Record the commands in the second copy, which the agent works in, and return their files.

    The files of the system are read where they are, and not recorded.
    """
    wrapped_files: set[Path] = set()
    for file in engine.hooks.files:
        path = file.source.path
        if not file.exists or not path.is_relative_to(plain.root):
            continue
        copy = tapped.root / path.relative_to(plain.root)
        text = copy.read_text(encoding="utf-8", errors="surrogateescape")
        wrapped = taps.wrap(text, str(path), file.source.hooks_path)
        copy.write_text(wrapped, encoding="utf-8", errors="surrogateescape")
        wrapped_files.add(path)
    return frozenset(wrapped_files)


def _report(
    engine: Engine,
    program: AgentProgram,
    hooks: Sequence[ConfiguredHook],
    trials: Sequence[ProbeTrial],
) -> AgentReport:
    observer = TrialObserver(engine, program, trials)
    observed = [(hook, observer.observe(hook)) for hook in hooks]
    # No hook of these files ran, though hooks of other files did or errors explain it.
    silent: set[Path] = set()
    for hook, observations in observed:
        if any(seen.expected for seen in observations):
            silent.add(hook.file)
    for hook, observations in observed:
        if any(seen.fired for seen in observations):
            silent.discard(hook.file)
    around = Circumstances(
        engine, tuple(dict.fromkeys(check_hooks(engine))), trials, frozenset(silent)
    )
    agent = engine.agent
    paths = [file.source.path for file in engine.hooks.files]
    of_project = [path for path in paths if path.is_relative_to(engine.project_dir)]
    target = next(iter(of_project or paths), None)
    problems = [
        f"{agent.title} does not read {path}; move its hooks to {target}"
        for path in misplaced_files(agent, engine)
    ]
    broken = {str(file.source.path) for file in engine.hooks.files if file.is_broken}
    for diagnostic in around.diagnostics:
        place, is_error = diagnostic.place, diagnostic.severity is Severity.ERROR
        if is_error and place is not None and place.file in broken:
            text = f"{place}: {diagnostic.message}; {agent.title} runs no hook of this file"
            problems.append(text)
    if around.failure and not any(trial.records for trial in trials):
        problems.append(f"no hook was tried: {around.failure}")
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
    for diagnostic in report_native_trust(load_hook_set(agent, real)):
        yield f"{diagnostic.place}: {diagnostic.message}. The table shows what it does then."


def _with_originals(scratch: Scratch, report: HookReport) -> HookReport:
    """Put the paths of the originals in place of those of the copies."""

    def original_place(place: Place) -> Place:
        return place.replace(file=scratch.original(place.file))

    observations: list[TrialObservation] = []
    for seen in report.observations:
        problems: list[Diagnostic] = []
        for problem in seen.problems:
            place = original_place(problem.place) if problem.place is not None else None
            problems.append(problem.replace(place=place, message=scratch.original(problem.message)))
        stderr = scratch.original(seen.stderr)
        observations.append(replace(seen, problems=tuple(problems), stderr=stderr))
    hook = replace(
        report.hook,
        place=original_place(report.hook.place),
        file=Path(scratch.original(str(report.hook.file))),
    )
    reasons = tuple(map(scratch.original, report.reasons))
    return replace(report, hook=hook, reasons=reasons, observations=tuple(observations))
