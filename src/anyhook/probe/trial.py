"""Let an agent work through the planned calls, and collect what its hooks did."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyhook.probe.calls import CallFinder, has_other_arguments
from anyhook.probe.models.server import ModelScript, ModelTurn, strings
from anyhook.probe.samples import make_files
from anyhook.probe.start import ProgramRun, run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyhook.agents.program import AgentProgram
    from anyhook.probe.plan import PlanStep
    from anyhook.probe.scratch import Scratch
    from anyhook.probe.taps import TapRecord, Taps

PROMPT = "Work through the steps of the probe."
SUBAGENT_MARK = "anyhook-probe-subagent"
SUBAGENT_PROMPT = f"Work through the steps of the probe ({SUBAGENT_MARK})."
DONE = ModelTurn("The probe is done.")
MAX_RUNS = 6
"""Runs of one program; a hook that ends the turn needs a run for each call that it ends."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was put to the agent."""

    step: PlanStep
    result: str | None
    """What the model received as its result; `None` if the run ended before."""
    happened: bool | None
    """Whether the call was carried out; `None` if that cannot be observed."""
    records: tuple[TapRecord, ...]
    """The runs of hooks on its events."""


@dataclass(frozen=True, slots=True)
class ProbeTrial:
    """One run of the program."""

    run: ProgramRun
    made: tuple[Made, ...]
    """The calls, in order; those that the run did not reach are missing."""
    records: tuple[TapRecord, ...]
    in_subagent: bool = False

    @property
    def reached_model(self) -> bool:
        """Whether the agent asked its model at all."""
        return bool(self.run.requests)

    def heard(self) -> str:
        """Return all texts that the model received in this run, instructions among them."""
        requests = [*self.run.model.requests, *self.run.model.subagent_requests]
        return "\n".join(strings(requests))


@dataclass(frozen=True, slots=True)
class Driver:
    """Runs one program in a copy of the project."""

    program: AgentProgram
    command: Sequence[str]
    scratch: Scratch
    taps: Taps
    seconds: float
    """Limit of one run."""
    progress: Callable[[str], object]

    def try_steps(self, steps: Sequence[PlanStep]) -> list[ProbeTrial]:
        """Make all calls, in as many runs as it takes."""
        trials: list[ProbeTrial] = []
        waiting = list(steps)
        while len(trials) < MAX_RUNS:
            trial = self.run(waiting)
            trials.append(trial)
            # The call that ended the run was reached, though its result never came back.
            reached = max(len(trial.made), 1)
            waiting = waiting[reached:]
            if not waiting or not trial.reached_model or trial.run.timed_out:
                break
        return trials

    def run(self, steps: Sequence[PlanStep], *, in_subagent: bool = False) -> ProbeTrial:
        """Make calls in one run of the program."""
        project = self.scratch.copy.project
        make_files(project)
        for step in steps:
            if step.sample.creates:
                (project / step.sample.creates).unlink(missing_ok=True)
        calls = [self.program.model_call(step.call(project)) for step in steps]
        turns = [*(ModelTurn("", [call]) for call in calls), DONE]
        script = ModelScript(turns, end=DONE)
        if in_subagent and self.program.subagent_call is not None:
            start = ModelTurn("", [self.program.subagent_call(SUBAGENT_PROMPT)])
            script = ModelScript([start, DONE], turns, SUBAGENT_MARK, end=DONE)
        before = len(self.taps.records())
        where = " in a subagent" if in_subagent else ""
        self.progress(f"{len(calls)} calls{where}")
        run = run_program(
            self.program, self.command, self.scratch.place, script, PROMPT, seconds=self.seconds
        )
        records = self.taps.records()[before:]
        requests, times = run.requests, run.model.times
        if in_subagent:
            requests, times = run.model.subagent_requests, run.model.subagent_times
        results = run.model.tool_results(requests[-1]) if requests else []
        # A request leads to one call, so the agent has reached as many calls as it made requests.
        finder = CallFinder(self.scratch.agent, steps, times, in_subagent)
        made: list[Made] = []
        for number, step in enumerate(steps[: len(requests)]):
            result = results[number] if number < len(results) else None
            of_call = finder.records_of(number, records)
            made.append(Made(step, result, self._happened(step, result or "", of_call), of_call))
        return ProbeTrial(run, tuple(made), tuple(records), in_subagent)

    def _happened(self, step: PlanStep, result: str, records: Sequence[TapRecord]) -> bool | None:
        """Return whether a call was carried out; `None` if that cannot be observed."""
        sample, project = step.sample, self.scratch.copy.project
        happened: bool | None = None
        if sample.creates:
            path = project / sample.creates
            content = ""
            with suppress(OSError):
                content = path.read_text(encoding="utf-8")
            happened = content == sample.arguments["content"]
        elif sample.removes:
            happened = not (project / sample.removes).exists()
        elif sample.prints:
            happened = sample.prints in result
        got_other_arguments = any(
            has_other_arguments(self.scratch.agent, record, step, project) for record in records
        )
        if not happened and (step.is_rewritten or got_other_arguments):
            return None  # with other arguments it leaves other traces
        return happened
