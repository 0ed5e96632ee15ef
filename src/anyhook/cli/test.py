"""`anyhook test`: try the examples of a hook file, or a file of cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.authoring.inspect import scan
from anyhook.authoring.run import log_text
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.cases import run_case_file, write_first_cases
from anyhook.cli.colors import BAD, CAUTION, QUIET, RESULTS
from anyhook.cli.coverage import cover_hook_file, mutate_hook_file
from anyhook.cli.options import HERE, AgentNames, AsJson, Project, TrustOnce, Yes
from anyhook.cli.output import UNWRAPPED, console, members, print_json
from anyhook.cli.render import make_table
from anyhook.cli.sandboxed import (
    confirm_limits,
    evidence_may_be_lost,
    print_unsupported,
    unsupported_uses,
)
from anyhook.errors import UsageError
from anyhook.manage.scope import existing_project
from anyhook.manage.tried import keep_examples, try_hook_file
from anyhook.model.text import printable, shorten
from anyhook.sandbox.sandbox import Sandbox
from anyhook.testing.cases import is_case_file, read_cases

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from anyhook.authoring.hooks import Example
    from anyhook.testing.examples import ExampleResult

FIRST_CASES = "hook-cases.toml"
"""The file that `--init` writes by default."""
WHAT = "what"
"""Heading of the column that wraps."""


def test(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A hook file, or a file of cases (.toml, .yaml)."),
    ] = None,
    agents: AgentNames = None,
    project: Project = HERE,
    init: Annotated[
        bool, typer.Option("--init", help="Write a file of cases for the configured hooks.")
    ] = False,
    coverage: Annotated[
        bool,
        typer.Option("--coverage", help="Show which lines and rules of a hook file decided."),
    ] = False,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Change a hook file, and show what nothing notices.")
    ] = False,
    cases: Annotated[
        Path | None,
        typer.Option("--cases", metavar="FILE", help="Use these, too, for both."),
    ] = None,
    from_history: Annotated[
        bool, typer.Option("--history", help="With --coverage: the latest recorded events, too.")
    ] = False,
    min_killed: Annotated[
        float | None,
        typer.Option("--min-killed", min=0, max=1, help="Exit with 1 if fewer are noticed."),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=0, help="Sandboxes for --mutate. Default: all cores.")
    ] = 0,
    yes: Yes = False,
    trust_once: TrustOnce = False,
    as_json: AsJson = False,
) -> int:
    """Try the examples of a hook file, or a file of cases.

    Hooks run in a sandbox, where they change nothing of yours and reach no network. The examples of
    a Python hook file are tried for every agent. What an agent cannot do is reported and is no
    failure. A file of cases is tried against the hooks in the settings, in any language, which run
    as the agent runs them. Exits with 1 if one fails, or if there is none.

    For example:

        anyhook test .anyhook/guard.py
        anyhook test hooks/guard.py --agent claude --json
        anyhook test hooks/guard.py --coverage
        anyhook test hooks/guard.py --mutate --min-killed 0.9
        anyhook test --init
        anyhook test hook-cases.toml
    """
    names = [get_agent(name).name for name in agents or ()]
    confirm_limits(is_agreed=yes)
    measures = coverage or mutate
    if init and measures:
        raise UsageError("--init writes cases; run --coverage and --mutate without it")
    if jobs and not mutate:
        raise UsageError("--jobs needs --mutate")
    if init:
        directory = existing_project(project)
        path = file or directory / FIRST_CASES
        return write_first_cases(path, directory, trust_once=trust_once, as_json=as_json)
    if file is None:
        raise UsageError(f"name a hook file, or a file of cases like {FIRST_CASES}")
    if coverage and mutate:
        raise UsageError("give --coverage or --mutate, not both")
    if measures and is_case_file(file):
        raise UsageError(f"--coverage and --mutate take a hook file; add --cases {file}")
    if not measures and (cases or from_history or min_killed is not None):
        raise UsageError("--cases, --history and --min-killed need --coverage or --mutate")
    if is_case_file(file):
        directory = existing_project(project)
        return run_case_file(file, directory, names, trust_once=trust_once, as_json=as_json)
    names = names or list(CODING_AGENTS)
    more = read_cases(cases) if cases else []
    if coverage:
        return cover_hook_file(file, names, more, with_history=from_history, as_json=as_json)
    if mutate:
        return mutate_hook_file(
            file, names, more, jobs=jobs, min_killed=min_killed, as_json=as_json
        )
    return _test_hook_file(file, names, as_json=as_json)


def _test_hook_file(file: Path, agent_names: list[str], *, as_json: bool) -> int:
    with Sandbox.for_project(Path()) as sandbox:
        tried = try_hook_file(sandbox, file, agent_names)
    results, warnings, problems = tried.results, tried.warnings, tried.problems
    with evidence_may_be_lost():
        keep_examples(file.resolve(), tried)
    for traceback in dict.fromkeys(result.traceback for result in results if result.traceback):
        log_text(traceback)
    unsupported = unsupported_uses(file.name, scan(file), map(get_agent, agent_names))
    failed = not results or any(result.status == "failed" for result in results)
    failed = failed or bool(problems)
    exit_code = PROBLEMS if failed else OK
    if as_json:
        rows = []
        for result in results:
            reply = result.run.reply if result.run else None
            example = members(result.example, "event", "expect", "place")
            row = {**example, **members(result, "agent", "status", "got", "notes")}
            rows.append({**row, "traceback": result.traceback or None, "reply": reply or None})
        print_json(
            {
                "ok": not failed,
                "results": rows,
                "degraded": unsupported,
                "warnings": warnings,
                "problems": problems,
            }
        )
        return exit_code
    out = console()
    if results:
        out.print(_table(out, tried.examples, results, agent_names))
    _print_notes(out, results, agent_names)
    print_unsupported(out, unsupported)
    for problem in problems:
        text = Text.assemble(("✗", BAD), f"  {printable(problem)}")
        out.print(text, soft_wrap=True)
    for warning in warnings:
        out.print(Text.assemble(("warning", CAUTION), f"  {warning}"))
    if not results:
        out.print(
            "There are no examples; write some in the hook file, like\n"
            '  hooks.example(tool="shell", input={"command": "rm -rf /"}, expect="deny")'
        )
    return exit_code


def _table(
    out: Console, examples: list[Example], results: list[ExampleResult], agent_names: list[str]
) -> Table:
    """Return the results, with the agents that give the same result in one line."""
    headings = ("#", "event", WHAT, "expect", "result", "agents")
    table = make_table(*headings, no_wrap=("#", "event", "expect", "result"))
    table.columns[headings.index(WHAT)].ratio = 3
    table.columns[headings.index("agents")].ratio = 2
    for number, example in enumerate(examples, 1):
        # The tool with its arguments, or the fields of another event.
        fields = dict(example.fields)
        tool = fields.pop("tool_name", "")
        arguments = fields.pop("tool_input", None) or fields
        text = json.dumps(arguments, ensure_ascii=False, default=str) if arguments else ""
        what = f"{tool} {printable(text)}".strip()
        if out.width != UNWRAPPED:
            what = shorten(what)
        agents_of: dict[str, list[str]] = {}
        cells: dict[str, Text] = {}
        for result in results:
            if result.example is example:
                answer = "" if result.status == "absent" else f" {result.got}"
                cell = Text.assemble(RESULTS[result.status], (answer, QUIET))
                cells.setdefault(cell.plain, cell)
                agents_of.setdefault(cell.plain, []).append(result.agent)
        first = (str(number), example.event, Text(what), example.expect)
        for plain, names in agents_of.items():
            table.add_row(*first, cells[plain], Text(_agents_text(names, agent_names)))
            first = ("", "", Text(), "")
    return table


def _agents_text(names: list[str], tried: list[str]) -> str:
    return "all" if len(names) == len(tried) > 1 else ", ".join(names)


def _print_notes(out: Console, results: list[ExampleResult], agent_names: list[str]) -> None:
    """Print what went wrong or was done instead: each text once, with its agents."""
    agents_of: dict[tuple[str, str, str], dict[str, None]] = {}
    for result in results:
        if result.status in ("failed", "degraded"):
            for note in result.notes:
                about = (result.status, result.example.place, note)
                agents_of.setdefault(about, {})[result.agent] = None
    for (status, place, note), names in agents_of.items():
        mark, style = RESULTS[status]
        agents = _agents_text([*names], agent_names)
        out.print(Text.assemble((f"{mark} {agents}", style), f"  {place}: {note}"))
    for traceback in dict.fromkeys(result.traceback for result in results if result.traceback):
        out.print(Text(traceback.rstrip("\n")))
