"""`anyhook check`: mistakes in settings and in the scripts that hooks run."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from anyhook import __version__
from anyhook.checks.rules import Finding, find_problems
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.colors import ACCENT, GOOD
from anyhook.cli.options import HERE, AgentName, AsJson, Project, Yes, print_no_hooks, print_project
from anyhook.cli.output import console, encode, hook_health, print_json, write_line
from anyhook.cli.render import confirm, health_text, make_table, print_diagnostics, show_place
from anyhook.errors import UsageError
from anyhook.manage.health import Health, HealthWord, HookHealth, healths_of
from anyhook.manage.paths import show_path
from anyhook.manage.scope import CommandScope, scope_of
from anyhook.model.definitions import handlers_of
from anyhook.model.diagnostics import CODES, Diagnostic, Severity
from anyhook.model.text import count_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from anyhook.engine.engine import Engine
    from anyhook.manage.remedies import Remedy


class Format(StrEnum):
    """Formats of the report."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def check(
    project: Project = HERE,
    agent: AgentName = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on warnings and unknown hooks too.")
    ] = False,
    report_format: Annotated[
        Format,
        typer.Option(
            "--format", help="github: annotations of a workflow; sarif: for code scanning."
        ),
    ] = Format.TEXT,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the safe fixes, then check.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> int:
    """Check settings and hook scripts for mistakes.

    No hook is run. It reports mistakes in settings, matchers that match nothing, missing or broken
    scripts, hooks that are switched off or not trusted, and common mistakes in scripts. It covers
    every agent that has hooks here. The last lines say which hooks are broken, and of which it is
    unknown whether they work. Exits with 1 if there are errors or broken hooks.

    `--fix` makes scripts executable, renews files without which an agent runs no hooks, sets a
    switch that an agent needs, and removes names of hooks that are gone.

    For example:

        anyhook check
        anyhook check --fix
        anyhook check --strict --format github
        anyhook check --project ~/code/app --json
    """
    if as_json and report_format not in (Format.TEXT, Format.JSON):
        raise UsageError(f"give --json or --format {report_format}, not both")
    if yes and not fix:
        raise UsageError("--yes needs --fix")
    scope = scope_of(project, agent)
    engines = list(scope.engines(default=True))
    findings = find_problems(engines)
    if fix and _apply_remedies(engines, findings, yes=yes, as_json=as_json):
        for engine in engines:
            engine.reload()
        findings = find_problems(engines)
    healths = healths_of(engines, findings)
    diagnostics = [finding.diagnostic for finding in findings]
    severities = {diagnostic.severity for diagnostic in diagnostics}
    failed = Severity.ERROR in severities or any(health.is_broken for health in healths)
    if strict:
        has_unknown = any(health.counts[HealthWord.UNKNOWN] for health in healths)
        failed = failed or Severity.WARNING in severities or has_unknown
    if as_json or report_format is Format.JSON:
        print_json(_report_json(scope, engines, findings, healths, failed=failed))
    elif report_format is Format.GITHUB:
        for line in github_lines(diagnostics, strict=strict):
            write_line(printable(line))
    elif report_format is Format.SARIF:
        print_json(sarif_log(diagnostics, scope.project))
    else:
        _print_report(console(), scope, engines, findings)
        _print_health(console(), scope.project, healths)
    if failed and not as_json and report_format in (Format.GITHUB, Format.SARIF):
        # These formats hold diagnostics; a broken hook may have none.
        _print_health(console(stderr=True), scope.project, healths)
    return PROBLEMS if failed else OK


# -- remedies


def _apply_remedies(
    engines: list[Engine], findings: list[Finding], *, yes: bool, as_json: bool
) -> bool:
    """Show the remedies, ask, and apply them. Returns whether any was applied."""
    from anyhook.manage.remedies import remedy_for  # only `--fix` needs what edits files

    by_agent = {engine.agent.name: engine for engine in engines}
    remedies: dict[str, Remedy] = {}
    for finding in findings:
        remedy = remedy_for(by_agent[finding.agent], finding.diagnostic)
        if remedy is not None:
            remedies.setdefault(remedy.text, remedy)
    if not remedies:
        return False
    out = console(stderr=as_json)
    for text in remedies:
        out.print(Text.assemble(("fix", GOOD), f"  {text}"))
    instead = "add --yes to apply the remedies"
    if not confirm("Apply this?", is_agreed=yes, is_quiet=as_json, instead=instead):
        return False
    for remedy in remedies.values():
        remedy.apply()
    return True


# -- the report


def _print_report(
    out: Console, scope: CommandScope, engines: list[Engine], findings: list[Finding]
) -> None:
    print_project(out, scope.project)
    table = make_table("agent", "layer", "file", "hooks", no_wrap=("agent", "layer"))
    for engine in engines:
        for file in engine.hooks.files:
            if file.exists:
                hooks = len(handlers_of(file.definitions))
                path = show_path(str(file.source.path), engine.project_dir)
                layer = str(file.source.layer)
                table.add_row(engine.agent.title, layer, Text(path), str(hooks))
    if table.row_count:
        out.print(table)
    if not scope.agents or not table.row_count:
        print_no_hooks(out, scope)
    print_diagnostics(out, [finding.diagnostic for finding in findings], scope.project)
    counts = Counter(finding.diagnostic.severity for finding in findings)
    if not counts:
        out.print("no problems in settings and scripts", style=GOOD)
        return
    nouns = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    parts = [
        count_of(counts[severity], noun) for severity, noun in nouns.items() if counts[severity]
    ]
    out.print(", ".join(parts), style="bold")


def _print_health(out: Console, project: Path, healths: Sequence[Health]) -> None:
    """Print which hooks do not surely work, why, and how many of them there are."""
    counts: Counter[HealthWord] = Counter()
    # One cause often concerns many hooks: a project that is not trusted.
    by_reason: dict[tuple[str, ...], list[HookHealth]] = {}
    for health in healths:
        counts.update(health.counts)
        for hook in health.hooks:
            if hook.word is not HealthWord.WORKS:
                reason = (hook.word, hook.evidence, *hook.old, hook.settle)
                by_reason.setdefault(reason, []).append(hook)
    for hooks in by_reason.values():
        for hook in hooks:
            line = health_text(hook)
            line.append(f"  {hook.row.label}", style="bold")
            line.append(f"  {hook.row.agent.title} {hook.row.event}", style=ACCENT)
            line.append(f"  {show_place(hook.place, project)}", style="dim")
            out.print(line, soft_wrap=True)
        first = hooks[0]
        out.print(Text(f"    {first.evidence}"), soft_wrap=True)
        for text in first.old:
            out.print(Text(f"    {text}", style="dim"), soft_wrap=True)
        if first.settle:
            out.print(Text(f"    to settle it: {first.settle}", style="dim"), soft_wrap=True)
    if counts:
        parts = [f"{counts[word]} {word}" for word in HealthWord if counts[word]]
        out.print(f"hooks: {', '.join(parts)}", style="bold")


def _report_json(
    scope: CommandScope,
    engines: list[Engine],
    findings: list[Finding],
    healths: list[Health],
    *,
    failed: bool,
) -> dict[str, Any]:
    files: list[str] = []
    hooks = 0
    health: list[dict[str, Any]] = []
    for agent_health in healths:
        health += map(hook_health, agent_health.hooks)
    for engine in engines:
        hooks += len(handlers_of(engine.definitions))
        files += [str(file.source.path) for file in engine.hooks.files if file.exists]
    return {
        "ok": not failed,
        "project": scope.project,
        "agents": scope.agents,
        "files": list(dict.fromkeys(files)),
        "hooks": hooks,
        "diagnostics": [
            {"agent": finding.agent, **encode(finding.diagnostic)} for finding in findings
        ],
        "health": health,
    }


# -- for CI

GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
GITHUB_TEXT_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
GITHUB_PROPERTY_ESCAPES = GITHUB_TEXT_ESCAPES | str.maketrans({":": "%3A", ",": "%2C"})
SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def github_lines(diagnostics: Iterable[Diagnostic], *, strict: bool) -> Iterator[str]:
    """Write diagnostics as workflow commands, which GitHub shows next to the lines of a change.

    With `strict`, warnings are errors.
    """
    for diagnostic in diagnostics:
        severity = diagnostic.severity
        if strict and severity is Severity.WARNING:
            severity = Severity.ERROR
        members = {"title": diagnostic.code}
        place = diagnostic.place
        if place is not None:
            members["file"] = _relative_path(place.file, Path.cwd())
            members["line"] = str(place.line or 1)
            if place.column is not None:
                members["col"] = str(place.column)
        properties = []
        for name, value in members.items():
            properties.append(f"{name}={value.translate(GITHUB_PROPERTY_ESCAPES)}")
        message = diagnostic.message.translate(GITHUB_TEXT_ESCAPES)
        yield f"::{GITHUB_COMMANDS[severity]} {','.join(properties)}::{message}"


def sarif_log(diagnostics: list[Diagnostic], project: Path) -> dict[str, Any]:
    """Return diagnostics as a log of SARIF 2.1.0; paths are relative to the project."""
    codes = list(dict.fromkeys(diagnostic.code for diagnostic in diagnostics))
    rules = []
    for code in codes:
        severity, description = CODES[code]
        rule = {"id": code, "shortDescription": {"text": description}}
        rules.append({**rule, "defaultConfiguration": {"level": SARIF_LEVELS[severity]}})
    results = []
    for diagnostic in diagnostics:
        place = diagnostic.place
        locations = []
        if place is not None:
            region = {"startLine": place.line or 1}
            if place.column is not None:
                region["startColumn"] = place.column
            path = Path(_relative_path(place.file, project))
            uri = path.as_uri() if path.is_absolute() else path.as_posix()
            location = {"artifactLocation": {"uri": uri}, "region": region}
            locations.append({"physicalLocation": location})
        result = {
            "ruleId": diagnostic.code,
            "ruleIndex": codes.index(diagnostic.code),
            "level": SARIF_LEVELS[diagnostic.severity],
            "message": {"text": diagnostic.message},
            "locations": locations,
        }
        results.append(result)
    run = {
        "tool": {"driver": {"name": "anyhook", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _relative_path(file: str, base: Path) -> str:
    path = Path(file)
    if not path.is_relative_to(base):
        return file
    return path.relative_to(base).as_posix()
