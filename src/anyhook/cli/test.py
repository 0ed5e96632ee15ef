"""`anyhook test`: the examples that are written beside hooks, for every agent."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from anyhook.agents import CODING_AGENTS, get_agent
from anyhook.authoring.inspect import gaps, scan
from anyhook.authoring.load import load_hooks
from anyhook.authoring.run import log_text
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.cases import run_case_file, write_first_cases
from anyhook.cli.options import HERE, AsJson, Project, existing_project
from anyhook.cli.output import console, print_json
from anyhook.errors import UsageError
from anyhook.model.text import printable
from anyhook.testing.cases import is_case_file
from anyhook.testing.examples import endless_denials, run_examples

if TYPE_CHECKING:
    from rich.console import Console

    from anyhook.authoring.hooks import Example
    from anyhook.testing.examples import ExampleResult

FIRST_CASES = "hook-cases.toml"
"""The file that `--init` writes."""
WIDE = 110
"""Columns from which on there is room for what was answered."""
LONGEST_CELL = 48
"""Characters of an event that a terminal shows."""
MARKS = {
    "ok": ("✓", "green"),
    "degraded": ("~", "yellow"),
    "failed": ("✗", "bold red"),
    "absent": ("-", "dim"),
}


def test(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="A hook file, or a file of cases (.toml, .yaml)."),
    ] = None,
    agents: Annotated[
        list[str] | None, typer.Option("--agent", help="Agent to try it for; by default all.")
    ] = None,
    project: Project = HERE,
    init: Annotated[
        bool,
        typer.Option("--init", help="Write a file of cases for the configured hooks."),
    ] = False,
    trust_once: Annotated[
        bool,
        typer.Option("--trust-once", help="Run the project's hooks of a file of cases untrusted."),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Try the examples that are written beside hooks, or a file of cases for hooks of any kind.

    A Python hook file is tried for every agent. A file of cases is tried against the hooks in the
    settings, which run as the agent runs them. Exits with 1 if one fails, or if there is none. An
    agent that cannot do what a hook wants is no failure: what is done instead is shown.

    For example:

        anyhook test .anyhook/guard.py
        anyhook test hooks/guard.py --agent claude --json
        anyhook test --init
        anyhook test hook-cases.toml
    """
    if init:
        here = existing_project(project)
        path = file or here / FIRST_CASES
        return write_first_cases(path, here, trust_once=trust_once, as_json=as_json)
    if file is None:
        raise UsageError(f"name a hook file, or a file of cases like {FIRST_CASES}")
    if is_case_file(file):
        chosen = [get_agent(name).name for name in agents or ()]
        return run_case_file(
            file, existing_project(project), chosen, trust_once=trust_once, as_json=as_json
        )
    return _test_hook_file(file, tuple(agents or CODING_AGENTS), as_json=as_json)


def _test_hook_file(file: Path, names: tuple[str, ...], *, as_json: bool) -> int:
    agents = [get_agent(name) for name in names]
    with redirect_stdout(sys.stderr):  # what hooks print is not the result
        hooks = load_hooks(file)
        results = run_examples(hooks, names)
        warnings = endless_denials(hooks, names)
    for result in results:
        if result.traceback:
            log_text(result.traceback)
    uses = scan(file)
    missing = {
        d.name: [f"{file.name}:{use.line}: {text}" for use, text in gaps(uses, d)] for d in agents
    }
    failed = any(result.status == "failed" for result in results) or not results
    if as_json:
        print_json(
            {
                "ok": not failed,
                "results": list(map(_json, results)),
                "degraded": missing,
                "warnings": warnings,
            }
        )
        return PROBLEMS if failed else OK
    out = console()
    if results:
        out.print(_table(hooks.examples, results, names, out))
    for result in results:
        if result.status in ("failed", "degraded"):
            _print_notes(out, result)
    for texts in missing.values():
        for text in texts:
            out.print(Text.assemble(("degraded", "yellow"), f"  {text}"))
    for text in warnings:
        out.print(Text.assemble(("warning", "yellow"), f"  {text}"))
    if not results:
        out.print(
            "There are no examples; write some beside the hooks, like\n"
            '  hooks.example(tool="shell", input={"command": "rm -rf /"}, expect="deny")',
            markup=False,
        )
    return PROBLEMS if failed else OK


def _table(
    examples: list[Example], results: list[ExampleResult], names: tuple[str, ...], out: Console
) -> Table:
    """Put the results in a table, one row for each example; only a terminal gets it shortened."""
    wide = out.width >= WIDE or not out.is_terminal
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for heading in ("#", "event", "what", "expect", *names):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for number, example in enumerate(examples, 1):
        fields = dict(example.fields)
        tool = fields.pop("tool_name", "")
        shown = fields.pop("tool_input", None) or fields
        cells = []
        for name in names:
            found = [r for r in results if r.example is example and r.agent == name]
            mark, style = MARKS[found[0].status] if found else (" ", "")
            got = found[0].got if wide and found and found[0].status != "absent" else ""
            cells.append(Text.assemble((mark, style), (f" {got}", "dim")))
        text = json.dumps(shown, ensure_ascii=False, default=str) if shown else ""
        what = f"{tool} {printable(text)}".strip()
        if out.is_terminal and len(what) > LONGEST_CELL:
            what = what[: LONGEST_CELL - 1] + "…"
        table.add_row(str(number), example.event, what if wide else tool, example.expect, *cells)
    return table


def _print_notes(out: Console, result: ExampleResult) -> None:
    mark, style = MARKS[result.status]
    for note in result.notes:
        out.print(
            Text.assemble((f"{mark} {result.agent}", style), f"  {result.example.place}: {note}")
        )
    if result.traceback:
        out.print(Text(result.traceback.rstrip("\n")))


def _json(result: ExampleResult) -> dict[str, Any]:
    return {
        "event": result.example.event,
        "expect": result.example.expect,
        "place": result.example.place,
        "agent": result.agent,
        "status": result.status,
        "got": result.got,
        "notes": list(result.notes),
        "traceback": result.traceback or None,
        "reply": dict(result.ran.reply) if result.ran and result.ran.reply else None,
    }
