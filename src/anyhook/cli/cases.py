"""`anyhook test CASES`: try a file of cases against the configured hooks; `--init` writes one."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from anyhook.agents.encode import answer_of
from anyhook.agents.samples import samples_of
from anyhook.cli import NOT_DECIDED, OK, PROBLEMS
from anyhook.cli.colors import RESULTS
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import make_table, print_diagnostics, show_place
from anyhook.cli.sandboxed import evidence_may_be_lost
from anyhook.cli.trust import accept_own_edits
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.engine.not_run import why_not_decided
from anyhook.engine.sync import SyncEngine
from anyhook.errors import UsageError
from anyhook.manage.hooks import SAMPLE_TOOL, reaching_fields
from anyhook.manage.tried import CaseRun, keep_cases
from anyhook.model.answers import Audience
from anyhook.model.decisions import Decision, HandlerResult, Status
from anyhook.model.definitions import HandlerSpec, HookDefinition, each_handler
from anyhook.model.diagnostics import Diagnostic, Place
from anyhook.model.events import ToolEvent, event_class
from anyhook.model.record import replace
from anyhook.model.status import CANNOT_START_CODES, trouble_of
from anyhook.model.text import printable
from anyhook.sandbox.sandbox import Sandbox
from anyhook.settings.detect import agents_with_hooks, detected
from anyhook.settings.toml_edit import table_lines
from anyhook.testing.cases import LIST, Case, read_cases
from anyhook.testing.events import make_payload
from anyhook.testing.examples import describe_answer, is_expected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyhook.model.events import Event
    from anyhook.sandbox.keeper import SandboxRun


UNTRUSTED_CODES = frozenset({"project-untrusted", "trust-changed", "trust-store"})
"""Diagnostics that report hooks of the project that do not run."""
FAILURE_TEXT = {
    Status.FAILED: "failed",
    Status.TIMED_OUT: "ran into its timeout",
}
"""Status of a hook that answered nothing, for people."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case for one agent."""

    case: Case
    agent: str
    status: str
    """`ok`, `failed`, `unknown` (a hook that listens was not run) or `absent` (no such event)."""
    got: str
    """What the hooks answered; what the agent lacks if it is absent."""
    decided_by: str = ""
    """The hooks that decided, with file and line."""
    notes: tuple[str, ...] = ()
    """Failures and warnings, for people."""
    reason: str = ""
    runs: tuple[CaseRun, ...] = ()
    """The hooks that ran, if the case ended as it was expected."""


def run_case_file(
    path: Path, project: Path, agents: Sequence[str], *, trust_once: bool, as_json: bool
) -> int:
    """Run the cases of a file against the hooks in the settings, and print the results.

    Only the named agents are tried; without names, all. Returns the exit code.

    Raises:
        UsageError: If the file is malformed, or no agent of a case has hooks here.
    """
    cases = read_cases(path)
    configured = configured_agents(project)
    cases_by_agent: dict[str, list[Case]] = {}
    for case in cases:
        for name in case.agents or configured:
            if not agents or name in agents:
                cases_by_agent.setdefault(name, []).append(case)
    results: list[CaseResult] = []
    untrusted: list[Diagnostic] = []
    with Sandbox.for_project(project) as sandbox:
        for name, agent_cases in cases_by_agent.items():
            engine = load_engine(project, name, trust_once=trust_once)
            untrusted_here = untrusted_hooks(engine)
            # In a copy the project has another path, for which nothing is trusted.
            is_trusted = trust_once or not untrusted_here
            inside = sandbox.inside(str(project))
            tried = sandbox.run(run_cases, inside, name, agent_cases, is_trusted)
            results += tried
            untrusted += untrusted_here
            runs: list[CaseRun] = []
            for result in tried:
                runs += [_run_outside(sandbox, run) for run in result.runs]
            with evidence_may_be_lost():
                keep_cases(engine, runs)
    # A file whose cases all belong to other agents has tested nothing.
    if not results:
        raise UsageError(
            f"no case of {path} is for an agent that has hooks in {project}; see: anyhook list"
        )
    order = {case.place: number for number, case in enumerate(cases)}
    results.sort(key=lambda result: order[result.case.place])
    places_run = {result.case.place for result in results if result.status != "absent"}
    not_run = [case for case in cases if case.place not in places_run]
    statuses = {result.status for result in results}
    exit_code = OK
    if "failed" in statuses or not_run:
        exit_code = PROBLEMS
    elif "unknown" in statuses:
        exit_code = NOT_DECIDED
    elif untrusted:
        exit_code = PROBLEMS
    if as_json:
        print_json(
            {
                "ok": exit_code == OK,
                "results": [_result_json(result) for result in results],
                "not_run": [case.place for case in not_run],
                "untrusted": untrusted,
            }
        )
    else:
        _print_results(results, not_run)
        print_diagnostics(console(), untrusted, project)
    return exit_code


def _run_outside(sandbox: Sandbox, run: CaseRun) -> CaseRun:
    """Return a run with the place that its hook has outside the sandbox."""
    place = run.place
    return replace(run, place=Place(sandbox.outside(place.file), place.line, place.column))


def configured_agents(project: Path) -> list[str]:
    """Return the names of the agents with hooks in the project, else in the user's settings."""
    return [settings.agent for settings in detected(agents_with_hooks(project))]


def load_engine(project: Path, agent: str, *, trust_once: bool) -> Engine:
    """Load an engine that runs every hook as a process, as the agent does.

    A user at a terminal is asked first whether edited files of the hooks may run.
    """
    if not trust_once:
        accept_own_edits(project, agent)
    return Engine.load(project, agent=agent, trust_once=trust_once, on_message=discard, warm=False)


def untrusted_hooks(engine: Engine) -> list[Diagnostic]:
    """Return the diagnostics about hooks that do not run because they are not trusted."""
    return [diagnostic for diagnostic in engine.diagnostics if diagnostic.code in UNTRUSTED_CODES]


def run_cases(
    _run: SandboxRun, project: str, agent: str, cases: Sequence[Case], is_trusted: bool
) -> list[CaseResult]:
    """Run cases against the hooks of an agent, as a function of a sandbox.

    Raises:
        UsageError: If the event of a case has no such field.
    """
    engine = load_engine(Path(project), agent, trust_once=is_trusted)
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
        return CaseResult(case, agent.name, "absent", missing)
    event = case.make_event(agent, str(engine.project_dir))
    decision = sync.dispatch(engine.complete(event))
    not_decided = why_not_decided(engine, decision)
    if not_decided is not None:
        return CaseResult(case, agent.name, "unknown", "not decided", notes=(not_decided.text,))
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
    status = "failed"
    runs: tuple[CaseRun, ...] = ()
    if not failures:
        status = "ok"
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
        if result.status in FAILURE_TEXT:
            failures.append(_result_text(result, FAILURE_TEXT[result.status]))
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
    return f"{printable(handler.label)} ({show_place(handler.place, short=True)})"


# -- the results


def _print_results(results: list[CaseResult], not_run: list[Case]) -> None:
    out = console()
    table = make_table("", "case", "agent", "expected", "got", "decided by")
    for result in results:
        case = result.case
        cells = (case.name, result.agent, case.expect, result.got, result.decided_by)
        status = Text.assemble(RESULTS[result.status])
        table.add_row(status, *(Text(printable(cell)) for cell in cells))
    out.print(table)
    for result in results:
        mark, style = RESULTS[result.status]
        for note in result.notes:
            text = f"  {result.case.place}: {printable(note)}"
            out.print(Text.assemble((f"{mark} {result.agent}", style), text))
    for case in not_run:
        out.print(Text.assemble(RESULTS["failed"], f"  {case.place}: {case.name} ran for no agent"))


def _result_json(result: CaseResult) -> dict[str, Any]:
    return {
        "case": result.case.name,
        "place": result.case.place,
        "expected": result.case.expect,
        **members(result, "agent", "got", "status", "notes"),
        "decided_by": result.decided_by or None,
        "reason": result.reason or None,
    }


# -- the first cases

SAMPLE_INPUTS: dict[str, dict[str, Any]] = {
    "shell": {"command": "rm -rf build"},
    "read_file": {"file_path": "README.md"},
    "read_many_files": {"include": ["*.md"]},
    "write_file": {"file_path": "a.txt", "content": "text"},
    "edit_file": {"file_path": "a.txt", "old_string": "old", "new_string": "new"},
    "edit_notebook": {"notebook_path": "a.ipynb", "new_source": "1"},
    "list_directory": {"path": "."},
    "glob": {"pattern": "*.py"},
    "grep": {"pattern": "word"},
    "web_fetch": {"url": "https://example.com", "prompt": "Summarize it"},
    "web_search": {"query": "words"},
    "agent": {"prompt": "Look into it", "description": "a task"},
    "skill": {"name": "a-skill"},
}
"""Canonical tool to the arguments in its first case."""


def write_first_cases(path: Path, project: Path, *, trust_once: bool, as_json: bool) -> int:
    """Write a file with one case for each configured hook.

    A case expects what the hooks answer now. Hooks that are not trusted do not run: their case has
    a comment in place of the expected answer. Returns the exit code.

    Raises:
        UsageError: If the file exists, is not named as TOML, or no hook is configured.
    """
    if path.suffix != ".toml":
        raise UsageError(f"{path} must end with .toml")
    if path.exists():
        raise UsageError(f"{path} exists; name another file: anyhook test --init FILE.toml")
    # Agents that read the same file have the same hooks.
    cases: dict[str, None] = {}
    with Sandbox.for_project(project) as sandbox:
        for agent in configured_agents(project):
            untrusted = untrusted_hooks(load_engine(project, agent, trust_once=trust_once))
            is_trusted = trust_once or not untrusted
            inside = sandbox.inside(str(project))
            texts = sandbox.run(first_cases, inside, agent, is_trusted)
            cases.update(dict.fromkeys(sandbox.outside(texts)))
    if not cases:
        raise UsageError(f"no hooks are configured in {project}; see: anyhook init")
    header = f"# Cases for `anyhook test {path.name}`.\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *cases]), encoding="utf-8")
    if as_json:
        print_json({"file": str(path), "cases": len(cases)})
    else:
        line = shlex.join(["anyhook", "test", str(path)])
        console().print(f"wrote {path}; run it with: {line}")
    return OK


def first_cases(_run: SandboxRun, project: str, agent: str, is_trusted: bool) -> list[str]:
    """Return the text of a case for each configured hook, as a function of a sandbox."""
    engine = load_engine(Path(project), agent, trust_once=is_trusted)
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
