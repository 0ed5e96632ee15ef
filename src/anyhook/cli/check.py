"""`anyhook check`: everything that is wrong with the settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from anyhook.authoring.inspect import NEVER_RUNS, calls_run, gaps, scan
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.findings import github_lines, sarif_log
from anyhook.cli.options import (
    HERE,
    AgentName,
    AsJson,
    Project,
    print_project,
    print_searched,
    scope_of,
)
from anyhook.cli.output import (
    SEVERITY_STYLE,
    console,
    diagnostic_json,
    print_json,
    show_path,
)
from anyhook.engine.checks import check_hooks
from anyhook.files import read_user_file
from anyhook.model.diagnostics import Place, Severity, diagnose
from anyhook.model.suggest import closest
from anyhook.model.tools import TOOLS
from anyhook.settings.detect import trust_command
from anyhook.trust.scripts import named_files
from anyhook.trust.trees import LARGEST_SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rich.console import Console

    from anyhook.authoring.inspect import Use
    from anyhook.cli.options import Scope
    from anyhook.engine.engine import Engine
    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic


class Format(StrEnum):
    """Forms in which the problems are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of one agent's settings.

    Attributes:
        agent: Name of the agent.
        diagnostic: The problem.
    """

    agent: str
    diagnostic: Diagnostic


def check(
    project: Project = HERE,
    agent: AgentName = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings too.")] = False,
    form: Annotated[
        Format, typer.Option("--format", help="github: annotations; sarif: for code scanning.")
    ] = Format.TEXT,
    as_json: AsJson = False,
) -> int:
    """Check the settings of every agent that has hooks here, and the scripts that hooks run.

    It finds mistakes in settings, dead matchers, missing or broken scripts, hooks that are switched
    off or not trusted, and what scripts commonly get wrong. Nothing is run. Exits with 1 if there
    are errors.

    For example:

        anyhook check
        anyhook check --strict --format github
        anyhook check --project ~/code/app --json
    """
    scope = scope_of(project, agent)
    engines = list(scope.engines(default=True))
    findings = sorted(_findings(engines), key=_by_place)
    fails_on = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    failed = any(found.diagnostic.severity in fails_on for found in findings)
    if as_json or form is Format.JSON:
        print_json(_report_json(scope, engines, findings, failed=failed))
    elif form is Format.GITHUB:
        diagnostics = (found.diagnostic for found in findings)
        typer.echo("\n".join(github_lines(diagnostics, strict=strict)), nl=bool(findings))
    elif form is Format.SARIF:
        print_json(sarif_log([found.diagnostic for found in findings], scope.project))
    else:
        _print_report(console(), scope, engines, findings)
    return PROBLEMS if failed else OK


def _findings(engines: Iterable[Engine]) -> Iterator[Finding]:
    for engine in engines:
        diagnostics = (
            *engine.hooks.diagnostics,
            *engine.switched_off(),
            *engine.guard.diagnostics(),
            *_hook_file_findings(engine),
            *check_hooks(
                engine.agent,
                engine.definitions,
                engine.project_dir,
                engine.guard.variables(),
                engine.environ,
                engine.guard.may_match,
            ),
        )
        yield from (Finding(engine.agent.name, found) for found in dict.fromkeys(diagnostics))
        if not engine.definitions:
            text = f"no hook of {engine.agent.title} is configured here; nothing was checked"
            yield Finding(engine.agent.name, diagnose("no-hooks", text))


def _by_place(finding: Finding) -> tuple[str, int, int, str]:
    place = finding.diagnostic.place or Place("")
    return place.file, place.line or 0, place.column or 0, finding.diagnostic.code


# -- hook files that are written with anyhook


def _hook_file_findings(engine: Engine) -> Iterator[Diagnostic]:
    """Report what the agent cannot do of what hook files ask for, and tools that no agent has."""
    variables = {**engine.environ, **engine.guard.variables()}
    handlers = [h for d in engine.definitions for h in d.handlers if h.kind == "command"]
    files: dict[Path, HandlerSpec] = {}
    for handler in handlers:
        for path in named_files(handler, engine.project_dir, {**variables, **handler.variables}):
            files.setdefault(path, handler)
    for path, handler in files.items():
        uses = scan(path)
        if uses and not calls_run(read_user_file(path, LARGEST_SCRIPT)):
            yield diagnose("never-runs", f"{path.name}: {NEVER_RUNS}", Place(str(path)))
        for use, text in gaps(uses, engine.agent):
            yield diagnose(
                "ability", f"{use.name}: {text}", Place(str(path), use.line), handler=handler.label
            )
        for use in uses:
            yield from _check_subjects(engine, use, path)


def _check_subjects(engine: Engine, use: Use, path: Path) -> Iterator[Diagnostic]:
    spec = engine.agent.by_canonical.get(use.event)
    if spec is None or spec.subject != "tool_name":
        return
    known = {*TOOLS, *engine.agent.tools, *engine.agent.renamed_tools}
    for subject in use.subjects:
        is_name = subject.replace("_", "").isalnum()
        if is_name and subject not in known and "__" not in subject:
            meant = closest(subject, known)
            hint = f"did you mean {meant!r}?" if meant else f"tools: {', '.join(sorted(TOOLS))}"
            text = f"{use.name}: {subject!r} is no tool; {hint}"
            yield diagnose("unknown-subject", text, Place(str(path), use.line))


# -- what is shown


def _print_report(
    out: Console, scope: Scope, engines: list[Engine], findings: list[Finding]
) -> None:
    print_project(out, scope.project)
    has_files = any(file.exists for engine in engines for file in engine.hooks.files)
    if has_files:
        out.print(_files_table(engines))
    if not scope.agents or not has_files:
        print_searched(out, scope)
    untrusted = [f for f in findings if f.diagnostic.code == "project-untrusted"]
    for found in findings:
        if found not in untrusted:
            _print_finding(out, found.diagnostic, scope.project)
    for engine in engines:
        labels = [f.diagnostic.handler for f in untrusted if f.agent == engine.agent.name]
        if labels:
            out.print(Text.assemble(("not trusted", "yellow"), f"  {engine.agent.title}:"))
            for label in dict.fromkeys(labels):
                out.print(Text(f"  {label}"))
            command = trust_command(engine.agent.name, engine.project_dir)
            out.print(f"  They do not run until you have looked at them: {command}")
    out.print(_summary(findings))


def _files_table(engines: list[Engine]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for heading in ("agent", "layer", "file", "hooks"):
        table.add_column(heading, justify="right" if heading == "hooks" else "left")
    for engine in engines:
        for file in engine.hooks.files:
            if file.exists:
                count = sum(len(d.handlers) for d in file.definitions)
                path = show_path(str(file.source.path), engine.project_dir)
                table.add_row(engine.agent.title, str(file.source.layer), Text(path), str(count))
    return table


def _print_finding(out: Console, found: Diagnostic, project: Path) -> None:
    """Show a problem in one line, as compilers do: editors and terminals make its place a link."""
    place = ""
    if found.place is not None:
        numbers = (n for n in (found.place.line, found.place.column) if n is not None)
        place = ":".join([show_path(found.place.file, project), *map(str, numbers)]) + ": "
    line = Text.assemble(
        (place, "cyan"),
        (str(found.severity), SEVERITY_STYLE[found.severity]),
        (f"[{found.code}]", "dim"),
        f": {found.message}",
    )
    out.print(line)


def _summary(findings: list[Finding]) -> str:
    counts = {s: sum(f.diagnostic.severity is s for f in findings) for s in Severity}
    words = [f"{n} {s}{'s' if n != 1 and s != 'info' else ''}" for s, n in counts.items() if n]
    return f"[bold]{', '.join(words)}[/]" if words else "[bold green]no problems[/]"


def _report_json(
    scope: Scope, engines: list[Engine], findings: list[Finding], *, failed: bool
) -> dict[str, Any]:
    files = [file for engine in engines for file in engine.hooks.files if file.exists]
    return {
        "ok": not failed,
        "project": str(scope.project),
        "agents": list(scope.agents),
        "files": list(dict.fromkeys(str(file.source.path) for file in files)),
        "hooks": sum(len(d.handlers) for engine in engines for d in engine.definitions),
        "diagnostics": [
            {"agent": found.agent, **diagnostic_json(found.diagnostic)} for found in findings
        ],
    }
