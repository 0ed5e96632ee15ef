"""`anyhook test CASES`: a file of cases against the hooks that are configured, in any language."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from anyhook.agents.replies import answer_of
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.output import console, diagnostic_json, print_diagnostics, print_json, show_place
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.engine.sync import SyncEngine
from anyhook.errors import UsageError
from anyhook.model.answers import Audience
from anyhook.model.decisions import Status
from anyhook.model.events import ToolEvent, event_class
from anyhook.model.text import printable
from anyhook.model.tools import TOOLS
from anyhook.settings.detect import agents_with_hooks, detected
from anyhook.testing.cases import LIST, Case, read_cases
from anyhook.testing.events import make_payload
from anyhook.testing.examples import described, meets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyhook.agents.spec import AgentSpec
    from anyhook.model.decisions import Blame, Decision, HandlerResult
    from anyhook.model.definitions import HandlerSpec, HookDefinition
    from anyhook.model.diagnostics import Diagnostic

MARKS = {"ok": ("✓", "green"), "failed": ("✗", "bold red"), "absent": ("-", "dim")}
UNTRUSTED = frozenset({"project-untrusted", "trust-changed", "trust-store"})
"""Codes of diagnostics that say that hooks of the project do not run."""
BROKEN = {
    Status.FAILED: "failed",
    Status.TIMED_OUT: "ran into its timeout",
    Status.WITHHELD: "was not run: it is not trusted",
}
"""How the run of a hook ended that decided nothing."""
NOT_RUN = frozenset({126, 127})
"""Exit codes of a shell that could not run a program."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of one case for one agent.

    Attributes:
        case: The case.
        agent: The agent.
        status: `ok`, `failed`, or `absent` if the agent has no such event or tool.
        got: What was answered.
        decided_by: The hook that decided, with file and line; empty if none did.
        notes: What is wrong, and what hooks warned of.
        reason: The reason of the decision.
    """

    case: Case
    agent: str
    status: str
    got: str
    decided_by: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""


def run_case_file(
    path: Path, project: Path, agents: Sequence[str], *, trust_once: bool, as_json: bool
) -> int:
    """Run the cases of a file against the hooks in the settings, and show what came of them.

    Args:
        path: The file.
        project: Directory of the project.
        agents: The only agents to try; none for those that have hooks here.
        trust_once: Run the project's hooks without asking the trust store.
        as_json: Write JSON.

    Returns:
        The exit code.

    Raises:
        UsageError: If the file is malformed, or no agent has hooks here.
    """
    cases = read_cases(path)
    configured = configured_agents(project)
    results: list[CaseResult] = []
    untrusted: list[Diagnostic] = []
    names = [
        name for name in dict.fromkeys(_named(cases, configured)) if name in (agents or [name])
    ]
    for name in names:
        engine = _load(project, name, trust_once=trust_once)
        untrusted += [found for found in engine.diagnostics if found.code in UNTRUSTED]
        with SyncEngine(engine) as sync:
            wanted = [case for case in cases if name in (case.agents or configured)]
            results += [run_case(sync, case) for case in wanted]
    if not results:
        raise UsageError(
            f"no case of {path} is for an agent that has hooks in {project}; see: anyhook list"
        )
    results.sort(key=lambda result: cases.index(result.case))
    lonely = [case for case in cases if not _has_run(case, results)]
    failed = bool(untrusted or lonely) or any(r.status == "failed" for r in results)
    if as_json:
        print_json(
            {
                "ok": not failed,
                "results": [_json(result) for result in results],
                "not_run": [case.place for case in lonely],
                "untrusted": [diagnostic_json(found) for found in untrusted],
            }
        )
        return PROBLEMS if failed else OK
    out = console()
    out.print(_table(results))
    for result in results:
        for note in result.notes:
            mark, style = MARKS[result.status]
            where = f"  {result.case.place}: "
            out.print(Text.assemble((f"{mark} {result.agent}", style), where, printable(note)))
    for case in lonely:
        out.print(Text.assemble(("✗", "bold red"), f"  {case.place}: {case.name} ran for no agent"))
    print_diagnostics(out, untrusted, project)
    return PROBLEMS if failed else OK


def configured_agents(project: Path) -> list[str]:
    """Return the agents that have hooks in the project, else in the user's settings."""
    return [found.agent for found in detected(agents_with_hooks(project))]


def _named(cases: Sequence[Case], configured: Sequence[str]) -> Iterator[str]:
    for case in cases:
        yield from case.agents or configured


def _has_run(case: Case, results: Sequence[CaseResult]) -> bool:
    return any(result.case is case and result.status != "absent" for result in results)


def _load(project: Path, agent: str, *, trust_once: bool) -> Engine:
    """Load the hooks of an agent; each of them runs as a process, as the agent runs it."""
    return Engine.load(project, agent=agent, trust_once=trust_once, on_message=discard, warm=False)


def run_case(sync: SyncEngine, case: Case) -> CaseResult:
    """Try one case against the hooks of an engine.

    Raises:
        UsageError: If the agent has the event, and no such field.
    """
    engine = sync.engine
    agent = engine.agent
    absent = case.exists_in(agent)
    if absent is not None:
        return CaseResult(case, agent.name, "absent", absent)
    event = case.make_event(agent, str(engine.project_dir))
    decision = sync.dispatch(engine.complete(event))
    answer = answer_of(decision)
    warnings = [r for r in decision.results if r.status is Status.WARNED]
    notes = [_problem(r, BROKEN[r.status]) for r in decision.results if r.status in BROKEN]
    notes += [_problem(r, "could not be run") for r in warnings if r.exit_code in NOT_RUN]
    if not meets(case.expect, answer):
        notes.append(f"expected {case.expect}, got {described(answer)}")
    if case.says and not any(case.says in text for text in _texts(decision)):
        notes.append(f"no reason or message holds {case.says!r}")
    status = "failed" if notes else "ok"
    notes += [_problem(r, "only warned") for r in warnings if r.exit_code not in NOT_RUN]
    return CaseResult(
        case,
        agent.name,
        status,
        described(answer),
        _decided_by(decision),
        tuple(notes),
        decision.reason or "",
    )


def _problem(result: HandlerResult, what: str) -> str:
    return f"{_label(result.handler)} {what}" + (f": {result.error}" if result.error else "")


def _texts(decision: Decision) -> Iterator[str]:
    yield from (text for text in (decision.reason, *decision.system_messages) if text)
    yield from decision.context
    yield from (m.text for m in decision.messages if m.audience in (Audience.USER, Audience.AGENT))
    if decision.tool_input is not None:
        yield json.dumps(decision.tool_input, ensure_ascii=False)


def _decided_by(decision: Decision) -> str:
    fields = ("stop", "outcome", *decision.blame)
    blamed: tuple[Blame, ...] = next(
        (decision.blame[name] for name in fields if decision.blame.get(name)), ()
    )
    return ", ".join(dict.fromkeys(_label(blame.handler) for blame in blamed))


def _label(handler: HandlerSpec) -> str:
    return f"{printable(handler.label)} ({show_place(handler.place, short=True)})"


def _table(results: Sequence[CaseResult]) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for heading in ("", "case", "agent", "expected", "got", "decided by"):
        table.add_column(heading, overflow="fold")
    for result in results:
        mark, style = MARKS[result.status]
        row = (result.case.name, result.agent, result.case.expect, result.got, result.decided_by)
        table.add_row(Text(mark, style=style), *(Text(printable(cell)) for cell in row))
    return table


def _json(result: CaseResult) -> dict[str, Any]:
    return {
        "case": result.case.name,
        "place": result.case.place,
        "agent": result.agent,
        "expected": result.case.expect,
        "got": result.got,
        "status": result.status,
        "decided_by": result.decided_by or None,
        "reason": result.reason or None,
        "notes": list(result.notes),
    }


# -- a first file


EXAMPLE_INPUTS: dict[str, dict[str, Any]] = {
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
"""Canonical tool to arguments that a first case has."""


def write_first_cases(path: Path, project: Path, *, trust_once: bool, as_json: bool) -> int:
    """Write a file with one case for each configured hook.

    What the hooks answer now is what they are expected to answer; of hooks that are not trusted
    nothing is run, and the expectation is a comment to be completed.

    Raises:
        UsageError: If the file exists, is not named as TOML, or no hook is configured.
    """
    if path.suffix != ".toml":
        raise UsageError(f"{path} must end with .toml")
    if path.exists():
        raise UsageError(f"{path} exists; name another file: anyhook test --init FILE.toml")
    blocks = [
        block
        for agent in configured_agents(project)
        for block in _first_cases(_load(project, agent, trust_once=trust_once), trust_once)
    ]
    if not blocks:
        raise UsageError(f"no hooks are configured in {project}; see: anyhook init")
    text = "\n".join([f"# Cases for `anyhook test {path.name}`.\n", *dict.fromkeys(blocks)])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if as_json:
        print_json({"file": str(path), "cases": len(set(blocks))})
    else:
        console().print(f"wrote {path}; run it with: anyhook test {path}", markup=False)
    return OK


def _first_cases(engine: Engine, trust_once: bool) -> Iterator[str]:
    is_trusted = trust_once or not any(d.code in UNTRUSTED for d in engine.diagnostics)
    with SyncEngine(engine) as sync:
        for definition in engine.hooks.definitions:
            for handler in definition.handlers:
                case = _first_case(engine.agent, definition, handler)
                got = run_case(sync, case).got if is_trusted else None
                yield _written(case, handler, got)


def _first_case(agent: AgentSpec, definition: HookDefinition, handler: HandlerSpec) -> Case:
    """Make up an event that the hook is for."""
    event, place = definition.event, f"{handler.place.file}:{handler.place.line}"
    label = f"{handler.label} on {event}"
    if issubclass(event_class(event), ToolEvent):
        tool = _plausible_tool(agent, definition.matcher)
        return Case(
            label, place, "none", "", (agent.name,), event, tool, EXAMPLE_INPUTS.get(tool, {})
        )
    payload = make_payload(event, agent=agent.name)
    base = {*make_payload("session_end", agent=agent.name), agent.event_key}
    own = {key: value for key, value in payload.items() if key not in base}
    fields = {key: value for key, value in own.items() if key in event_class(event).record_names}
    spec = agent.by_canonical[event]
    if spec.subject in fields and definition.matcher:
        fields[spec.subject] = definition.matcher.partition("|")[0]
    return Case(label, place, "none", "", (agent.name,), event, None, fields)


def _plausible_tool(agent: AgentSpec, matcher: str | None) -> str:
    """Return a tool that a matcher covers, by its canonical name if it has one."""
    first = (matcher or "").strip().strip("^$()").partition("|")[0].partition(",")[0].strip()
    if not first or not all(letter.isalnum() or letter in "_-" for letter in first):
        candidates = [t for t in TOOLS if agent.vocabulary.name(t)]
        covered = [t for t in candidates if first and first in (agent.vocabulary.name(t) or "")]
        return (covered or ["shell"])[0]
    return agent.vocabulary.tool(first)


def _written(case: Case, handler: HandlerSpec, got: str | None) -> str:
    lines = [
        f"[[{LIST}]]  # {handler.place.file}:{handler.place.line}",
        f"name = {_toml(case.name)}",
        f"agent = {_toml(case.agents[0])}",
        f"event = {_toml(case.event)}",
    ]
    if case.tool is not None:
        lines.append(f"tool = {_toml(case.tool)}")
    if case.input:
        lines.append(f"input = {_toml(dict(case.input))}")
    if got is None:
        lines.append('# expect = "deny"  # the project is not trusted, so the hook was not run')
    else:
        lines.append(f"expect = {_toml(got.partition(', ')[0])}")
    return "\n".join([*lines, ""])


def _toml(value: Any) -> str:
    """Write a JSON value as TOML on one line; members without a value are left out."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items() if v is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value if item is not None) + "]"
    return json.dumps(value)
