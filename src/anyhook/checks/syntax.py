"""Scripts that their interpreters cannot read, and imports that they cannot find."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anyhook.checks.hook import HookReader
from anyhook.checks.interpreters import ScriptText, SyntaxReport, check_scripts
from anyhook.checks.started_scripts import StartedScript, started_scripts
from anyhook.files import read_json_object
from anyhook.model.diagnostics import Diagnostic, Place
from anyhook.settings.sources import SIZE_LIMIT
from anyhook.trust.languages import PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anyhook.engine.engine import Engine


def unreadable_scripts(engine: Engine) -> Iterator[Diagnostic]:
    """Report scripts with a syntax error, and modules that Python scripts import in vain."""
    reader = HookReader(engine)
    # Each script counts once for every interpreter that runs it.
    scripts: dict[tuple[str, Path], StartedScript] = {}
    for definition in engine.definitions:
        for hook in reader.hooks_of(definition):
            for script in started_scripts(hook):
                scripts.setdefault((script.interpreter, script.path), script)
    by_interpreter: dict[str, list[StartedScript]] = {}
    for script in scripts.values():
        by_interpreter.setdefault(script.interpreter, []).append(script)
    for interpreter, group in by_interpreter.items():
        texts = [
            ScriptText(
                text=script.text,
                path=script.path.name,
                directories=_module_directories(script),
                module_type=_module_type(script.path),
            )
            for script in group
        ]
        for script, report in zip(group, check_scripts(interpreter, texts), strict=True):
            yield from _diagnose(script, report)


def _module_directories(script: StartedScript) -> tuple[str, ...] | None:
    """Return where a Python script's own modules are; `None` if only the running script knows."""
    if not script.is_named or PYTHON.searches.search(script.text):
        return None
    directories = [os.path.dirname(os.path.realpath(script.path))]
    hook = script.hook
    for environment in (hook.handler.env, hook.engine.environ):
        if "PYTHONPATH" in environment:
            project = hook.engine.project_dir
            names = environment["PYTHONPATH"].split(os.pathsep)
            directories += [os.path.join(project, name) for name in names]
            break
    # `PYTHONPATH=lib python3 guard.py`
    is_changed = PYTHON.searches.search(hook.handler.command or "") is not None
    return None if is_changed else tuple(directories)


def _module_type(path: Path) -> str:
    """Return how Node reads a script: by its suffix, else by the next `package.json` above it."""
    if path.suffix in {".mjs", ".cjs"}:
        return "module" if path.suffix == ".mjs" else "commonjs"
    for directory in path.resolve().parents:
        package = directory / "package.json"
        if package.is_file():
            kind = (read_json_object(package, SIZE_LIMIT) or {}).get("type")
            return kind if kind in {"module", "commonjs"} else ""
    return ""


def _diagnose(script: StartedScript, report: SyntaxReport) -> Iterator[Diagnostic]:
    file, name = str(script.path), os.path.basename(script.interpreter)
    if report.problem is not None:
        text = f"{name} cannot read {script.path.name}: {report.problem}"
        yield script.hook.diagnose("script-syntax", text, Place(file, report.line))
    for line, module in report.missing_modules:
        before = "\n".join(script.text.splitlines()[: line - 1])
        # A script may install its modules, or start itself again in another environment.
        if not PYTHON.runs.search(before):
            text = (
                f"{script.path.name} imports {module!r}, which {script.interpreter} does not "
                f"find; install it where {name} finds it"
            )
            yield script.hook.diagnose("missing-module", text, Place(file, line))
