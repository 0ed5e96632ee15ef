"""What hooks did in an agent, against what the rules of its release predict."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.spec import Denial, EventSpec
from anyhook.agents.spec.rules import REFUSED_INPUT
from anyhook.model.answers import Answer, Outcome
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Diagnostic, Severity, diagnose
from anyhook.model.layers import Layer
from anyhook.model.record import Record
from anyhook.model.status import Status
from anyhook.testing import make_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.program import AgentProgram
    from anyhook.engine.engine import Engine
    from anyhook.probe.configured import ConfiguredHook, TapRecord
    from anyhook.probe.trial import MadeCall, ProbeTrial

DENIAL_CODE = 2
SNIPPET = 120
"""Characters of a text that are looked for: agents cut long ones."""
ENDING_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGKILL})
_ESCAPED = re.compile(r"[<>&]")
"""Characters that agents escape in texts for the model."""
_NOT_WORD = re.compile(r"\W+")


class TrialObservation(Record, kw_only=False):
    """One event that a hook is configured for, in a run of the agent."""

    event: str
    """The agent's name of the event."""
    call: str = ""
    """The call of a tool, for people; empty if there is none."""
    in_subagent: bool = False
    expected: bool = True
    """Whether the rules predict that the hook runs."""
    fired: bool = False
    killed: bool = False
    """Whether the agent killed it."""
    exit_code: int | None = None
    denied: bool = False
    """Whether it denied, by the rules of the release; whether it would, if it did not run."""
    held: bool | None = None
    """Whether its denial held; `None` if it did not deny or that cannot be observed."""
    context: bool | None = None
    """Whether its text for the model reached it; `None` if there was no text."""
    problems: tuple[Diagnostic, ...] = ()
    """What the agent ignored in its output."""
    stderr: str = ""
    """The first line of its errors."""


@dataclass(slots=True)
class TrialObserver:
    """Compares the runs of an agent with the predictions of anyhook's engine."""

    engine: Engine
    """The engine, for the copy of the project in which nothing is recorded."""
    program: AgentProgram
    trials: Sequence[ProbeTrial]
    _texts: dict[int, str] = field(default_factory=dict)

    def observe(self, hook: ConfiguredHook) -> list[TrialObservation]:
        """Return what happened on each event of a hook that anyhook reads."""
        spec = hook.spec
        if spec is None or hook.handler is None:
            return []
        observations: list[TrialObservation] = []
        for trial in self.trials:
            if spec.subject == "tool_name":
                observations += self._of_calls(hook, spec, trial)
                continue
            records = [record for record in trial.records if record.tap == hook.tap]
            # Whether the run surely has the event, and the rules let the hook run on it.
            if spec.canonical in self.program.subagent_events:
                happens = trial.in_subagent and bool(trial.run.model.subagent_requests)
            elif spec.canonical not in self.program.events or trial.in_subagent:
                happens = False
            elif spec.canonical in ("session_start", "before_prompt"):
                happens = True
            else:
                ended_early = any(call.result is None for call in trial.calls)
                happens = trial.reached_model and not trial.run.timed_out
                happens = happens and not (ended_early and spec.canonical == "after_agent")
            fields: dict[str, object] = {}
            subject = self.program.subjects.get(spec.canonical)
            if spec.subject and subject:
                fields[spec.subject] = subject
            expected = happens and self._runs(hook, spec, **fields)
            for record in records:
                seen = self._of_record(hook, spec, trial, record, None, expected=expected)
                observations.append(seen)
            if expected and not records:
                observations.append(TrialObservation(spec.wire, in_subagent=trial.in_subagent))
        return observations

    def _of_calls(
        self, hook: ConfiguredHook, spec: EventSpec, trial: ProbeTrial
    ) -> Iterator[TrialObservation]:
        for call in trial.calls:
            records = [record for record in call.records if record.tap == hook.tap]
            expected = self._is_expected_for(hook, spec, call)
            if records:
                yield self._of_record(hook, spec, trial, records[0], call, expected=expected)
            elif expected:
                results = call.step.decision.results if spec.canonical == "before_tool" else ()
                denying = [result.handler for result in results if _denies(result.answer)]
                would_deny = hook.handler in denying
                yield TrialObservation(
                    spec.wire, call.step.text, trial.in_subagent, denied=would_deny
                )

    def _is_expected_for(self, hook: ConfiguredHook, spec: EventSpec, call: MadeCall) -> bool:
        """Return whether a call surely leads to an event on which the rules let a hook run."""
        if spec.canonical == "before_tool":
            # The engine has run it on this very call, so its condition (`if`) was checked, too.
            results = [r for r in call.step.decision.results if r.status is not Status.SKIPPED]
            return any(result.handler is hook.handler for result in results)
        if spec.canonical != "after_tool" or call.happened is not True:
            return False
        if hook.handler is not None and hook.handler.condition is not None:
            return False
        project = self.engine.project_dir
        tool, arguments = call.step.sample.tool, call.step.arguments(project)
        return self._runs(hook, spec, tool=tool, input=arguments)

    def _runs(self, hook: ConfiguredHook, spec: EventSpec, **fields: object) -> bool:
        agent, cwd = self.engine.agent.name, str(self.engine.project_dir)
        event = make_event(spec.canonical, agent=agent, cwd=cwd, **fields)
        return any(handler is hook.handler for handler in self.engine.plan(event).handlers)

    # -- records

    def _of_record(
        self,
        hook: ConfiguredHook,
        spec: EventSpec,
        trial: ProbeTrial,
        record: TapRecord,
        call: MadeCall | None,
        *,
        expected: bool,
    ) -> TrialObservation:
        name = signal.Signals(record.signal).name if record.signal else None
        end = ProcessExit(record.exit_code, name, record.stdout, record.stderr)
        handler = hook.handler or HandlerSpec("command", Layer.RUNTIME, hook.place)
        output = decode_exit(self.engine.agent, self.engine.rules, spec, handler, end)
        killed = not record.ended or record.signal in ENDING_SIGNALS
        is_subagents = call is not None or spec.canonical in self.program.subagent_events
        answer = output.answer
        denied = not killed and _denies(answer)
        held: bool | None = None
        if denied:
            held = self._holds(spec, trial, call, answer.stop_reason or answer.reason or "")
        context = None
        if not killed and answer.context:
            context = self._has_heard(trial, answer.context)
        problems: list[Diagnostic] = []
        if not killed:
            problems = [d for d in output.diagnostics if d.severity is not Severity.INFO]
            messages = self._problems(spec, record, answer, is_overlooked=not (denied or problems))
            for code, message in messages:
                text = f"{hook.label!r} on {spec.wire}: {message}"
                problems.append(diagnose(code, text, hook.place, handler=hook.label))
        return TrialObservation(
            spec.wire,
            call.step.text if call else "",
            trial.in_subagent and is_subagents,
            expected=expected,
            fired=True,
            killed=killed,
            exit_code=record.exit_code,
            denied=denied,
            held=held,
            context=context,
            problems=tuple(problems),
            stderr=next(iter(record.stderr.strip().splitlines()), ""),
        )

    def _problems(
        self, spec: EventSpec, record: TapRecord, answer: Answer, *, is_overlooked: bool
    ) -> Iterator[tuple[str, str]]:
        """Yield codes and messages of what the agent did not take as it was meant."""
        tool, arguments = record.payload.get("tool_name", ""), record.payload.get("tool_input")
        if answer.tool_input is not None and isinstance(arguments, dict):
            argument = self.engine.rules.refused_argument(spec, tool, arguments, answer.tool_input)
            if argument:
                yield "output-field", REFUSED_INPUT.format(tool=tool, argument=argument)
                return
        if not is_overlooked:
            return
        # It is legal for the agent, and was probably meant as a denial or a reply.
        if record.exit_code not in (None, 0, DENIAL_CODE) and spec.can_block:
            yield (
                "exit-code",
                f"ended with exit code {record.exit_code}, which only warns; exit code 2 blocks",
            )
        if record.exit_code == 0 and _has_late_json(record.stdout):
            title = self.engine.agent.title
            yield (
                "text-before-json",
                f"prints text before its JSON, so {title} takes all of it for text",
            )

    def _holds(
        self, spec: EventSpec, trial: ProbeTrial, call: MadeCall | None, reason: str
    ) -> bool | None:
        """Return whether a denial had its effect; `None` if that cannot be observed."""
        if call is not None and spec.denial is Denial.PREVENTS:
            held = None if call.happened is None else not call.happened
            leaves_traces = bool(call.step.sample.creates or call.step.sample.removes)
            if leaves_traces and held is not None:
                return held
            if call.result is None:
                return True  # the run ended
            if reason and _words(_snippet(reason)) in _words(call.result):
                return True
            return held
        if spec.canonical == "before_prompt":
            return not trial.reached_model
        if spec.denial in (Denial.CONTINUES, Denial.HIDES, Denial.INFORMS) and reason:
            return self._has_heard(trial, reason)
        return None

    def _has_heard(self, trial: ProbeTrial, text: str) -> bool:
        if id(trial) not in self._texts:
            self._texts[id(trial)] = _words(trial.heard())
        return _words(_snippet(text)) in self._texts[id(trial)]


def _has_late_json(output: str) -> bool:
    """Return whether an output has a JSON object after lines of text."""
    lines = output.strip().splitlines()
    for number, line in enumerate(lines[1:], start=1):
        if not line.lstrip().startswith("{"):
            continue
        try:
            value = json.loads("\n".join(lines[number:]))
        except ValueError:
            continue
        return isinstance(value, dict)
    return False


def _denies(answer: Answer) -> bool:
    return answer.outcome is Outcome.DENY or answer.stop


def _snippet(text: str) -> str:
    """Return the longest part of a text that agents leave as it is, up to a limit."""
    return max(_ESCAPED.split(text), key=len)[:SNIPPET]


def _words(text: str) -> str:
    return _NOT_WORD.sub(" ", text).strip()
