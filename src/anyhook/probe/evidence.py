"""What hooks did in an agent, against what the rules of its release predict."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anyhook.agents.output import ProcessExit, decode_exit
from anyhook.agents.spec import Denial
from anyhook.agents.spec.rules import REFUSED_INPUT
from anyhook.model.answers import Outcome
from anyhook.model.definitions import HandlerSpec
from anyhook.model.diagnostics import Severity, diagnose
from anyhook.model.layers import Layer
from anyhook.model.status import Status
from anyhook.testing import make_event

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.program import AgentProgram
    from anyhook.agents.spec import EventSpec
    from anyhook.engine.engine import Engine
    from anyhook.model.answers import Answer
    from anyhook.model.diagnostics import Diagnostic
    from anyhook.probe.configured import ConfiguredHook
    from anyhook.probe.taps import TapRecord
    from anyhook.probe.trial import Made, ProbeTrial

DENIAL_CODE = 2
SNIPPET = 120
"""Characters of a text that are looked for: agents cut long ones."""
ENDING_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGKILL})
_ESCAPED = re.compile(r"[<>&]")
"""Characters that agents escape in texts for the model."""
_NOT_WORD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class TrialObservation:
    """One event that a hook is configured for, in a run of the agent.

    Attributes:
        event: The agent's name of the event.
        call: The call of a tool, for people; empty if there is none.
        in_subagent: Whether it happened in a subagent.
        expected: Whether the rules predict that the hook runs.
        fired: Whether it ran.
        killed: Whether the agent killed it.
        exit_code: Its exit code; `None` if it has none.
        denied: Whether it denied, by the rules of the release; or, if it did not run, whether
            anyhook's engine predicts that it does.
        held: Whether its denial held; `None` if it did not deny or that cannot be observed.
        context: Whether its text for the model reached it; `None` if there was no text.
        problems: What the agent ignored in its output.
        stderr: The first line of its errors.
    """

    event: str
    call: str = ""
    in_subagent: bool = False
    expected: bool = True
    fired: bool = False
    killed: bool = False
    exit_code: int | None = None
    denied: bool = False
    held: bool | None = None
    context: bool | None = None
    problems: tuple[Diagnostic, ...] = ()
    stderr: str = ""


@dataclass(slots=True)
class TrialObserver:
    """Compares the runs of an agent with the predictions of anyhook's engine.

    Attributes:
        engine: The engine, for the copy of the project in which nothing is recorded.
        program: The agent.
        trials: The runs.
    """

    engine: Engine
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
            else:
                observations += self._of_session(hook, spec, trial)
        return observations

    # -- events of tools

    def _of_calls(
        self, hook: ConfiguredHook, spec: EventSpec, trial: ProbeTrial
    ) -> Iterator[TrialObservation]:
        for made in trial.made:
            records = [record for record in made.records if record.tap == hook.tap]
            expected = self._is_planned(hook, spec, made) and self._occurs(spec, made)
            if records:
                yield self._of_record(hook, spec, trial, records[0], made, expected=expected)
            elif expected:
                would_deny = _would_deny(hook, spec, made)
                yield TrialObservation(
                    spec.wire, made.step.text, trial.in_subagent, denied=would_deny
                )

    def _is_planned(self, hook: ConfiguredHook, spec: EventSpec, made: Made) -> bool:
        if spec.canonical == "before_tool":
            # The engine has run it on this very call, so its condition (`if`) was checked, too.
            results = [r for r in made.step.decision.results if r.status is not Status.SKIPPED]
            return any(result.handler is hook.handler for result in results)
        if hook.handler is not None and hook.handler.condition is not None:
            return False
        event = make_event(
            spec.canonical,
            agent=self.engine.agent.name,
            tool=made.step.sample.tool,
            input=made.step.arguments(self.engine.project_dir),
            cwd=str(self.engine.project_dir),
        )
        return self._runs(hook, event)

    def _occurs(self, spec: EventSpec, made: Made) -> bool:
        """Return whether a call surely leads to an event."""
        if spec.canonical == "before_tool":
            return True
        return spec.canonical == "after_tool" and made.happened is True

    def _runs(self, hook: ConfiguredHook, event: object) -> bool:
        handlers = self.engine.plan(event).handlers  # type: ignore[arg-type]
        return any(handler is hook.handler for handler in handlers)

    # -- other events

    def _of_session(
        self, hook: ConfiguredHook, spec: EventSpec, trial: ProbeTrial
    ) -> Iterator[TrialObservation]:
        records = [record for record in trial.records if record.tap == hook.tap]
        expected = self._happens(spec, trial) and self._is_planned_in_session(hook, spec)
        if records:
            for record in records:
                yield self._of_record(hook, spec, trial, record, None, expected=expected)
        elif expected:
            yield TrialObservation(spec.wire, in_subagent=trial.in_subagent)

    def _happens(self, spec: EventSpec, trial: ProbeTrial) -> bool:
        """Return whether a run surely has an event."""
        if spec.canonical in self.program.subagent_events:
            return trial.in_subagent and bool(trial.run.model.subagent_requests)
        if spec.canonical not in self.program.events or trial.in_subagent:
            return False
        if spec.canonical in ("session_start", "before_prompt"):
            return True
        if not trial.reached_model or trial.run.timed_out:
            return False
        ended_early = any(made.result is None for made in trial.made)
        return not (ended_early and spec.canonical == "after_agent")

    def _is_planned_in_session(self, hook: ConfiguredHook, spec: EventSpec) -> bool:
        fields: dict[str, object] = {"cwd": str(self.engine.project_dir)}
        subject = self.program.subjects.get(spec.canonical)
        if spec.subject and subject:
            fields[spec.subject] = subject
        event = make_event(spec.canonical, agent=self.engine.agent.name, **fields)
        return self._runs(hook, event)

    # -- records

    def _of_record(
        self,
        hook: ConfiguredHook,
        spec: EventSpec,
        trial: ProbeTrial,
        record: TapRecord,
        made: Made | None,
        *,
        expected: bool,
    ) -> TrialObservation:
        name = signal.Signals(record.signal).name if record.signal else None
        end = ProcessExit(record.exit_code, name, record.stdout, record.stderr)
        handler = hook.handler or HandlerSpec("command", Layer.RUNTIME, hook.place)
        output = decode_exit(self.engine.agent, self.engine.rules, spec, handler, end)
        killed = not record.ended or record.signal in ENDING_SIGNALS
        is_subagents = made is not None or spec.canonical in self.program.subagent_events
        answer = output.answer
        denied = not killed and _denies(answer)
        reason = answer.stop_reason or answer.reason or ""
        held = self._holds(spec, trial, made, reason) if denied else None
        context = None
        if not killed and answer.context:
            context = self._has_heard(trial, answer.context)
        problems = [d for d in output.diagnostics if d.severity is not Severity.INFO]
        problems += self._refused_input(hook, spec, record, answer)
        if not denied and not problems:
            problems += self._overlooked(hook, spec, record)
        return TrialObservation(
            spec.wire,
            made.step.text if made else "",
            trial.in_subagent and is_subagents,
            expected=expected,
            fired=True,
            killed=killed,
            exit_code=record.exit_code,
            denied=denied,
            held=held,
            context=context,
            problems=() if killed else tuple(problems),
            stderr=next(iter(record.stderr.strip().splitlines()), ""),
        )

    def _overlooked(
        self, hook: ConfiguredHook, spec: EventSpec, record: TapRecord
    ) -> Iterator[Diagnostic]:
        """Yield what is legal for the agent and was probably meant as a denial or a reply."""
        title = self.engine.agent.title
        about = f"{hook.label!r} on {spec.wire}"
        if record.exit_code not in (None, 0, DENIAL_CODE) and spec.can_block:
            text = f"ended with exit code {record.exit_code}, which only warns; exit code 2 blocks"
            yield diagnose("exit-code", f"{about}: {text}", hook.place, handler=hook.label)
        if record.exit_code == 0 and _has_late_json(record.stdout):
            text = f"prints text before its JSON, so {title} takes all of it for text"
            yield diagnose("text-before-json", f"{about}: {text}", hook.place, handler=hook.label)

    def _refused_input(
        self, hook: ConfiguredHook, spec: EventSpec, record: TapRecord, answer: Answer
    ) -> Iterator[Diagnostic]:
        """Yield a problem with changed arguments that the agent refuses."""
        tool, arguments = record.payload.get("tool_name", ""), record.payload.get("tool_input")
        if answer.tool_input is None or not isinstance(arguments, dict):
            return
        argument = self.engine.rules.refused_argument(spec, tool, arguments, answer.tool_input)
        if argument:
            problem = REFUSED_INPUT.format(tool=tool, argument=argument)
            text = f"{hook.label!r} on {spec.wire}: {problem}"
            yield diagnose("output-field", text, hook.place, handler=hook.label)

    # -- effects

    def _holds(
        self, spec: EventSpec, trial: ProbeTrial, made: Made | None, reason: str
    ) -> bool | None:
        """Return whether a denial had its effect; `None` if that cannot be observed."""
        if made is not None and spec.denial is Denial.PREVENTS:
            return _was_prevented(made, reason)
        if spec.canonical == "before_prompt":
            return not trial.reached_model
        if spec.denial in (Denial.CONTINUES, Denial.HIDES, Denial.INFORMS) and reason:
            return self._has_heard(trial, reason)
        return None

    def _has_heard(self, trial: ProbeTrial, text: str) -> bool:
        if id(trial) not in self._texts:
            self._texts[id(trial)] = _words(trial.heard())
        return _words(_snippet(text)) in self._texts[id(trial)]


def _would_deny(hook: ConfiguredHook, spec: EventSpec, made: Made) -> bool:
    """Return whether a hook that did not run denied the call in anyhook's engine."""
    if spec.canonical != "before_tool":
        return False
    results = made.step.decision.results
    return hook.handler in [result.handler for result in results if _denies(result.answer)]


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


def _was_prevented(made: Made, reason: str) -> bool | None:
    leaves_traces = bool(made.step.sample.creates or made.step.sample.removes)
    if leaves_traces and made.happened is not None:
        return not made.happened
    if made.result is None:
        return True  # the run ended
    if reason and _words(_snippet(reason)) in _words(made.result):
        return True
    if made.happened is None:
        return None
    return not made.happened


def _denies(answer: object) -> bool:
    is_denial = getattr(answer, "outcome", None) is Outcome.DENY
    return is_denial or bool(getattr(answer, "stop", False))


def _snippet(text: str) -> str:
    """Return the longest part of a text that agents leave as it is, up to a limit."""
    return max(_ESCAPED.split(text), key=len)[:SNIPPET]


def _words(text: str) -> str:
    return _NOT_WORD.sub(" ", text).strip()
