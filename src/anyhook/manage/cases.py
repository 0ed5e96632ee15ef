"""Try cases against the configured hooks, as `anyhook test CASES` does, and write first cases."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyhook.agents.encode import answer_of
from anyhook.agents.samples import samples_of
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.engine.not_run import why_not_decided
from anyhook.engine.sync import SyncEngine
from anyhook.manage.hooks import SAMPLE_INPUTS, SAMPLE_TOOL, reaching_fields
from anyhook.manage.tried import CaseRun
from anyhook.model.answers import Audience
from anyhook.model.decisions import Decision, HandlerResult, Status
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.events import ToolEvent, event_class
from anyhook.model.record import Record, replace
from anyhook.model.status import CANNOT_START_CODES, TROUBLE, WITHOUT_ANSWER, trouble_of
from anyhook.model.text import printable
from anyhook.settings.detect import agents_with_hooks, detected
from anyhook.settings.toml_edit import table_lines
from anyhook.testing.cases import LIST, Case
from anyhook.testing.events import make_payload
from anyhook.testing.examples import describe_answer, is_expected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.model.diagnostics import Diagnostic
    from anyhook.model.events import Event
    from anyhook.sandbox.keeper import SandboxRun
    from anyhook.sandbox.sandbox import Sandbox

UNTRUSTED_CODES = frozenset({"project-untrusted", "trust-changed", "trust-store"})
"""Diagnostics that report hooks of the project that do not run."""


class CaseStatus(StrEnum):
    """What came of a case for one agent."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """A hook that listens was not run."""
    ABSENT = "absent"
    """The agent has no such event."""


class CaseResult(Record, kw_only=False):
    """The result of one case for one agent.

    Attributes:
        case: The case.
        agent: Name of the agent.
        status: What came of it.
        got: What the hooks answered; what the agent lacks if the case is absent.
        decided_by: The hooks that decided, with file and line.
        notes: Failures and warnings, for people.
        reason: The reason of the hooks.
        runs: The hooks that ran, if the case ended as it was expected.
    """

    case: Case
    agent: str
    status: CaseStatus
    got: str
    decided_by: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""
    runs: tuple[CaseRun, ...] = ()


class TriedCases(Record, kw_only=False):
    """What came of cases against the hooks of one agent.

    Attributes:
        engine: Has the hooks of the project itself, outside the sandbox.
        results: The result of each case.
        untrusted: The hooks that did not run because they are not trusted.
    """

    engine: Engine
    results: list[CaseResult]
    untrusted: list[Diagnostic]


def configured_agents(project: Path) -> list[str]:
    """Return the names of the agents with hooks in the project, else in the user's settings."""
    return [settings.agent for settings in detected(agents_with_hooks(project))]


def agents_of_cases(
    cases: Sequence[Case], project: Path, agents: Sequence[str]
) -> dict[str, list[Case]]:
    """Return the cases to try for each agent; of the given agents, or of all if none is given."""
    configured = configured_agents(project)
    cases_by_agent: dict[str, list[Case]] = {}
    for case in cases:
        for name in case.agents or configured:
            if not agents or name in agents:
                cases_by_agent.setdefault(name, []).append(case)
    return cases_by_agent


def try_cases(
    sandbox: Sandbox, project: Path, agent: str, cases: Sequence[Case], *, trust_once: bool
) -> TriedCases:
    """Run cases against the hooks of an agent in a sandbox.

    Raises:
        UsageError: If the event of a case has no such field.
    """
    engine = _load_engine(project, agent, trust_once=trust_once)
    untrusted = _untrusted_hooks(engine)
    # In a copy the project has another path, for which nothing is trusted.
    is_trusted = trust_once or not untrusted
    tried = sandbox.run(run_cases, sandbox.inside(str(project)), agent, cases, is_trusted)
    results: list[CaseResult] = []
    for result in tried:
        runs: list[CaseRun] = []
        for run in result.runs:
            place = replace(run.place, file=sandbox.outside(run.place.file))
            runs.append(replace(run, place=place))
        results.append(replace(result, runs=tuple(runs)))
    return TriedCases(engine, results, untrusted)


def first_case_texts(sandbox: Sandbox, project: Path, agent: str, *, trust_once: bool) -> list[str]:
    """Return the text of a case for each configured hook of an agent.

    A case expects what the hooks answer now, in a sandbox. Hooks that are not trusted do not run:
    their case has a comment in place of the expected answer.
    """
    untrusted = _untrusted_hooks(_load_engine(project, agent, trust_once=trust_once))
    is_trusted = trust_once or not untrusted
    texts = sandbox.run(first_cases, sandbox.inside(str(project)), agent, is_trusted)
    return [sandbox.outside(text) for text in texts]


def _load_engine(project: Path, agent: str, *, trust_once: bool) -> Engine:
    """Load an engine that runs every hook as a process, as the agent does."""
    return Engine.load(project, agent=agent, trust_once=trust_once, on_message=discard, warm=False)


def _untrusted_hooks(engine: Engine) -> list[Diagnostic]:
    return [diagnostic for diagnostic in engine.diagnostics if diagnostic.code in UNTRUSTED_CODES]


def run_cases(
    _run: SandboxRun, project: str, agent: str, cases: Sequence[Case], is_trusted: bool
) -> list[CaseResult]:
    """Run cases against the hooks of an agent, as a function of a sandbox.

    Raises:
        UsageError: If the event of a case has no such field.
    """
    engine = _load_engine(Path(project), agent, trust_once=is_trusted)
    with SyncEngine(engine) as sync:
        return [run_case(sync, case) for case in cases]


# -- one case


def run_case(sync: SyncEngine, case: Case) -> CaseResult:
    """Run one case against the hooks of an engine.

    Raises:
        UsageError: If the event has no such field.
    """
    engine = sync.engine
    agent = engine.agent
    missing = case.missing_in(agent)
    if missing is not None:
        return CaseResult(case, agent.name, CaseStatus.ABSENT, missing)
    event = case.make_event(agent, str(engine.project_dir))
    decision = sync.dispatch(engine.complete(event))
    not_decided = why_not_decided(engine, event, decision)
    if not_decided is not None:
        return CaseResult(
            case, agent.name, CaseStatus.UNKNOWN, "not decided", notes=(not_decided.text,)
        )
    answer = answer_of(decision)
    failures = _failures(decision)
    warned = [result for result in decision.results if result.status is Status.WARNED]
    warnings = [_result_text(run, "only warned") for run in warned if not _gave_no_answer(run)]
    got = describe_answer(answer)
    if not is_expected(case.expect, answer):
        failures.append(f"expected {case.expect}, got {got}")
    # Every text of the decision that the user or the agent sees.
    texts = [*decision.system_messages, *decision.context]
    if decision.reason:
        texts.append(decision.reason)
    visible = (Audience.USER, Audience.AGENT)
    texts += [message.text for message in decision.messages if message.audience in visible]
    if decision.tool_input is not None:
        texts.append(json.dumps(decision.tool_input, ensure_ascii=False))
    if case.says and not any(case.says in text for text in texts):
        failures.append(f"no text of the answer holds {case.says!r}")
    decided_by = ""
    # The most important field of the decision.
    for name in ("stop", "outcome", *decision.blame):
        blames = decision.blame.get(name)
        if blames:
            decided_by = ", ".join(dict.fromkeys(_label(blame.handler) for blame in blames))
            break
    status = CaseStatus.FAILED
    runs: tuple[CaseRun, ...] = ()
    if not failures:
        status = CaseStatus.OK
        runs = _runs(case, event, decision)
    return CaseResult(
        case=case,
        agent=agent.name,
        status=status,
        got=got,
        decided_by=decided_by,
        notes=(*failures, *warnings),
        reason=decision.reason or "",
        runs=runs,
    )


def _runs(case: Case, event: Event, decision: Decision) -> tuple[CaseRun, ...]:
    """Return what each hook answered that ran to its end."""
    runs: list[CaseRun] = []
    for result in decision.results:
        if result.status is Status.RAN:
            handler, answer = result.handler, result.answer
            verdict = "stop" if answer.stop else str(answer.outcome)
            runs.append(CaseRun(event.name, handler.label, handler.place, verdict, case.name))
    return tuple(runs)


def _failures(decision: Decision) -> list[str]:
    """Return which hooks did not run to their end."""
    failures: list[str] = []
    for result in decision.results:
        if result.status in WITHOUT_ANSWER:
            failures.append(_result_text(result, TROUBLE[result.status]))
        elif _gave_no_answer(result):
            is_start = result.exit_code in CANNOT_START_CODES
            problem = "could not be run" if is_start else "was ended by a signal"
            failures.append(_result_text(result, problem))
    return failures


def _gave_no_answer(result: HandlerResult) -> bool:
    """Return whether a shell reports that its command did not answer."""
    trouble = trouble_of(result.status, result.exit_code, result.signal)
    return result.status is Status.WARNED and trouble == Status.FAILED


def _result_text(result: HandlerResult, problem: str) -> str:
    text = f"{_label(result.handler)} {problem}"
    if result.error:
        text += f": {result.error}"
    return text


def _label(handler: HandlerSpec) -> str:
    place = replace(handler.place, file=Path(handler.place.file).name)
    return f"{printable(handler.label)} ({printable(str(place))})"


# -- the first cases


def first_cases(_run: SandboxRun, project: str, agent: str, is_trusted: bool) -> list[str]:
    """Return the text of a case for each configured hook, as a function of a sandbox."""
    engine = _load_engine(Path(project), agent, trust_once=is_trusted)
    texts: list[str] = []
    with SyncEngine(engine) as sync:
        for definition, handler in each_handler(engine.hooks.definitions):
            case = _sample_case(engine, definition, handler)
            expect = None
            if is_trusted:
                expect = run_case(sync, case).got.partition(", ")[0]
            members: dict[str, Any] = {
                "name": case.name,
                "agent": case.agents[0],
                "event": case.event,
            }
            members |= {"tool": case.tool, "input": case.input or None, "expect": expect}
            header, *lines = table_lines([LIST], members)
            # Without `expect` the file is refused until the user has completed the case.
            if expect is None:
                lines.append(
                    '# expect = "deny"  # the project is not trusted, so the hook was not run'
                )
            texts.append("\n".join([f"{header}  # {handler.place}", *lines, ""]))
    return texts


def _sample_case(engine: Engine, definition: HookDefinition, handler: HandlerSpec) -> Case:
    """Return a case with an event that reaches a hook."""
    agent, event = engine.agent, definition.event
    fields = reaching_fields(engine, definition, handler) or {}
    tool: str | None = None
    if issubclass(event_class(event), ToolEvent):
        tool = agent.vocabulary.tool(fields.get("tool") or SAMPLE_TOOL)
        arguments = SAMPLE_INPUTS.get(tool, {})
    else:
        # The fields that are its own. What the agent sends anyway makes no difference to a case.
        payload = make_payload(event, agent=agent.name)
        common = {*make_payload("session_end", agent=agent.name), agent.event_key}
        common |= samples_of(agent).events.get(agent.by_canonical[event].wire, {}).keys()
        names = event_class(event).record_names
        arguments = {key: payload[key] for key in payload if key in names and key not in common}
        arguments |= fields
    return Case(
        name=f"{handler.label} on {event}",
        place=str(handler.place),
        expect="none",
        agents=(agent.name,),
        event=event,
        tool=tool,
        input=arguments,
    )
