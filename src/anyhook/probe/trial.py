"""Let an agent work through the planned calls, and collect what its hooks did on each."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from anyhook.probe.models.server import ModelScript, ModelTurn, strings, turn_number
from anyhook.probe.plan import make_files
from anyhook.probe.start import ProgramRun, run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from anyhook.agents.program import AgentProgram
    from anyhook.agents.spec import AgentSpec
    from anyhook.probe.configured import TapRecord, Taps
    from anyhook.probe.plan import PlanStep
    from anyhook.probe.start import Scratch


PROMPT = "Work through the steps of the probe."
SUBAGENT_MARK = "anyhook-probe-subagent"
SUBAGENT_PROMPT = f"Work through the steps of the probe ({SUBAGENT_MARK})."
DONE = ModelTurn("The probe is done.")
MAX_RUNS = 6
"""Runs of one program; a hook that ends the turn needs a run for each call that it ends."""


@dataclass(frozen=True, slots=True)
class MadeCall:
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
    calls: tuple[MadeCall, ...]
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
            reached = max(len(trial.calls), 1)
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
        made_calls: list[MadeCall] = []
        ends = [*times[1:], math.inf]
        for number, step in enumerate(steps[: len(requests)]):
            result = results[number] if number < len(results) else None
            turn = turn_number(number + 1, in_subagent=in_subagent)
            of_turn = _records_of_turn(records, turn, times[number], ends[number])
            names_tool = partial(_names_tool, self.scratch.agent, step)
            of_call = tuple(filter(names_tool, of_turn))
            happened = self._happened(step, result or "", of_call)
            made_calls.append(MadeCall(step, result, happened, of_call))
        return ProbeTrial(run, tuple(made_calls), tuple(records), in_subagent)

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


CALL_IDENTIFIER = re.compile(r"(?:toolu|call)_(?P<turn>(?:main|sub)_\d{4})_\d+")
"""What the scripted models call the calls of their turns."""


def _records_of_turn(
    records: Sequence[TapRecord], turn: str, start: float, end: float
) -> Iterator[TapRecord]:
    """Yield the runs of hooks on the call of a turn, for which the model was asked in a time.

    The arguments do not decide: a hook may have rewritten them before the next one ran.
    """
    for record in records:
        texts = [value for value in record.payload.values() if isinstance(value, str)]
        # A hook in the background may start after the model was asked for the next turn, so the
        # identifier counts more than the time; agents with such hooks send it.
        identifier = next(filter(None, map(CALL_IDENTIFIER.fullmatch, texts)), None)
        is_of_turn = start <= record.time < end
        if identifier is not None:
            is_of_turn = identifier["turn"] == turn
        if is_of_turn:
            yield record


def _names_tool(agent: AgentSpec, step: PlanStep, record: TapRecord) -> bool:
    """Return whether the payload of a run is about the tool of a step."""
    for form in _forms(agent):
        name = record.payload.get(_payload_key(form, "tool_name"))
        if not isinstance(name, str):
            continue
        call = form.vocabulary.call(name, _arguments(form, record) or {})
        if step.name == name or step.sample.tool == call.tool:
            return True
    return False


def has_other_arguments(agent: AgentSpec, record: TapRecord, step: PlanStep, project: Path) -> bool:
    """Return whether a run of a hook got other arguments than the model gave to its call."""
    expected = step.arguments(project)
    for form in _forms(agent):
        name = record.payload.get(_payload_key(form, "tool_name"))
        arguments = _arguments(form, record)
        if not isinstance(name, str) or arguments is None:
            continue
        received = form.vocabulary.call(name, arguments).arguments
        if all(received.get(key) == expected[key] for key in expected):
            return False
    return True


def _forms(agent: AgentSpec) -> tuple[AgentSpec, ...]:
    """Return the forms in which an agent sends its payloads."""
    return (agent, *agent.forms.values())


def _payload_key(agent: AgentSpec, field: str) -> str:
    """Return an agent's name of a member of payloads."""
    return agent.payload_keys.get(field) or field


def _arguments(form: AgentSpec, record: TapRecord) -> dict[str, object] | None:
    arguments = record.payload.get(_payload_key(form, "tool_input"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    return arguments if isinstance(arguments, dict) else None
