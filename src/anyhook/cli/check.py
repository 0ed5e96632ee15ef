"""`anyhook check`: everything that is wrong with the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.text import Text

from anyhook.authoring.inspect import gaps, scan
from anyhook.cli import OK, PROBLEMS
from anyhook.cli.options import (
    HERE,
    AsJson,
    DialectName,
    Project,
    existing_project,
    print_other_agents,
)
from anyhook.cli.output import (
    console,
    diagnostic_json,
    print_diagnostics,
    print_json,
    show_path,
)
from anyhook.engine.checks import check_hooks
from anyhook.engine.engine import Engine
from anyhook.engine.messages import discard
from anyhook.model.diagnostics import Place, Severity, diagnose
from anyhook.trust.scripts import named_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.model.definitions import HandlerSpec
    from anyhook.model.diagnostics import Diagnostic

_ORDER = {severity: i for i, severity in enumerate(Severity)}


def check(project: Project = HERE, dialect: DialectName = "gemini", as_json: AsJson = False) -> int:
    """Check the settings of every layer: mistakes, dead matchers, missing scripts, untrusted hooks.

    Exits with 1 if there are errors.

    For example:

        anyhook check
        anyhook check --project ~/code/app --json
    """
    engine = Engine.load(existing_project(project), dialect=dialect, on_message=discard)
    found = sorted(_findings(engine), key=lambda d: _ORDER[d.severity])
    errors = sum(d.severity is Severity.ERROR for d in found)
    files = [file for file in engine.hooks.files if file.exists]
    if as_json:
        print_json(
            {
                "ok": errors == 0,
                "files": [str(file.source.path) for file in files],
                "hooks": sum(len(d.handlers) for d in engine.definitions),
                "diagnostics": [diagnostic_json(d) for d in found],
            }
        )
        return PROBLEMS if errors else OK
    out = console()
    for file in files:
        count = sum(len(d.handlers) for d in file.definitions)
        out.print(
            f"[cyan]{file.source.layer!s:<16}[/] {escape(show_path(str(file.source.path)))}  "
            f"[dim]{count} hook{'s' if count != 1 else ''}[/]"
        )
    if not files:
        out.print("No settings files found; nothing to check.")
        print_other_agents(out, engine)
    untrusted = [d for d in found if d.code == "project-untrusted"]
    print_diagnostics(out, (d for d in found if d not in untrusted), engine.project_dir)
    if untrusted:
        names = ", ".join(str(d.handler) for d in untrusted)
        out.print(Text.assemble(("not trusted", "yellow"), f"  {names}"))
        out.print(
            "  They do not run until you have looked at them: "
            f"anyhook trust --dialect {engine.dialect.name}"
        )
    out.print(_summary(found))
    return PROBLEMS if errors else OK


def _findings(engine: Engine) -> list[Diagnostic]:
    return [
        *engine.diagnostics,
        *_gaps(engine),
        *check_hooks(
            engine.dialect,
            engine.definitions,
            engine.project_dir,
            engine.guard.variables(),
            engine.environ,
            engine.guard.may_match,
        ),
    ]


def _gaps(engine: Engine) -> Iterator[Diagnostic]:
    """Tell what the agent cannot do of what hooks ask for that are written once."""
    variables = {**engine.environ, **engine.guard.variables()}
    handlers = [h for d in engine.definitions for h in d.handlers if h.kind == "command"]
    files: dict[Path, HandlerSpec] = {}
    for handler in handlers:
        for path in named_files(handler, engine.project_dir, {**variables, **handler.variables}):
            files.setdefault(path, handler)
    for path, handler in files.items():
        for use, text in gaps(scan(path), engine.dialect):
            yield diagnose(
                "ability", f"{use.name}: {text}", Place(str(path), use.line), handler=handler.label
            )


def _summary(found: list[Diagnostic]) -> str:
    counts = {s: sum(d.severity is s for d in found) for s in Severity}
    words = [f"{n} {s}{'s' if n != 1 and s != 'info' else ''}" for s, n in counts.items() if n]
    return f"[bold]{', '.join(words)}[/]" if words else "[bold green]no problems[/]"
