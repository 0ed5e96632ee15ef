"""`anyhook test CASES`: try a file of cases against the configured hooks; `--init` writes one."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich.text import Text

from anyhook.cli import NOT_DECIDED, OK, PROBLEMS
from anyhook.cli.colors import RESULTS
from anyhook.cli.output import console, members, print_json
from anyhook.cli.render import make_table, print_diagnostics
from anyhook.cli.sandboxed import evidence_may_be_lost
from anyhook.cli.trust import accept_own_edits
from anyhook.errors import UsageError
from anyhook.manage.cases import (
    CaseResult,
    CaseStatus,
    agents_of_cases,
    configured_agents,
    first_case_texts,
    try_cases,
)
from anyhook.manage.tried import keep_cases
from anyhook.model.text import printable
from anyhook.sandbox.sandbox import Sandbox
from anyhook.testing.cases import Case, read_cases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anyhook.model.diagnostics import Diagnostic


def run_case_file(
    path: Path, project: Path, agents: Sequence[str], *, trust_once: bool, as_json: bool
) -> int:
    """Run the cases of a file against the hooks in the settings, and print the results.

    Only the named agents are tried; without names, all. A user at a terminal is asked first whether
    edited files of the hooks may run. Returns the exit code.

    Raises:
        UsageError: If the file is malformed, or no agent of a case has hooks here.
    """
    cases = read_cases(path)
    results: list[CaseResult] = []
    untrusted: list[Diagnostic] = []
    with Sandbox.for_project(project) as sandbox:
        for agent, agent_cases in agents_of_cases(cases, project, agents).items():
            if not trust_once:
                accept_own_edits(project, agent)
            tried = try_cases(sandbox, project, agent, agent_cases, trust_once=trust_once)
            results += tried.results
            untrusted += tried.untrusted
            with evidence_may_be_lost():
                keep_cases(tried.engine, [run for result in tried.results for run in result.runs])
    # A file whose cases all belong to other agents has tested nothing.
    if not results:
        raise UsageError(
            f"no case of {path} is for an agent that has hooks in {project}; see: anyhook list"
        )
    order = {case.place: number for number, case in enumerate(cases)}
    results.sort(key=lambda result: order[result.case.place])
    places_run = {result.case.place for result in results if result.status != CaseStatus.ABSENT}
    not_run = [case for case in cases if case.place not in places_run]
    statuses = {result.status for result in results}
    exit_code = OK
    if CaseStatus.FAILED in statuses or not_run:
        exit_code = PROBLEMS
    elif CaseStatus.UNKNOWN in statuses:
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


def write_first_cases(path: Path, project: Path, *, trust_once: bool, as_json: bool) -> int:
    """Write a file with one case for each configured hook.

    Returns the exit code.

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
            if not trust_once:
                accept_own_edits(project, agent)
            texts = first_case_texts(sandbox, project, agent, trust_once=trust_once)
            cases.update(dict.fromkeys(texts))
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
